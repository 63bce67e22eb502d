"""Random questions against made-up neighbours: whatever SQL is accepted, one unit moves no more than it may."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as dp
from discreet.checking import check_query
from discreet.engines.memory.engine import memory
from discreet.errors import BadQuestion
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.privacy.accountants.conversions import largest_gdp, largest_zcdp
from discreet.query.engine import Engine
from discreet.query.estimate import noise_plan
from discreet.query.estimate.statistics import Rows
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Outcome
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, DistinctWork, Exact, TotalsWork, Work
from discreet.query.run import Quote
from discreet.session.price import Price
from discreet.session.session import Query, Workload
from tests.checking.exact.test_queries import CAPS, Faulty
from tests.helpers import postgres_tables
from tests.helpers.extent import extent
from tests.query.front.sql.test_parse_fuzz import Grammar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VISITS = pa.table(
    {
        "patient_id": [1],
        "clinic": ["a"],
        "cost": [1.0],
        "day": [date(2024, 1, 1)],
        "year": [2020],
        "note": ["x"],
        "paid": [True],
        "at": [datetime(2024, 1, 1)],
    }
)
PATIENTS = pa.table({"id": [1], "age": [3], "city": ["c"]})
AS_TEXT = PATIENTS.set_column(0, "id", pa.array(["1"]))
"""The same people as another table has as integers: as a CSV file has them."""
DECLARED = [caps for caps in CAPS if caps]
"""Without caps a question may have a preview and no price yet: what is known of units decides."""
BUDGETS: list[tuple[Any, dict[str, Any]]] = [
    (dp.Approx(100, "1e-5"), {"epsilon": 1}),
    (dp.ZCDP(1, "1e-6"), {"rho": 1}),
    (dp.Pure(9), {"epsilon": 1}),
]


def session(engine: Engine, caps: dict[str, Any], budget: Any, patients: pa.Table = PATIENTS) -> dp.Session:
    visits = {
        "cost": dp.bounds(0, 500),
        "clinic": dp.keys(["a", "b"]),
        "year": dp.bounds(2000, 2030),
        "note": dp.unknown_keys(),
    }
    return dp.Session(
        visits=dp.table(VISITS, unit="patient_id", columns=visits, **caps),
        patients=dp.table(
            patients,
            unit="id",
            columns={"age": dp.bounds(0, 120), "city": dp.unknown_keys()},
            **caps,
        ),
        engine=engine,
        budget=budget,
    )


def accepted(
    engine: Engine, seed: int, number: int, every: Sequence[dict[str, int]] = CAPS
) -> Iterator[tuple[str, Query, dict[str, Any]]]:
    """So many random questions that have a price, each with random caps and a random kind of budget."""
    dice = random.Random(seed)
    while number:
        text, caps, (budget, price) = Grammar(dice, wild=0.0).query(), dice.choice(every), dice.choice(BUDGETS)
        try:
            query = session(engine, caps, budget).sql(text)
            query.preview(**price)
        except (BadQuestion, dp.errors.NotATheorem):
            continue
        number -= 1
        yield text, query, price


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_unit_reaches_too_far_in_memory(seed: int) -> None:
    for text, query, price in accepted(memory(), seed, extent(8, 30)):
        report = check_query(query, tables=4, seed=seed, **price)
        assert report.ok, (text, report)


JOINED = [
    "SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.patient_id = p.id",
    "SELECT city, SUM(cost) AS s, COUNT(*) AS n FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY city",
    "SELECT v.clinic, AVG(v.cost) AS m FROM visits v JOIN patients p ON v.patient_id = p.id WHERE p.age > 9 GROUP BY 1",
    "SELECT COUNT(DISTINCT p.id) AS u, SUM(p.age) AS a FROM patients p JOIN visits v ON v.patient_id = p.id",
    "SELECT clinic, COUNT(*) AS n FROM (SELECT v.clinic, v.patient_id FROM visits v JOIN patients p "
    "ON v.patient_id = p.id GROUP BY v.clinic, v.patient_id) AS x GROUP BY clinic",
    "SELECT v.clinic, COUNT(*) AS n FROM visits v LEFT JOIN patients p ON v.patient_id = p.id GROUP BY v.clinic",
]


def mixed(engine: Engine, seed: int) -> Iterator[tuple[str, Query, dict[str, Any]]]:
    """Joins of a table whose units are integers with one that has the same units as text."""
    dice = random.Random(seed)
    for text in JOINED:
        caps, (budget, price) = dice.choice(DECLARED), dice.choice(BUDGETS)
        try:
            query = session(engine, caps, budget, AS_TEXT).sql(text)
            query.preview(**price)
        except (BadQuestion, dp.errors.NotATheorem):  # groups that are not listed have no pure price
            continue
        yield text, query, price


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_unit_reaches_too_far_that_is_text_in_one_table_and_an_integer_in_the_other(seed: int) -> None:
    tried = 0
    for text, query, price in mixed(memory(), seed):
        report = check_query(query, tables=extent(4, 30), seed=seed, **price)
        assert report.ok, (text, report)
        again = check_query(query, tables=extent(1, 6), seed=seed, engine=dp.engines.duckdb(threads=1), **price)
        assert again.ok, (text, again)
        tried += 1
    assert tried >= 3


@pytest.mark.slow
def test_a_planted_fault_is_found_where_units_are_text_and_integers() -> None:
    found = [not check_query(q, tables=4, seed=1, **price).ok for _, q, price in mixed(Faulty(larger), 0)]
    assert sum(found) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_unit_reaches_too_far_on_duckdb(seed: int) -> None:
    for text, query, price in accepted(dp.engines.duckdb(threads=1), 100 + seed, extent(4, 12)):
        report = check_query(query, tables=2, seed=seed, **price)
        assert report.ok, (text, report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_unit_reaches_too_far_on_postgres(fresh_database: str, seed: int) -> None:
    engine = dp.engines.postgres(fresh_database)
    for text, query, price in accepted(memory(), 200 + seed, extent(2, 12), DECLARED):
        report = check_query(query, tables=extent(1, 2), seed=seed, engine=engine, load=stored(fresh_database), **price)
        assert report.ok, (text, report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_unit_reaches_too_far_on_spark(spark: SparkSession, seed: int) -> None:
    engine = dp.engines.spark(spark)
    for text, query, price in accepted(memory(), 300 + seed, extent(1, 6), DECLARED):
        report = check_query(query, tables=1, most_rows=extent(2, 6), seed=seed, engine=engine, **price)
        assert report.ok, (text, report)


def stored(database: str) -> Callable[[str, pa.Table], str]:
    """Made-up tables go to PostgreSQL, which cannot hold the character NUL."""

    def without_nul(column: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring(column, "\0", "") if pa.types.is_string(column.type) else column

    def load(_name: str, table: pa.Table) -> str:
        columns = [without_nul(column) for column in table.columns]
        return postgres_tables.load(database, pa.table(columns, names=table.column_names))

    return load


def larger(work: AnyWork) -> AnyWork:
    """A cap that is one too large."""
    if isinstance(work, Work):
        return replace(work, weights=replace(work.weights, cap=work.weights.cap + 1))
    if isinstance(work, TotalsWork):
        return replace(work, cells=tuple(replace(cell, cap=cell.cap + 1) for cell in work.cells))
    return replace(work, cap=work.cap + 1) if isinstance(work, DistinctWork) else work


class Larger:
    """A real engine under caps that are one too large."""

    name = "larger"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def columns(self, source: object) -> dict[str, Stored]:
        return self._engine.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        return self._engine.run([larger(work) for work in works], schemas)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "spark"])
def test_a_planted_fault_is_found_on_other_engines(request: pytest.FixtureRequest, kind: str) -> None:
    """So the tests above can fail: a unit of many rows, of which one more than is paid for counts."""
    if kind == "postgres":
        database = request.getfixturevalue("fresh_database")
        engine, load = Larger(dp.engines.postgres(database)), stored(database)
    else:
        engine, load = Larger(dp.engines.spark(request.getfixturevalue("spark"))), None
    query = session(memory(), {"max_rows": 1}, dp.Pure(9)).sql("SELECT COUNT(*) AS n FROM visits")
    assert not check_query(query, tables=1, seed=6, epsilon=1, engine=engine, load=load).ok


@pytest.mark.slow
def test_random_questions_find_a_planted_fault() -> None:
    """A cap that is one too large; so the tests above can fail."""
    found = [
        not check_query(query, tables=4, seed=1, **price).ok for _, query, price in accepted(Faulty(larger), 0, 12)
    ]
    assert sum(found) >= 2


# --- what workloads cost ----------------------------------------------------------------------------------------------


def workloads(seed: int, number: int) -> Iterator[tuple[Workload, dict[str, Any]]]:
    """So many random workloads, each of one to three questions about one session."""
    dice = random.Random(seed)
    for _ in range(number):
        caps, (budget, price) = dice.choice(CAPS), dice.choice(BUDGETS)
        asking = session(memory(), caps, budget)
        found: list[Query] = []
        while len(found) < dice.choice((1, 2, 3)):
            try:
                query = asking.sql(Grammar(dice, wild=0.0).query())
                plans = [replace(query.plan, measures=(m,), outcome=_only(m.name)) for m in query.plan.measures]
                more = [query.again(plan) for plan in plans]
                for one in (query, *more):
                    one.preview(**price)
            except (BadQuestion, dp.errors.NotATheorem):
                continue
            found += [query, *more]
        yield asking.workload(found), price


def _only(name: str) -> Outcome:
    return Outcome(((name, Column(name)),))


def spent(asked: Quote) -> tuple[Fraction, Fraction, Fraction]:
    """ε, ρ and δ of all noises and keys: each statistic once, the two sides of a range together once."""
    epsilon, rho, delta = Fraction(0), Fraction(0), Fraction(0)
    for found, selection in zip(asked.plan.sets, asked.plan.selections, strict=True):
        for statistic, one in found.items():
            share = Fraction(1)
            if isinstance(statistic, Rows) and statistic.beside:
                parts = [
                    s
                    for s in found
                    if isinstance(s, Rows) and {s.value, *s.beside} == {statistic.value, *statistic.beside}
                ]
                assert {s.value for s in parts} == {statistic.value, *statistic.beside}
                assert all(found[s].noise == one.noise and s.bound == statistic.bound for s in parts)
                share = Fraction(1, len(parts))  # the rest comes with the other parts
            if isinstance(one.noise, Gaussian):
                rho += share * one.noise.moves_squared / (2 * one.noise.sigma_squared)
            else:
                epsilon += share * one.noise.moves / one.noise.scale
        delta += 0 if selection is None else selection.delta
    return epsilon, rho, delta


def kept(asked: Quote) -> bool:
    """Whether that is within what the questions may cost, and every statistic that an answer needs is there."""
    epsilon, rho, delta = spent(asked)
    for question in asked.questions:
        for part in question.parts:
            assert {s for recipe in part.recipes for s in recipe.needs} <= asked.noised(part).keys()
    match asked.allowance:
        case dp.Pure() as most:
            return epsilon <= most.epsilon and rho == 0 == delta
        case dp.ZCDP() as most:
            return epsilon == 0 and rho <= most.rho and delta <= most.delta
        case most if rho:  # by rho where noise is narrow, else by the exact law: 2 rho is (sensitivity/sigma)²
            left = dp.Approx(most.epsilon - epsilon, most.delta - delta)
            return rho <= max(largest_zcdp(left).rho, largest_gdp(left).mu_squared / 2)
        case most:
            return epsilon <= most.epsilon and delta <= most.delta


@pytest.mark.slow
def test_a_workload_costs_what_its_noises_cost() -> None:
    sides = 0
    for work, price in workloads(0, extent(60, 300)):
        asked = work.order(Price(**price)).quote
        assert kept(asked)
        assert isinstance(work.session, dp.Session)
        before = work.session.remaining_by_account[0]
        work.session._budget_store.spend(asked.plan.price)
        epsilon, rho, delta = spent(asked)
        match before, work.session.remaining_by_account[0]:
            case (dp.ZCDP() as a, dp.ZCDP() as b):
                assert a.rho - b.rho >= rho
                assert a.delta - b.delta >= delta
            case (dp.Pure() as a, dp.Pure() as b):
                assert a.epsilon - b.epsilon >= epsilon
            case (dp.Approx() as a, dp.Approx() as b):
                assert a.epsilon - b.epsilon >= (epsilon or 1)
                assert a.delta - b.delta >= delta
            case _:
                raise AssertionError
        sides += any(isinstance(s, Rows) and len(s.beside) > 0 for found in asked.plan.sets for s in found)
    assert sides >= extent(2, 5)


@pytest.mark.slow
def test_sums_that_nobody_paid_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sums for the price of one: so the test above can fail."""
    monkeypatch.setattr(noise_plan, "paid_with", lambda s: isinstance(s, Rows) or s)
    with pytest.raises(AssertionError, match="no event counts"):
        [work.order(Price(**price)).quote for work, price in workloads(0, 20)]
    monkeypatch.setattr(noise_plan, "_events", lambda found: [next(iter(found.values())).noise.event])
    found = [not kept(work.order(Price(**price)).quote) for work, price in workloads(0, 20)]
    assert any(found)
