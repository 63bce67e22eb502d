"""Tables that are made to agree: the weighted least-squares fit, computed here in the plain way, and its variances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import discreet as dp
from discreet.arrays import Floats
from discreet.query.answer.agreeing_tables import AGREED, CountTable, fitted

SIZES = {"a": 2, "b": 3, "c": 4}
KEYS = [(("a", "b"), 4.0), (("a",), 1.0), (("c", "a"), 9.0), (("b",), 2.5), (("c",), 0.5), (("b", "c"), 7.0)]
SHAPES = [CountTable({key: SIZES[key] for key in keys}, variance) for keys, variance in KEYS]
CELLS = list(product(*(range(n) for n in SIZES.values())))
RNG = np.random.default_rng(3)


def matrix(keys: tuple[str, ...]) -> Floats:
    """Which of all combinations each cell of a table adds up."""
    places = [list(SIZES).index(key) for key in keys]
    cells = list(product(*(range(SIZES[key]) for key in keys)))
    here = [[all(full[p] == k for p, k in zip(places, cell, strict=True)) for full in CELLS] for cell in cells]
    return np.array(here, dtype=float)


EVERY = np.vstack([matrix(keys) for keys, _ in KEYS])
PRECISION = np.concatenate([np.full(len(matrix(keys)), 1 / variance) for keys, variance in KEYS])
HAT = EVERY @ np.linalg.pinv(EVERY.T @ (PRECISION[:, None] * EVERY)) @ (EVERY.T * PRECISION)
"""The fit is this times the noisy numbers."""


def tables(values: Floats) -> list[tuple[CountTable, Floats]]:
    found = []
    for shape in SHAPES:
        many = int(np.prod(list(shape.sizes.values())))
        found.append((shape, values[:many].reshape(tuple(shape.sizes.values()))))
        values = values[many:]
    return found


def noisy(spread: float = 1.0) -> Floats:
    return np.asarray(EVERY @ RNG.integers(0, 50, len(CELLS)) + spread * RNG.normal(size=len(EVERY)) / PRECISION**0.5)


def test_the_fit_is_that_of_weighted_least_squares() -> None:
    values = noisy()
    found = fitted(tables(values))
    assert found is not None
    assert np.concatenate([table.reshape(-1) for table in found]) == pytest.approx(HAT @ values)


def test_exact_tables_stay_as_they_are() -> None:
    values = noisy(0.0)
    found = fitted(tables(values))
    assert found is not None
    assert np.concatenate([table.reshape(-1) for table in found]) == pytest.approx(values)


def test_weighing_all_tables_alike_is_found_out() -> None:
    """The planted fault: tables count the same, however noisy they are. That is another fit."""
    values = noisy(0.1)
    found = fitted([(CountTable(shape.sizes, 1.0), table) for shape, table in tables(values)])
    assert found is not None
    assert np.concatenate([table.reshape(-1) for table in found]) != pytest.approx(HAT @ values)


def test_tables_that_noise_does_not_explain_are_left_alone() -> None:
    values = noisy()
    values[:6] += 40  # rows whose third key is not listed
    assert fitted(tables(values)) is None


ROWS = {"u": range(4000), "sex": [i % 2 for i in range(4000)], "age": [i * 7 % 5 for i in range(4000)]}
TEXTS = [
    "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
    "SELECT age, sex, COUNT(*) AS n FROM t GROUP BY age, sex",
    "SELECT age, AVG(u) AS m FROM t GROUP BY age",
    "SELECT age, COUNT(*) AS n FROM t GROUP BY age",
    "SELECT COUNT(*) AS n FROM t WHERE age > 1",
]


@pytest.mark.parametrize("rows", [1, 3])
def test_answers_of_a_plan_agree_and_keep_their_intervals(rows: int) -> None:
    columns = {"sex": dp.keys([0, 1]), "age": dp.keys(range(5)), "v": dp.bounds(0, 4000, nullable=False)}
    table = dp.table({**ROWS, "v": ROWS["u"]}, unit="u", max_rows=rows, columns=columns)
    own = dp.Session(t=table, budget=dp.Pure(1))
    first, both, mean, alone, other = own.plan([one.replace("AVG(u)", "AVG(v)") for one in TEXTS], epsilon=1).release()
    assert AGREED not in other.notes
    agreed = AGREED in both.notes  # one plan in a thousand has noise too large to tell it from tables of other rows
    assert all((AGREED in answer.notes) is agreed for answer in (first, mean, alone))
    if agreed:
        by_sex = [sum(n for s, n in zip(both["sex"], both["n"], strict=True) if s == k) for k in (0, 1)]
        by_age = [sum(n for a, n in zip(both["age"], both["n"], strict=True) if a == k) for k in range(5)]
        assert by_sex == pytest.approx(first["n"], abs=6)  # each is rounded
        assert by_age == pytest.approx(alone["n"], abs=3)
    for answer in (first, both, mean, alone):
        name = answer.columns[-1]
        ends = answer.intervals()[name]
        assert all(low <= value <= high for value, (low, high) in zip(answer[name], ends, strict=True))  # type: ignore[misc]
