"""Models from tables: what they learn, what they cost, and what is refused before anything is spent."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.memory.engine import Memory
from discreet.errors import BadParameter, EngineFailed, NoEstimate, OverBudget
from discreet.learning import (
    Categorical,
    CategoricalNB,
    ExactSums,
    GaussianNB,
    HistogramTree,
    LinearRegression,
    from_json,
    to_json,
)
from discreet.learning.models.histogram_tree import Node, counted
from discreet.ledger import open_ledger
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import bounds, keys, table
from discreet.session import Session
from discreet.session.learn import EngineHistograms
from discreet.synthetic.columns import categories
from discreet.synthetic.domain import Domain
from discreet.synthetic.tables.engine_source import EngineSource

RNG = np.random.default_rng(0)
ROWS = 20_000
AGE, HOURS = RNG.uniform(20, 60, ROWS), RNG.integers(0, 80, ROWS)
PAY = 100 + 5 * AGE - HOURS + RNG.normal(0, 5, ROWS)
JOB = np.where((AGE > 40) ^ (RNG.random(ROWS) < 0.05), "old", "young")
PEOPLE = pa.table({"person": np.arange(ROWS), "age": AGE, 'ho"urs': HOURS, "pay": PAY, "job": JOB, "free": AGE})
COLUMNS = {"age": bounds(20, 60), 'ho"urs': bounds(0, "79.5"), "pay": bounds(0, 500), "job": keys(["young", "old"])}


def a_session(**options: Any) -> Session:
    people = table(PEOPLE, unit="person", columns=COLUMNS, **{"max_rows": 1} | options)
    return Session(people=people, budget=Approx(8, "1e-6"), rule=Rule.ZCDP)


@pytest.mark.slow
def test_regression_from_sums() -> None:
    session = a_session()
    before = session.remaining
    model = session.learn(LinearRegression, "people", features=["age", 'ho"urs'], target="pay", epsilon=2)
    assert model.coef_ == pytest.approx([5, -1], abs=1.3)  # 4.75 on average, with a deviation of 0.13
    assert model.score(np.stack([AGE, HOURS], axis=1), PAY) > 0.95
    (answer,) = model.released_
    assert answer.receipt is not None
    assert session.remaining != before
    again = a_session()
    again.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=2)
    assert session.remaining == again.remaining  # one charge: that of one question at the same price


@pytest.mark.slow
def test_a_unit_is_capped_as_the_table_says() -> None:
    """One unit with half of all rows, all of them wrong: with a cap of one row it hardly matters."""
    heavy = np.concatenate([np.arange(ROWS), np.full(ROWS, 7)])
    rows = pa.table({"person": heavy, "x": np.tile(np.linspace(0, 1, ROWS), 2), "y": np.concatenate([
        np.linspace(0, 1, ROWS), np.linspace(1, 0, ROWS)])})  # fmt: skip
    declared = {"x": bounds(0, 1), "y": bounds(0, 1)}
    session = Session(
        t=table(rows, unit="person", columns=declared, max_rows=1), budget=Approx(8, "1e-6"), rule=Rule.ZCDP
    )
    model = session.learn(LinearRegression, "t", features=["x"], target="y", epsilon=4)
    assert model.coef_[0] > 0.9
    loose = Session(
        t=table(rows, unit="person", columns=declared, max_rows=2 * ROWS), budget=Approx(8, "1e-6"), rule=Rule.ZCDP
    )
    assert loose.learn(LinearRegression, "t", features=["x"], target="y", epsilon=4).coef_[0] < 0.9  # the twin


@pytest.mark.slow
def test_naive_bayes_from_counts() -> None:
    session = a_session()
    model = session.learn(CategoricalNB, "people", features=["age", "pay"], target="job", epsilon=1)
    assert list(model.classes_) == ["old", "young"]
    assert model.score(np.stack([AGE, PAY], axis=1), JOB) > 0.9
    assert sum(float(c) for c in model.class_count_) == pytest.approx(ROWS, rel=0.05)


def test_a_tree_from_counts_of_the_engine_is_one_charge() -> None:
    session = a_session()
    model = session.learn(HistogramTree, "people", features=["age", "pay"], target="job", epsilon=1, depth=1)
    assert model.score(np.stack([AGE, PAY], axis=1), JOB) > 0.9
    assert float(model.class_count_.sum()) == pytest.approx(ROWS, rel=0.05)
    assert model.receipt_ is not None
    assert model.receipt_.used
    again = a_session()
    again.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1)
    assert session.remaining == again.remaining
    read = from_json(to_json(model))
    assert np.array_equal(read.predict([[30, 200], [55, 300]]), model.predict([[30, 200], [55, 300]]))


class _Paid:
    """Counts of an engine, without a payment."""

    def __init__(self, source: EngineSource) -> None:
        self.domain, self.scale, self.moves, self.marginals = (
            source.domain,
            source.scale,
            source.moves,
            source.marginals,
        )


@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_person_moves_the_histograms_of_a_level_by_no_more_than_is_priced(relation: Neighbours) -> None:
    """A person with more rows than count, in every leaf, comes, goes, or is changed."""
    columns = {"a": Categorical(["x", "y"]), "b": Categorical(["p", "q"])}
    classes = categories(["no", "yes"], nullable=False)
    domain = Domain({name: categories(list(one.values)) for name, one in columns.items()} | {"label": classes})  # type: ignore[arg-type]
    paths = [np.array([True, False, True]), np.array([False, True, False])]
    leaves = [Node(((0, chosen),), []) for chosen in paths]
    others = [(1, "x", "p", "no"), (2, "y", "q", "yes")]
    heavy = [(9, "xy"[i % 2], "pq"[i // 2 % 2], ["no", "yes"][i // 4 % 2]) for i in range(11)]
    new = [(9, "x", "q", "yes")] * 7

    def of(rows: list[Any]) -> ExactSums:
        listed = dict(zip(("id", "a", "b", "label"), map(list, zip(*rows, strict=True)), strict=True))
        declared = {"a": keys(["x", "y"]), "b": keys(["p", "q"]), "label": keys(["no", "yes"])}
        session = Session(t=table(pa.table(listed), unit="id", columns=declared, max_rows=3), budget=ZCDP(1))
        source: Any = _Paid(EngineSource(session._backend.engine, session.schemas, "t", domain, neighbours=relation))
        return counted(EngineHistograms(source), leaves, [3, 3])

    pairs = [(others, others + heavy), (others, others + new)]
    if relation is Neighbours.CHANGE_ONE:
        pairs = [(others + heavy, others + new)]
    for one, other in pairs:
        before, after = of(one), of(other)
        moved = sum(int(m) ** 2 for m in (after.values - before.values).tolist())
        assert 0 < moved <= after.moves_squared


def test_an_engine_that_fails_keeps_the_payment_and_a_ledger_keeps_the_tree(tmp_path: Path) -> None:
    class Failing(Memory):
        fails = [True, False]  # noqa: RUF012 - one list for all

        def grouping_sets(self, work: Any, schemas: Any) -> Any:
            if self.fails.pop(0) if self.fails else False:
                raise EngineFailed
            return Memory.grouping_sets(self, work, schemas)

    few = PEOPLE.slice(0, 300)
    session = Session(
        people=table(few, unit="person", columns=COLUMNS, max_rows=1), budget=Approx(8, "1e-6"), engine=Failing(),
        ledger=tmp_path / "budget.db",
    )  # fmt: skip
    with pytest.raises(EngineFailed) as failed:
        session.learn(HistogramTree, "people", features=["age"], target="job", epsilon=1)
    left = session.remaining
    assert failed.value.again is not None
    tree = failed.value.again()
    assert session.remaining == left
    (charge,) = open_ledger(tmp_path / "budget.db").entries(kind="charge")
    stored = open_ledger(tmp_path / "budget.db").charge(charge.entry.sequence).answer
    assert stored is not None
    assert from_json(stored.decode()).predict([[30]]).tolist() == tree.predict([[30]]).tolist()


def test_what_is_true_or_false_needs_no_declaration() -> None:
    rows = pa.table({"id": np.arange(2000), "up": np.arange(2000) % 2 == 0, "x": np.arange(2000) % 2})
    given = table(rows, unit="id", columns={"x": bounds(0, 1)}, max_rows=1)
    session = Session(t=given, budget=Approx(8, "1e-6"))
    for model in (CategoricalNB, HistogramTree):
        found = session.learn(model, "t", features=["x"], target="up", epsilon=2)  # type: ignore[type-var]
        assert found.predict([[0], [1]]).tolist() == [True, False]


def test_refusals_cost_nothing() -> None:
    session = a_session()
    before = session.remaining
    for model, name, features, target in (
        (LinearRegression, "nobody", ["age"], "pay"), (LinearRegression, "people", [], "pay"),
        (LinearRegression, "people", ["pay"], "pay"), (LinearRegression, "people", ["none"], "pay"),
        (LinearRegression, "people", ["free"], "pay"), (LinearRegression, "people", ["job"], "pay"),
        (CategoricalNB, "people", ["age"], "pay"), (GaussianNB, "people", ["age"], "job"),
        (CategoricalNB, "people", "age", "job"), (CategoricalNB, "people", ["person"], "job"),
        (HistogramTree, "people", ["age"], "pay"), (HistogramTree, "people", ["free"], "job"),
    ):  # fmt: skip
        with pytest.raises(BadParameter):
            session.learn(model, name, features=features, target=target, epsilon=1)  # type: ignore[type-var]
    for given in ({"model": HistogramTree, "depth": 9}, {"model": CategoricalNB, "depth": 1}):
        with pytest.raises(BadParameter, match="depth"):
            session.learn(table="people", features=["age"], target="job", epsilon=1, **given)  # type: ignore[arg-type]
    with pytest.raises(OverBudget):
        session.learn(HistogramTree, "people", features=["age"], target="job", epsilon=100)
    assert session.remaining == before


def test_a_regression_of_too_few_units_to_choose_bounds_is_no_estimate_and_no_error_of_python() -> None:
    columns = {"x": bounds(0, 9), "y": bounds(0, 9)}
    few = table({"id": [1, 1, 2], "x": [1, 2, 3], "y": [1, 2, 3]}, unit="id", columns=columns, max_rows="auto")
    own = Session(t=few, budget=ZCDP(1))
    with pytest.raises(NoEstimate, match="was charged"):
        own.learn(LinearRegression, "t", features=["x"], target="y", rho="0.01")
