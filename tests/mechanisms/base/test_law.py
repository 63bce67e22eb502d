"""A law prints as a short table of probabilities, and stays a dictionary of exact bounds."""

from fractions import Fraction
from typing import Any

import discreet as dp
from discreet.mechanisms.base.law import Law


def test_the_law_of_every_mechanism_prints_in_a_few_lines() -> None:
    for mechanism, value in ((dp.laplace(sensitivity=1, epsilon=1), 0), (dp.mechanisms.count(epsilon=1), 3)):
        law = mechanism.law(value)
        assert isinstance(law, Law)
        assert len(str(law).splitlines()) == 13
        assert "more outputs" in str(law)
        assert all(len(line) < 60 for line in str(law).splitlines())
        assert "0.462117" in str(law)
        assert sum(low for low, _ in law.values()) <= 1


def test_it_is_the_same_dictionary() -> None:
    law: Any = dp.mechanisms.randomized_response(epsilon=1).law(0)
    assert law == dict(law)
    assert str(law).splitlines() == ["0  0.731059", "1  0.268941"]
    assert law._repr_html_().count("<tr>") == 3


def test_outputs_of_several_kinds_and_none_at_all() -> None:
    half = (Fraction(1, 2), Fraction(1, 2))
    assert str(Law({None: half, 3: half})) == "3     0.5\nNone  0.5"
    assert str(Law()) == "{}"
