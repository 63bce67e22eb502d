"""Poisson batches: the exact chance of each row, fixed shapes, none at all."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.torch_training.batches import PoissonBatches, read_rate


class Words:
    """A source that hands out one 32-bit word for every row: its first byte, then the rest above 8 bits of ones."""

    def __init__(self, word: int) -> None:
        self.word = word
        self.first = True

    def bytes(self, count: int) -> bytes:
        if self.first:
            self.first = False
            return bytes([self.word >> 24]) * count
        return (self.word % (1 << 24) * 256 + 255).to_bytes(4, "little") * (count // 4)

    def bits(self, count: int) -> int:
        raise NotImplementedError

    def below(self, n: int) -> int:
        raise NotImplementedError


@pytest.mark.parametrize("rate", ["1/3", "1/64", "0.9", Fraction(1, 1 << 32), 1 - Fraction(1, 1 << 32)])
def test_the_chance_is_exactly_the_rate(rate: Any) -> None:
    """Of all 2^32 words exactly rate 2^32 take a row: those below the threshold. Tried at the ends of each of the 256
    ranges that the first byte decides between, and on both sides of the threshold.
    """
    batches = PoissonBatches(5, rate=rate, micro=2)
    threshold = int(batches.rate * (1 << 32))
    assert batches.rate <= Fraction(rate) < batches.rate + Fraction(1, 1 << 32)
    ends = {first << 24 | rest for first in range(256) for rest in (0, (1 << 24) - 1)}
    for word in ends | {threshold - 1, threshold, threshold + 1 & 0xFFFFFFFF}:
        assert len(PoissonBatches(5, rate=rate, micro=2, bits=Words(word)).draw()) == (5 if word < threshold else 0)


class Listed:
    """A source that hands out what it was given, call by call."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def bytes(self, count: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == count
        return part

    def bits(self, count: int) -> int:
        raise NotImplementedError

    def below(self, n: int) -> int:
        raise NotImplementedError


def test_each_row_has_bits_of_its_own() -> None:
    """At 1/64 = 4/256 and a little: rows with 0 to 3 are in, with 4 by their further bits, in the order of the rows."""
    rate = Fraction(4, 256) + Fraction(5, 1 << 32)
    further = b"".join((v * 256 + 77).to_bytes(4, "little") for v in (5, 4, 0))
    bits = Listed(bytes([4, 3, 5, 4, 255, 0, 4]), further)
    assert PoissonBatches(7, rate=rate, micro=4, bits=bits).draw().tolist() == [1, 3, 5, 6]
    assert not bits.parts


def each_by_itself(draw: Callable[[], Any]) -> bool:
    """Sizes of 2000 batches of half of 50 rows have the variance of a binomial law, and a row is in both of two batches
    in a row as often as by independent coins, each within 7 deviations (a false alarm below 1e-9).
    """
    batches = [draw() for _ in range(2000)]
    sizes = [len(batch) for batch in batches]
    both = sum(0 in a and 0 in b for a, b in zip(batches[::2], batches[1::2], strict=True))
    same_size = abs(np.var(sizes) / 12.5 - 1) < 7 * math.sqrt(2 / 2000)
    return bool(same_size and abs(both / 1000 - 1 / 4) < 7 * math.sqrt(3 / 16 / 1000))


def test_rows_are_taken_by_themselves_and_shuffled_batches_are_noticed() -> None:
    assert each_by_itself(PoissonBatches(50, rate="1/2", micro=8).draw)
    dice = np.random.default_rng(0)
    shuffled = (part for _ in range(1000) for part in np.split(dice.permutation(50), 2))
    assert not each_by_itself(lambda: next(shuffled))  # the planted fault: two halves of a shuffled epoch


def test_pieces_have_one_shape_and_lose_no_row() -> None:
    batches = PoissonBatches(30, rate=1, micro=8)
    pieces = list(batches.micro_batches())
    assert [len(p) for p, _ in pieces] == [8, 8, 8, 8]
    assert sorted(np.concatenate([p[c > 0] for p, c in pieces]).tolist()) == list(range(30))
    assert sum(float(c.sum()) for _, c in pieces) == 30
    assert not list(PoissonBatches(5, rate="1/2", micro=2, bits=Words((1 << 32) - 1)).micro_batches())


@pytest.mark.parametrize("bad", [0, -1, "1.1", Fraction(1, 1 << 40)])
def test_bad_rates(bad: object) -> None:
    with pytest.raises(BadParameter):
        read_rate(bad)  # type: ignore[arg-type]


def test_persons_are_drawn_with_one_of_their_rows() -> None:
    """Three persons with one to three rows and rows of nobody: at rate 1 one row of each, all rows in turn (2^-60 that
    one of them never is), at rate 1/2 each person in half of the batches, within 7 deviations.
    """
    units = np.array([2, -1, 0, 1, 1, -1, 2, 2])
    whole = PoissonBatches(8, rate=1, micro=2, units=units)
    drawn = np.array([whole.draw() for _ in range(400)])
    assert whole.rows == 3
    assert (units[drawn] == [0, 1, 2]).all()
    assert set(drawn.ravel().tolist()) == {0, 2, 3, 4, 6, 7}
    half = PoissonBatches(8, rate="1/2", micro=2, units=units)
    counts = np.sum([np.bincount(units[half.draw()], minlength=3) for _ in range(2000)], axis=0)
    assert (np.abs(counts - 1000) < 7 * 500**0.5).all()
    assert PoissonBatches(2, rate=1, micro=2, units=np.array([-1, -1])).draw().tolist() == []
