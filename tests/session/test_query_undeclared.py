"""Tables without declared contribution bounds: each query chooses its own, in its own charge."""

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion

pytestmark = pytest.mark.usefixtures("fixed_noise")

CHOSEN_CAPS = True
PEOPLE = np.repeat(np.arange(400), 60)
ROWS = {
    "patient": PEOPLE,
    "clinic": np.array(["N", "S"])[PEOPLE % 2],
    "cost": PEOPLE % 50,
    "day": np.datetime64("2025-01-01") + PEOPLE % 30,
}
COLUMNS = {
    "clinic": dp.keys(["N", "S"]),
    "cost": dp.bounds(0, 50),
    "day": dp.bounds("2025-01-01", "2025-01-31"),
}
COUNT = "SELECT COUNT(*) AS n FROM visits"


def session(budget: Any = None, **caps: Any) -> dp.Session:
    visits = dp.table(ROWS, unit="patient", columns=COLUMNS, **caps)
    return dp.Session(visits=visits, budget=budget or dp.Pure(100))


def test_all_rows_count_where_a_cap_of_ten_would_have_left_a_sixth() -> None:
    """60 rows each; counted with ten rows of each unit the answer was 4,000 of 24,000. Noise: below 1e-9 to be off."""
    own = session()
    answer = own.sql(COUNT).release(epsilon=50)
    assert answer["n"][0] == pytest.approx(len(PEOPLE), rel=0.1)
    assert "were scaled down" in str(answer.notes)
    assert own.remaining == dp.Pure(50)


@pytest.mark.parametrize("text", [
    "SELECT COUNT(DISTINCT patient) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM (SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient) AS t",
])  # fmt: skip
def test_what_needs_no_cap_pays_for_no_choice(text: str) -> None:
    query = session().sql(text)
    assert query.quote(epsilon=1).price == dp.Pure(1)
    assert query.release(epsilon=50)["n"][0] == pytest.approx(400, abs=10)


def test_a_workload_is_one_charge() -> None:
    own = session()
    texts = [f"SELECT COUNT(*) AS n FROM visits WHERE cost <> {i}" for i in range(5)]
    first = own.workload(texts).release(epsilon=50)
    assert own.remaining == dp.Pure(50)
    assert {answer.cost for answer in first} == {str(dp.Pure(50))}


@pytest.mark.parametrize("ask", [
    lambda own: own.sql(COUNT).release(error=5),
    lambda own: own.plan([COUNT], error=[5]),
    lambda own: own.sql(COUNT).statements("bigquery", epsilon=1),
    lambda own: own.continual(COUNT, epsilon=1, by="day", horizon=30),
])  # fmt: skip
def test_what_must_be_known_before_a_choice_asks_for_a_number_and_spends_nothing(ask: Any) -> None:
    own = session(dp.Approx(100, "1e-9"))
    with pytest.raises((BadQuestion, BadParameter), match="max_rows"):
        ask(own)
    assert own.remaining == dp.Approx(100, "1e-9")


def test_bounds_can_be_suggested_without_a_cap() -> None:
    own = session()
    assert own.suggest_bounds("cost", epsilon=50).declared.high == 64


def test_declared_groups_stay_and_rows_are_chosen() -> None:
    own = session(max_groups=1)
    answer = own.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").release(epsilon=50)
    assert answer.released[0].part.caps.max_groups == 1
    assert answer["n"] == pytest.approx([12_000, 12_000], rel=0.1)


def test_rows_that_follow_from_two_other_caps_are_declared() -> None:
    own = session(max_groups=2, max_rows_per_group=30)
    assert own.sql(COUNT).quote(epsilon=1).price == dp.Pure(1)


@pytest.mark.parametrize("together", [False, True])
def test_an_answer_made_of_several_questions_chooses_for_each_of_them(together: bool) -> None:
    own = session()
    text = f"{COUNT} WHERE cost < 25 UNION ALL {COUNT} WHERE cost >= 25"
    if together:
        answer, _ = own.workload([text, COUNT]).release(epsilon=50)
    else:
        assert "of the cost chooses bounds" in str(own.sql(text).preview(epsilon=50))
        answer = own.sql(text).release(epsilon=50)
    assert own.remaining == dp.Pure(50)
    assert sum(answer["n"]) == pytest.approx(len(PEOPLE), rel=0.1)
