"""Arithmetic on numbers: each rule says on which grid the result lies, between which ends, and how cells are computed.

Numbers are cells of a public step (``types.Number``). Promise: the result is always inside the range that its kind
claims, and nothing on the way leaves 64 bits. The rules:

  x + y, x - y     exact, on the largest step that divides both
  x * constant     exact: only the step changes;  x / constant too
  x * y            exact, on the product of the steps
  x / y            on step(x) / (step(y) * 2^k) with the largest k for which cells(x) * 2^k stays below 2^62, towards
                   zero, so less than one step off; NULL where y is 0
  MOD, quotient    exact, towards zero;  LEAST, GREATEST, ABS, SIGN exact
  ROUND, FLOOR, CEIL, TRUNC    exact, of the exact value; halves away from zero

Where cells would pass 2^62, the finer number (for a product, the one with more cells) is first rounded to a step twice
as large, again and again; never below 30 bits, what a float is read with. A number that nobody bounded reaches ±2^62
cells: sums of it saturate there, and products and quotients with it are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import ceil, floor, gcd, lcm

from discreet.query.functions.typed_values import (
    DECLARE_ITS_BOUNDS,
    Typed,
    bound,
    constant,
    integer_literal,
    is_wide,
    number,
    reach,
    refuse,
)
from discreet.query.plan.evaluate import round_div
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.schema import grid_step
from discreet.query.plan.types import LARGEST, Number, Real

KEEP = 31
"""A number with more bits than this may be rounded to make room for others."""
SHARE = 1 << 20
"""An unbounded number is refined at most this often: it then still holds ±2^42 of its own steps."""
DIVISOR = 1 << 42
"""A divisor has fewer cells than this, so that quotients keep 20 bits."""
_STEP_BITS = 256


# --- making numbers -------------------------------------------------------------------------------------------------


def made(
    step: Fraction, low: int, high: int, lowered: Expression, *parts: Typed, nullable: bool | None = None
) -> Typed:
    """A number computed from parts: NULL if one of them is, unless said otherwise."""
    if max(step.numerator.bit_length(), step.denominator.bit_length()) > _STEP_BITS:
        refuse("numbers this large or this fine cannot be computed; ROUND them on the way")
    null = any(p.nullable for p in parts) if nullable is None else nullable
    return Typed(Number(step, low, high), null, lowered=lowered)


def call(name: str, *arguments: Expression | int) -> Call:
    """A primitive with lowered arguments; plain integers become literals."""
    return Call(name, tuple(Literal(a) if isinstance(a, int) else a for a in arguments))


def within(lowered: Expression, low: int, high: int, into: tuple[int, int]) -> Expression:
    """Cells of low..high moved to the nearest of ``into``; costs nothing where they are there already."""
    if low < into[0]:
        lowered = call("greatest", lowered, into[0])
    if high > into[1]:
        lowered = call("least", lowered, into[1])
    return lowered


def value_of(x: Typed) -> Fraction | None:
    """The value of a constant number."""
    cells = constant(x)
    return x.kind.step * cells if isinstance(x.kind, Number) and isinstance(cells, int) else None


# --- a common step --------------------------------------------------------------------------------------------------


def align(
    parts: Sequence[Typed], what: str, total: Callable[[Iterable[int]], int] = max, *, exact: bool = False
) -> tuple[Typed, ...]:
    """The numbers on one step. ``total`` says what must stay below 2^62: the largest of them, or their sum.

    Exact: refuses where it would have to round to make room.
    """
    aligned = list(parts)
    for x in aligned:
        number(x, what)
    while True:
        step = _common(aligned)
        sizes = [_size(x, step) for x in aligned if not is_wide(x)]
        if not sizes or total(sizes) < LARGEST:
            return tuple(_refined(x, step, what) for x in aligned)
        fine = [i for i, x in enumerate(aligned) if constant(x) is None and _bits(x) > KEEP]
        if exact or not fine or any(is_wide(x) for x in aligned):
            refuse(f"the numbers of {what} are too far apart in size", bound(*parts))
        finest = min(fine, key=lambda i: _number(aligned[i]).step)
        aligned[finest] = coarser(aligned[finest], 1)


def coarser(x: Typed, bits: int) -> Typed:
    """Rounded to a step 2^bits as large; at most half of the new step off."""
    kind, n = _number(x), 1 << bits
    return made(kind.step * n, round_div(kind.low, n), round_div(kind.high, n), call("round_div", x.lowered, n), x)


def _number(x: Typed) -> Number:
    assert isinstance(x.kind, Number)  # noqa: S101
    return x.kind


def _bits(x: Typed) -> int:
    return reach(_number(x)).bit_length()


def _size(x: Typed, step: Fraction) -> int:
    return int(reach(_number(x)) * _number(x).step / step)


def _common(parts: Sequence[Typed]) -> Fraction:
    """The largest step of which all values are multiples; a constant only needs its own value on it."""
    steps = [abs(v) if (v := value_of(x)) is not None else _number(x).step for x in parts]
    if all(constant(x) is not None for x in parts):
        steps = [_number(x).step for x in parts]
    return reduce(common_step, [s for s in steps if s] or [_number(parts[0]).step])


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The largest number of which both are multiples."""
    return Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _refined(x: Typed, step: Fraction, what: str) -> Typed:
    """The same values on a step that divides theirs; an unbounded number saturates."""
    value, kind = value_of(x), _number(x)
    if value is not None:
        cells = int(value / step)
        if abs(cells) > LARGEST:
            refuse(f"the numbers of {what} are too large", DECLARE_ITS_BOUNDS)
        return replace(x, kind=Number(step, cells, cells), lowered=Literal(cells), keys=(cells,))
    times = int(kind.step / step)
    if times == 1:
        return x
    keys = None if x.keys is None else tuple(k * times if isinstance(k, int) else k for k in x.keys)
    if not is_wide(x):
        if reach(kind) * times >= LARGEST:
            refuse(f"the numbers of {what} are too large", bound(x))
        fine = made(step, kind.low * times, kind.high * times, call("mul", x.lowered, times), x)
        return replace(fine, keys=keys)
    if times > SHARE:
        refuse(f"the numbers of {what} are too far apart in size", bound(x))
    most = LARGEST // times
    cells_ = call("mul", within(x.lowered, kind.low, kind.high, (-most, most)), times)
    low, high = (min(max(end, -most), most) * times for end in (kind.low, kind.high))
    return made(step, *_still_wide(kind, low, high), cells_, x)


