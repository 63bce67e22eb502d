"""What is asked as a job is written down whole; tables are refused before they are paid."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.curator.service.job_questions import PublicationQuestion, SyntheticQuestion
from discreet.errors import BadParameter
from discreet.session.price import Price
from discreet.synthetic.hierarchical.plan import publication

ASKED = SyntheticQuestion(table="people", price=Price("1"), rows=20, columns=("city",), quick=True)


def test_all_that_decides_the_rows_is_in_the_ledger() -> None:
    assert ASKED.query == "synthesize(people)"
    assert ASKED.parameters == {
        "epsilon": "1",
        "confidence": "19/20",
        "synthetic": {"rows": 20, "columns": ["city"], "workload": None, "quick": True},
    }


def test_all_that_decides_the_tables_is_in_the_ledger() -> None:
    wanted = publication([("state", "sex"), "county"], weights=[2, 1], split={"state": "1/3", "county": 1}, rows=True)
    asked = PublicationQuestion(table="people", price=Price("1", "1e-9"), wanted=wanted, format="parquet")
    assert asked.query == "publish(people)"
    assert asked.parameters == {
        "epsilon": "1",
        "delta": "1/1000000000",
        "confidence": "19/20",
        "published": {
            "tables": [["state", "sex"], ["county"]],
            "weights": {"0": "2", "1": "1"},
            "split": {"state": "1/3", "county": "1"},
            "rows": True,
            "format": "parquet",
        },
    }


def test_too_many_cells_are_refused() -> None:
    geo = dp.hierarchy("geo", ["state", "county"], table=[("A", i) for i in range(5000)])
    rows = {"person": [1], "county": [1], "age": [3], "job": [4]}
    columns = {"age": dp.keys(list(range(40)), nullable=False), "job": dp.keys(list(range(30)), nullable=False)}
    table = dp.table(rows, unit="person", max_rows=1, columns=columns, key_sets=[geo])
    session = dp.Session(people=table, budget=dp.ZCDP(1))
    few, many = (
        PublicationQuestion(table="people", price=Price(None, None, "1"), wanted=publication([("county", *names)]))
        for names in (("age",), ("age", "job"))
    )
    few.check(session._backend)
    with pytest.raises(BadParameter, match="must have at most 4,194,304 in all"):
        many.check(session._backend)
