"""What general weak sources rule out: a string of m bits of which only its min-entropy k is known.

Theorem (weak_source.md). Let M use m bits and be ε-differentially private, for any finite ε, for every source of
min-entropy k. If the true answer takes all whole values from 0 to n, neighbours differing by one, then already with
fair bits the expected error is at least (1 - 2^(k-m)) n/2 for some input. So every missing bit of entropy is fatal:
with k = m - 1 no mechanism errs by less than n/4, and where n is not bounded k must be m.

For ε <= 0.3 and 6ρ + 1 <= n it implies k >= m - log2(ρ ε) - 5, the form of Dodis, López-Alt, Mironov and Vadhan (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.biased.sources import WeakSource, power_of_two_up
from discreet.exact import Number, integer, log_down, positive


@dataclass(frozen=True, slots=True)
class Verdict:
    """False: no mechanism can do it, by the theorem. True: the theorem does not rule it out, which promises nothing."""

    possible: bool
    why: str

    def __bool__(self) -> bool:
        return self.possible


def weak_source_allows(
    epsilon: Number, rho: Number, min_entropy: Number, bits: int, *, largest_answer: int | None = None
) -> Verdict:
    """Whether expected error ρ at price ε is ruled out for counts on all sources of this min-entropy.

    The answer takes all whole values from 0 to ``largest_answer`` (None: it has no bound).

    >>> weak_source_allows(epsilon=1, rho=10, min_entropy=127, bits=128, largest_answer=1000)
    Verdict(possible=False, why='min-entropy 127 of 128 bits forces an expected error of 250 or more')
    >>> bool(weak_source_allows(epsilon=1, rho=10, min_entropy=128, bits=128, largest_answer=1000))
    True
    """
    price, error = positive(epsilon, "epsilon"), positive(rho, "rho")
    source = WeakSource(bits, min_entropy)
    n = None if largest_answer is None else integer(largest_answer, "largest_answer", at_least=1)
    if n is None and source.min_entropy < source.bits:
        return Verdict(
            False, f"min-entropy {float(source.min_entropy):g} of {source.bits} bits allows no bound on the error"
        )
    if n is not None:
        forced = forced_error(source, n)
        if error < forced:
            return Verdict(
                False,
                f"min-entropy {float(source.min_entropy):g} of {source.bits} bits forces an expected error of "
                f"{float(forced):g} or more",
            )
    if (n is None or 6 * error + 1 <= n) and price * (6 * error + 1) < log_down(Fraction(2)):
        return Verdict(False, "even with fair bits: e^(epsilon (6 rho + 1)) would have to be at least 2")
    return Verdict(True, "not ruled out; nothing is promised")


def forced_error(source: WeakSource, largest_answer: int) -> Fraction:
    """The expected error that no mechanism can beat for all inputs: (1 - 2^(k-m)) n/2, rounded down."""
    missing = source.min_entropy - source.bits
    return max(Fraction(0), (1 - power_of_two_up(missing)) * largest_answer / 2)


def least_min_entropy(bits: int, rho: Number, largest_answer: int) -> Fraction | None:
    """The min-entropy below which error ρ is impossible, within 2^-20 bits; None if even 0 is not ruled out.

    >>> least_min_entropy(128, 250, 1000)
    Fraction(127, 1)
    """
    m = integer(bits, "bits", at_least=1)
    share = 1 - 2 * positive(rho, "rho") / integer(largest_answer, "largest_answer", at_least=1)
    if share <= 0:
        return None
    low, high = Fraction(0), Fraction(m)
    if power_of_two_up(low - m) > share:
        return None
    while high - low > Fraction(1, 1 << 20):  # 2^(low - m) <= share, so that anything below low is ruled out
        middle = (low + high) / 2
        low, high = (middle, high) if power_of_two_up(middle - m) <= share else (low, middle)
    return low
