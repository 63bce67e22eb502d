"""How the size of the noise shows in the bits that a draw reads; times are measured, and not tested."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from discreet.checking import attacks
from discreet.checking.attacks.timing import _Counting, rank_correlation
from discreet.errors import BadParameter


@pytest.mark.slow
def test_timing_by_bits_read() -> None:
    table = attacks.timing(trials=400)
    assert table.row("coin by coin, bits").success > 0.9
    assert table.row("ours, a bulk").success == 0
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == 1


def test_the_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 8, 30), rng.integers(0, 8, 30)  # with ties
        both = (a + b).tolist()
        assert rank_correlation(a.tolist(), both) == pytest.approx(abs(spearmanr(a, both).statistic), abs=1e-9)
    assert rank_correlation([1, 2, 3], [7, 7, 7]) == 0


def test_bits_are_counted_however_they_are_read() -> None:
    source = _Counting()
    source.bits(5)
    source.bytes(3)
    assert source.read == 29
    assert 0 <= source.below(6) < 6
    assert (source.read - 29) % 3 == 0
    assert source.read >= 32


@pytest.mark.parametrize("trials", [19, 2.5])
def test_too_few_trials(trials: int) -> None:
    with pytest.raises(BadParameter, match="trials"):
        attacks.timing(trials=trials)
