"""Models from tables: what they learn, what they cost, and what is refused before anything is spent."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadParameter
from discreet.learning import CategoricalNB, GaussianNB, LinearRegression
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Approx
from discreet.query.plan.schema import bounds, keys, table
from discreet.session import Session

RNG = np.random.default_rng(0)
ROWS = 20_000
AGE, HOURS = RNG.uniform(20, 60, ROWS), RNG.integers(0, 80, ROWS)
PAY = 100 + 5 * AGE - HOURS + RNG.normal(0, 5, ROWS)
JOB = np.where((AGE > 40) ^ (RNG.random(ROWS) < 0.05), "old", "young")
PEOPLE = pa.table({"person": np.arange(ROWS), "age": AGE, 'ho"urs': HOURS, "pay": PAY, "job": JOB, "free": AGE})
COLUMNS = {"age": bounds(20, 60), 'ho"urs': bounds(0, "79.5"), "pay": bounds(0, 500), "job": keys(["young", "old"])}


def a_session(**options: Any) -> Session:
    people = table(PEOPLE, unit="person", columns=COLUMNS, **options)
    return Session(people=people, budget=Approx(8, "1e-6"), rule=Rule.ZCDP)


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


def test_naive_bayes_from_counts() -> None:
    session = a_session()
    model = session.learn(CategoricalNB, "people", features=["age", "pay"], target="job", epsilon=1)
    assert list(model.classes_) == ["old", "young"]
    assert model.score(np.stack([AGE, PAY], axis=1), JOB) > 0.9
    assert sum(float(c) for c in model.class_count_) == pytest.approx(ROWS, rel=0.05)


def test_refusals_cost_nothing() -> None:
    session = a_session()
    before = session.remaining
    for model, name, features, target in (
        (LinearRegression, "nobody", ["age"], "pay"), (LinearRegression, "people", [], "pay"),
        (LinearRegression, "people", ["pay"], "pay"), (LinearRegression, "people", ["none"], "pay"),
        (LinearRegression, "people", ["free"], "pay"), (LinearRegression, "people", ["job"], "pay"),
        (CategoricalNB, "people", ["age"], "pay"), (GaussianNB, "people", ["age"], "job"),
    ):  # fmt: skip
        with pytest.raises(BadParameter):
            session.learn(model, name, features=features, target=target, epsilon=1)  # type: ignore[type-var]
    assert session.remaining == before
