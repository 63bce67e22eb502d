"""Sources that are not perfect: what they may do, and simulations of them for demonstration and audit.

    SanthaVazirani(gamma)     each bit, given all earlier ones, is 1 with probability in [(1-γ)/2, (1+γ)/2]
    BlockSource(bits, k)      each block of bits, given all earlier ones, has min-entropy at least k
    WeakSource(bits, k)       the whole string has min-entropy at least k, and nothing more is known

Promise: a simulation keeps to its model whatever strategy it is given: it cannot be asked for more bias than the model
allows. Believes: the source that it draws its own coins from is fair. No release accepts a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.biased.bit_tree import Interval, Steps, best, lean
from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, integer, log_down, log_up, non_negative, number
from discreet.randomness.replay import Recorder, Replay
from discreet.randomness.source import Bits, SystemBits, uniform_below

T = TypeVar("T")

Strategy = Callable[[int, int], int | Fraction]
"""Given the bits so far, as an integer and their number: where to push the next bit, from -1 (to 0) to 1 (to 1)."""

_UNIT = 1 << 80
_COUNTED = 20  # bits: up to here the strings of a weak source are counted before it is believed


# --- models -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, init=False)
class SanthaVazirani:
    """Each bit, given all earlier ones, is 1 with probability in [(1-γ)/2, (1+γ)/2]; which, an adversary says.

    >>> SanthaVazirani("0.1").range
    (Fraction(9, 20), Fraction(11, 20))
    >>> SanthaVazirani("0.1").xor(SanthaVazirani("0.1")).gamma
    Fraction(1, 100)
    """

    gamma: Fraction

    def __init__(self, gamma: Number) -> None:
        object.__setattr__(self, "gamma", bias(gamma))

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The least and the largest probability of a 1."""
        return (1 - self.gamma) / 2, (1 + self.gamma) / 2

    @property
    def min_entropy_per_bit(self) -> Fraction:
        """log2(2/(1+γ)), rounded down: what each bit holds at least, given the earlier ones."""
        return log_down(2 / (1 + self.gamma)) / log_up(Fraction(2))

    def xor(self, *others: SanthaVazirani) -> SanthaVazirani:
        """What the bitwise sum of *independent* such sources is: the biases multiply. Proof: sources.md."""
        gamma = self.gamma
        for other in others:
            gamma *= other.gamma
        return SanthaVazirani(gamma)


@dataclass(frozen=True, slots=True, init=False)
class _Strings:
    """Strings of bits of which only a min-entropy is known."""

    bits: int
    min_entropy: Fraction

    def __init__(self, bits: int, min_entropy: Number) -> None:
        bits, entropy = _entropy(bits, min_entropy)
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "min_entropy", entropy)


@dataclass(frozen=True, slots=True, init=False)
class BlockSource(_Strings):
    """Each block of ``bits`` bits, given all earlier blocks, takes any value with probability at most 2^-min_entropy.

    Blocks of one bit are a Santha-Vazirani source.

    >>> round(float(BlockSource(1, "0.5").santha_vazirani.gamma), 3)
    0.414
    """

    @property
    def santha_vazirani(self) -> SanthaVazirani:
        """The same source bit by bit, if its blocks are single bits; γ = 2^(1-k) - 1, rounded up."""
        if self.bits != 1:
            raise BadParameter("bits", self.bits, "must be 1: a longer block may hold a bit that never changes")
        return SanthaVazirani(min(power_of_two_up(1 - self.min_entropy) - 1, 1 - Fraction(1, 1 << 64)))


@dataclass(frozen=True, slots=True, init=False)
class WeakSource(_Strings):
    """A string of ``bits`` bits that takes any value with probability at most 2^-min_entropy. Nothing else is known."""


def bias(gamma: Number) -> Fraction:
    """The exact γ, which must be at least 0 and below 1."""
    result = number(gamma, "gamma")
    if not 0 <= result < 1:
        raise BadParameter("gamma", gamma, "must be at least 0 and below 1: at 1 every bit may be known in advance")
    return result


def _entropy(bits: int, min_entropy: Number) -> tuple[int, Fraction]:
    length, entropy = integer(bits, "bits", at_least=1), non_negative(min_entropy, "min_entropy")
    if not 0 < entropy <= length:
        raise BadParameter("min_entropy", min_entropy, f"must be above 0 and at most {length}, the number of bits")
    return length, entropy


def power_of_two_up(x: Fraction) -> Fraction:
    """2^x, exact for whole x, else rounded up."""
    if x.denominator == 1:
        return Fraction(2) ** int(x)
    return exp_up(x * (log_up(Fraction(2)) if x > 0 else log_down(Fraction(2))))


def power_of_two_down(x: Fraction) -> Fraction:
    """2^x, exact for whole x, else rounded down."""
    if x.denominator == 1:
        return Fraction(2) ** int(x)
    return exp_down(x * (log_down(Fraction(2)) if x > 0 else log_up(Fraction(2))))


# --- simulated Santha-Vazirani sources ----------------------------------------------------------------------------


