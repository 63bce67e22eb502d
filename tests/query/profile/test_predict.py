"""The predicted error of a question: noise and cut together, near what it will be, for every kind of question."""

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.query.plan.schema import Caps
from discreet.query.profile.choose import choose, with_caps
from discreet.query.profile.predict import Known, Predicted, predict
from discreet.query.profile.sizes import UnitSizes
from discreet.session.price import Price
from tests.query.profile.test_choose import SESSION, TEXTS
from tests.query.profile.test_choose_bounds import values
from tests.query.profile.test_sizes import KINDS, histogram

RNG = np.random.default_rng(3)
SIZES = KINDS["light"](RNG)
KNOWN = Known(UnitSizes(histogram(SIZES, 0.1, RNG)), UnitSizes(histogram(SIZES, 0.1, RNG)))
"""A profile with hardly any noise: what is predicted must be what is there."""


def predicted(text: str, caps: Caps, known: Known | None = KNOWN, rows: float = 1000.0) -> Predicted:
    asked = with_caps(SESSION.sql(TEXTS[text]).prepared, caps)
    return predict(SESSION.quote((asked,), Price(1)), 0, known, rows)


@pytest.mark.parametrize("cap", [1, 4, 8])
def test_what_a_cap_cuts_of_a_count_is_predicted(cap: int) -> None:
    """Classes have a width: the share is known up to a few hundredths."""
    found = predicted("one", Caps(max_rows=cap), rows=float(SIZES.sum()))
    cut = float(np.maximum(SIZES - cap, 0).sum() / SIZES.sum())
    assert found.cut == pytest.approx(cut, abs=0.04)
    assert found.error == pytest.approx(np.hypot(cut, found.noise), abs=0.04)


def test_nothing_is_cut_of_the_number_of_units_and_its_noise_is_beside_the_units() -> None:
    query = SESSION.sql("SELECT COUNT(DISTINCT patient) AS n FROM visits")
    found = predict(SESSION.quote((query.prepared,), Price(1)), 0, KNOWN, 1e9)
    assert found.cut == 0
    assert found.noise == found.error == pytest.approx(2 / 20_000, rel=0.3)  # of whole Laplace noise of scale 1


def test_units_in_groups_are_cut_by_the_groups_that_count() -> None:
    few, many = (predicted("units", Caps(max_rows=n, max_groups=n)) for n in (1, 30))
    assert few.cut == pytest.approx(1 - 20_000 / SIZES.sum(), abs=0.15)
    assert many.cut == pytest.approx(0, abs=0.01)
    assert few.noise < many.noise


def test_without_a_profile_the_cut_is_unknown_and_noise_is_all() -> None:
    found = predicted("groups", Caps(max_rows=3), None)
    assert found.cut is None
    assert found.error == found.noise > 0


@pytest.mark.parametrize("text", ["one", "groups", "sums", "units", "median"])
def test_what_is_predicted_of_a_choice_is_what_it_was_chosen_for(text: str) -> None:
    prepared = SESSION.sql(TEXTS[text]).prepared
    heavy = UnitSizes(histogram(KINDS["heavy"](RNG), 5.0, RNG))
    known = Known(heavy, heavy)  # of a median, noise has steps: what holds at a small cap says nothing of a large one
    chosen = choose(prepared, known, lambda questions: SESSION.quote(questions, Price("0.2")))
    quote = SESSION.quote(chosen.questions, Price("0.2"))
    found = predict(quote, 0, known, float(chosen.rows or 1), corrected_by_next=chosen.corrected)
    assert found.error == pytest.approx(chosen.error, rel=0.1)
    assert found.noise == pytest.approx(chosen.noise, rel=0.1)
    assert found.error < 0.25


def test_a_row_each_is_never_cut() -> None:
    people = dp.table({"patient": [1, 2]}, unit="patient", max_rows=1)
    own = dp.Session(people=people, budget=dp.Pure(1))
    query = own.sql("SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient FROM people)")
    found = predict(own.quote((query.prepared,), Price(1)), 0, None, 1000.0)
    assert found.cut == 0


@pytest.mark.parametrize("text", ["SELECT AVG(cost) AS m FROM visits", "SELECT SUM(cost) AS s FROM visits"])
def test_the_error_of_sums_and_means_is_beside_values_as_they_are(text: str) -> None:
    """Values of 1 and of 9 within 0 to 10, by a profile that knows them."""
    asked = with_caps(SESSION.sql(text).prepared, Caps(max_rows=20))
    quote = SESSION.quote((asked,), Price(1))
    small, large = (
        predict(quote, 0, replace(KNOWN, values={("visits", "cost"): values(np.full(5000, x), 0.1)}), 1000.0).noise
        for x in (1, 9)
    )
    assert small / large == pytest.approx(8, rel=0.1)  # classes are powers of two: 1 to 2, 8 to 16
