"""Expressions and aggregates as SQL of our own dialect, as ``expressions.py`` reads it.

Promise: a function that has no form is refused by name (its record in ``query/functions`` has it). Parentheses stand
where the reading would change without them, and nowhere else, so that long sums and long conditions stay flat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from discreet.errors import Unsupported
from discreet.query.front.sql.functions import MEDIAN
from discreet.query.front.sql.syntax_tree import is_plain_name
from discreet.query.functions.aggregates import WRITTEN
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.record import ATOM, FACTOR, Written, placed
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure, Outcome, Question, Window

_LONGEST_NUMBER = 60

Spelled = Mapping[str, str]
"""Columns of the plan, and how they are written."""


def identified(name: str) -> str:
    """A name, in quotes where it needs them.

    >>> identified("clinic"), identified("order"), identified("total cost")
    ('clinic', '"order"', '"total cost"')
    """
    return name if is_plain_name(name) else '"' + name.replace('"', '""') + '"'


def expressed(expression: Expression, spelled: Spelled) -> str:
    """An expression as text.

    >>> both = Call("mul", (Call("add", (Column("x"), Literal(Fraction(1)))), Column("y")))
    >>> expressed(both, {"x": "x", "y": "t.y"})
    '(x + 1) * t.y'
    """
    return _written(expression, spelled)[0]


def tight(expression: Expression, spelled: Spelled) -> str:
    """An expression as text that may stand beside any operator."""
    return placed(ATOM, _written(expression, spelled))


def aggregated(measure: Measure, spelled: Spelled) -> str:
    """An aggregate as text, with FILTER (WHERE ...) if it has one."""
    inside = [expressed(a, spelled) for a in measure.arguments]
    match measure.aggregate:
        case Aggregate.COUNT if not inside:
            text = "COUNT(*)"
        case Aggregate.COUNT_DISTINCT | Aggregate.COUNT_UNITS:
            text = f"COUNT(DISTINCT {', '.join(inside)})"
        case Aggregate.QUANTILE if measure.level == MEDIAN:
            text = f"MEDIAN({', '.join(inside)})"
        case Aggregate.QUANTILE:
            level = _constant(Literal(measure.level))
            text = f"QUANTILE({', '.join([*inside, level])})"
        case _:
            text = f"{WRITTEN[measure.aggregate]}({', '.join(inside)})"
    if measure.where is None:
        return text
    return f"{text} FILTER (WHERE {expressed(measure.where, spelled)})"


# --- expressions ------------------------------------------------------------------------------------------------------


def _written(expression: Expression, spelled: Spelled) -> Written:
    """The text, and how tightly it holds together."""
    match expression:
        case Column(name=name):
            return spelled[name], ATOM
        case Literal():
            text = _constant(expression)
            return text, FACTOR if text.startswith("-") else ATOM
        case Call(function=function, arguments=arguments):
            inside = [_written(a, spelled) for a in arguments]
            if function in FUNCTIONS:
                return FUNCTIONS[function].written(arguments, inside)
            if function == "grouping":
                return f"GROUPING({', '.join(text for text, _ in inside)})", ATOM
    raise Unsupported(f"the function {function} as SQL text", "ask it in SQL, in one text")


# --- constants --------------------------------------------------------------------------------------------------------


def _constant(literal: Literal) -> str:
    match literal.value:
        case None:
            return "NULL"
        case bool() as truth:
            return "TRUE" if truth else "FALSE"
        case str() as text:
            return "'" + text.replace("'", "''") + "'"
        case datetime() as moment if moment.tzinfo is None:
            return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
        case datetime():
            raise Unsupported("a time with a zone as SQL text", "write it as UTC, without a zone")
        case date() as day:
            return f"DATE '{day.isoformat()}'"
        case number:
            return _decimal(Fraction(number))


def _decimal(value: Fraction) -> str:
    """A number with all its digits; one that has no end is refused, as it would be another number."""
    shift, rest = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        shift = max(shift, power)
    digits = str(abs(value.numerator) * 10**shift // value.denominator)
    text = digits if not shift else f"{digits[:-shift] or '0'}.{digits[-shift:].rjust(shift, '0')}"
    if len(text) > _LONGEST_NUMBER:
        short = digits.rstrip("0")
        text = f"{short}e{len(digits) - len(short) - shift}"
    if rest != 1 or len(text) > _LONGEST_NUMBER:
        raise Unsupported("a number without a short decimal form as SQL text", "write it as a decimal, such as 0.3333")
    return f"-{text}" if value < 0 else text


# --- released values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Released:
    """How keys and aggregates are written where released values are meant."""

    plain: Mapping[str, str]
    tight: Mapping[str, str]

    @staticmethod
    def of(plan: Question, spelled: Mapping[str, str], inside: Mapping[str, str]) -> Released:
        """``spelled`` are the columns of keys, ``inside`` those in an aggregate."""
        totals = {m.name: aggregated(m, inside) for m in plan.measures}
        below = Released(
            {key.name: expressed(key.expression, spelled) for key in plan.keys} | totals,
            {key.name: tight(key.expression, spelled) for key in plan.keys} | totals,
        )
        return below.with_windows(plan.outcome.windows)

    def with_windows(self, windows: Sequence[Window]) -> Released:
        """With the window functions, too."""
        found = {window.name: self.window(window) for window in windows}
        return Released({**self.plain, **found}, {**self.tight, **found})

    def window(self, window: Window) -> str:
        """A window function with its OVER."""
        inside = ", ".join(self.write(a) for a in window.arguments)
        star = "*" if window.function == "count" and not window.arguments else inside
        parts = [f"PARTITION BY {', '.join(self.write(p) for p in window.partition)}"] if window.partition else []
        if window.order:
            by = [self.write(o.expression) + (" DESC" if o.descending else "") for o in window.order]
            parts.append(f"ORDER BY {', '.join(by)}")
        if window.rows is not None:
            first, last = (_edge(end, side) for end, side in zip(window.rows, ("PRECEDING", "FOLLOWING"), strict=True))
            parts.append(f"ROWS BETWEEN {first} AND {last}")
        return f"{window.function.upper()}({star}) OVER ({' '.join(parts)})"

    def write(self, expression: Expression) -> str:
        """An expression over keys and aggregates."""
        return self.plain[expression.name] if isinstance(expression, Column) else expressed(expression, self.tight)


def _edge(end: int | None, side: str) -> str:
    if end is None:
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if end == 0 else f"{abs(end)} {'PRECEDING' if end < 0 else 'FOLLOWING'}"


def named(text: str, name: str) -> str:
    """An output; a column that keeps its name need not say so."""
    return text if text == identified(name) else f"{text} AS {identified(name)}"


def group_by(keys: Sequence[str], sets: Sequence[Sequence[int]] | None) -> str:
    """GROUP BY, perhaps with grouping sets."""
    if sets is None:
        return f" GROUP BY {', '.join(keys)}" if keys else ""
    listed = ", ".join(f"({', '.join(keys[i] for i in one)})" for one in sets)
    return f" GROUP BY GROUPING SETS ({listed})"


def tail(outcome: Outcome, after: Released) -> str:
    """What follows GROUP BY."""
    text = ""
    if outcome.having is not None:
        text += f" HAVING {after.write(outcome.having)}"
    if outcome.qualify is not None:
        text += f" QUALIFY {after.write(outcome.qualify)}"
    if outcome.order:
        folded = [name.casefold() for name, _ in outcome.columns]
        alone = [(name, e) for name, e in reversed(outcome.columns) if folded.count(name.casefold()) == 1]
        names = {e: identified(name) for name, e in alone}
        by = [(names.get(o.expression) or after.write(o.expression), o.descending) for o in outcome.order]
        text += " ORDER BY " + ", ".join(f"{what} DESC" if down else what for what, down in by)
    if outcome.limit is not None:
        text += f" LIMIT {outcome.limit}"
    return text + (f" OFFSET {outcome.offset}" if outcome.offset else "")