def _saturated(cells: int) -> int:
    return min(max(cells, -LARGEST), LARGEST)


# --- sums -----------------------------------------------------------------------------------------------------------


def add(x: Typed, y: Typed) -> Typed:
    """x + y."""
    return _sum("add", x, y)


def sub(x: Typed, y: Typed) -> Typed:
    """x - y."""
    return _sum("sub", x, y)


def _sum(name: str, x: Typed, y: Typed) -> Typed:
    a, b = align((x, y), "+" if name == "add" else "-", sum)
    first, second = _number(a), _number(b)
    low, high = (second.low, second.high) if name == "add" else (-second.high, -second.low)
    if not (is_wide(a) or is_wide(b)):
        return made(first.step, first.low + low, first.high + high, call(name, a.lowered, b.lowered), a, b)
    # Saturate. Two numbers of 2^62 would pass 64 bits by one, so both stop one short; the result is the same.
    short = LARGEST - 1 if reach(first) + reach(second) >= 2 * LARGEST else LARGEST
    parts = [within(p.lowered, k.low, k.high, (-short, short)) for p, k in ((a, first), (b, second))]
    cells = within(call(name, *parts), first.low + low, first.high + high, (-LARGEST, LARGEST))
    bottom = -LARGEST if -LARGEST in (first.low, low) else _saturated(first.low + low)
    top = LARGEST if LARGEST in (first.high, high) else _saturated(first.high + high)
    return made(first.step, bottom, top, cells, a, b)


