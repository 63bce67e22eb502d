"""A plan shares one price: equal relative errors, shown before, and never more than the price, which is certified."""

import cProfile
import html
import pstats
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion, OverBudget
from discreet.privacy.accountants.compose import compose
from discreet.query.answer.agreeing_tables import AGREED
from discreet.session import plan as planning

pytestmark = pytest.mark.usefixtures("fixed_noise")

ROWS = {"patient": range(2000), "clinic": ["N", "S"] * 1000, "cost": [i % 100 for i in range(2000)]}
COLUMNS = {"clinic": dp.keys(["N", "S"]), "cost": dp.bounds(0, 1000)}
COUNT = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
SUM = "SELECT clinic, AVG(cost) AS m FROM visits GROUP BY clinic"


def session(budget: dp.Pure | dp.Approx) -> dp.Session:
    return dp.Session(visits=dp.table(ROWS, unit="patient", max_rows=1, columns=COLUMNS), budget=budget)


@pytest.mark.slow
def test_questions_are_about_equally_far_off_and_better_than_one_by_one() -> None:
    own = session(dp.Pure(1))
    found = own.plan([COUNT, SUM, "SELECT COUNT(*) AS n FROM visits"], epsilon=1)
    assert own.remaining == dp.Pure(1)
    assert max(found.errors) <= 2 * min(found.errors)
    assert found.saving < 1
    assert "times the error of asking one by one" in str(found)
    assert found._repr_html_() == f"<pre>{html.escape(str(found))}</pre>"
    assert [one.cost for one in found.previews] == [found.summary.cost] * 3
    assert all(one.shares for one in found.previews)
    answers = found.release()
    assert [answer.columns for answer in answers] == [("clinic", "n"), ("clinic", "m"), ("n",)]
    assert own.remaining == dp.Pure(0)
    with pytest.raises(OverBudget):
        found.release()


MANY = [f"SELECT COUNT(*) AS n FROM visits WHERE cost < {i}" for i in range(1, 26)]


@pytest.mark.slow
def test_many_questions_are_priced_by_a_certified_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = dp.Approx(1, "0.01")
    found = session(budget).plan(MANY, epsilon=1)
    quote = found.program.answer.quote
    assert compose([quote.plan.event]).epsilon(delta=budget.delta).upper <= 1
    assert quote.price == budget
    monkeypatch.setattr(planning, "TRIES", (50.0,))  # a bound that is not kept is not used
    plain = session(budget).plan(MANY, epsilon=1)
    assert compose([plain.program.answer.quote.plan.event]).epsilon(delta=budget.delta).upper <= 1
    assert sum(found.errors) < sum(plain.errors)


# --- with a profile: what caps cut is in the plan ---------------------------------------------------------------------

RNG = np.random.default_rng(2)
SIZES = np.ceil(RNG.lognormal(1.5, 1, 4000)).astype(int)
PEOPLE = np.repeat(np.arange(4000), SIZES)
HEAVY = {
    "patient": PEOPLE,
    "clinic": RNG.choice(["N", "S"], len(PEOPLE)),
    "cost": RNG.integers(0, 100, len(PEOPLE)),
    "ward": RNG.integers(0, 60, len(PEOPLE)),
}
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
ALL = "SELECT COUNT(*) AS n FROM visits"
UNITS = "SELECT COUNT(DISTINCT patient) AS n FROM visits"


def heavy(max_rows: int) -> dp.Session:
    columns = {**COLUMNS, "ward": dp.keys(range(60))}
    table = dp.table(HEAVY, unit="patient", max_rows=max_rows, columns=columns)
    return dp.Session(visits=table, budget=dp.Pure(1000))


def test_asked_alone_is_said_of_the_same_groups() -> None:
    """A table with fewer keys has larger groups: asked alone, too."""
    found = heavy(3).plan([WARDS, COUNT], epsilon=1)
    assert found.rows[1] > found.rows[0]
    assert found.alone[0] / found.alone[1] == pytest.approx(found.rows[1] / found.rows[0], rel=0.1)


def test_tables_that_agree_say_so_and_that_each_was_corrected_then() -> None:
    own = heavy(3)
    both = "SELECT ward, clinic, COUNT(*) AS n FROM visits GROUP BY ward, clinic"
    answers = own.plan(
        [both, "SELECT clinic, ward, COUNT(*) AS n FROM visits GROUP BY clinic, ward", WARDS], epsilon=1
    ).release()
    for answer in answers:
        assert len(answer.notes) == len(set(answer.notes))
    assert AGREED in [note for answer in answers for note in answer.notes]


def test_groups_that_a_public_table_lists_are_looked_up_again_before_anything_is_paid(tmp_path: Path) -> None:
    listed = tmp_path / "clinics.csv"
    listed.write_text("clinic\nN\nS\n")
    visits = dp.table(ROWS, unit="patient", max_rows=1, columns={"cost": dp.bounds(0, 1000)})
    own = dp.Session(visits=visits, clinics=dp.table(str(listed), public=True), budget=dp.Pure(1))
    plan = own.plan(["SELECT clinic, COUNT(*) AS n FROM clinics JOIN visits USING (clinic) GROUP BY clinic"], epsilon=1)
    listed.write_text("clinic\nN\n")
    with pytest.raises(BadQuestion, match="has changed since this was asked"):
        plan.release()
    assert own.remaining == dp.Pure(1)


def work_of(questions: int, *, narrowed: bool, rows: int | None) -> int:
    """How many functions are called to plan and preview so many questions of 8 sums each: work, not time."""
    caps: dict[str, Any] = {} if rows is None else {"max_rows": rows}
    table = dp.table(pa.table({"id": [1], "x": [1]}), unit="id", columns={"x": dp.bounds(0, 100)}, **caps)
    session = dp.Session({"t": table}, budget=dp.Approx(10, "1e-6"))
    sums = [", ".join(f"SUM(x + {i + 8 * j})" for i in range(8)) for j in range(questions)]
    asked = [session.sql(f"SELECT {some} FROM t{f' WHERE x > {j}' * narrowed}") for j, some in enumerate(sums)]
    profile = cProfile.Profile()
    profile.runcall(lambda: session.plan(asked, epsilon=1, delta="1e-8").previews)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("narrowed", [False, True])
@pytest.mark.parametrize("rows", [2, None])
def test_the_work_of_a_plan_grows_with_its_questions_and_no_faster(rows: int | None, narrowed: bool) -> None:
    """16 questions of 20 sums took 14 s: 10.3 million calls for these here, 6 times those of a fourth of them.

    With open rows it was 27 s: what stands in for choices was made again for each sum.
    """
    work_of(1, narrowed=narrowed, rows=rows)  # what is imported and computed once
    few, many = (work_of(n, narrowed=narrowed, rows=rows) for n in (4, 16))
    assert many < 4.8 * few
    assert many < 2_000_000
