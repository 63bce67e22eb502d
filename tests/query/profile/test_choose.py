"""Caps chosen from released numbers: the same for the same numbers, near the best, and never from the data."""

import re

import numpy as np
import pytest

import discreet as dp
from discreet.query.profile.choose import Chosen, choose
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.predict import Known
from discreet.query.profile.sizes import UnitSizes
from discreet.session.price import Price
from tests.query.profile.test_sizes import KINDS, histogram

VISITS = dp.table(
    {"patient": [1, 2], "clinic": ["clinic 1", "clinic 2"], "cost": [1, 2]},
    unit="patient",
    max_rows="auto",
    columns={"clinic": dp.keys([f"clinic {i}" for i in range(60)]), "cost": dp.bounds(0, 10)},
)
SESSION = dp.Session(visits=VISITS, budget=dp.Approx(10, "1e-8"))
TEXTS = {
    "one": "SELECT COUNT(*) AS n FROM visits",
    "groups": "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic",
    "sums": "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits GROUP BY clinic",
    "units": "SELECT clinic, COUNT(DISTINCT patient) AS n FROM visits GROUP BY clinic",
    "median": "SELECT MEDIAN(cost) AS m FROM visits",
}


def chosen(text: str, found: Histogram, epsilon: float = 1, **options: bool) -> Chosen:
    prepared = SESSION.sql(text).prepared
    known = Known(UnitSizes(found))
    return choose(prepared, known, lambda questions: SESSION.quote(questions, Price(epsilon)), **options)


def sizes(kind: str, scale: float = 5.0) -> Histogram:
    rng = np.random.default_rng(3)
    return histogram(KINDS[kind](rng), scale, rng)


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_released_numbers_give_the_same_choice(text: str) -> None:
    found = sizes("heavy")
    assert chosen(TEXTS[text], found) == chosen(TEXTS[text], found)


def test_units_of_one_row_get_a_cap_of_one_and_nothing_is_cut() -> None:
    found = chosen(TEXTS["groups"], sizes("one row"))
    assert found.caps.max_rows == 1
    assert found.cut is not None
    assert found.cut.share == 0


def test_one_count_is_near_the_best_fixed_cap() -> None:
    """Predicted error of the choice against the exact one of every cap: within 1.3 of the best."""
    rng = np.random.default_rng(3)
    truth = KINDS["heavy"](rng)
    cap = chosen(TEXTS["one"], histogram(truth, 5.0, rng)).caps.max_rows
    assert cap is not None

    def error(c: int) -> float:
        return float(np.hypot(np.maximum(truth - c, 0).sum(), np.sqrt(2) * c))

    best = min(error(c) for c in range(1, int(truth.max()) + 1))
    assert error(cap) <= max(1.3 * best, 0.01 * truth.sum())


@pytest.mark.parametrize(("many", "most"), [(1, 1), (3, 4), (7, 8)])
def test_units_that_are_alike_get_a_cap_near_their_size(many: int, most: int) -> None:
    """What the noise hides beyond is guessed by how few are there, not by how many could be."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        cap = chosen(TEXTS["one"], histogram(np.full(20_000, many), 10.0, rng)).caps.max_rows
        assert cap is not None
        assert many <= cap <= 1.5 * most + 1


def test_groups_to_which_units_are_tied_are_cut_less() -> None:
    """A correction cannot know from which groups large units were cut if each has one: its error is predicted."""
    rng, prepared = np.random.default_rng(3), SESSION.sql(TEXTS["groups"]).prepared
    found, tied = UnitSizes(sizes("heavy")), UnitSizes(histogram(np.ones(20_000, int), 5.0, rng))
    spread, alone = (
        choose(prepared, Known(found, groups), lambda questions: SESSION.quote(questions, Price(1)))
        for groups in (found, tied)
    )
    assert alone.caps.max_rows is not None
    assert spread.caps.max_rows is not None
    assert alone.caps.max_rows > spread.caps.max_rows
    assert alone.error > spread.error


def test_noise_alone_is_never_more_than_all_of_the_predicted_error() -> None:
    for text in TEXTS.values():
        words = chosen(text, sizes("light"), 0.3).words[0]
        if "noise alone" in words:
            error, noise = (float(one) for one in re.findall(r"([0-9.]+)%", words))
            assert noise <= error


def test_a_smaller_price_never_gives_a_larger_cap() -> None:
    found = sizes("heavy")
    caps = [chosen(TEXTS["groups"], found, epsilon, correct=False).caps.max_rows for epsilon in (0.01, 0.1, 1, 5)]
    assert caps == sorted(caps)  # type: ignore[type-var]


def test_groups_are_corrected_where_that_is_predicted_to_be_better() -> None:
    found = chosen(TEXTS["groups"], sizes("heavy"), 0.2)
    assert found.corrected
    assert found.error < chosen(TEXTS["groups"], sizes("heavy"), 0.2, correct=False).error
    assert not chosen(TEXTS["one"], sizes("heavy")).corrected
    assert not chosen(TEXTS["groups"], sizes("one row")).corrected


def test_numbers_of_units_are_chosen_by_the_groups_of_units() -> None:
    """Units have 1 to 17 groups: nearly all of them count fully, for the error that is predicted."""
    prepared, found = SESSION.sql(TEXTS["units"]).prepared, UnitSizes(sizes("light"))
    chosen_ = choose(prepared, Known(found, found), lambda questions: SESSION.quote(questions, Price(1)))
    assert chosen_.caps.max_groups is not None
    assert 8 <= chosen_.caps.max_groups <= 24
    assert chosen_.error < 0.1
    assert "counts fully in at most" in chosen_.words[0]
    assert chosen_.cut is not None
    assert chosen_.cut.what == "groups"


def test_nothing_known_is_a_plain_default_that_says_so() -> None:
    found = chosen(TEXTS["groups"], histogram(np.array([], dtype=int), 5.0, np.random.default_rng(1)))
    assert found.caps.max_rows == 10
    assert "no unit stands out" in found.words[0]
