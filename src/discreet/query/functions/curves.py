"""SQRT, LN, LOG, EXP and POWER of a row: whole numbers of a public step, from whole numbers, without any float.

Promise: NULL where there is no real number; else a value inside the range that the kind claims, the same on every
engine, whatever is stored. A root is exact: the largest multiple of its step that is not above it. The others follow a
table of pieces that is made from the declared range alone: exact where two pieces meet (for at most ``PIECES`` values,
everywhere), and between them a parabola that is within ``ACCURACY`` of the range of the result. Proof: ``curves.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt

from discreet.query.functions.arithmetic import add, call, coarser, div, made, mul, neg, value_of, within
from discreet.query.functions.typed_values import Typed, bound, is_wide, number, refuse
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.schema import grid_step
from discreet.query.plan.types import LARGEST, Number

PIECES = 160
ACCURACY = Fraction(1, 10**5)
"""How far a value may be from the true one, as a part of the range of the result."""
_PLACES = 17
"""Bits of x that count within one piece."""
_SINGLE = 32
"""So many cells at the lower end, where logarithms and roots bend most, are pieces of their own."""
_MOST_EXPONENT = 170
"""e to more than this, or less than minus this, has a step that is too long."""
_MOST_LOGARITHM = 500
"""A power with a natural logarithm beyond this is not tried: what has a step is far smaller."""
_DIGITS = Context(prec=28)
"""Of public numbers alone; the same on every machine."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A function that rises, and how to lay pieces that bend alike: at equal distances of ``place``."""

    name: str
    value: Callable[[Decimal], Decimal]
    place: Callable[[Decimal], Decimal]
    back: Callable[[Decimal], Decimal]
    base: int | None = None
    """Of a logarithm: its whole powers are where pieces meet, so that their logarithms are exact."""


# --- the rules --------------------------------------------------------------------------------------------------------


def square_root(x: Typed) -> Typed:
    """SQRT(x): NULL below 0."""
    kind = _bounded(x, "SQRT")
    if kind.high < 0:
        refuse("SQRT of a number below 0 has no value")
    while True:
        # sqrt(cells * p / q) = sqrt(cells * p * q) / q, and squares that divide p or q are taken out first
        p, outside = _without_squares(kind.step.numerator)
        q, inside = _without_squares(kind.step.denominator)
        if max(kind.high, 1) * p * q < LARGEST:
            break
        if kind.high < 1 << 31:
            refuse("SQRT of a number this fine cannot be computed; ROUND it first")
        x = coarser(x, 1)
        kind = number(x, "SQRT")
    bits = max(61 - (max(kind.high, 1) * p * q).bit_length(), 0) // 2
    times = p * q << 2 * bits
    low, high = (isqrt(max(end, 0) * times) for end in (kind.low, kind.high))
    inner = within(x.lowered, kind.low, kind.high, (0, kind.high))
    cells = call("root", call("mul", inner, times) if times > 1 else inner)
    return _of_domain(x, kind, 0, made(Fraction(outside, inside * q << bits), low, high, cells, x))


def natural_logarithm(x: Typed) -> Typed:
    """LN(x): NULL from 0 down."""
    return _followed(x, "LN", Curve("ln", _DIGITS.ln, _DIGITS.ln, _DIGITS.exp), first=1)


def logarithm(base: int, x: Typed) -> Typed:
    """LOG10(x), LOG2(x): NULL from 0 down."""
    return _followed(x, f"LOG{base}", _logarithm(base), first=1)


def exponential(x: Typed) -> Typed:
    """EXP(x)."""
    return _raised(x, Fraction(1), "EXP")