def neg(x: Typed) -> Typed:
    """-x."""
    kind = number(x, "-")
    return made(kind.step, -kind.high, -kind.low, call("neg", x.lowered), x)


def absolute(x: Typed) -> Typed:
    """|x|."""
    kind = number(x, "ABS")
    low = 0 if kind.low <= 0 <= kind.high else min(abs(kind.low), abs(kind.high))
    return made(kind.step, low, reach(kind), call("abs", x.lowered), x)


def sign(x: Typed) -> Typed:
    """-1, 0 or 1."""
    kind = number(x, "SIGN")
    low, high = ((end > 0) - (end < 0) for end in (kind.low, kind.high))
    return made(Fraction(1), low, high, call("sign", x.lowered), x)


def least(*parts: Typed) -> Typed:
    """The least of them; NULL if one is."""
    return reduce(lambda x, y: _extreme("least", min, x, y), align(parts, "LEAST"))


def greatest(*parts: Typed) -> Typed:
    """The greatest of them; NULL if one is."""
    return reduce(lambda x, y: _extreme("greatest", max, x, y), align(parts, "GREATEST"))


def _extreme(name: str, pick: Callable[[int, int], int], x: Typed, y: Typed) -> Typed:
    a, b = _number(x), _number(y)
    return made(a.step, pick(a.low, b.low), pick(a.high, b.high), call(name, x.lowered, y.lowered), x, y)


# --- products and quotients -----------------------------------------------------------------------------------------


def mul(x: Typed, y: Typed) -> Typed:
    """x * y."""
    if value_of(x) is not None:
        x, y = y, x
    a, b = number(x, "*"), number(y, "*")
    if (times := value_of(y)) is not None:
        return _scaled(x, times)
    for factor in (x, y):
        if is_wide(factor):
            refuse("a product needs numbers with bounds", bound(factor))
    while max(abs(p * q) for p in (a.low, a.high) for q in (b.low, b.high)) >= LARGEST:
        if _bits(x) >= _bits(y):
            x = coarser(x, 1)
        else:
            y = coarser(y, 1)
        a, b = _number(x), _number(y)
    corners = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
    low, high = min(corners), max(corners)
    if x.lowered == y.lowered:  # a square
        low = 0 if a.low <= 0 <= a.high else min(a.low * a.low, a.high * a.high)
    return made(a.step * b.step, low, high, call("mul", x.lowered, y.lowered), x, y)


def _scaled(x: Typed, times: Fraction) -> Typed:
    """x * constant: the same cells, or their opposites, on another step."""
    if times == 0:
        return made(_number(x).step, 0, 0, call("mul", x.lowered, 0), x)
    x = neg(x) if times < 0 else x
    kind = _number(x)
    return made(kind.step * abs(times), kind.low, kind.high, x.lowered, x)


def div(x: Typed, y: Typed) -> Typed:
    """x / y as a real number, towards zero on the grid that the module's docstring names; NULL where y is 0."""
    a, b = number(x, "/"), number(y, "/")
    if (by := value_of(y)) is not None:
        if by == 0:
            refuse("a division by the constant 0 has no value")
        return _scaled(x, 1 / by)
    if reach(a) >= LARGEST:
        refuse("a division needs numbers with bounds", bound(x))
    if reach(b) >= DIVISOR:
        refuse("a division needs a divisor with fewer digits: ROUND it", bound(y))
    if b.low == b.high == 0:
        refuse("a division by 0 has no value")
    times = 1 << (62 - reach(a).bit_length())
    corners = [_towards_zero(p * times, q) for p in (a.low, a.high) for q in _divisors(b)]
    cells = call("div", call("mul", x.lowered, times) if times > 1 else x.lowered, y.lowered)
    null = x.nullable or y.nullable or b.low <= 0 <= b.high
    return made(a.step / (b.step * times), min(corners), max(corners), cells, nullable=null)


