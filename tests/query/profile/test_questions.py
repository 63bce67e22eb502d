"""The histograms of a profile against made-up neighbours: no unit moves one by more than 1; faults are found."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking.exact.queries import Trial, make_tables
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory.engine import Memory
from discreet.errors import BadParameter
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.schema import Caps
from discreet.query.profile.questions import About, table_questions
from discreet.session.price import Price

COLUMNS = {
    "clinic": dp.keys(["North", "South"]),
    "doctor": dp.unknown_keys(),
    "cost": dp.bounds(0, 5_000),
}
ROWS = pa.table(
    {
        "patient": [1, 1, 2],
        "clinic": ["North", "South", "North"],
        "doctor": ["a", "b", "a"],
        "cost": [1.0, 2.0, None],
        "weight": [60, 70, None],
        "day": pa.array([0, 1, 2], pa.date32()),
    }
)


def session(budget: dp.Pure | dp.Approx | dp.ZCDP) -> dp.Session:
    visits = dp.table(ROWS, unit="patient", columns=COLUMNS)
    return dp.Session(visits=visits, budget=budget)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "tables"), [(duckdb(), 2), (Memory(), 25)], ids=["duckdb", "memory"])
@pytest.mark.parametrize("budget", [dp.Pure(1), dp.ZCDP(1, "1e-6")], ids=str)
def test_no_unit_moves_a_histogram_by_more_than_its_noise_allows(
    budget: dp.Pure | dp.ZCDP, engine: Engine, tables: int
) -> None:
    own = session(budget)
    asked = table_questions("visits", own.schemas)
    assert {one.about for one in asked} == set(About)
    quote = own._backend.quote(
        [one.prepared for one in asked], Price(rho=1) if isinstance(budget, dp.ZCDP) else Price(1)
    )
    trial = Trial(quote, engine, own.schemas, lambda _, table: table)
    chance = random.Random(5)
    for _ in range(tables):
        made = make_tables(own.schemas, chance, 6)
        for unit in range(len(made.units)):
            assert trial.compare(made, unit) is None


def test_a_histogram_in_which_a_unit_weighs_two_is_found() -> None:
    own = session(dp.Pure(1))
    asked = table_questions("visits", own.schemas)
    quote = own._backend.quote([one.prepared for one in asked], Price(1))
    twice = own._backend.quote([_heavier(one.prepared) for one in asked], Price(1))
    sets = tuple(
        {statistic: replace(one, noise=paid[statistic].noise) for statistic, one in found.items()}
        for found, paid in zip(twice.plan.sets, quote.plan.sets, strict=True)
    )
    trial = Trial(replace(twice, plan=replace(twice.plan, sets=sets)), Memory(), own.schemas, lambda _, table: table)
    chance = random.Random(5)
    made = [make_tables(own.schemas, chance, 6) for _ in range(10)]
    assert any(trial.compare(one, unit) for one in made for unit in range(len(one.units)))


def _heavier(question: Prepared) -> Prepared:
    """The planted fault: two rows of a unit count, with the noise for one."""
    parts = tuple(replace(part, caps=Caps(max_rows=2)) for part in question.parts)
    return replace(question, parts=parts)


def test_only_columns_of_the_table_and_private_tables_can_be_asked_about() -> None:
    own = session(dp.Pure(1))
    with pytest.raises(BadParameter, match="must be columns of visits"):
        table_questions("visits", own.schemas, ["patient"])
    with pytest.raises(BadParameter, match="must be one of visits"):
        table_questions("nothing", own.schemas)
    public = dp.Session(
        visits=dp.table(ROWS, unit="patient"), towns=dp.table({"x": [1]}, public=True), budget=dp.Pure(1)
    )
    with pytest.raises(BadParameter, match="must be private"):
        table_questions("towns", public.schemas)
    assert [one.about for one in table_questions("visits", own.schemas, [])] == [About.ROWS]