def power(x: Typed, exponent: Typed) -> Typed:
    """x to a constant power, or a constant above 0 to the power of x; NULL where there is no real number."""
    n, base = value_of(exponent), value_of(x)
    if n is None:
        if base is None or base <= 0:
            refuse("POWER needs a constant base above 0 or a constant exponent; EXP(y * LN(x)) works for x above 0")
        number(exponent, "POWER")
        return _power_of_constant(base, exponent)
    if n.denominator == 1 and abs(n) <= 8:
        return _whole_power(x, int(n))
    if n == Fraction(1, 2):
        return square_root(x)
    kind = _bounded(x, "POWER")
    if n.denominator == 1 and kind.low < 0:
        refuse("POWER with an exponent beyond 8 needs a base of 0 or more", bound(x))
    end = kind.step * max(kind.high if n > 0 else kind.low, 1)
    if abs(_DIGITS.multiply(_decimal(n), _DIGITS.ln(_decimal(end)))) > _MOST_LOGARITHM:
        refuse("POWER of numbers this large or this small cannot be computed; use a smaller exponent", bound(x))
    if n > 0:
        return _followed(x, "POWER", _power(n), first=0)
    return neg(_followed(x, "POWER", _power(n), first=1))


def _whole_power(x: Typed, n: int) -> Typed:
    if n == 0:
        return add(mul(x, _constant(Fraction(0))), _constant(Fraction(1)))
    powered = x
    for _ in range(abs(n) - 1):
        powered = mul(powered, x)
    return powered if n > 0 else div(_constant(Fraction(1)), powered)


def _power_of_constant(base: Fraction, exponent: Typed) -> Typed:
    if base == 1:
        return _whole_power(exponent, 0)
    return _raised(exponent, base, "POWER") if base > 1 else _raised(neg(exponent), 1 / base, "POWER")


def _raised(x: Typed, base: Fraction, what: str) -> Typed:
    """The base (1 stands for e) to the power of x."""
    kind = _bounded(x, what)
    rate = Decimal(1) if base == 1 else _DIGITS.ln(_decimal(base))
    if max(abs(_decimal(end)) for end in kind.ends) * rate > _MOST_EXPONENT:
        refuse(f"{what} of numbers this large cannot be computed", bound(x))
    return _followed(x, what, _exponential(base), first=kind.low)


def _bounded(x: Typed, what: str) -> Number:
    kind = number(x, what)
    if is_wide(x):
        refuse(f"{what} needs a number with bounds", bound(x))
    return kind


def _constant(value: Fraction) -> Typed:
    return Typed(Number(value or Fraction(1), int(bool(value)), int(bool(value))), False,
                 lowered=Literal(int(bool(value))))  # fmt: skip


# --- curves -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _logarithm(base: int) -> Curve:
    scale = _DIGITS.ln(base)
    log = _DIGITS.log10 if base == 10 else lambda x: _DIGITS.divide(_DIGITS.ln(x), scale)
    return Curve(f"log {base}", log, _DIGITS.ln, _DIGITS.exp, base)


@lru_cache(maxsize=64)
def _exponential(base: Fraction) -> Curve:
    rate = Decimal(1) if base == 1 else _DIGITS.ln(_decimal(base))
    third = _DIGITS.divide(rate, Decimal(3))
    return Curve(
        f"exp {base}",
        lambda x: _DIGITS.exp(_DIGITS.multiply(x, rate)),
        lambda x: _DIGITS.exp(_DIGITS.multiply(x, third)),
        lambda u: _DIGITS.divide(_DIGITS.ln(u), third),
    )


@lru_cache(maxsize=64)
def _power(n: Fraction) -> Curve:
    """x^n, or for n below 0 its negative, which rises."""
    exponent = _decimal(n)
    third, sign = _DIGITS.divide(exponent, Decimal(3)), 1 if n > 0 else -1

    def raised(x: Decimal, by: Decimal) -> Decimal:
        return _DIGITS.power(x, by) if x else Decimal(0)

    return Curve(
        f"power {n}",
        lambda x: sign * raised(x, exponent),
        lambda x: raised(x, third),
        lambda u: raised(u, _DIGITS.divide(Decimal(1), third)),
    )


# --- pieces -----------------------------------------------------------------------------------------------------------


