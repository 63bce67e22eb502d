"""Relations as they are built: names after a join, filters that merge, and limits of size."""

from __future__ import annotations

import pytest

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import (
    Filter,
    Key,
)
from tests.helpers.sql_questions import COST, VISITS, call, read, source


def test_filters_in_a_row_are_one() -> None:
    assert source("(SELECT * FROM visits WHERE paid AND paid) t WHERE cost > 1") == Filter(
        VISITS, call("and", "paid", "paid", call("gt", "cost", 1))
    )


def test_names_after_a_join() -> None:
    found = read(
        "SELECT a.cost, B.cost, COUNT(*) FROM visits a JOIN visits b USING (patient_id) GROUP BY a.cost, b.cost"
    )
    assert found.keys == (Key("cost", COST), Key("cost_2", Column("cost_2")))
    found = read("SELECT patient_id, COUNT(*) FROM visits a JOIN visits b USING (patient_id) GROUP BY patient_id")
    assert found.keys == (Key("patient_id", Column("patient_id")),)
    with pytest.raises(BadQuestion, match="cost is ambiguous"):
        read("SELECT SUM(cost) FROM visits a JOIN visits b USING (patient_id)")


def test_a_plan_cannot_grow_beyond_its_text() -> None:  # F6
    steps = ["a0 AS (SELECT cost FROM visits)"]
    steps += [f"a{i} AS (SELECT cost FROM a{i - 1} UNION ALL SELECT cost FROM a{i - 1})" for i in range(1, 40)]
    with pytest.raises(BadQuestion, match=r"too large|nested more than"):
        read(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a39")
    steps = ["a0 AS (SELECT cost FROM visits)", *(f"a{i} AS (SELECT cost FROM a{i - 1})" for i in range(1, 60))]
    with pytest.raises(BadQuestion, match="nested more than 50 deep"):
        read(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a59")
    steps = [f"a{i} AS (SELECT x.cost AS cost FROM a{i - 1} x JOIN a{i - 1} y USING (cost))" for i in range(1, 30)]
    with pytest.raises(BadQuestion, match=r"too large|nested more than"):
        read(f"WITH a0 AS (SELECT cost FROM visits), {', '.join(steps)} SELECT COUNT(*) FROM a29")
