"""Exact numbers in; sqrt, exp and log out, rounded in a stated direction.

Promise: ``x_down(v) <= x(v) <= x_up(v)``, both within a relative 2^-bits of the truth, for every rational v.
Believes: Python's integers. No libm, no float, no global precision.

How: all work is on integers scaled by a power of two, with one lower and one upper value carried side by side
and each operation rounded outwards. ``exp`` halves its argument, sums the Taylor series and squares back; ``log``
sums the atanh series; ``sqrt`` is ``math.isqrt``.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from discreet.errors import BadParameter

Number: TypeAlias = int | float | str | Fraction | Decimal
"""What a caller may write for an exact number. A float means what it prints: 0.1 and "0.1" are both exactly 1/10."""

BITS = 128
_LONGEST_TEXT = 400
_LONGEST_BITS = 4096
_WRITTEN = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)")
"""A fraction of whole numbers, or a decimal with or without an exponent: ASCII digits, no spaces, no underscores."""


# --- reading numbers ----------------------------------------------------------------------------------------------


def number(value: Number, name: str = "value") -> Fraction:
    """The exact value that the caller wrote.

    A float is the shortest decimal that gives back the float, which is what Python prints for it; so ten questions at
    0.1 fit a budget of 1.

    >>> number("0.1"), number("1/3"), number(0.1), number("1e-9")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 10), Fraction(1, 1000000000))
    """
    must = 'must be a finite number: an int, a Fraction, a float, or text such as "0.1" or "1/3"'
    given: object = value  # a caller may pass anything, whatever the annotation says
    if isinstance(given, bool):
        raise BadParameter(name, given, must)
    if type(given) is Fraction:
        result = given
    elif isinstance(given, (str, Decimal)):
        result = _from_text(str(given), name, must)
    elif isinstance(given, numbers.Rational):  # int, Fraction, numpy integers
        result = Fraction(int(given.numerator), int(given.denominator))
    elif isinstance(given, numbers.Real) and math.isfinite(float(given)):  # float, numpy floats of any width
        result = Fraction(str(given))
    else:
        raise BadParameter(name, given, must)
    if max(result.numerator.bit_length(), result.denominator.bit_length()) > _LONGEST_BITS:
        raise BadParameter(name, value, f"must have at most {_LONGEST_BITS} bits above and below the line")
    return result


def _from_text(text: str, name: str, must: str) -> Fraction:
    if len(text) > _LONGEST_TEXT:
        raise BadParameter(name, text, f"must be written in at most {_LONGEST_TEXT} characters")
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise BadParameter(name, text, must)
    if len((written["exponent"] or "").lstrip("+-0")) > 4:  # before Fraction() would write the zeros out
        raise BadParameter(name, text, f"must have at most {_LONGEST_BITS} bits above and below the line")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise BadParameter(name, text, must) from None


def measured(value: Number, name: str = "value") -> Fraction:
    """The exact value of a number that was computed or stored, not written by a person: a float is its binary value.

    >>> measured(0.5), measured(0.1) == Fraction(1, 10)
    (Fraction(1, 2), False)
    """
    given: object = value
    return Fraction(given) if isinstance(given, float) and math.isfinite(given) else number(value, name)


def positive(value: Number, name: str) -> Fraction:
    """The exact value, which must be above 0."""
    result = number(value, name)
    if result <= 0:
        raise BadParameter(name, value, "must be above 0")
    return result


def non_negative(value: Number, name: str) -> Fraction:
    """The exact value, which must not be below 0."""
    result = number(value, name)
    if result < 0:
        raise BadParameter(name, value, "must be at least 0")
    return result


def probability(value: Number, name: str) -> Fraction:
    """The exact value, which must lie in [0, 1]."""
    result = number(value, name)
    if not 0 <= result <= 1:
        raise BadParameter(name, value, "must lie between 0 and 1")
    return result


def integer(value: int, name: str, *, at_least: int | None = None) -> int:
    """The value as a Python int; floats and text are refused, numpy integers are welcome."""
    given: object = value
    if isinstance(given, bool) or not isinstance(given, numbers.Integral):
        raise BadParameter(name, given, "must be an integer")
    result = int(given)
    if at_least is not None and result < at_least:
        raise BadParameter(name, value, f"must be at least {at_least}")
    return result


# --- leaving for floats -------------------------------------------------------------------------------------------


def float_up(x: Fraction) -> float:
    """The least float that is not below x (infinity beyond the largest).

    >>> Fraction(float_up(Fraction(1, 3))) >= Fraction(1, 3) > Fraction(float_down(Fraction(1, 3)))
    True
    """
    try:
        near = float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def float_down(x: Fraction) -> float:
    """The largest float that is not above x."""
    return -float_up(-x)


# --- square root --------------------------------------------------------------------------------------------------


def sqrt_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A lower bound of the square root, exact for squares.

    >>> sqrt_down(Fraction(9, 4))
    Fraction(3, 2)
    """
    return _sqrt(x, bits)[0]


