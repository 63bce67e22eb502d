"""The functions of SQL, by name, as the records of ``query/functions`` say. What is not there is refused by name."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.aggregates import DERIVED, NAMES, PLAIN, POPULATION
from discreet.query.functions.catalogue import BY_SQL_NAME, PARTS, READINGS
from discreet.query.functions.record import check_count
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.resolve.build import show
from discreet.query.resolve.unresolved import Apply, Name, Said, Total, apply, count, has_total, limited


def function(name: str, arguments: tuple[Said, ...]) -> Said:
    """A function of one row.

    >>> function("LEN", (Name("city"),))
    Apply(function='length', arguments=(Name(column='city', table=None),))
    """
    word = name.lower()
    if word in BY_SQL_NAME:
        found = BY_SQL_NAME[word]
        check_count(name.upper(), len(arguments), found.arguments)
        return apply(found.name, *(_unit_first(name, arguments) if found.unit_first else arguments))
    if word in READINGS:
        reading = READINGS[word]
        check_count(name.upper(), len(arguments), reading.arguments)
        made: Said = reading.build(apply, *(_unit_first(name, arguments) if reading.unit_first else arguments))
        return limited(made)
    if word in ("date_part", "datepart"):
        check_count(name.upper(), len(arguments), (2, 2))
        unit, x = _unit_first(name, arguments)
        return part(str(unit.value) if isinstance(unit, Literal) else "", x)
    if word in ("grouping", "grouping_id"):  # not of a row but of its group; at most so many bits as fit a number
        check_count(name.upper(), len(arguments), (1, 31))
        return apply("grouping", *arguments)
    raise unknown(name)


def unknown(name: str) -> Unsupported:
    """What to raise for a function that nobody has."""
    word = name.lower()
    what, hint = _KNOWN.get(word, ("", ""))
    near = get_close_matches(word, {*BY_SQL_NAME, *READINGS, "date_part", "grouping", *NAMES}, n=1)
    hint = hint or (f"did you mean {near[0].upper()}?" if near else "the SQL page lists the functions that can")
    return Unsupported(what or f"the function {show(name.upper())}", hint)


def part(name: str, x: Said) -> Said:
    """EXTRACT(name FROM x)."""
    word = name.lower()
    if word in ("dow", "dayofweek", "weekday"):
        return function("dayofweek", (x,))
    if word not in PARTS:
        raise Unsupported(
            f"the part {show(name.upper())} of a date", f"use one of {', '.join(sorted(PARTS))}, dow, epoch"
        )
    return apply(PARTS[word], x)


def _unit_first(name: str, arguments: tuple[Said, ...]) -> tuple[Said, ...]:
    """The arguments, of which the first is a unit of time: a text or a bare word."""
    match arguments[0]:
        case Literal(value=str(unit)) | Name(column=unit, table=None):
            return Literal(unit.lower()), *arguments[1:]
    raise BadQuestion(f"{name.upper()} needs a unit first, such as 'month'")


# --- aggregates -------------------------------------------------------------------------------------------------------

MEDIAN = Fraction(1, 2)


def aggregate(name: str, arguments: tuple[Said, ...], *, distinct: bool = False, star: bool = False) -> Said:
    """An aggregate of many rows.

    >>> aggregate("median", (Name("age"),))
    Total(aggregate=<Aggregate.QUANTILE: 'quantile'>, arguments=(Name(...),), where=None, level=Fraction(1, 2))
    """
    word = name.lower()
    if word in ("count", "count_big"):
        return _count(arguments, distinct=distinct, star=star)
    if star:
        raise BadQuestion(f"{name.upper()} needs a column, not *")
    if distinct:
        raise Unsupported(
            f"{name.upper()}(DISTINCT ...)",
            f"over listed keys, aggregate what SELECT DISTINCT gives: {name.upper()}(x) of a subquery",
        )
    if word in ("count_if", "countif"):
        check_count(name.upper(), len(arguments), (1, 1))
        return count(where=arguments[0])
    if word in DERIVED:
        return limited(_derived(word, arguments))
    if word in ("approx_count_distinct", "approx_distinct", "hll"):
        return _count(arguments, distinct=True, star=False)
    if word in POPULATION:
        return _of_population(name, arguments)
    if word == "percentile_cont" and len(arguments) != 2:
        raise BadQuestion("write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), or QUANTILE(x, 0.9)")
    if word in ("quantile", "quantile_cont", "approx_quantile", "approx_percentile", "percentile_approx", "percentile",
                "percentile_cont"):  # fmt: skip
        check_count(name.upper(), len(arguments), (2, 2))
        return quantile(arguments[0], arguments[1])
    if word in ("median", "approx_median"):
        check_count(name.upper(), len(arguments), (1, 1))
        return Total(Aggregate.QUANTILE, arguments, level=MEDIAN)
    found = PLAIN[word]
    check_count(name.upper(), len(arguments), (found.many, found.many))
    if word == "sum" and (value := _only_number(arguments[0])) is not None:
        many = count() if value == arguments[0] else count(arguments[0])
        return many if value == Literal(Fraction(1)) else apply("mul", many, value)
    return Total(found.aggregate, arguments)


def _only_number(part: Said) -> Said | None:
    """The one number that an expression can be, besides NULL, as in CASE WHEN x THEN 1 END."""
    values = {part}
    if isinstance(part, Apply) and part.function == "case":
        values = {*part.arguments[1::2], part.arguments[-1]} - {Literal(None)}
    (value,) = values if len(values) == 1 else (None,)
    return value if isinstance(value, Literal) and type(value.value) is Fraction else None


def _derived(word: str, arguments: tuple[Said, ...]) -> Said:
    """Computed from other aggregates once they are released, so that the rest costs nothing."""
    regression = word.startswith("regr_")
    check_count(word.upper(), len(arguments), (2, 2) if regression else (1, 1))
    if not regression:
        x, one, zero = arguments[0], Literal(Fraction(1)), Literal(Fraction(0))
        kind = Aggregate.MAX if "or" in word else Aggregate.MIN
        return apply("eq", Total(kind, (apply("case", x, one, apply("not", x), zero, Literal(None)),)), one)
    y, x = arguments
    both = apply("and", *(apply("not", apply("is_null", one)) for one in (x, y)))
    slope = apply("div", Total(Aggregate.COVARIANCE, (y, x)), Total(Aggregate.VARIANCE, (x,), both))
    means = {one: Total(Aggregate.AVG, (one,), both) for one in (x, y)}
    match word.removeprefix("regr_"):
        case "slope":
            return slope
        case "intercept":
            return apply("sub", means[y], apply("mul", slope, means[x]))
        case "r2":
            return apply("power", Total(Aggregate.CORRELATION, (y, x)), Literal(Fraction(2)))
        case "count":
            return count(where=both)
        case part:
            return means[x if part == "avgx" else y]


def filtered(said: Said, where: Said) -> Said | None:
    """An aggregate, or what is computed from some, over the rows of FILTER; None if there is none."""
    match said:
        case Total(where=None):
            return replace(said, where=where)
        case Total():
            return replace(said, where=apply("and", said.where, where)) if said.where is not None else None
        case Apply(function=function, arguments=arguments) if has_total(said):
            parts = [filtered(one, where) if has_total(one) else one for one in arguments]
            return None if None in parts else Apply(function, tuple(one for one in parts if one is not None))
    return None


def _of_population(name: str, arguments: tuple[Said, ...]) -> Said:
    """(n - 1)/n times the sample's, or its root: all of it released, so the rest costs nothing."""
    kind, one = POPULATION[name.lower()], Literal(Fraction(1))
    check_count(name.upper(), len(arguments), (2, 2) if kind is Aggregate.COVARIANCE else (1, 1))
    n = count(arguments[0])
    share = apply("div", apply("sub", n, one), n)
    share = apply("power", share, Literal(Fraction(1, 2))) if kind is Aggregate.STDDEV else share
    return apply("mul", Total(kind, arguments), share)


