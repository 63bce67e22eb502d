"""Poisson batches: the exact chance of each row, fixed shapes, none at all."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.torch_training.batches import PoissonBatches, read_rate


class Words:
    """A source that hands out one 32-bit word again and again."""

    def __init__(self, word: int) -> None:
        self.word = word

    def bytes(self, count: int) -> bytes:
        return self.word.to_bytes(4, "little") * (count // 4)

    def bits(self, count: int) -> int:
        raise NotImplementedError

    def below(self, n: int) -> int:
        raise NotImplementedError


@pytest.mark.parametrize("rate", ["1/3", "1/64", "0.9"])
def test_the_chance_is_exactly_the_rate(rate: str) -> None:
    """Of all 2^32 words exactly rate 2^32 take a row: those below the threshold, tried at both ends."""
    batches = PoissonBatches(5, rate=rate, micro=2)
    threshold = int(batches.rate * (1 << 32))
    assert batches.rate <= Fraction(rate) < batches.rate + Fraction(1, 1 << 32)
    for word, taken in ((0, 5), (threshold - 1, 5), (threshold, 0), ((1 << 32) - 1, 0)):
        assert len(PoissonBatches(5, rate=rate, micro=2, bits=Words(word)).draw()) == taken


def test_rows_are_taken_by_themselves() -> None:
    """Sizes of 2000 batches of 50 rows have the variance of a binomial law, within 7 deviations; shuffled ones none."""
    batches = PoissonBatches(50, rate="1/2", micro=8)
    sizes = [len(batches.draw()) for _ in range(2000)]
    assert abs(np.var(sizes) / 12.5 - 1) < 7 * math.sqrt(2 / 2000)
    assert np.var([25] * 2000) / 12.5 < 0.5  # the planted fault: shuffled batches of one size


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