def sqrt_up(x: Fraction, bits: int = BITS) -> Fraction:
    """An upper bound of the square root, exact for squares."""
    return _sqrt(x, bits)[1]


def _sqrt(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    if x < 0:
        raise BadParameter("x", x, "must be at least 0 to have a square root")
    p, q = x.numerator, x.denominator
    root = Fraction(math.isqrt(p), math.isqrt(q))
    if root * root == x:
        return root, root
    # root of p/q = root(p*q)/q; scale p*q by 4^s so that the integer root has more than `bits` bits
    s = max(0, bits + 2 - (p * q).bit_length() // 2)
    low = math.isqrt(p * q << 2 * s)
    return Fraction(low, q << s), Fraction(low + 1, q << s)


# --- exp and log --------------------------------------------------------------------------------------------------


def exp_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A lower bound of e^x, within a relative 2^-bits."""
    low, _, exponent = _exp(x, bits)
    return _scaled(low, exponent)


def exp_up(x: Fraction, bits: int = BITS) -> Fraction:
    """An upper bound of e^x, within a relative 2^-bits.

    >>> exp_down(Fraction(1)) < exp_up(Fraction(1)), float(exp_up(Fraction(1)))
    (True, 2.718281828459045)
    """
    _, high, exponent = _exp(x, bits)
    return _scaled(high, exponent)


def log_down(x: Fraction, bits: int = BITS) -> Fraction:
    """A lower bound of the natural logarithm, within a relative 2^-bits."""
    low, _, exponent = _log(x, bits)
    return _scaled(low, exponent)


def log_up(x: Fraction, bits: int = BITS) -> Fraction:
    """An upper bound of the natural logarithm, within a relative 2^-bits.

    >>> float(log_up(Fraction(2)))
    0.6931471805599453
    """
    _, high, exponent = _log(x, bits)
    return _scaled(high, exponent)


def exp_fixed(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``low <= 2^bits e^x <= high``, at most 2 apart for x <= 0.

    >>> exp_fixed(Fraction(0), 8), exp_fixed(Fraction(-1000), 64)
    ((256, 256), (0, 1))
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x < -bits:  # e^-bits < 2^-bits: below one unit, and no need to know how far
        return 0, 1
    low, high, exponent = _exp(x, max(8, bits + 2 + max(0, math.ceil(x * 2))))
    shift = exponent + bits
    return _shift_down(low, shift), -_shift_down(-high, shift)


def _scaled(mantissa: int, exponent: int) -> Fraction:
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def _shift_down(x: int, shift: int) -> int:
    """x * 2^shift, rounded down."""
    return x << shift if shift >= 0 else x >> -shift


def _ceil_divide(x: int, y: int) -> int:
    return -(-x // y)


def _ceil_shift(x: int, shift: int) -> int:
    return -(-x >> shift)


@lru_cache(maxsize=64)
def _ln2(w: int) -> tuple[int, int]:
    """Integers low <= 2^w ln 2 <= high, by ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    guard = 16
    low = high = 0
    for factor, n in ((18, 26), (-2, 4801), (8, 8749)):
        a, b = _atanh(1, n, w + guard)
        low += factor * (a if factor > 0 else b)
        high += factor * (b if factor > 0 else a)
    return low >> guard, _ceil_shift(high, guard)


def _atanh(p: int, q: int, w: int) -> tuple[int, int]:
    """Integers low <= 2^w atanh(p/q) <= high, for 0 <= p/q <= 1/2."""
    low_power, high_power = (p << w) // q, _ceil_divide(p << w, q)
    low_square, high_square = (low_power * low_power) >> w, _ceil_shift(high_power * high_power, w)
    low = high = 0
    n = 1
    while high_power > 1:
        low += low_power // n
        high += _ceil_divide(high_power, n)
        low_power = (low_power * low_square) >> w
        high_power = _ceil_shift(high_power * high_square, w)
        n += 2
    # the rest of the series is below (power/n) / (1 - 1/4) < 2 units
    return low, high + 2


def _exp(x: Fraction, bits: int) -> tuple[int, int, int]:
    """low * 2^e <= e^x <= high * 2^e with high/low <= 1 + 2^-bits."""
    if x == 0:
        return 1, 1, 0
    p, q = x.numerator, x.denominator
    # x = k ln 2 + r with 0 <= r < 1: k may be one off, which only moves r a little
    size = max(0, p.bit_length() - q.bit_length()) + 2
    ln2_low, ln2_high = _ln2(size + 16)
    k = (p << (size + 16)) // (q * ln2_high) if p >= 0 else (p << (size + 16)) // (q * ln2_low)
    halvings = max(4, math.isqrt(bits) // 2)
    w = bits + size + 2 * halvings + 16
    ln2_low, ln2_high = _ln2(w)
    low_r = max(0, (p << w) // q - (k * ln2_high if k >= 0 else k * ln2_low))
    high_r = _ceil_divide(p << w, q) - (k * ln2_low if k >= 0 else k * ln2_high)
    low, high = _exp_series(low_r >> halvings, w)[0], _exp_series(_ceil_shift(high_r, halvings), w)[1]
    for _ in range(halvings):
        low = (low * low) >> w
        high = _ceil_shift(high * high, w)
    return low, high, k - w


def _exp_series(t: int, w: int) -> tuple[int, int]:
    """Bounds of 2^w exp(t/2^w) for 0 <= t/2^w <= 1/8, by the Taylor series."""
    low = high = 1 << w
    low_term = high_term = 1 << w
    n = 1
    while high_term > 1:
        low_term = (low_term * t >> w) // n
        high_term = _ceil_divide(_ceil_shift(high_term * t, w), n)
        low += low_term
        high += high_term
        n += 1
    return low, high + 2  # the rest is below 1/8 of the last term, plus its geometric tail


def _log(x: Fraction, bits: int) -> tuple[int, int, int]:
    """low * 2^e <= log(x) <= high * 2^e, within a relative 2^-bits."""
    if x <= 0:
        raise BadParameter("x", x, "must be above 0 to have a logarithm")
    if x == 1:
        return 0, 0, 0
    p, q = x.numerator, x.denominator
    k = p.bit_length() - q.bit_length()  # x / 2^k lies in (1/2, 2); bring it into [2/3, 4/3]
    m = x / Fraction(2) ** k
    if m > Fraction(4, 3):
        k, m = k + 1, m / 2
    elif m < Fraction(2, 3):
        k, m = k - 1, m * 2
    top, bottom = m.numerator, m.denominator
    a, b = top - bottom, top + bottom
    w = bits + 32 + (max(0, b.bit_length() - a.bit_length()) if k == 0 else k.bit_length())
    low, high = _atanh(abs(a), b, w)
    if a < 0:
        low, high = -high, -low
    ln2_low, ln2_high = _ln2(w)
    low = 2 * low + (k * ln2_low if k >= 0 else k * ln2_high)
    high = 2 * high + (k * ln2_high if k >= 0 else k * ln2_low)
    return low, high, -w


def significant(value: float, digits: int) -> str:
    """A number to so many digits, as people write it.

    >>> significant(1070.4, 3), significant(0.01234, 3), significant(1234567.8, 6), significant(1e20, 3)
    ('1,070', '0.0123', '1,234,570', '1e+20')
    """
    short = f"{value:.{digits}g}"
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return short
    return f"{Decimal(short):,f}"


def with_bar(value: float, error: float) -> tuple[str, str]:
    """A number and its error bar for people: the bar to two digits, the number to the last of them.

    >>> with_bar(14471.3, 150.1), with_bar(0.998123, 0.0061), with_bar(24, 5.03), with_bar(24, 0.5)
    (('14,470', '150'), ('0.9981', '0.0061'), ('24', '5.0'), ('24', '0.50'))
    >>> with_bar(10**30 + 7, 12.0)[0], with_bar(3.25, 0.0), with_bar(-4.0, 250.0), with_bar(1.0, math.inf)
    ('1,000,000,000,000,000,000,000,000,000,007', ('3.25', '0'), ('0', '250'), ('1', 'inf'))
    """
    if not (math.isfinite(value) and 1e-9 <= error < 1e15):
        return (f"{value:,}" if isinstance(value, int) else significant(value, 6)), significant(error, 2)
    digits = 1 - int(f"{error:.1e}".split("e")[1])
    bar = f"{round(error, digits):,.{max(digits, 0)}f}"
    if isinstance(value, int):
        return f"{round(value, min(digits, 0)):,}", bar
    return f"{round(value, digits) + 0.0:,.{max(digits, 0)}f}", bar