def quotient(x: Typed, y: Typed) -> Typed:
    """The whole part of x / y, towards zero; NULL where y is 0."""
    x, y = align((x, y), "//", exact=True)
    a, b = _number(x), _number(y)
    if b.low == b.high == 0:
        refuse("a division by 0 has no value")
    corners = [_towards_zero(p, q) for p in (a.low, a.high) for q in _divisors(b)]
    ends = (-LARGEST, LARGEST) if is_wide(x) else (min(corners), max(corners))
    null = x.nullable or y.nullable or b.low <= 0 <= b.high
    return made(Fraction(1), *ends, call("div", x.lowered, y.lowered), nullable=null)


def mod(x: Typed, y: Typed) -> Typed:
    """What the whole quotient leaves over; it has the sign of x. NULL where y is 0."""
    x, y = align((x, y), "%", exact=True)
    a, b = _number(x), _number(y)
    if b.low == b.high == 0:
        refuse("a division by 0 has no value")
    most = reach(b) - 1
    low, high = max(min(a.low, 0), -most), min(max(a.high, 0), most)
    null = x.nullable or y.nullable or b.low <= 0 <= b.high
    return made(a.step, low, high, call("mod", x.lowered, y.lowered), nullable=null)


def _divisors(kind: Number) -> list[int]:
    """Where a quotient can be extreme: the ends of the divisor, and what is next to 0."""
    return [q for q in {kind.low, kind.high, -1, 1} if q and kind.low <= q <= kind.high]


def _towards_zero(p: int, q: int) -> int:
    quotient = abs(p) // abs(q)
    return quotient if (p < 0) == (q < 0) else -quotient


# --- rounding -------------------------------------------------------------------------------------------------------


def _onto(x: Typed, step: Fraction, primitive: str, what: str) -> Typed:
    """x rounded to a multiple of the step; as it is if it is one already."""
    kind = number(x, what)
    up, down = (kind.step / step).numerator, (kind.step / step).denominator
    if down == 1:
        return x
    if (up > 1 and reach(kind) * up >= LARGEST) or down >= LARGEST:
        refuse(f"{what} of a number this large or this fine cannot be computed", bound(x))
    cells = call(primitive, call("mul", x.lowered, up) if up > 1 else x.lowered, down)
    low, high = (_ROUNDING[primitive](end * up, down) for end in (kind.low, kind.high))
    return made(step, *_still_wide(kind, low, high), cells, x)


def _still_wide(kind: Number, low: int, high: int) -> tuple[int, int]:
    """What was unbounded stays so."""
    return (-LARGEST if kind.low == -LARGEST else low), (LARGEST if kind.high == LARGEST else high)


