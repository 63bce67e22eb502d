"""max_rows="auto": a tenth of the price finds out, the rest answers; what is cut is reported; refusals cost nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.checking.exact.queries import check_query
from discreet.engines.memory.engine import Memory
from discreet.errors import BadParameter, BadQuestion, OverBudget

pytestmark = pytest.mark.usefixtures("fixed_noise")

RNG = np.random.default_rng(2)
PEOPLE = np.repeat(np.arange(4000), np.ceil(RNG.lognormal(1.5, 1, 4000)).astype(int))
CLINICS = ["N", "S", "W", "E"]
ROWS = {
    "patient": PEOPLE,
    "clinic": RNG.choice(CLINICS, len(PEOPLE)),
    "cost": RNG.integers(0, 100, len(PEOPLE)),
    "ward": RNG.integers(0, 60, len(PEOPLE)),
}
COLUMNS = {"clinic": dp.keys(CLINICS), "cost": dp.bounds(0, 100), "ward": dp.keys(range(60))}
GROUPS = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"


FOUR = dp.Pure(4)


def session(rows: Any = ROWS, budget: dp.Pure | dp.Approx | dp.ZCDP = FOUR) -> dp.Session:
    return dp.Session(visits=dp.table(rows, unit="patient", max_rows="auto", columns=COLUMNS), budget=budget)


def truth() -> list[int]:
    return [int((ROWS["clinic"] == clinic).sum()) for clinic in sorted(CLINICS)]


def test_the_whole_price_is_paid_and_no_more() -> None:
    own = session()
    answer = own.sql(GROUPS).release(epsilon=1)
    assert own.remaining == dp.Pure(3)
    assert answer["n"] == pytest.approx(truth(), rel=0.2)
    assert answer.cut is not None
    assert 0 <= answer.cut.low <= answer.cut.share <= answer.cut.high <= 1
    assert " rows cuts " in str(answer)
    assert "epsilon 1/10 was spent before, to choose caps and bounds" in str(answer)
    assert "chosen from the profile" in answer.explain()
    own.sql(GROUPS).release(epsilon=1)  # what was found out is known
    assert own.remaining == dp.Pure(2)


def test_a_better_profile_is_used_in_place_of_what_a_question_bought() -> None:
    """Of some of the rows, a profile of all says less than what was bought for them."""
    own = session(budget=dp.Pure(1000))
    asked = own.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    some = own.sql("SELECT clinic, COUNT(*) AS n FROM visits WHERE ward < 50 GROUP BY clinic")
    for query in (asked, some):
        query.release(epsilon="0.5")

    def sizes() -> tuple[Any, Any]:
        known, of_some = own.known(asked.prepared), own.known(some.prepared)
        assert known is not None
        assert known.groups is not None
        assert of_some is not None
        return known.sizes, of_some.sizes

    before = sizes()
    own.profile("visits", epsilon="0.01")  # which sees less
    assert sizes() == before
    own.profile("visits", epsilon=500)
    (better, same), (weak, _) = sizes(), before
    assert better.histogram.variance < weak.histogram.variance / 1000
    assert same == before[1]


def test_sizes_that_an_older_version_bought_are_read_and_not_bought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not ask in how many groups units are."""
    table = dp.table(ROWS, unit="patient", max_rows="auto", columns=COLUMNS)
    with monkeypatch.context() as older:
        older.setattr("discreet.session.caps.auto.correctable", lambda _: False)
        dp.Session(visits=table, budget=dp.Pure(4), ledger=tmp_path / "ledger").sql(GROUPS).release(epsilon=1)
    own = dp.Session(visits=table, ledger=tmp_path / "ledger")
    answer = own.sql(GROUPS).release(epsilon=2)
    assert own.remaining == dp.Pure(1)
    assert answer["n"] == pytest.approx(truth(), rel=0.2)
    assert answer.cost == "epsilon 2"  # all of it: nothing was bought