def _together(parts: tuple[Said, ...]) -> Said:
    """Several values as one text, which differs where one of them does: each after its length, NULL without one."""
    texts = [apply("cast_text", one) for one in parts]
    marked = [apply("concat", apply("cast_text", apply("length", one)), Literal(":"), one) for one in texts]
    return limited(apply("concat", *(apply("coalesce", one, Literal("-")) for one in marked)))


def rows_counted(parts: tuple[Said, ...]) -> Total:
    """COUNT(DISTINCT (a, b)): a row counts whatever is NULL in it."""
    return Total(Aggregate.COUNT_DISTINCT, (_together(parts),))


def _count(arguments: tuple[Said, ...], *, distinct: bool, star: bool) -> Total:
    if star:
        if distinct:
            raise Unsupported("COUNT(DISTINCT *)", "count one column: COUNT(DISTINCT x)")
        return count()
    if distinct:
        if len(arguments) > 1:  # rows of which a part is NULL do not count
            known = apply("and", *(apply("not", apply("is_null", one)) for one in arguments))
            return Total(Aggregate.COUNT_DISTINCT, (_together(arguments),), known)
        return Total(Aggregate.COUNT_DISTINCT, arguments)
    check_count("COUNT", len(arguments), (0, 1))
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
_COLLECTS = ("an aggregate that shows rows", "ask for COUNT, SUM, AVG, quantiles, MIN or MAX")
_FILES = ("a function that reads files or the system", "name a table of the session")
_JSON = ("this function of JSON", "write JSON_VALUE(x, '$.key'), or x ->> 'key', for a key of a flat object")
UNNEST = ("UNNEST here", "write it in FROM: FROM visits, UNNEST(tags) AS t(tag)")
_RANKS = ("a window function without OVER", "write OVER (ORDER BY ...) after it")
_KNOWN: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("random", "rand", "setseed", "uuid", "gen_random_uuid", "newid"), _CHANCE),
    **dict.fromkeys(("now", "today", "current_date", "current_time", "current_timestamp", "get_current_time"), _CLOCK),
    **dict.fromkeys(("date_add", "date_sub"), ("this DATE_ADD", "write DATE_ADD(d, INTERVAL 1 MONTH)")),
    **dict.fromkeys(("json_extract", "parse_json", "json_query"), _JSON),
    **dict.fromkeys(
        ("arg_max", "arg_min", "array_agg", "group_concat", "json_agg", "last", "list",
         "listagg", "string_agg"),
        _COLLECTS,
    ),
    **dict.fromkeys(
        ("glob", "getenv", "query", "query_table", "read_blob", "read_csv", "read_csv_auto", "read_json",
         "read_parquet", "read_text", "sniff_csv", "parquet_scan", "duckdb_tables", "pg_read_file"),
        _FILES,
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
    **dict.fromkeys(("any_value", "first"), ("a value of any row", "use MODE for the most frequent, or GROUP BY x")),
    "histogram": ("HISTOGRAM", "use GROUP BY WIDTH_BUCKET(x, low, high, 10)"),
    **dict.fromkeys(
        ("make_date", "yearweek", "date_from_parts"),
        ("a date made of its parts", "use DATE_TRUNC('month', d), or STRFTIME(d, '%Y-%m') for text"),
    ),
    "position": ("this POSITION", "write STRPOS(x, 'text')"),
    "initcap": ("INITCAP", "use UPPER(LEFT(x, 1)) || LOWER(SUBSTRING(x, 2))"),
    "age": ("AGE", "write EXTRACT(YEAR FROM AGE(later, earlier)), or DATE_DIFF('day', earlier, later)"),
    "percentile_disc": ("PERCENTILE_DISC", "use PERCENTILE_CONT"),
    "quantile_disc": ("QUANTILE_DISC", "use QUANTILE"),
    **dict.fromkeys(
        ("strptime", "to_timestamp", "parse_date", "str_to_date"),
        ("text as a date by a form of its own", "CAST(x AS DATE) reads 2024-12-31; SUBSTRING and || can rearrange it"),
    ),
    "unnest": UNNEST,
}  # fmt: skip
REFUSED = frozenset(_KNOWN)
"""Functions with a refusal of their own."""
