"""What general weak sources rule out: a string of m bits of which only its min-entropy k is known, or blocks of such.

Theorem (weak_source.md). Let M use m bits and be ε-differentially private, for any finite ε, for every source of
min-entropy k. If the true answer takes all whole values from 0 to n, neighbours differing by one, then already with
fair bits the expected error is at least (1 - 2^(k-m)) n/2 for some input. So every missing bit of entropy is fatal:
with k = m - 1 no mechanism errs by less than n/4, and where n is not bounded k must be m.

For ε <= 0.3 and 6ρ + 1 <= n it implies k >= m - log2(ρ ε) - 5, the form of Dodis, López-Alt, Mironov and Vadhan (2012).

Theorem (blocks). If M reads any number of blocks of m bits, each of min-entropy k given the earlier ones, and errs by ρ
on average with fair bits, then (d/4ρ)^s <= 1 + e^(εd) for every whole d from 1 to n, s = 2^(m-k). So s is at most about
4eρε: k >= m - log2(ρ ε) - O(1) again, however many blocks there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.biased.sources import BlockSource, WeakSource, power_of_two_down, power_of_two_up
from discreet.errors import BadParameter
from discreet.exact import Number, exp_up, integer, log_down, log_up, positive
from discreet.privacy.promises.record import show

_FAR = 64


@dataclass(frozen=True, slots=True)
class Verdict:
    """False: no mechanism can do it, by the theorem. True: the theorem does not rule it out, which promises nothing."""

    possible: bool
    why: str

    def __bool__(self) -> bool:
        return self.possible


def weak_source_allows(
    epsilon: Number,
    rho: Number,
    min_entropy: Number | None = None,
    bits: int | None = None,
    *,
    source: WeakSource | BlockSource | None = None,
    largest_answer: int | None = None,
) -> Verdict:
    """Whether expected error ρ at price ε is ruled out for counts on all sources of this kind.

    The source is named as a whole, or by its min-entropy and number of bits: then it is a ``WeakSource``. The answer
    takes all whole values from 0 to ``largest_answer`` (None: it has no bound).

    >>> weak_source_allows(epsilon=1, rho=10, min_entropy=127, bits=128, largest_answer=1000)
    Verdict(possible=False, why='min-entropy 127 of 128 bits forces an expected error of 250 or more')
    >>> bool(weak_source_allows(epsilon=1, rho=10, min_entropy=128, bits=128, largest_answer=1000))
    True
    >>> weak_source_allows(epsilon="0.1", rho=20, source=BlockSource(8, 3), largest_answer=1000).possible
    False
    """
    price, error = positive(epsilon, "epsilon"), positive(rho, "rho")
    n = None if largest_answer is None else integer(largest_answer, "largest_answer", at_least=1)
    match _source(source, min_entropy, bits):
        case WeakSource() as weak:
            verdict = _one_string(weak, error, n)
        case BlockSource() as blocks:
            verdict = _blocks(blocks, price, error, n)
    if verdict is not None:
        return verdict
    if (n is None or 6 * error + 1 <= n) and price * (6 * error + 1) < log_down(Fraction(2)):
        return Verdict(False, "even with fair bits: e^(epsilon (6 rho + 1)) would have to be at least 2")
    return Verdict(True, "not ruled out; nothing is promised")


def _source(
    source: WeakSource | BlockSource | None, min_entropy: Number | None, bits: int | None
) -> WeakSource | BlockSource:
    given: object = source
    if source is None and min_entropy is not None and bits is not None:
        return WeakSource(bits, min_entropy)
    if isinstance(source, (WeakSource, BlockSource)) and min_entropy is None and bits is None:
        return source
    raise BadParameter("source", given, "must be a WeakSource or a BlockSource; or give min_entropy and bits instead")


def _one_string(source: WeakSource, error: Fraction, n: int | None) -> Verdict | None:
    described = f"min-entropy {float(source.min_entropy):g} of {source.bits} bits"
    if n is None:
        return Verdict(False, f"{described} allows no bound on the error") if source.min_entropy < source.bits else None
    forced = forced_error(source, n)
    return (
        Verdict(False, f"{described} forces an expected error of {float(forced):g} or more") if error < forced else None
    )


def _blocks(source: BlockSource, price: Fraction, error: Fraction, n: int | None) -> Verdict | None:
    """The inequality at two whole numbers d: the two sides are furthest apart between s/ε and 1.28 s/ε."""
    share = power_of_two_down(source.bits - source.min_entropy)
    for reach in (share / price, Fraction(32, 25) * share / price):
        d = min(max(1, int(reach)), n if n is not None else max(1, int(reach)))
        if 4 * error < d and share * log_down(d / (4 * error)) > _log_one_plus_exp_up(price * d):
            described = f"blocks of {source.bits} bits with min-entropy {float(source.min_entropy):g} each"
            return Verdict(
                False, f"{described}: (d/4 rho)^(2^(m-k)) exceeds 1 + e^(epsilon d) at d = {show(Fraction(d))}"
            )
    return None


def _log_one_plus_exp_up(x: Fraction) -> Fraction:
    """log(1 + e^x) <= x + e^(-x), rounded up."""
    if x > _FAR:
        return x + Fraction(1, 1 << _FAR)
    return log_up(1 + exp_up(x))


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
