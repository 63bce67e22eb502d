"""Biased bits refute ordinary noise and not noise that was made for them. Audited rows fail with 1e-8 at most."""

import pytest

from discreet.checking import attacks
from discreet.checking.attacks.coins import _Leaning, _Longer
from discreet.errors import BadParameter
from discreet.mechanisms.additive.laplace import laplace
from discreet.randomness import Replay


@pytest.mark.slow
def test_biased_coins() -> None:
    table = attacks.biased_coins(samples=12_000)
    assert table.row("ordinary noise, fair").success <= 0.4
    assert table.row("ordinary noise, biased").success > 0.4  # the true one is 0.9
    assert table.row("noise made").success <= 0.4


def test_behind_the_tape_come_fair_bits() -> None:
    longer = _Longer(Replay(value=0b1011, length=4))
    assert longer.bits(3) == 0b101
    assert longer.bits(9) >> 8 == 1  # the last bit of the tape, then eight others
    assert len(longer.bytes(2)) == 2
    assert _Longer(Replay(value=0b101, length=3)).below(8) == 0b101


def test_even_noise_is_counted_in_cells_of_the_grid() -> None:
    leaning = _Leaning(laplace(sensitivity=1, epsilon=1), None)
    assert [leaning._even(noise) for noise in (-2, -1, 0, 3, 4)] == [True, False, True, False, True]
    assert isinstance(leaning(5), int)


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"gamma": 1}, {"gamma": "-0.1"}])
def test_bad_parameters(bad: dict[str, str | int]) -> None:
    with pytest.raises(BadParameter):
        attacks.biased_coins(**bad)  # type: ignore[arg-type]