def _followed(x: Typed, what: str, curve: Curve, *, first: int) -> Typed:
    """A curve of x, from its first cell on; NULL below."""
    kind = _bounded(x, what)
    low = max(kind.low, first)
    if low > kind.high:
        refuse(f"{what} of a number {'below 0' if first == 0 else 'that is not above 0'} has no value")
    step, table = _pieces(curve, kind.step, low, kind.high)
    inner = within(x.lowered, kind.low, kind.high, (low, kind.high))
    cells = Call("curve", (inner, *map(Literal, table)))
    return _of_domain(x, kind, low, made(step, table[1], table[-5], cells, x))


def _of_domain(x: Typed, kind: Number, first: int, typed: Typed) -> Typed:
    """NULL below the first cell that has a value."""
    if kind.low >= first:
        return typed
    lowered: Expression = Call("case", (call("lt", x.lowered, first), Literal(None), typed.lowered))
    return Typed(typed.kind, nullable=True, lowered=lowered)


@lru_cache(maxsize=64)
def _pieces(curve: Curve, unit: Fraction, low: int, high: int) -> tuple[Fraction, tuple[int, ...]]:
    """The step of the values and, for each piece, its start, value, slope, bend, divisor and what it counts x by."""
    knots = _knots(curve, unit, low, high)
    heights = [curve.value(_at(unit, t)) for t in knots]
    a, b = Fraction(heights[0]), Fraction(heights[-1])
    step = grid_step(a, b) if a < b else grid_step(a, a + 1)
    cells = [round(Fraction(v) / step) for v in heights]
    table: list[int] = []
    for (t0, v0), (t1, v1) in pairwise(zip(knots, cells, strict=True)):
        table += _piece(curve, unit, step, (t0, v0), (t1, v1))
    return step, (*table, knots[-1], cells[-1], 0, 0, 1, 1)


def _piece(
    curve: Curve, unit: Fraction, step: Fraction, start: tuple[int, int], end: tuple[int, int]
) -> tuple[int, ...]:
    """The parabola through both ends and, as near as it may, the middle; it never falls between the ends."""
    (t0, v0), (t1, v1) = start, end
    rise = v1 - v0
    if t1 - t0 == 1 or rise <= 0:
        return t0, v0, 0, 0, 1, 1
    by = 1 << max((t1 - t0).bit_length() - _PLACES, 0)
    width = -((t0 - t1) // by)
    bits = (LARGEST // (4 * rise * width)).bit_length() - 1
    middle = curve.value(_at(unit, t0 + Fraction(width * by, 2)))
    excess = Fraction(middle) / step - v0 - Fraction(rise, 2)
    steepest = (rise << bits) // width
    bend = min(max(round(4 * excess * (1 << bits) / width), -steepest), steepest)
    return t0, v0, (rise << bits) + bend * width, bend, width << bits, by


def _knots(curve: Curve, unit: Fraction, low: int, high: int) -> list[int]:
    """Where pieces meet."""
    if high - low <= PIECES:
        return list(range(low, high + 1))
    first, last = curve.place(_at(unit, low)), curve.place(_at(unit, high))
    knots = {*range(low, low + _SINGLE), high}
    for i in range(1, PIECES):
        value = curve.back(_DIGITS.add(first, _DIGITS.divide(_DIGITS.multiply(last - first, Decimal(i)), PIECES)))
        knots.add(round(Fraction(value) / unit))
    if curve.base is not None:
        knots |= {int(t) for n in range(-64, 65) if (t := Fraction(curve.base) ** n / unit).denominator == 1}
    return sorted(t for t in knots if low <= t <= high)


def _at(unit: Fraction, cells: int | Fraction) -> Decimal:
    return _decimal(unit * cells)


def _decimal(x: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


# --- whole roots ------------------------------------------------------------------------------------------------------


def _without_squares(x: int) -> tuple[int, int]:
    """(y, z) with x = y * z^2, where z has all such factors of 2, 3, 5 and 7."""
    z = 1
    for prime in (2, 3, 5, 7):
        while x % (prime * prime) == 0:
            x, z = x // (prime * prime), z * prime
    return x, z