_ROUNDING: dict[str, Callable[[int, int], int]] = {
    "round_div": round_div,
    "floor_div": lambda p, q: p // q,
    "ceil_div": lambda p, q: -(-p // q),
    "div": _towards_zero,
}


def rounded(x: Typed, digits: Typed | None = None) -> Typed:
    """ROUND(x, digits): halves away from zero."""
    places = 0 if digits is None else integer_literal(digits, "the digits of ROUND", -18, 18)
    return _onto(x, Fraction(10) ** -places, "round_div", "ROUND")


def floored(x: Typed) -> Typed:
    """FLOOR(x)."""
    return _onto(x, Fraction(1), "floor_div", "FLOOR")


def ceiled(x: Typed) -> Typed:
    """CEIL(x)."""
    return _onto(x, Fraction(1), "ceil_div", "CEIL")


def truncated(x: Typed) -> Typed:
    """TRUNC(x): towards zero."""
    return _onto(x, Fraction(1), "div", "TRUNC")


def whole(x: Typed, what: str) -> Typed:
    """The nearest whole number, on step 1; halves away from zero."""
    x = _onto(x, Fraction(1), "round_div", what)
    return x if _number(x).step == 1 else _refined(x, Fraction(1), what)


# --- bounding -------------------------------------------------------------------------------------------------------


def clamp(x: Typed, low: Typed, high: Typed) -> Typed:
    """CLAMP(x, low, high): beyond the bounds, the nearest of them, exactly: on a step that divides both and that of x.

    It also reads a float that has no declared bounds, on the grid that these bounds would give it. Where such a step
    would make more than 2^62 cells, the bounds are moved inwards onto the grid of x.
    """
    a, b = value_of(low), value_of(high)
    if a is None or b is None or a > b:
        refuse("CLAMP(x, low, high) needs two constant numbers, low not above high")
    if isinstance(x.kind, Real):
        if a == b:
            refuse("CLAMP(x, low, high) of a number without bounds needs low below high")
        step = grid_step(a, b)
        exponent = step.numerator.bit_length() - step.denominator.bit_length()
        ends = floor(a / step), ceil(b / step)
        x = made(step, *ends, call("read_real", x.lowered, exponent, *ends), nullable=True)
    kind = number(x, "CLAMP")
    biting = [end for end, beyond in ((a, a > kind.ends[0]), (b, b < kind.ends[1])) if beyond and end]
    step = reduce(common_step, map(abs, biting), kind.step)
    # First to the cells next to the bounds, outside: what is left is small enough for a finer step.
    near = _between(x, floor(a / kind.step), ceil(b / kind.step))
    if reach(_number(near)) * (kind.step / step) >= LARGEST:
        return _between(x, *_inside(kind.step, a, b))
    return _between(_refined(near, step, "CLAMP"), *_inside(step, a, b))


def _between(x: Typed, low: int, high: int) -> Typed:
    """Cells beyond two ends are moved to the nearest of them."""
    kind, ends = _number(x), (_saturated(low), _saturated(high))
    first, last = (min(max(end, ends[0]), ends[1]) for end in (kind.low, kind.high))
    return made(kind.step, first, last, within(x.lowered, kind.low, kind.high, ends), x)


def _inside(step: Fraction, low: Fraction, high: Fraction) -> tuple[int, int]:
    ends = ceil(low / step), floor(high / step)
    if ends[0] > ends[1]:
        refuse("CLAMP(x, low, high) needs bounds with a value of x between them")
    return ends


def width_bucket(x: Typed, low: Typed, high: Typed, buckets: Typed) -> Typed:
    """The number of x's bucket among n of equal width, from 1; 0 below them, n + 1 from ``high`` on."""
    kind, a, b = number(x, "WIDTH_BUCKET"), value_of(low), value_of(high)
    if a is None or b is None or a >= b:
        refuse("WIDTH_BUCKET(x, low, high, n) needs two constant numbers, low below high")
    n = integer_literal(buckets, "the number of buckets", 1, 10_000)
    # The bucket is floor(x * slope + start) for a line that is n/(high - low) steep; the rest is a common denominator.
    window = floor(a / kind.step) - 1, ceil(b / kind.step) + 1
    near = [min(max(end, window[0]), window[1]) for end in (kind.low, kind.high)]
    slope, start = n * kind.step / (b - a), 1 - a * n / (b - a)
    under = lcm(slope.denominator, start.denominator)
    times, offset = int(slope * under), int(start * under)
    ends = [end * times + offset for end in near]
    sizes = [abs(size) for size in (*window, *(end * times for end in near), *ends, offset, times, under)]
    if max(sizes) >= LARGEST:
        refuse("WIDTH_BUCKET of a number this large or this fine cannot be computed; ROUND it", bound(x))
    cells = call("mul", within(x.lowered, kind.low, kind.high, window), times)
    cells = call("floor_div", call("add", cells, offset), under)
    ends = [end // under for end in ends]
    kept = [min(max(end, 0), n + 1) for end in ends]
    return made(Fraction(1), kept[0], kept[1], within(cells, ends[0], ends[1], (0, n + 1)), x)