def test_with_a_profile_preview_and_answer_agree() -> None:
    own = session()
    assert "caps are not chosen yet" in str(own.sql(GROUPS).preview(epsilon=1))
    with pytest.raises(BadQuestion, match="no profile of visits yet"):
        own.sql(GROUPS).quote(epsilon=1)
    own.profile("visits", epsilon=1)
    found = own.sql(GROUPS).preview(epsilon=1)
    assert any("predicted error" in note for note in found.notes)
    answer = own.sql(GROUPS).release(epsilon=1)
    assert answer.notes[0] == found.notes[0]
    assert own.remaining == dp.Pure(2)


def test_corrected_values_are_marked_and_their_intervals_hold_the_raw_counts() -> None:
    own = session(budget=dp.Pure(100))
    own.profile("visits", epsilon=50)
    query = own.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    shown = query.preview(epsilon="0.4").error("n")
    answer = query.release(epsilon="0.4")
    assert any("n is corrected" in note for note in answer.notes)
    bars = [max(n - low, high - n) for n, (low, high) in zip(answer["n"], answer.intervals()["n"], strict=True)]  # type: ignore[misc]
    assert 0.5 < shown / np.median(bars) < 2, "the preview knows that there will be a correction"
    counts = np.bincount(ROWS["ward"], minlength=60)
    held = [low <= n <= high for n, (low, high) in zip(counts, answer.intervals("0.9999999")["n"], strict=True)]  # type: ignore[misc]
    assert all(held)


def test_an_error_can_be_asked_for_where_a_price_would_be_corrected() -> None:
    own = session(budget=dp.Pure(100))
    own.profile("visits", epsilon=50)
    query = own.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    assert "agree with a total" in str(query.preview(epsilon="0.4"))
    answer = query.release(error=40)
    assert all(20 < error <= 40 for error in answer.errors()["n"] if error is not None)
    assert "agree with a total" not in str(answer)


def test_a_join_with_a_table_of_one_row_each_counts_rows_and_tells_what_groups_cut() -> None:
    """Counts of keys that nobody listed: a fifth of the rows was left when the other table's one row counted."""
    people = dp.table({"patient": np.arange(4000), "kind": np.arange(4000) % 3}, unit="patient", max_rows=1)
    rows = dp.table(ROWS, unit="patient", max_rows="auto", columns={**COLUMNS, "clinic": dp.unknown_keys()})
    own = dp.Session(people=people, visits=rows, budget=dp.Approx(200, "1e-6"))
    joined = "FROM people JOIN visits ON people.patient = visits.patient GROUP BY clinic"
    answer = own.sql(f"SELECT clinic, COUNT(*) AS n {joined}").release(epsilon=100)
    assert answer["n"] == pytest.approx(truth(), rel=0.2)
    both = own.sql(f"SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean {joined}").preview(epsilon=1)
    assert any("% of their groups" in note or "groups cuts nothing" in note for note in both.notes)


def test_correction_can_be_left_out() -> None:
    table = dp.table(ROWS, unit="patient", max_rows="auto", correct=False, columns=COLUMNS)
    own = dp.Session(visits=table, budget=dp.Pure(100))
    own.profile("visits", epsilon=50)
    answer = own.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward").release(epsilon="0.4")
    assert not any("corrected" in note for note in answer.notes)


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT clinic, COUNT(DISTINCT patient) AS n FROM visits GROUP BY clinic",
    "SELECT AVG(cost) AS m, MEDIAN(cost) AS d FROM visits",
    "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost > 50 GROUP BY ROLLUP(clinic)",
])  # fmt: skip
@pytest.mark.parametrize("budget", [dp.Pure(1), dp.Approx(1, "1e-6"), dp.ZCDP(1, "1e-6")], ids=str)
def test_every_kind_of_question_and_budget(text: str, budget: dp.Pure | dp.Approx | dp.ZCDP) -> None:
    own = session(budget=budget)
    price = {"rho": "0.5"} if isinstance(budget, dp.ZCDP) else {"epsilon": "0.5"}
    answer = own.sql(text).release(**price)
    assert len(answer) > 0
    assert answer.cut is not None


