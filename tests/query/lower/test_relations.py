"""Relations, lowered step by step: joins along foreign keys, and limits of size."""

import re
from random import Random

import pytest

from discreet.errors import BadQuestion
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import (
    Filter,
    How,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from discreet.query.plan.schema import Caps
from tests.helpers.lowering import CATALOG, CITIES, VISITS, call, col, nodes_of, rows
from tests.helpers.plans import data


def test_a_join_along_the_foreign_key_looks_once() -> None:
    on = (("order_id", "oid"),)
    for asked in (
        Join(Scan("items"), Scan("orders"), on),
        Join(Scan("items"), Scan("orders"), on, How.LEFT),
        Join(Scan("orders"), Scan("items"), (("oid", "order_id"),)),
    ):
        found = lower_relation(asked, CATALOG)
        assert sum(isinstance(node, Join) for node in nodes_of(found.relation)) == 1
        assert found.private
        assert found.caps == Caps(max_rows=7)
        assert found.fields["cust"].is_unit
    filtered = Join(Filter(Scan("items"), call("gt", col("price"), 1)), Scan("orders"), on)
    tables = data(Random(5))
    assert len(list(rows(lower_relation(filtered, CATALOG).relation, tables))) <= len(tables["items"]["iid"])


def test_what_is_too_large_is_refused_at_once() -> None:
    deep: Relation = VISITS
    for _ in range(60):
        deep = Filter(deep, Literal(True))
    shared: Relation = VISITS
    for _ in range(40):
        shared = Join(shared, shared, (("pid", "pid"),))
    longer: Relation = Project(VISITS, (("x", col("clinic")),))
    for _ in range(40):
        longer = Project(longer, (("x", call("concat", col("x"), col("x"))),))
    for asked in (deep, shared, UnionAll((VISITS,) * 2000)):
        with pytest.raises(BadQuestion, match="too many parts"):
            lower_relation(asked, CATALOG)
    with pytest.raises(BadQuestion, match="CONCAT"):
        lower_relation(longer, CATALOG)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Filter(VISITS, col("day")), "true or false"),
        (Filter(VISITS, Literal(None)), "true or false"),
        (Filter(VISITS, call("gt", col("kost"), 1)), "did you mean cost"),
        (Filter(VISITS, call("gt", call("mul", col("raw"), col("raw")), 1)), "CLAMP(raw, low, high)"),
        (Project(VISITS, (("x", col("cost")), ("x", col("day")))), "two columns x"),
        (Project(VISITS, (("__Unit", col("cost")),)), "kept for the unit"),
        (Project(VISITS, (("x", Literal(None)),)), "always NULL"),
        (Project(CITIES, ()), "needs a column"),
    ],
)  # fmt: skip
def test_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, CATALOG)
