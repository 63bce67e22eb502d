"""Intervals of computed columns: where an expression lies when each released number in it lies within its interval.

Promise: for all numbers within the given intervals for which the expression has a value, the value lies in the interval
that is returned; also where some of the columns in ``nullable`` are NULL instead, as far as COALESCE is concerned. A
division by what may be 0 returns everything, from -inf to inf. None where no rule is known. Ends are widened by a
relative 1e-12 at each step, which is far more than floats round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from discreet.exact import float_down, float_up
from discreet.query.answer.postprocess import program
from discreet.query.functions.released_values import LARGEST_FLOAT, LEAST_FLOAT, SMALL_FLOAT, value_or_null
from discreet.query.plan.expressions import Call, Column, Expression, Literal

Interval: TypeAlias = tuple[float, float]

EVERYTHING: Interval = (-math.inf, math.inf)
_WIDER = 1e-12


def enclose(
    expression: Expression,
    within: Mapping[str, Interval],
    row: Mapping[str, Any],
    nullable: Collection[str] = (),
) -> Interval | None:
    """The interval of an expression; columns that are not in ``within`` have the value that they have in ``row``.

    >>> share = Call("div", (Column("a"), Call("sub", (Column("b"), Column("c")))))
    >>> enclose(share, {"a": (8, 12), "b": (5, 6), "c": (1, 2)}, {}) == (1.6, 4.0)
    False
    >>> [round(end, 6) for end in enclose(share, {"a": (8, 12), "b": (5, 6), "c": (1, 2)}, {})]
    [1.6, 4.0]
    >>> enclose(share, {"a": (8, 12), "b": (5, 6), "c": (1, 5.5)}, {})
    (-inf, inf)
    >>> or_none = Call("coalesce", (Column("a"), Literal(Fraction(0))))
    >>> enclose(or_none, {"a": (8, 12)}, {}), enclose(or_none, {"a": (8, 12)}, {}, {"a"})[0]
    ((8, 12), -0.0)
    """
    match expression:
        case Column(name=name) if name in within:
            low, high = within[name]
            return None if math.isnan(low) or math.isnan(high) else (low, high)
        case Call(function="coalesce", arguments=arguments):
            return _coalesce(arguments, within, row, nullable)
        case Call(function=function, arguments=arguments) if function in _RULES and not _is_constant(arguments, within):
            parts = [enclose(a, within, row, nullable) for a in arguments]
            bounded = [part for part in parts if part is not None]
            return _wider(_RULES[function](*bounded)) if len(bounded) == len(parts) else None
        case Call(arguments=arguments) if not _is_constant(arguments, within):
            return None
        case Column() | Literal() | Call():
            return _point(program(expression)(row))


def _is_constant(arguments: tuple[Expression, ...], within: Mapping[str, Interval]) -> bool:
    return not any(
        (isinstance(a, Column) and a.name in within) or (isinstance(a, Call) and not _is_constant(a.arguments, within))
        for a in arguments
    )


def _coalesce(
    arguments: tuple[Expression, ...],
    within: Mapping[str, Interval],
    row: Mapping[str, Any],
    nullable: Collection[str],
) -> Interval | None:
    """From the least to the largest of the parts up to the first that is never NULL; those that are always are not."""
    parts = []
    for argument in arguments:
        part, absent = enclose(argument, within, row, nullable), may_be_null(argument, within, row, nullable)
        if part is None and not (absent and _is_constant((argument,), within)):
            return None
        parts += [] if part is None else [part]
        if not absent:
            break
    return (min(low for low, _ in parts), max(high for _, high in parts)) if parts else None


def may_be_null(
    expression: Expression,
    within: Mapping[str, Interval],
    row: Mapping[str, Any],
    nullable: Collection[str] = (),
) -> bool:
    """Whether an expression may be NULL for some numbers within the intervals; True where no rule is known."""
    match expression:
        case Column(name=name) if name in within:
            return name in nullable
        case Column() | Literal():
            return value_or_null(program(expression)(row)) is None
        case Call(arguments=arguments) if _is_constant(arguments, within):
            return value_or_null(program(expression)(row)) is None
        case Call(function="coalesce", arguments=arguments):
            return all(may_be_null(a, within, row, nullable) for a in arguments)
        case Call(function="nullif", arguments=(x, y)):
            a, b = enclose(x, within, row, nullable), enclose(y, within, row, nullable)
            apart = a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])
            return not apart or may_be_null(x, within, row, nullable)
        case Call(function="div" | "mod" | "quotient", arguments=(x, y)):
            divisor = enclose(y, within, row, nullable)
            if divisor is None or divisor[0] <= 0 <= divisor[1]:
                return True
            return may_be_null(x, within, row, nullable) or may_be_null(y, within, row, nullable)
        case Call(function=function, arguments=arguments) if function in _RULES and function not in _PARTIAL:
            return any(may_be_null(a, within, row, nullable) for a in arguments)
        case _:
            return True


def _point(value: Any) -> Interval | None:
    value = value_or_null(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    exact = Fraction(value)
    low, high = float_down(exact), float_up(exact)
    return -math.inf if low == -LARGEST_FLOAT else low, math.inf if high == LARGEST_FLOAT else high


def _wider(interval: Interval | None) -> Interval | None:
    """By more than floats round; an end beyond the largest float on the inner side is that float."""
    if interval is None:
        return None
    low, high = min(interval[0], LARGEST_FLOAT), max(interval[1], -LARGEST_FLOAT)
    return low - _WIDER * abs(low) if math.isfinite(low) else low, high + _WIDER * abs(high) if math.isfinite(
        high
    ) else high


# --- rules ------------------------------------------------------------------------------------------------------------


def _product(x: float, y: float) -> float:
    """0 · inf is 0: the factor that is 0 is so exactly."""
    return 0.0 if x == 0 or y == 0 else x * y


def _hull(corners: Sequence[tuple[float, bool]]) -> Interval:
    """From the least to the largest; one that is 0 only because floats are too coarse stands for both sides of it.

    With each corner comes whether it is 0 exactly, if it is.
    """
    low, high = min(corner for corner, _ in corners), max(corner for corner, _ in corners)
    if any(abs(corner) <= SMALL_FLOAT and not exact for corner, exact in corners):
        return min(low, -SMALL_FLOAT), max(high, SMALL_FLOAT)
    return low, high


def _mul(x: Interval, y: Interval) -> Interval:
    return _hull([(_product(a, b), a == 0 or b == 0) for a in x for b in y])


def _div(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:
        return EVERYTHING
    corners = [(math.copysign(0.0, a) if math.isinf(b) else _over(a, b), a == 0 or math.isinf(b)) for a in x for b in y]
    return EVERYTHING if any(math.isnan(corner) for corner, _ in corners) else _hull(corners)


def _over(a: float, b: float) -> float:
    try:
        return a / b
    except OverflowError:  # pragma: no cover - floats give inf; other numbers are not here
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _each(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """A function that rises."""
    return lambda x: (_at(function, x[0]), _at(function, x[1]))


def _at(function: Callable[[float], float], x: float) -> float:
    return x if math.isinf(x) else float(function(x))


def _abs(x: Interval) -> Interval:
    ends = abs(x[0]), abs(x[1])
    return 0.0 if x[0] <= 0 <= x[1] else min(ends), max(ends)


def _power(x: Interval, n: Interval) -> Interval | None:
    times = int(n[0]) if n[0] == n[1] and n[0] in range(1, 9) else 0
    if not times:
        return _root(x, n[0]) if n[0] == n[1] and 0 < n[0] < 1 else None
    inner = x if times % 2 else _abs(x)
    return _hull([(_raised(end, times), end == 0) for end in inner])


def _root(x: Interval, n: float) -> Interval | None:
    """A power between 0 and 1 rises; below 0 it has no value, so what lies there is left out."""
    return None if x[1] < 0 else (max(x[0], 0.0) ** n, math.inf if math.isinf(x[1]) else x[1] ** n)


def _logarithm(function: Callable[[float], float], x: Interval) -> Interval | None:
    """It rises; from 0 down it has no value, so what lies there is left out."""
    if x[1] <= 0:
        return None
    return function(x[0]) if x[0] > 0 else -math.inf, _at(function, x[1])


def _exponential(x: Interval) -> Interval:
    low, high = (math.exp(end) if end < _LOG_OF_LARGEST else math.inf for end in x)
    return low, max(high, LEAST_FLOAT)


_LOG_OF_LARGEST = math.log(LARGEST_FLOAT)


def _raised(x: float, times: int) -> float:
    try:
        return x**times
    except OverflowError:
        return math.copysign(math.inf, x if times % 2 else 1.0)


def _round(x: Interval, digits: Interval = (0.0, 0.0)) -> Interval | None:
    """Within half a step of what it rounds."""
    if digits[0] != digits[1] or digits[0] < -300:
        return None
    if digits[0] > 300:
        return x
    half = 0.5 * 10.0 ** -digits[0]
    return x[0] - half, x[1] + half


def _clamp(x: Interval, low: Interval, high: Interval) -> Interval:
    return max(low[0], min(x[0], high[0])), max(low[1], min(x[1], high[1]))


def _mod(x: Interval, y: Interval) -> Interval:
    """It has the sign of x, and is below y in size."""
    most = max(abs(y[0]), abs(y[1]))
    return max(min(x[0], 0.0), -most), min(max(x[1], 0.0), most)


def _quotient(x: Interval, y: Interval) -> Interval:
    low, high = _wider(_div(x, y)) or EVERYTHING
    return _at(math.trunc, low), _at(math.trunc, high)


_RULES: dict[str, Callable[..., Interval | None]] = {
    "abs": _abs,
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "cast_decimal": lambda x, digits=None, _=None: x if digits is None else _round(x, digits),
    "cast_integer": _round,
    "cast_real": lambda x: x,
    "ceil": _each(math.ceil),
    "clamp": _clamp,
    "div": _div,
    "exp": _exponential,
    "floor": _each(math.floor),
    "greatest": lambda *parts: (max(p[0] for p in parts), max(p[1] for p in parts)),
    "least": lambda *parts: (min(p[0] for p in parts), min(p[1] for p in parts)),
    "ln": partial(_logarithm, math.log),
    "log10": partial(_logarithm, math.log10),
    "log2": partial(_logarithm, math.log2),
    "mod": _mod,
    "mul": _mul,
    "neg": lambda x: (-x[1], -x[0]),
    "nullif": lambda x, _: x,
    "power": _power,
    "quotient": _quotient,
    "round": _round,
    "sign": _each(lambda x: (x > 0) - (x < 0)),
    "sqrt": lambda x: _root(x, 0.5),
    "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "trunc": _each(math.trunc),
}
_PARTIAL = frozenset({"div", "exp", "ln", "log10", "log2", "mod", "nullif", "power", "quotient", "sqrt"})
"""Those that may be NULL of numbers."""
