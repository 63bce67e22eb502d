"""The functions of SQL, by name: which of ours each one is. What is not here is refused by name.

All of them are total: on every row a value or NULL, never an error. So a function of SQL that can fail (such as a cast)
is read as the one that gives NULL instead.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction

from discreet.errors import BadQuestion, Unsupported
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.resolve.build import show
from discreet.query.resolve.unresolved import Name, Said, Total, apply, count

_ANY = 1_000_000

PLAIN: dict[str, tuple[str, int, int]] = {
    "abs": ("abs", 1, 1),
    "add_days": ("add_days", 2, 2),
    "ceil": ("ceil", 1, 1),
    "ceiling": ("ceil", 1, 1),
    "char_length": ("length", 1, 1),
    "character_length": ("length", 1, 1),
    "clamp": ("clamp", 3, 3),
    "coalesce": ("coalesce", 1, _ANY),
    "contains": ("contains", 2, 2),
    "date": ("cast_date", 1, 1),
    "day": ("day", 1, 1),
    "day_of_week": ("day_of_week", 1, 1),
    "day_of_year": ("day_of_year", 1, 1),
    "dayofmonth": ("day", 1, 1),
    "dayofyear": ("day_of_year", 1, 1),
    "days_between": ("days_between", 2, 2),
    "ends_with": ("ends_with", 2, 2),
    "floor": ("floor", 1, 1),
    "greatest": ("greatest", 1, _ANY),
    "hour": ("hour", 1, 1),
    "ifnull": ("coalesce", 2, 2),
    "isodow": ("day_of_week", 1, 1),
    "least": ("least", 1, _ANY),
    "left": ("left", 2, 2),
    "len": ("length", 1, 1),
    "length": ("length", 1, 1),
    "lower": ("lower", 1, 1),
    "ltrim": ("ltrim", 1, 1),
    "minute": ("minute", 1, 1),
    "mod": ("mod", 2, 2),
    "month": ("month", 1, 1),
    "nullif": ("nullif", 2, 2),
    "pow": ("power", 2, 2),
    "power": ("power", 2, 2),
    "quarter": ("quarter", 1, 1),
    "round": ("round", 1, 2),
    "rtrim": ("rtrim", 1, 1),
    "second": ("second", 1, 1),
    "seconds_between": ("seconds_between", 2, 2),
    "sign": ("sign", 1, 1),
    "starts_with": ("starts_with", 2, 2),
    "substr": ("substring", 2, 3),
    "substring": ("substring", 2, 3),
    "trim": ("trim", 1, 1),
    "trunc": ("trunc", 1, 1),
    "upper": ("upper", 1, 1),
    "week": ("week", 1, 1),
    "weekofyear": ("week", 1, 1),
    "width_bucket": ("width_bucket", 4, 4),
    "year": ("year", 1, 1),
}
"""Name in SQL: our name, and how many arguments it takes, at least and at most."""

PARTS: dict[str, str] = {
    "year": "year",
    "years": "year",
    "quarter": "quarter",
    "week": "week",
    "weeks": "week",
    "month": "month",
    "months": "month",
    "day": "day",
    "days": "day",
    "isodow": "day_of_week",
    "doy": "day_of_year",
    "dayofyear": "day_of_year",
    "hour": "hour",
    "hours": "hour",
    "minute": "minute",
    "minutes": "minute",
    "second": "second",
    "seconds": "second",
}
"""Parts of a date or time that EXTRACT and DATE_PART know, besides DOW."""


def function(name: str, arguments: tuple[Said, ...]) -> Said:
    """A function of one row.

    >>> function("LEN", (Name("city"),))
    Apply(function='length', arguments=(Name(column='city', table=None),))
    """
    word = name.lower()
    if word in PLAIN:
        ours, fewest, most = PLAIN[word]
        _number_of(name, arguments, fewest, most)
        return apply(ours, *arguments)
    if word in _SPECIAL:
        return _SPECIAL[word](name, arguments)
    what, hint = _KNOWN.get(word, ("", ""))
    near = get_close_matches(word, {*PLAIN, *_SPECIAL, *AGGREGATES}, n=1)
    hint = hint or (f"did you mean {near[0].upper()}?" if near else "the SQL page lists the functions that can")
    raise Unsupported(what or f"the function {show(name.upper())}", hint)


def _number_of(name: str, arguments: tuple[Said, ...], fewest: int, most: int) -> None:
    if fewest <= len(arguments) <= most:
        return
    wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < _ANY else f"at least {fewest}"
    raise BadQuestion(f"{name.upper()} takes {wanted} arguments, not {len(arguments)}")


# --- with rules of their own ------------------------------------------------------------------------------------------


def part(name: str, x: Said) -> Said:
    """EXTRACT(name FROM x)."""
    word = name.lower()
    if word in ("dow", "dayofweek", "weekday"):  # from 0 for Sunday
        return apply("mod", apply("day_of_week", x), Literal(Fraction(7)))
    if word not in PARTS:
        raise Unsupported(
            f"the part {show(name.upper())} of a date", f"use one of {', '.join(sorted(set(PARTS)))}, dow"
        )
    return apply(PARTS[word], x)


def _unit(name: str, said: Said) -> Literal:
    """A unit of time, as text or as a bare word."""
    if isinstance(said, Literal) and isinstance(said.value, str):
        return Literal(said.value.lower())
    if isinstance(said, Name) and said.table is None:
        return Literal(said.column.lower())
    raise BadQuestion(f"{name.upper()} needs a unit first, such as 'month'")


def _date_trunc(name: str, arguments: tuple[Said, ...]) -> Said:
    _number_of(name, arguments, 2, 2)
    return apply("date_trunc", _unit(name, arguments[0]), arguments[1])


def _date_diff(name: str, arguments: tuple[Said, ...]) -> Said:
    _number_of(name, arguments, 3, 3)
    return apply("date_diff", _unit(name, arguments[0]), *arguments[1:])


def _date_part(name: str, arguments: tuple[Said, ...]) -> Said:
    _number_of(name, arguments, 2, 2)
    unit = _unit(name, arguments[0]).value
    return part(unit if isinstance(unit, str) else "", arguments[1])


def _day_of_week(name: str, arguments: tuple[Said, ...]) -> Said:
    _number_of(name, arguments, 1, 1)
    return part("dow", arguments[0])


def _concat(name: str, arguments: tuple[Said, ...]) -> Said:
    """CONCAT leaves NULLs out; the operator || does not."""
    _number_of(name, arguments, 1, _ANY)
    empty = Literal("")
    return apply("concat", *(a if isinstance(a, Literal) else apply("coalesce", a, empty) for a in arguments))


def _if(name: str, arguments: tuple[Said, ...]) -> Said:
    _number_of(name, arguments, 2, 3)
    return apply("case", *arguments, *([Literal(None)] if len(arguments) == 2 else []))


def _grouping(name: str, arguments: tuple[Said, ...]) -> Said:
    """Not of a row but of its group; at most so many bits as fit a number."""
    _number_of(name, arguments, 1, 31)
    return apply("grouping", *arguments)


_SPECIAL: dict[str, Callable[[str, tuple[Said, ...]], Said]] = {
    "concat": _concat,
    "date_diff": _date_diff,
    "date_part": _date_part,
    "date_trunc": _date_trunc,
    "datediff": _date_diff,
    "datepart": _date_part,
    "datetrunc": _date_trunc,
    "dayofweek": _day_of_week,
    "grouping": _grouping,
    "grouping_id": _grouping,
    "weekday": _day_of_week,
    "if": _if,
    "iif": _if,
}

# --- aggregates -------------------------------------------------------------------------------------------------------

ONE: dict[str, Aggregate] = {
    "avg": Aggregate.AVG,
    "max": Aggregate.MAX,
    "mean": Aggregate.AVG,
    "min": Aggregate.MIN,
    "stddev": Aggregate.STDDEV,
    "stddev_samp": Aggregate.STDDEV,
    "sum": Aggregate.SUM,
    "var_samp": Aggregate.VARIANCE,
    "variance": Aggregate.VARIANCE,
}
TWO: dict[str, Aggregate] = {"corr": Aggregate.CORRELATION, "covar_samp": Aggregate.COVARIANCE}
QUANTILES = frozenset({"quantile", "quantile_cont"})
AGGREGATES = frozenset({"count", "count_if", "countif", "median", "percentile_cont", *ONE, *TWO, *QUANTILES})
MEDIAN = Fraction(1, 2)


def aggregate(name: str, arguments: tuple[Said, ...], *, distinct: bool = False, star: bool = False) -> Total:
    """An aggregate of many rows, all but PERCENTILE_CONT.

    >>> aggregate("median", (Name("age"),))
    Total(aggregate=<Aggregate.QUANTILE: 'quantile'>, arguments=(Name(...),), where=None, level=Fraction(1, 2))
    """
    word = name.lower()
    if word == "count":
        return _count(arguments, distinct=distinct, star=star)
    if star:
        raise BadQuestion(f"{name.upper()} needs a column, not *")
    if distinct:
        raise Unsupported(f"{name.upper()}(DISTINCT ...)", "only COUNT(DISTINCT x) can; or aggregate all values")
    if word in ("count_if", "countif"):
        _number_of(name, arguments, 1, 1)
        return count(where=arguments[0])
    if word == "percentile_cont":
        raise BadQuestion("write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), or QUANTILE(x, 0.9)")
    if word in QUANTILES:
        _number_of(name, arguments, 2, 2)
        return quantile(arguments[0], arguments[1])
    if word == "median":
        _number_of(name, arguments, 1, 1)
        return Total(Aggregate.QUANTILE, arguments, level=MEDIAN)
    if word in TWO:
        _number_of(name, arguments, 2, 2)
        return Total(TWO[word], arguments)
    _number_of(name, arguments, 1, 1)
    return Total(ONE[word], arguments)


def _count(arguments: tuple[Said, ...], *, distinct: bool, star: bool) -> Total:
    if star:
        if distinct:
            raise Unsupported("COUNT(DISTINCT *)", "count one column: COUNT(DISTINCT x)")
        return count()
    if distinct:
        if len(arguments) != 1:
            raise Unsupported("COUNT(DISTINCT ...) of several columns", "count one column: COUNT(DISTINCT x)")
        return Total(Aggregate.COUNT_DISTINCT, arguments)
    _number_of("COUNT", arguments, 0, 1)
    return count(*arguments)


def quantile(x: Said, level: Said, *, descending: bool = False) -> Total:
    """The value below which a share of the rows lies."""
    share = level.value if isinstance(level, Literal) else None
    if not isinstance(share, Fraction) or not 0 <= share <= 1:
        raise BadQuestion("the level of a quantile must be a constant from 0 to 1, such as 0.9")
    return Total(Aggregate.QUANTILE, (x,), level=1 - share if descending else share)


# --- refused with a hint of their own ---------------------------------------------------------------------------------

_CHANCE = ("a function of chance", "an answer gets its noise from us; leave it out")
_CLOCK = ("the time of asking", "write the date itself, such as DATE '2025-01-31'")
_SAMPLE = ("a population variance or covariance", "use VAR_SAMP, STDDEV_SAMP or COVAR_SAMP")
_COLLECTS = ("an aggregate that shows rows", "ask for COUNT, SUM, AVG, quantiles, MIN or MAX")
_FILES = ("a function that reads files or the system", "name a table of the session")
_PATTERN = ("a regular expression", "use LIKE, STARTS_WITH, ENDS_WITH or CONTAINS")
_RANKS = ("a window function", "aggregate with GROUP BY instead")
_KNOWN: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("random", "rand", "setseed", "uuid", "gen_random_uuid", "newid"), _CHANCE),
    **dict.fromkeys(("now", "today", "current_date", "current_time", "current_timestamp", "get_current_time"), _CLOCK),
    **dict.fromkeys(("var_pop", "stddev_pop", "covar_pop"), _SAMPLE),
    **dict.fromkeys(
        ("any_value", "arg_max", "arg_min", "array_agg", "first", "group_concat", "json_agg", "last", "list",
         "listagg", "string_agg"),
        _COLLECTS,
    ),
    **dict.fromkeys(
        ("glob", "getenv", "query", "query_table", "read_blob", "read_csv", "read_csv_auto", "read_json",
         "read_parquet", "read_text", "sniff_csv", "parquet_scan", "duckdb_tables", "pg_read_file"),
        _FILES,
    ),
    **dict.fromkeys(
        ("regexp_matches", "regexp_like", "regexp_replace", "regexp_extract", "regexp_full_match"), _PATTERN
    ),
    **dict.fromkeys(
        ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
         "last_value", "nth_value"),
        _RANKS,
    ),
    **dict.fromkeys(
        ("mode", "approx_top_k", "topk", "top_k"),
        ("the most frequent values as one value", "use GROUP BY x ORDER BY COUNT(*) DESC LIMIT 5"),
    ),
    "histogram": ("HISTOGRAM", "use GROUP BY WIDTH_BUCKET(x, low, high, 10)"),
    "approx_count_distinct": ("APPROX_COUNT_DISTINCT", "use COUNT(DISTINCT x)"),
    "approx_quantile": ("APPROX_QUANTILE", "use QUANTILE(x, 0.9)"),
    **dict.fromkeys(
        ("strftime", "to_char", "date_format", "monthname", "last_day", "make_date", "yearweek"),
        ("a date as other text", "group by DATE_TRUNC('month', d), YEAR(d), MONTH(d) or WEEK(d)"),
    ),
    "dayname": ("DAYNAME", "use DAY_OF_WEEK(d): Monday is 1"),
    "epoch": ("EPOCH", "use DATE_DIFF('second', TIMESTAMP '2025-01-01 00:00:00', t)"),
    "age": ("AGE", "use DATE_DIFF('day', x, y)"),
    "percentile_disc": ("PERCENTILE_DISC", "use PERCENTILE_CONT"),
    "quantile_disc": ("QUANTILE_DISC", "use QUANTILE"),
    "unnest": ("UNNEST", "use plain columns"),
}  # fmt: skip
