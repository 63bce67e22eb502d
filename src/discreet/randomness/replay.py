"""Bits that can be played again, for tests and audits. No release accepts them.

``Recorder`` notes what a real source gave; ``Replay`` plays it back; ``exact_law`` runs a function on every
bit path and returns the law of its result, exactly. ``WholeDraws`` is a source that gives noise whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.randomness.source import Bits, uniform_below

T = TypeVar("T", bound=Hashable)


class TapeEnded(DiscreetError):
    """A replay was asked for more bits than its tape holds."""

    def __init__(self, missing: int) -> None:
        self.missing = missing
        super().__init__(f"the tape ended {missing} bits too early")


class Replay:
    """Plays back a fixed string of bits, once.

    >>> tape = Replay(value=0b1011, length=4)
    >>> tape.bits(1), tape.bits(3)
    (1, 3)
    """

    __slots__ = ("_left", "_value")

    def __init__(self, *, value: int, length: int) -> None:
        self._value = value
        self._left = length

    @classmethod
    def of_bytes(cls, tape: bytes) -> Replay:
        """Plays back bytes from first to last."""
        return cls(value=int.from_bytes(tape, "big"), length=8 * len(tape))

    @property
    def left(self) -> int:
        """How many bits are still on the tape."""
        return self._left

    def bits(self, count: int) -> int:
        """The next ``count`` bits of the tape."""
        if count > self._left:
            raise TapeEnded(count - self._left)
        self._left -= count
        return (self._value >> self._left) & ((1 << count) - 1)

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes of the tape."""
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), if the tape is uniform."""
        return uniform_below(self, n)


class Recorder:
    """Passes on another source's bits and keeps them, so that the run can be replayed.

    >>> from discreet.randomness.source import SystemBits
    >>> recorder = Recorder(SystemBits())
    >>> first = [recorder.bits(5), recorder.below(10)]
    >>> again = recorder.replay()
    >>> first == [again.bits(5), again.below(10)]
    True
    """

    __slots__ = ("_length", "_source", "_value")

    def __init__(self, source: Bits) -> None:
        self._source = source
        self._value = 0
        self._length = 0

    def bits(self, count: int) -> int:
        """``count`` bits of the source."""
        drawn = self._source.bits(count)
        self._value = self._value << count | drawn
        self._length += count
        return drawn

    def bytes(self, count: int) -> bytes:
        """``count`` bytes of the source."""
        drawn = self._source.bytes(count)
        self._value = self._value << 8 * count | int.from_bytes(drawn, "big")
        self._length += 8 * count
        return drawn

    def below(self, n: int) -> int:
        """A uniform integer in [0, n)."""
        return uniform_below(self, n)

    def replay(self) -> Replay:
        """A tape of all that was drawn so far."""
        return Replay(value=self._value, length=self._length)


class WholeDraws:
    """A source of bits that draws noise whole: an exact check tries every value of a law, not every string of bits.

    No release accepts it. Subclasses say what is drawn.
    """

    __slots__ = ()

    def laplace(self, scale: Fraction) -> int:
        """A draw of the discrete Laplace law."""
        raise NotImplementedError

    def geometric(self, scale: Fraction) -> int:
        """A draw of the geometric law."""
        raise NotImplementedError

    def gaussian(self, sigma_squared: Fraction) -> int:
        """A draw of the discrete Gaussian law."""
        raise NotImplementedError


def exact_law(draw: Callable[[Bits], T], *, depth: int) -> tuple[dict[T, Fraction], Fraction]:
    """The law of ``draw`` when its bits are fair, from every bit path of at most ``depth`` bits.

    Guarantee: the true probability of an outcome lies between its entry and its entry plus the second value,
    which is the mass of the paths that had not ended after ``depth`` bits; all masses sum to 1.

    >>> exact_law(lambda bits: bits.below(3), depth=6)
    ({0: Fraction(21, 64), 1: Fraction(21, 64), 2: Fraction(21, 64)}, Fraction(1, 64))
    """
    law: dict[T, Fraction] = {}
    undecided = Fraction(0)
    paths = [(0, 0)]
    while paths:
        value, length = paths.pop()
        try:
            outcome = draw(Replay(value=value, length=length))
        except TapeEnded as ended:
            longer = length + ended.missing
            if longer > depth:
                undecided += Fraction(1, 1 << length)
            else:
                paths.extend((value << ended.missing | tail, longer) for tail in reversed(range(1 << ended.missing)))
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + Fraction(1, 1 << length)
    return law, undecided
