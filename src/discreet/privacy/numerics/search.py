"""Find the least or the largest number that is seen to fit.

Promise: what comes back was tested and fits; a number better by a relative 2^-bits was tested too and did not.
Believes: the test is monotone up to its own rounding, and never says yes when the truth is no.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import NotATheorem

_FURTHEST = 2000


def largest(fits: Callable[[Fraction], bool], *, start: Fraction = Fraction(1), bits: int = 60) -> Fraction:
    """The largest positive number that fits, when all smaller ones do too.

    >>> float(largest(lambda x: x * x <= 2))
    1.414213562373095...
    """
    good = start
    for _ in range(_FURTHEST):
        if fits(good):
            break
        good /= 2
    else:
        raise NotATheorem("nothing fits, however small")
    bad = 2 * good
    for _ in range(_FURTHEST):
        if not fits(bad):
            break
        good, bad = bad, 2 * bad
    else:
        raise NotATheorem("everything fits, however large")
    return _between(fits, good, bad, bits)


def least(fits: Callable[[Fraction], bool], *, start: Fraction = Fraction(1), bits: int = 60) -> Fraction:
    """The least positive number that fits, when all larger ones do too; 0 if that fits.

    >>> float(least(lambda x: x * x >= 2))
    1.414213562373095...
    """
    if fits(Fraction(0)):
        return Fraction(0)
    good = start
    for _ in range(_FURTHEST):
        if fits(good):
            break
        good *= 2
    else:
        raise NotATheorem("nothing fits, however large")
    bad = good / 2
    for _ in range(_FURTHEST):
        if not fits(bad):
            break
        good, bad = bad, bad / 2
    else:
        return good
    return _between(fits, good, bad, bits)


def _between(fits: Callable[[Fraction], bool], good: Fraction, bad: Fraction, bits: int) -> Fraction:
    """Halve the gap until it is a relative 2^-bits."""
    for _ in range(bits):
        middle = (good + bad) / 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good


def lowest_point(f: Callable[[float], float], low: float, high: float, steps: int = 80) -> float:
    """Where a float function is about least, by golden section. A guide only: whatever it says must be checked.

    >>> round(lowest_point(lambda x: (x - 1) ** 2, -5, 5), 6)
    1.0
    """
    golden = 0.6180339887498949
    a, b = high - golden * (high - low), low + golden * (high - low)
    fa, fb = f(a), f(b)
    for _ in range(steps):
        if fa <= fb:
            high, b, fb = b, a, fa
            a = high - golden * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + golden * (high - low)
            fb = f(b)
    return (low + high) / 2
