"""The nodes of a plan are immutable values, so that equal questions are equal plans."""

import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import get_args

import pytest

from discreet.query.front.sql.parse import question
from discreet.query.functions.aggregates import AGGREGATES
from discreet.query.plan import nodes
from discreet.query.plan.nodes import Aggregate, How, Join, Relation, Scan

TABLES = {"visits": ["patient_id", "clinic", "cost"]}


def test_every_node_is_frozen_and_can_be_a_key() -> None:
    plan = question(
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost > 1 GROUP BY clinic ORDER BY n LIMIT 3", TABLES
    )
    assert (
        len(
            {
                plan,
                question(" select CLINIC, count(*) n from visits where cost>1 group by 1 order by 2 limit 3", TABLES),
            }
        )
        == 1
    )
    with pytest.raises(FrozenInstanceError):
        plan.source = Scan("others")  # type: ignore[misc]
    made = [kind for _, kind in inspect.getmembers(nodes, is_dataclass)]
    assert set(get_args(Relation)) <= set(made)
    assert all(
        "list" not in str(field.type) and "dict" not in str(field.type) for kind in made for field in fields(kind)
    )


def test_a_join_keeps_rows_with_a_partner_unless_said_otherwise() -> None:
    assert Join(Scan("a"), Scan("b"), (("x", "y"),)).how is How.INNER


def test_every_aggregate_has_a_record() -> None:
    # COUNT(DISTINCT unit) is found by lineage; it has no name of its own
    assert {one.aggregate for one in AGGREGATES} == set(Aggregate) - {Aggregate.COUNT_UNITS}
