"""synthesize: end to end, inside the schema, refusals before anything is touched."""

from datetime import date
from itertools import takewhile
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadData, BadParameter, Unsupported
from discreet.privacy.promises.measures import Approx
from discreet.synthetic.columns import bins, days
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.mbi_fit import mbi_fit
from discreet.synthetic.synthesize import memory_for, synthesize

DOMAIN = Domain(
    {
        "clinic": ["North", "South"],
        "age": range(0, 80),
        "cost": bins([0, 10, 100, 1000]),
        "day": days("2024-01-01", "2024-12-31", step=30),
    }
)


def visits(count: int = 3000) -> pa.Table:
    draw = np.random.default_rng(0)
    south = draw.random(count) < 0.3
    return pa.table(
        {
            "id": draw.integers(0, count // 2, count),
            "clinic": np.where(south, "South", "North"),
            "age": draw.integers(0, 80, count),
            "cost": np.where(south, 500.0, 5.0),
            "day": [date(2024, 1 + int(m), 3) for m in draw.integers(0, 12, count)],
        }
    )


@pytest.mark.slow
def test_rows_have_the_types_of_the_domain_and_lie_inside_it() -> None:
    made = synthesize(visits(), domain=DOMAIN, unit="id", max_rows=2, epsilon=3, delta="1e-6", rows=500)
    table = made.to_arrow()
    assert table.num_rows == len(made) == 500
    assert [str(t) for t in table.schema.types] == ["string", "int64", "double", "date32[day]"]
    assert (DOMAIN.encode(table) == made.codes).all()
    assert isinstance(made.promise, Approx)
    assert made.promise.epsilon <= 3
    assert made.promise.delta <= Approx(1, "1e-6").delta


@pytest.mark.slow
def test_what_hangs_together_still_does() -> None:
    made = synthesize(visits(), domain=DOMAIN, rho=10, workload="all 2-way")
    assert abs(len(made) - 3000) < 100
    table = made.marginal("clinic", "cost")[:2, :3]
    share = table[0, 0] / table[0].sum()
    assert share > 0.95  # North is cheap
    assert table[1, 2] / table[1].sum() > 0.95


@pytest.mark.slow
def test_rows_without_a_number_are_as_many_as_the_noisy_total() -> None:
    made = synthesize(visits(), domain=DOMAIN, rho=1)
    assert len(made) == round(made.total)


@pytest.mark.slow
def test_impossible_and_public() -> None:
    made = synthesize(
        visits(),
        domain=DOMAIN,
        rho="1/2000",  # with much budget, what is measured would contradict the public shares
        impossible=["clinic = 'North' AND cost >= 100", "clinic IS NULL"],
        public={("clinic",): [0.5, 0.5, 0.0]},
        quick=True,
    )
    table = made.marginal("clinic", "cost")
    assert table[0, 2] == 0
    assert table[2].sum() == 0
    assert abs(table[0].sum() / table.sum() - 0.5) < 0.1  # the data say 0.7
    events = [told for told, _ in made.run.spending.events]
    first = list(takewhile(lambda told: told.startswith("measured"), events))  # it may still be chosen later
    assert first == ["measured (cost)", "measured (day)", "measured (age)"]


@pytest.mark.slow
def test_the_memory_is_stated_and_refused_before() -> None:
    need = memory_for(DOMAIN)
    with pytest.raises(BadParameter, match="at least"):
        synthesize(visits(), domain=DOMAIN, rho=1, memory=need // 2)
    assert synthesize(visits(), domain=DOMAIN, rho=1, memory=need + 10**6, rows=10).memory <= need + 10**6


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, BadParameter),
        ({"epsilon": 1}, BadParameter),
        ({"epsilon": 1, "delta": 0}, BadParameter),
        ({"rho": 1, "workload": []}, BadParameter),
        ({"rho": 1, "workload": [("clinic", "nothing")]}, BadParameter),
        ({"rho": 1, "rows": 0}, BadParameter),
        ({"rho": 1, "model_cells": 10}, BadParameter),
        ({"rho": 1, "model_cells": 1 << 40}, BadParameter),
        ({"rho": 1, "impossible": "age = 1"}, BadParameter),
        ({"rho": 1, "impossible": ["age = 1 OR TRUE"]}, BadParameter),
        ({"rho": 1, "public": {"clinic": [1, 2]}}, BadData),
        ({"rho": 1, "public": {"clinic": [1, -2, 3]}}, BadData),
        ({"rho": 1, "domain": None}, BadParameter),
        ({"rho": 1, "unit": "who"}, BadParameter),
    ],
)
def test_bad_input(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        synthesize(visits(10), **{"domain": DOMAIN, **given})


def test_an_empty_table_and_a_tiny_one() -> None:
    made = synthesize(visits(10).slice(0, 0), domain=DOMAIN, rho="1/10", rows=5)
    assert len(made) == 5
    one = synthesize({"x": [1]}, domain={"x": range(2)}, rho="1/10", rows=3)
    assert set(one.to_arrow().column("x").to_pylist()) <= {0, 1, None}


def test_by_mbi_where_it_is_installed() -> None:
    pytest.importorskip("mbi")
    made = synthesize(visits(), domain=DOMAIN, rho=1, estimator=mbi_fit, workload="all 2-way", rows=100)
    assert len(made) == 100
    with pytest.raises(Unsupported):
        synthesize(visits(), domain=DOMAIN, rho=1, estimator=mbi_fit, impossible=["age = 1"])
