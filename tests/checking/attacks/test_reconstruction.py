"""Reconstruction from counts: complete without noise, within the bound with it (five standard deviations)."""

from typing import Any

import pytest

from discreet.checking import attacks
from discreet.errors import BadParameter
from tests.checking.attacks.cases import five_sigma


def test_too_few_questions_find_little_even_without_noise() -> None:
    """One count of 96 people has 97 values: it cannot hold 96 bits. Five standard deviations around a half."""
    table = attacks.reconstruction(people=96, questions=1)
    assert table.row("exact").success < 0.5 + five_sigma(0.5, 96) + 0.1


@pytest.mark.parametrize("bad", [{"people": 7}, {"questions": 0}, {"epsilon": 0}, {"people": 8.0}])
def test_bad_parameters(bad: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        attacks.reconstruction(**bad)


@pytest.mark.slow
def test_reconstruction() -> None:
    table = attacks.reconstruction(people=96)
    assert table.row("exact").success == 1
    assert table.row("noise of scale 1").success > 0.95
    protected = table.row("noise for all")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 96)