class Biased:
    """A Santha-Vazirani source that follows a strategy. For demonstration and audit; no release accepts it.

    >>> always_one = Biased(SanthaVazirani("0.99"), lambda prefix, length: 1)
    >>> always_one.bits(1000).bit_count() > 900
    True
    """

    __slots__ = ("_length", "_model", "_prefix", "_source", "_strategy")

    def __init__(self, model: SanthaVazirani, strategy: Strategy, source: Bits | None = None) -> None:
        self._model = model
        self._strategy = strategy
        self._source = source or SystemBits()
        self._prefix = 0
        self._length = 0

    def restart(self) -> None:
        """Forget the past: the next bit is the first of a fresh, independent string."""
        self._prefix = self._length = 0

    def bits(self, count: int) -> int:
        """The next ``count`` bits, each pushed as the strategy says, within the model."""
        drawn = 0
        for _ in range(count):
            push = self._strategy(self._prefix, self._length)
            if not -1 <= push <= 1:
                raise BadParameter("strategy", push, "must answer from -1 to 1")
            p = (1 + self._model.gamma * push) / 2
            bit = int(self._source.below(p.denominator) < p.numerator)
            self._prefix = self._prefix << 1 | bit
            self._length += 1
            drawn = drawn << 1 | bit
        return drawn

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        """What the usual rejection makes of these bits; uniform only if they are fair."""
        return uniform_below(self, n)


def worst_against(
    first: Sequence[Interval], second: Sequence[Interval], ratio: Number, model: SanthaVazirani, *, depth: int
) -> Strategy:
    """The strategy that maximises P(first) - ratio P(second), for sets of strings as intervals of U.

    With ``ratio`` at the largest value of P(first)/P(second), it attains that value.

    >>> worst = worst_against([(4, 8)], [(0, 4)], 1, SanthaVazirani("0.1"), depth=3)
    >>> worst(0, 0), worst(0b1, 1)
    (1, 0)
    """
    weight = non_negative(ratio, "ratio")
    steps = Steps.between(first, second, gain=_UNIT, loss=int(weight * _UNIT), depth=depth)
    leans: dict[tuple[int, int], int] = {}

    def strategy(prefix: int, length: int) -> int:
        if (prefix, length) not in leans:
            leans[prefix, length] = lean(steps, model.gamma, prefix, length)
        return leans[prefix, length]

    return strategy


def largest_probability(event: Sequence[Interval], model: SanthaVazirani, *, depth: int) -> Fraction:
    """An upper bound of P(event) over all such sources, within 2^-60."""
    steps = Steps.between(event, [], gain=_UNIT, loss=0, depth=depth)
    return Fraction(best(steps, model.gamma, up=True), _UNIT)


def tilted(
    draw: Callable[[Bits], T], favours: Callable[[T], bool], model: SanthaVazirani, source: Bits | None = None
) -> Replay:
    """A tape from the Santha-Vazirani source that favours some outcomes of ``draw``, whatever ``draw`` is.

    Every string has weight 1+γ if it leads to a favoured outcome and 1-γ if not. That is a γ-SV source (sources.md),
    and the odds of the favoured outcomes are (1+γ)/(1-γ) times what they are with fair bits.
    """
    fair = source or SystemBits()
    low, high = model.range
    while True:
        recorder = Recorder(fair)
        outcome = draw(recorder)
        if favours(outcome) or fair.below(high.numerator * low.denominator) < low.numerator * high.denominator:
            return recorder.replay()


# --- simulated block and weak sources -----------------------------------------------------------------------------


def flat(model: WeakSource, allowed: Callable[[int], bool], source: Bits | None = None) -> Replay:
    """A tape that is uniform on the allowed strings: a weak source, if there are at least 2^min_entropy of them.

    >>> flat(WeakSource(4, 3), lambda r: r % 2 == 1).bits(4) % 2
    1
    """
    fair = source or SystemBits()
    if model.bits > _COUNTED:
        raise BadParameter("bits", model.bits, f"must be at most {_COUNTED} here, so that the strings can be counted")
    strings = [r for r in range(1 << model.bits) if allowed(r)]
    _check_size(strings, model.min_entropy)
    return Replay(value=strings[fair.below(len(strings))], length=model.bits)


def flat_blocks(
    model: BlockSource, count: int, allowed: Callable[[tuple[int, ...]], Collection[int]], source: Bits | None = None
) -> Replay:
    """A tape of ``count`` blocks, each uniform on the values that are allowed after the earlier ones."""
    fair = source or SystemBits()
    past: tuple[int, ...] = ()
    tape = 0
    for _ in range(integer(count, "count", at_least=1)):
        values = sorted(set(allowed(past)))
        _check_size(values, model.min_entropy)
        if not 0 <= values[0] <= values[-1] < 1 << model.bits:
            raise BadParameter("allowed", values[-1], f"must be blocks of {model.bits} bits")
        block = values[fair.below(len(values))]
        past, tape = (*past, block), tape << model.bits | block
    return Replay(value=tape, length=model.bits * count)


def _check_size(values: Sequence[int], min_entropy: Fraction) -> None:
    if len(values) < power_of_two_up(min_entropy):
        raise BadParameter("allowed", len(values), "must leave at least 2^min_entropy strings")


# --- several sources ----------------------------------------------------------------------------------------------


class Xor:
    """The bitwise sum of several sources. If they are independent, one fair source among them makes it fair.

    >>> Xor(Replay(value=0b1100, length=4), Replay(value=0b1010, length=4)).bits(4)
    6
    """

    __slots__ = ("_sources",)

    def __init__(self, *sources: Bits) -> None:
        if not sources:
            raise BadParameter("sources", 0, "must be at least one")
        self._sources = sources

    def bits(self, count: int) -> int:
        """``count`` bits of every source, added bit by bit."""
        result = 0
        for source in self._sources:
            result ^= source.bits(count)
        return result

    def bytes(self, count: int) -> bytes:
        """``count`` bytes."""
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), if the sum is fair."""
        return uniform_below(self, n)
