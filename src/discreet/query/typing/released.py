"""What is computed from released values, checked before anybody pays: SELECT, HAVING, ORDER BY and what follows them.

Promise: an expression that passes has values of one sort, and none of them is NULL because of a type. What SQL would
call an error of types is a ``BadQuestion`` here, at no charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.released_values import as_number
from discreet.query.functions.typed_values import refuse
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Outcome, ReleasedJoin, ReleasedUnion, Window, outcomes_below
from discreet.query.plan.types import Boolean, Date, Kind, Text, Timestamp, Value
from discreet.query.resolve.build import joined_names


class Sort(Enum):
    """What a released value is; the word is that of messages."""

    NUMBER = "a number"
    TEXT = "text"
    BOOLEAN = "true or false"
    DATE = "a date"
    TIME = "a time"
    NULL = "NULL"


_MOMENTS = (Sort.DATE, Sort.TIME)


def sort_of_kind(kind: Kind) -> Sort:
    """The sort of a key of this kind."""
    match kind:
        case Text():
            return Sort.TEXT
        case Boolean():
            return Sort.BOOLEAN
        case Date():
            return Sort.DATE
        case Timestamp():
            return Sort.TIME
        case _:
            return Sort.NUMBER


def check_outcome(outcome: Outcome, *released: Mapping[str, Sort]) -> dict[str, Sort]:
    """The sorts of the columns that are asked for; refuses what has no value because of a type.

    ``released`` are the sorts of what each question releases.
    """
    below = [check_outcome(below_it, *released) for below_it in outcomes_below(outcome)]
    match outcome.below:
        case None:
            sorts = dict(released[outcome.question])
        case ReleasedUnion():
            sorts = {name: _same_in_all(name, i, below) for i, name in enumerate(below[0])}
        case ReleasedJoin(on=pairs):
            names = joined_names(tuple(below[0]), tuple(below[1]))
            sorts = {**below[0], **dict(zip(names, below[1].values(), strict=True))}
            for a, b in pairs:
                _compared("=", [_Part(below[0][a]), _Part(below[1][b])])
        case Outcome():
            sorts = below[0]
    if outcome.regroup is not None:
        keys = {name: sort_of(key, sorts) for name, key in outcome.regroup.keys}
        sorts = {**keys, **{below_it.name: _sort_of_window(below_it, sorts) for below_it in outcome.regroup.measures}}
    sorts = {**sorts, **{window.name: _sort_of_window(window, sorts) for window in outcome.windows}}
    sorts_shown = {name: sort_of(column, sorts) for name, column in outcome.columns}
    if outcome.qualify is not None and sort_of(outcome.qualify, sorts) is not Sort.BOOLEAN:
        refuse(f"QUALIFY needs a condition, and this is {sort_of(outcome.qualify, sorts).value}")
    if outcome.having is not None and sort_of(outcome.having, sorts) not in (Sort.BOOLEAN, Sort.NULL):
        refuse(f"HAVING needs a condition, and this is {sort_of(outcome.having, sorts).value}")
    for order in outcome.order:
        sort_of(order.expression, sorts)
    return sorts_shown


def _same_in_all(name: str, i: int, parts: Sequence[Mapping[str, Sort]]) -> Sort:
    """The sort of one column of a UNION ALL."""
    if len({len(part) for part in parts}) > 1:
        refuse("the parts of UNION ALL need as many columns each")
    sorts = {list(part.values())[i] for part in parts} - {Sort.NULL}
    if len(sorts) > 1:
        kinds = " in one part and ".join(sorted(sort.value for sort in sorts))
        refuse(f"the column {quoted(name)} of UNION ALL is {kinds} in another")
    return next(iter(sorts), Sort.NULL)


def sort_of(expression: Expression, sorts: Mapping[str, Sort]) -> Sort:
    """What an expression over released columns gives.

    >>> sort_of(Call("div", (Column("n"), Literal(2))), {"n": Sort.NUMBER})
    <Sort.NUMBER: 'a number'>
    """
    return _visit(expression, sorts).sort


def _sort_of_window(window: Window, sorts: Mapping[str, Sort]) -> Sort:
    """What a window function gives; refuses arguments that it has no value for."""
    parts = [_visit(a, sorts) for a in window.arguments]
    for part in (*window.partition, *(order.expression for order in window.order)):
        sort_of(part, sorts)
    name, word = window.function, window.function.upper()
    fewest, most = _WINDOWS[name]
    if not fewest <= len(parts) <= most:
        refuse(f"{word} OVER (...) takes {fewest} to {most} arguments, not {len(parts)}")
    counted = 0 if name == "ntile" else 1
    if name in ("ntile", "lag", "lead", "nth_value") and len(parts) > counted:
        steps = parts[counted].value
        least = 0 if name in ("lag", "lead") else 1
        if not isinstance(steps, int | Fraction) or steps != int(steps) or not least <= steps < 10**6:
            refuse(f"{word} needs a whole constant from {least} on here")
    if name in ("sum", "avg", "variance", "stddev", "quantile"):
        _expect(word, parts[0], Sort.NUMBER)
    if name in ("min", "max"):
        _expect(word, parts[0], Sort.NUMBER, Sort.TEXT, *_MOMENTS)
    if name in ("lag", "lead") and len(parts) == 3:
        return _unified(word, [parts[0], parts[2]])
    return parts[0].sort if name in ("min", "max", "lag", "lead", "first_value", "last_value", "nth_value") else _N


_WINDOWS = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"), (0, 0)),
    **dict.fromkeys(("ntile", "sum", "avg", "min", "max", "first_value", "last_value"), (1, 1)),
    "count": (0, 1), "lag": (1, 3), "lead": (1, 3), "nth_value": (2, 2),
    "count_distinct": (1, 1), "variance": (1, 1), "stddev": (1, 1), "quantile": (2, 2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    sort: Sort
    value: Any = None
    """The value of a constant."""

    def reads_as(self, sort: Sort) -> bool:
        """Whether a constant text stands for a value of that sort, as it does beside one."""
        if self.sort is not Sort.TEXT or not isinstance(self.value, str):
            return False
        if sort is Sort.NUMBER:
            return as_number(self.value) is not None
        moment = text_to_moment(self.value)
        return moment is not None and (sort is Sort.TIME or (sort is Sort.DATE and not isinstance(moment, datetime)))


_Rule: TypeAlias = Callable[[str, Sequence[_Part]], Sort]


def _visit(expression: Expression, sorts: Mapping[str, Sort]) -> _Part:
    match expression:
        case Column(name=name):
            return _Part(sorts[name])
        case Literal(value=value):
            return _Part(_sort_of_value(value), value)
        case Call(function="grouping"):
            return _Part(Sort.NUMBER)
        case Call(function=name, arguments=arguments):
            parts = [_visit(a, sorts) for a in arguments]
            return _Part(_RULES[name](_word(name), parts))


def _sort_of_value(value: Value) -> Sort:
    if value is None:
        return Sort.NULL
    for kinds, sort in (
        (bool, Sort.BOOLEAN), (int | Fraction, Sort.NUMBER), (str, Sort.TEXT), (datetime, Sort.TIME), (date, Sort.DATE)
    ):  # fmt: skip
        if isinstance(value, kinds):
            return sort
    raise BadQuestion(f"a {type(value).__name__} cannot be used as a constant")


def _word(name: str) -> str:
    return FUNCTIONS[name].sign[0] or name.removeprefix("cast_").upper()


# --- rules ------------------------------------------------------------------------------------------------------------


def _expect(what: str, part: _Part, *wanted: Sort) -> None:
    if part.sort is Sort.NULL:
        refuse(f"{what} of NULL is always NULL; leave it out, or write IS NULL")
    if part.sort not in wanted:
        refuse(f"{what} needs {wanted[0].value}, and this is {part.sort.value}")


def _of(result: Sort, *wanted: tuple[Sort, ...] | Sort) -> _Rule:
    """Arguments of these sorts, the last one for all that follow."""

    def rule(what: str, parts: Sequence[_Part]) -> Sort:
        for i, part in enumerate(parts):
            sorts_allowed = wanted[min(i, len(wanted) - 1)]
            _expect(what, part, *(sorts_allowed if isinstance(sorts_allowed, tuple) else (sorts_allowed,)))
        return result

    return rule


def _unified(what: str, parts: Sequence[_Part]) -> Sort:
    """The one sort of all parts; NULL is of any, and a text constant may stand for what is beside it."""
    valued = [p for p in parts if p.sort is not Sort.NULL]
    unified = next((p.sort for p in valued if p.value is None), valued[0].sort if valued else Sort.NULL)
    if any(p.sort is Sort.TIME for p in valued):
        unified = Sort.TIME
    for part in valued:
        midnight = unified is Sort.TIME and part.sort is Sort.DATE
        if part.sort is not unified and not part.reads_as(unified) and not midnight:
            of_time = Sort.TEXT in (unified, part.sort) and {unified, part.sort} & {*_MOMENTS}
            hint = "; a date is written as '2025-01-31'" if of_time else ""
            refuse(f"{what} cannot mix {unified.value} and {part.sort.value}{hint}")
    return unified


def _compared(what: str, parts: Sequence[_Part]) -> Sort:
    if any(p.sort is Sort.NULL for p in parts):
        refuse("a comparison with NULL is never true; write IS NULL or IS NOT NULL")
    unified = _unified(what, parts)
    if unified is Sort.BOOLEAN and what not in ("=", "<>", "IN"):
        refuse("true and false have no order; compare them with = or <>")
    return Sort.BOOLEAN


def _chosen(what: str, parts: Sequence[_Part]) -> Sort:
    """CASE."""
    for when in parts[:-1:2]:
        if when.sort is not Sort.NULL:
            _expect("WHEN", when, Sort.BOOLEAN)
    return _unified(what, [*parts[1::2], parts[-1]])


def _outermost(what: str, parts: Sequence[_Part]) -> Sort:
    for part in parts:
        _expect(what, part, Sort.NUMBER, Sort.TEXT, *_MOMENTS)
    return _unified(what, parts)


def _without_other(what: str, parts: Sequence[_Part]) -> Sort:
    """NULLIF."""
    _unified(what, parts)
    return parts[0].sort


def _sum(what: str, parts: Sequence[_Part]) -> Sort:
    sorts = tuple(p.sort for p in parts)
    if not {*_MOMENTS} & {*sorts}:
        return _of(Sort.NUMBER, Sort.NUMBER)(what, parts)
    if what == "-" and len(sorts) == 2 and set(sorts) <= {*_MOMENTS}:
        return Sort.NUMBER
    if sorts == (Sort.DATE, Sort.NUMBER) or (what == "+" and sorts == (Sort.NUMBER, Sort.DATE)):
        return Sort.DATE
    return refuse(f"{what} of a date needs an integer of days beside it")


def _same(what: str, parts: Sequence[_Part]) -> Sort:
    """A moment, of the sort that the last argument has."""
    _expect(what, parts[-1], *_MOMENTS)
    _constant(what, parts[0])
    return parts[-1].sort


def _distance(what: str, parts: Sequence[_Part]) -> Sort:
    _constant(what, parts[0])
    return _of(Sort.NUMBER, Sort.TEXT, _MOMENTS)(what, parts)


def _constant(what: str, part: _Part) -> None:
    if not isinstance(part.value, str):
        refuse(f"{what} needs a constant text here, such as 'month'")


def _formatted(what: str, parts: Sequence[_Part]) -> Sort:
    _expect(what, parts[0], *_MOMENTS)
    _constant(what, parts[1])
    meaning = FUNCTIONS["strftime"].meaning
    sample = datetime(2024, 2, 29, 13, 5, 9) if parts[0].sort is Sort.TIME else date(2024, 2, 29)
    if meaning is None or meaning(sample, parts[1].value) is None:
        refuse(f"{what} has a code here that is not known, or one of the clock for a date")
    return Sort.TEXT


def _with_pattern(name: str, result: Sort) -> _Rule:
    def rule(what: str, parts: Sequence[_Part]) -> Sort:
        _expect(what, parts[0], Sort.TEXT)
        for part in parts[1:]:
            if part.value is None:
                refuse(f"{what} needs constants after the text")
        meaning = FUNCTIONS[name].meaning
        if meaning is None or meaning("", *(part.value for part in parts[1:])) is None:
            refuse("this regular expression cannot be used; the SQL page says which can")
        return result

    return rule


def _same_moment(what: str, parts: Sequence[_Part]) -> Sort:
    _expect(what, parts[0], *_MOMENTS)
    _expect(what, parts[1], Sort.NUMBER)
    return parts[0].sort


_N, _T, _B = Sort.NUMBER, Sort.TEXT, Sort.BOOLEAN
_ANY = (_N, _T, _B, *_MOMENTS)
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("mul", "div", "quotient", "mod", "neg", "power", "abs", "sign", "round", "floor", "ceil",
                     "trunc", "clamp", "width_bucket", "sqrt", "ln", "exp", "log10", "log2"), _of(_N, _N)),
    **dict.fromkeys(("add", "sub"), _sum),
    **dict.fromkeys(("least", "greatest"), _outermost),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "in"), _compared),
    **dict.fromkeys(("and", "or", "not"), _of(_B, (_B, Sort.NULL))),
    "is_null": _of(_B, (*_ANY, Sort.NULL)),
    "case": _chosen, "coalesce": _unified, "nullif": _without_other,
    **dict.fromkeys(("like", "ilike", "starts_with", "ends_with", "contains"), _of(_B, _T)),
    "regexp_matches": _with_pattern("regexp_matches", _B),
    **{name: _with_pattern(name, _T) for name in ("regexp_extract", "regexp_replace")},
    **dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim"), _of(_T, _T)),
    "length": _of(_N, _T), "substring": _of(_T, _T, _N), "left": _of(_T, _T, _N), "right": _of(_T, _T, _N),
    "replace": _of(_T, _T), **dict.fromkeys(("lpad", "rpad"), _of(_T, _T, _N, _T)),
    "split_part": _of(_T, _T, _T, _N), "concat": _of(_T, _ANY),
    **dict.fromkeys(("year", "quarter", "month", "week", "day", "day_of_week", "day_of_year"),
                    _of(_N, _MOMENTS)),
    "epoch": _of(_N, (_N, *_MOMENTS)), "interval": _of(_N, _T, _N),
    **dict.fromkeys(("hour", "minute", "second"), _of(_N, Sort.TIME)),
    "time_bucket": _of(Sort.TIME, _T, _N, Sort.TIME),
    "date_trunc": _same, "date_diff": _distance, "strftime": _formatted,
    **dict.fromkeys(("add_days", "add_months", "add_seconds"), _same_moment),
    "cast_integer": _of(_N, (_N, _T, _B)), "cast_decimal": _of(_N, (_N, _B)), "cast_real": _of(_N, (_N, _B)),
    "cast_text": _of(_T, _ANY), "cast_date": _of(Sort.DATE, (*_MOMENTS, _T)),
    "cast_timestamp": _of(Sort.TIME, _MOMENTS), "cast_boolean": _of(_B, (_N, _B)),
}  # fmt: skip
