"""Epochs that grow: one price whatever the horizon, and errors within a constant of a known one."""

from fractions import Fraction

import pytest

from discreet.continual.strategies import Appearances
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.unknown_horizon import FIRST, GROWTH, LONGEST, SIZE, SIZE_L1, Epochs
from tests.helpers.continual_matrices import matrix


@pytest.mark.slow
def test_epochs_fit_and_stay_within_a_constant_of_a_known_horizon() -> None:
    for squared, size in ((True, SIZE), (False, SIZE_L1)):
        strategy = Epochs(squared)
        for number in range(7):
            e = strategy.epoch(number)
            one = e.strategy.moves(Appearances())
            length = e.rows**2 * one.l2_squared + e.total**2 if squared else e.rows * one.l1 + e.total
            assert 0.97 * size < length <= size
    for t in (64, 1000, 10**5):
        known = float(Toeplitz(4096).weight(min(t, 4096)) * Toeplitz(min(t, 4096)).moves(Appearances()).l2_squared)
        assert float(Epochs(True).weight(t) * SIZE) < 6 * known * (1 if t <= 4096 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("squared", [True, False])
def test_no_value_moves_the_rows_farther_than_the_size_of_a_column(squared: bool) -> None:
    steps = FIRST * (1 + GROWTH) + 5  # two epochs, and a third one begun
    c = matrix(Epochs(squared), steps).astype(object)
    columns = [sum(x * x for x in column) if squared else sum(map(abs, column)) for column in c.T.tolist()]
    size = SIZE if squared else SIZE_L1
    assert max(columns) <= size
    assert max(columns) > Fraction(97, 100) * size, "an epoch uses what it pays for"


def test_a_total_is_joined_from_both_measurements() -> None:
    epoch = Epochs(True).epoch(0)
    prefix, direct = epoch.weight(epoch.length), Fraction(1, epoch.total**2)
    assert 1 / epoch.ended_weight == 1 / prefix + 1 / direct
    share = epoch.own_share
    assert share**2 * prefix + (1 - share) ** 2 * direct == epoch.ended_weight


def test_epochs_grow_up_to_the_longest() -> None:
    lengths = [Epochs(False).epoch(n).length for n in range(8)]
    assert lengths[:3] == [64, 512, 4096]
    assert lengths == sorted(lengths)
    assert lengths[-1] == LONGEST