def test_keys_that_nobody_listed() -> None:
    table = dp.table(ROWS, unit="patient", max_rows="auto", columns={**COLUMNS, "clinic": dp.unknown_keys()})
    own = dp.Session(visits=table, budget=dp.Approx(1, "1e-6"))
    answer = own.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").release(epsilon=1)
    assert answer["clinic"] == sorted(CLINICS)


def test_a_workload_chooses_for_each_of_its_questions() -> None:
    own = session()
    answers = own.workload([GROUPS, "SELECT COUNT(*) AS n FROM visits"]).release(epsilon=1)
    assert own.remaining == dp.Pure(3)
    assert all(answer.cut is not None for answer in answers)


@pytest.mark.parametrize("rows", [
    {"patient": np.array([], dtype=int), "clinic": np.array([], dtype=str), "cost": np.array([], dtype=int)},
    {"patient": [None], "clinic": ["N"], "cost": [1]},
    {"patient": [7], "clinic": [None], "cost": [None]},
], ids=["empty", "no unit", "all NULL"])  # fmt: skip
def test_a_table_with_next_to_nothing_gets_a_wide_answer(rows: dict[str, Any]) -> None:
    import pyarrow as pa

    kinds = pa.schema({"patient": pa.int64(), "clinic": pa.string(), "cost": pa.int64(), "ward": pa.int64()})
    answer = session(pa.table({**rows, "ward": rows["cost"]}, schema=kinds)).sql(GROUPS).release(epsilon=1)
    assert len(answer) == 4


def test_a_delta_that_does_not_pay_for_both_parts_is_refused_before_the_first() -> None:
    own = session(budget=dp.Approx(4, "1e-6"))
    with pytest.raises(OverBudget):
        own.sql(GROUPS).release(epsilon=4, delta="1e-6")
    assert own.remaining == dp.Approx(4, "1e-6")
    own.sql(GROUPS).release(epsilon=4, delta="4e-7")


def test_refusals_cost_nothing() -> None:
    own = session(budget=dp.Pure(1))
    with pytest.raises(OverBudget):
        own.sql(GROUPS).release(epsilon="1.01")
    with pytest.raises(BadParameter, match="buy a profile first"):
        own.sql(GROUPS).release(error=5)
    assert own.remaining == dp.Pure(1)


@pytest.mark.parametrize(("options", "problem"), [
    ({"max_rows": "many"}, "must be a whole number, or"),
    ({"max_rows": "auto", "max_groups": 3}, "must be left out"),
])  # fmt: skip
def test_caps_that_make_no_sense(options: dict[str, object], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        dp.table(ROWS, unit="patient", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [GROUPS, "SELECT clinic, COUNT(DISTINCT patient) AS n FROM visits GROUP BY clinic"])
def test_questions_with_chosen_caps_are_held_to_their_noise(text: str) -> None:
    """Exactly, on made-up neighbours: the caps that were chosen are those that the noise was made for."""
    own = session(budget=dp.Pure(20))
    own.profile("visits", epsilon=10)
    assert check_query(own.sql(text), epsilon=1, tables=2, engine=Memory()).ok


def test_explain_says_what_was_chosen_and_a_preview_knows_the_bars_of_corrected_sums() -> None:
    """Bars of a corrected sum are many times its noise; those of an answer are about as long as was said."""
    own = session(budget=dp.Pure(1000))
    own.profile("visits", epsilon=100)
    query = own.sql("SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward")
    assert "chosen from the profile of visits: at most" in query.explain(epsilon="0.5")
    shown, answer = query.preview(epsilon="0.5"), query.release(epsilon="0.5")
    assert any("s is corrected: groups were multiplied" in note for note in answer.notes)
    for name in ("n", "s"):
        bars = sorted(float(error or 0) for error in answer.errors()[name])
        assert bars[30] / 3 < shown.error(name) < 3 * bars[30]
