"""A regression table as it is printed and exported."""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.inference.coefficients import Coefficients

FOUND = Coefficients(
    terms=("Intercept", "age_1", "sex"), estimates=np.array([1.0, 0.5, 0.0]), variances=np.array([0.04, 0.01, np.inf]),
    noise_variances=np.array([0.01, 0.0, np.inf]), excess=np.array([0.0, 0.0, np.nan]), rows=5000.0, kind="Regression",
    degrees=1e9, facts={"R-squared": 0.25}, notes=("A note.",),
)  # fmt: skip


def test_two_kinds_of_intervals() -> None:
    assert FOUND.intervals()[:2] == pytest.approx(np.array([[0.608, 1.392], [0.304, 0.696]]), abs=1e-3)
    assert FOUND.intervals(of="table")[:2] == pytest.approx(np.array([[0.804, 1.196], [0.5, 0.5]]), abs=1e-3)
    assert np.isinf(FOUND.intervals()[2]).all()
    assert FOUND.intervals("0.5")[0, 1] < FOUND.intervals("0.9")[0, 1]


def test_heavier_noise_has_longer_intervals_and_larger_p_values() -> None:
    heavy = replace(FOUND, excess=3 * FOUND.variances**2)
    assert heavy.intervals()[0, 1] > FOUND.intervals()[0, 1]
    assert heavy.p_values[1] > FOUND.p_values[1]


@pytest.mark.parametrize(("name", "value"), [("confidence", 1), ("confidence", 0), ("of", "sample")])
def test_what_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadParameter, match=name):
        FOUND.intervals(**{name: value})  # type: ignore[arg-type]


def test_what_is_not_known_is_never_a_number() -> None:
    found = FOUND.to_dict()
    assert found["coef"] == [1.0, 0.5, None]
    assert [found[name][2] for name in ("std err", "p", "low", "high")] == [None] * 4
    assert json.loads(FOUND.to_json())["coef"][2] is None
    assert FOUND.summary().splitlines()[4].split(maxsplit=4)[-1] == "nothing known: the noise is too large"
    assert FOUND.p_values[2] == 1


def test_exports() -> None:
    assert FOUND.to_markdown().splitlines()[2] == "| Intercept | 1.000 | 0.2000 | <0.001 | 0.6080 to 1.392 |"
    assert r"age\_1 & 0.5000" in FOUND.to_latex()
    assert r"95\% interval" in FOUND.to_latex()
    assert FOUND.to_pandas().loc["age_1", "coef"] == 0.5
    assert (FOUND.intercept_, FOUND.coef_.tolist()) == (1.0, [0.5, 0.0])
    assert repr(FOUND) == str(FOUND) == FOUND.summary()
    assert FOUND.summary().splitlines()[-2:] == ["R-squared 0.250", "A note."]
