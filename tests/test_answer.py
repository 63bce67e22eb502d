"""Answers: error bars, post-processing, and how they are shown; reading one draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.answer import Answer, confidence_level
from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.privacy.promises import events


@dataclass(frozen=True)
class Bar:
    """Twice as wide at 95 % as elsewhere."""

    expected_error: float = 1.0

    def error_at(self, confidence: Number) -> float:
        return 4.0 if Fraction(confidence) == Fraction(95, 100) else 2.0


def answer(value: Any, accuracy: Bar | None = None, story: tuple[str, ...] = ("counted",)) -> Answer:
    return Answer(value=value, event=events.Pure(1), cost="epsilon 1", story=story, accuracy=accuracy)


def test_the_error_bar_is_that_of_its_accuracy() -> None:
    assert answer(10, Bar()).error_at() == 4.0
    assert answer(10, Bar()).error_at("0.5") == 2.0
    assert answer(10, Bar()).within() == (6.0, 14.0)
    assert answer(10, Bar()).within("0.5") == (8.0, 12.0)


def test_an_interval_for_every_entry() -> None:
    low, high = answer(np.array([1, 5]), Bar()).within()
    assert low.tolist() == [-3.0, 1.0]
    assert high.tolist() == [5.0, 9.0]
    assert answer((1, 5), Bar()).within() == ((-3.0, 1.0), (5.0, 9.0))


def test_without_accuracy_there_is_no_error_bar() -> None:
    for ask in (answer(1).error_at, answer(1).within):
        with pytest.raises(BadParameter, match="explain"):
            ask()


def test_post_processing_costs_nothing_and_loses_the_error_bar() -> None:
    first = answer(-3, Bar())
    then = first.then(abs)
    assert (then.value, then.event, then.cost, then.accuracy) == (3, first.event, first.cost, None)
    assert then.story == ("counted", "abs")
    assert first.value == -3
    assert first.then(lambda x: x + 1, "one more", Bar(2.0)).error_at() == 4.0
    assert first.then(lambda x: x + 1, "one more").story[-1] == "one more"

    class Nameless:
        def __call__(self, value: Any) -> Any:
            return value

    assert first.then(Nameless()).story[-1] == "post-processed"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (42, "42"), (1.23456789, "1.23457"), ("yes", "yes"), (None, "None"), ((1, 2), "(1, 2)"),
        (np.array([1, 2]), "[1, 2]"), (np.array([0.1234567, 2]), "[0.123457, 2]"),
        (np.arange(9), "[0, 1, 2, 3, 4, 5, ...]"), (np.array([]), "[]"),
        (np.zeros((2, 2), dtype=int), "[0, 0, 0, 0] of shape (2, 2)"), (2**70, f"{2**70:,}"),
    ],
)  # fmt: skip
def test_how_a_value_is_shown(value: Any, shown: str) -> None:
    assert str(answer(value)) == f"{shown}, spent epsilon 1"


def test_the_error_bar_is_shown() -> None:
    assert str(answer(42, Bar())) == "42 ± 4 (95%), spent epsilon 1"
    assert answer(42, story=("counted", "added noise")).explain() == "1. counted\n2. added noise\n3. spent epsilon 1"


def test_a_notebook_never_runs_what_a_name_holds() -> None:
    page = answer("<script>", story=("grouped by <img onerror=x>",))._repr_html_()
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "<li>grouped by &lt;img onerror=x&gt;</li>" in page


@pytest.mark.parametrize(("given", "level"), [(0, 0), ("0.95", Fraction(19, 20)), (0.5, Fraction(1, 2))])
def test_confidence(given: Any, level: Fraction) -> None:
    assert confidence_level(given) == level


@pytest.mark.parametrize("given", [1, "1.5", -0.1, 95, float("nan"), "high", None, True])
def test_what_is_no_confidence(given: Any) -> None:
    with pytest.raises(BadParameter, match="confidence"):
        confidence_level(given)
