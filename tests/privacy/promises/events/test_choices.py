"""Choices: what is no choice is refused by name."""

from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.promises import events


def test_the_choices_of_an_event_are_named_when_another_is_given() -> None:
    wrong: Any = "laplace"
    with pytest.raises(BadParameter, match=r"MaxNoise\.LAPLACE, MaxNoise\.EXPONENTIAL, MaxNoise\.GUMBEL"):
        events.NoisyMax(1, wrong)
    assert events.NoisyMax(1, events.MaxNoise.GUMBEL) != events.NoisyMax(1)


def test_two_values_are_the_fewest_to_respond_with() -> None:
    assert events.RandomizedResponse("1/2") == events.RandomizedResponse("0.5", categories=2)
    with pytest.raises(BadParameter):
        events.RandomizedResponse(1, categories=1)
