"""Differencing and averaging succeed without protection and stay within the bound with it.

False alarms are below 1e-6: margins are five standard deviations.
"""

import math

import pytest

from discreet.checking import attacks
from discreet.checking.attacks.guessing import most_guessed
from discreet.errors import BadParameter
from tests.checking.attacks.cases import five_sigma


@pytest.mark.parametrize(("epsilon", "rate"), [(0, 0.5), (math.log(3), 0.75), (math.log(99), 0.99), (1000, 1.0)])
def test_the_most_that_a_guess_is_worth(epsilon: float, rate: float) -> None:
    assert most_guessed(epsilon) == pytest.approx(rate, abs=1e-15)


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"trials": 0}, {"trials": 1.5}])
def test_bad_parameters(bad: dict[str, float]) -> None:
    for attack in (attacks.differencing, attacks.averaging):
        with pytest.raises(BadParameter):
            attack(**bad)  # type: ignore[arg-type]


@pytest.mark.slow
def test_differencing() -> None:
    table = attacks.differencing(epsilon=2, trials=2000)
    assert table.row("exact").success == 1
    protected = table.row("noise")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 2000)
    assert protected.success > 0.55  # it does tell something: the true rate is 0.63


def test_averaging() -> None:
    table = attacks.averaging(repeats=1000, trials=200)
    assert table.row("each").success == 1  # the mean of 1000 draws is within half of the truth up to 1e-25
    protected = table.row("all")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 200)
