r"""The primitives: all that an engine computes on one row. Every one is total, and means the same on every engine.

Engine values are 64-bit integers, text, truth, dates, times and NULL (and raw floats, which only ``read_real``,
``read_whole`` and ``is_null`` accept). A result is NULL when an argument is, unless the line says otherwise. Typing has
proven that no integer result leaves ±2^63, so an engine need not check.

  reading     read_integer(x, low, high)          a stored integer, or any other, clamped
              read_decimal(x, scale, low, high)   a stored DECIMAL, times 10^scale, clamped; exact
              read_coarse(x, scale, power, low, high)   a stored integer (scale 0) or DECIMAL, in steps of 10^power that
                                                  are larger than its own: rounded to a number of -power digits (whole
                                                  for power > 0), halves away from zero, then divided, towards zero
              read_real(x, exponent, low, high)   NaN is NULL; floor(x / 2^exponent + 0.5), clamped; ±Inf are the ends
              read_whole(x)                       a stored float that is a whole number below 2^53 in size; else NULL
              read_text(x)  read_boolean(x)  read_date(x)  read_timestamp(x): to microseconds; with a zone: as UTC;
                                                  days and times beyond years 1 to 9999 are the first and the last
              read_float(x)                       a raw float as it is
  integers    add sub mul neg abs sign least greatest (NULL if any is; also of text, dates, times)
              div(x, y)  mod(x, y)                towards zero; mod has the sign of x; NULL where y is 0
              round_div(x, n)  floor_div  ceil_div    x / n for a literal n > 0; round: halves away from zero
              root(x)                             the largest integer whose square is not above x, 0 <= x < 2^62
              curve(x, s, v, a, b, d, n, ...)     of the last six literals with s <= x, where i = (x - s) // n:
                                                  v + (i * (a - b * i)) // d; what is divided is never below 0
  comparing   eq ne lt le gt ge                   two values of one kind; text by code point
              in(x, literal, ...)                 one of the literals (none of them NULL)
              is_null(x)                          never NULL
  logic       and or not                          three-valued
              case(when, then, ..., otherwise)    the first true one;  coalesce(x, ...)
  text        like(x, pattern)                    % and _ only; a backslash is a character like any other
              lower upper                         of the letters A to Z only;  trim ltrim rtrim: of spaces (U+0020) only
              length(x)  substring(x, start, count)   by code points; literals start >= 1, count >= 0
              concat(x, y)  starts_with  ends_with  contains(x, literal)
              right(x, count)                     the last code points; literal count >= 0
              replace(x, old, new)                literals, old not empty; from the left, none that overlap
              split_part(x, separator, n)         the n-th part between literal separators (not empty); else empty
              regexp_extract(x, pattern)          the only capture of the first match; empty if there is none. Patterns
                                                  are literals in the normal form of functions/pattern_parts.py
              regexp_replace(x, pattern, new, every)    the first match, or every one that overlaps none before it, as
                                                  the literal new text, in which \1 is a capture and \\ a backslash
  turning     text_to_integer(x)                  [+-]?[0-9]{1,18}, the whole text; else NULL
              integer_to_text  date_to_text (ISO)  boolean_to_integer
              text_to_decimal(x)                  [+-]?[0-9]{1,18}, perhaps a point and up to 20 digits; or one digit, a
                                                  point, up to 17 digits, e and an exponent of -99 to 17. A stored
                                                  DECIMAL of 20 digits, halves away from zero, for read_coarse only;
                                                  else NULL
              text_to_date(x)                     YYYY-MM-DD and a real day of years 1 to 9999; else NULL
              text_to_timestamp(x)                such a day, perhaps a space or T and HH:MM, HH:MM:SS or that with up
                                                  to six digits; else NULL
              timestamp_to_date  date_to_timestamp
  dates       year quarter month day day_of_week (Monday 1) day_of_year   of a date or a time
              hour minute second                  of a time
              date_trunc(unit, x)                 literal year quarter month week (Monday) day, hour minute of a time
              days_between(x, y)                  y - x of two dates
              add_days(x, n)                      literal n; clamped to years 1 to 9999
              seconds_between(x, y)               y - x of two times, whole seconds towards zero
              add_seconds(x, n)                   literal n, of a time; clamped to years 1 to 9999
"""

from __future__ import annotations

from discreet.query.plan.evaluate import NAMES as PRIMITIVES

__all__ = ["PRIMITIVES"]
