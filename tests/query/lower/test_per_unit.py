"""Summaries per unit: exact, and inside the range that is claimed."""

import re
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from discreet.errors import BadQuestion
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import columns, walk
from discreet.query.plan.nodes import (
    Aggregate,
    Measure,
    PerUnit,
    Project,
    Relation,
    Scan,
)
from discreet.query.plan.types import LARGEST, Number
from tests.helpers.lowering import CATALOG, CITIES, VISITS, call, col, is_claimed, rows
from tests.helpers.plans import data


def test_per_unit_average_is_exact_to_a_millionth_of_a_step() -> None:
    tables = data(Random(0)) | {
        "people": {"id": [1, 1, 1, 2, 2, 3], "age": [1, 2, 2, 10, None, None], "city": [None] * 6}
    }
    asked = PerUnit(Scan("people"), (("id", col("id")),), (Measure("m", Aggregate.AVG, (col("age"),)),))
    found = lower_relation(asked, CATALOG)
    kind = found.fields["m"].kind
    assert kind == Number(Fraction(1, 1 << 20), 0, 99 << 20)
    values = {dict(row)["id"]: dict(row)["m"] for row in rows(found.relation, tables)}
    assert values == {1: 5 * 2**20 // 3, 2: 10 * 2**20, 3: None}


def test_a_group_that_exists_has_a_row() -> None:
    """LEAST(COUNT(*), 10) has the keys 1 to 10; rows that pass a filter, and values, may be none."""
    some = Measure("some", Aggregate.COUNT, (), call("gt", col("age"), 3))
    measures = (Measure("n", Aggregate.COUNT, ()), Measure("known", Aggregate.COUNT, (col("age"),)), some)
    fields = lower_relation(PerUnit(Scan("people"), (("id", col("id")),), measures), CATALOG).fields
    assert [fields[name].kind for name in ("n", "known", "some")] == [
        Number(Fraction(1), low, LARGEST) for low in (1, 0, 0)
    ]


@pytest.mark.parametrize("most", [99, 2**30, 2**61])
def test_an_average_stays_in_its_claim_even_where_sums_saturate(most: int) -> None:
    x = call("coalesce", call("clamp", col("id"), -7, most), 0)
    asked = PerUnit(
        Scan("people"), (("id", col("id")),), (Measure("m", Aggregate.AVG, (x,), call("gt", col("age"), 3)),)
    )
    found = lower_relation(asked, CATALOG)
    assert found.fields["m"].nullable, "no row may pass the filter"
    assert isinstance(found.relation, Project)
    (expression,) = (e for name, e in found.relation.columns if name == "m")
    total, many = sorted(columns(expression), reverse=True)
    for a, b in product((-LARGEST, -1, 0, 1, most, LARGEST - 1, LARGEST, None), (0, 1, 2, 3, 2**42, 2**62)):
        for part in walk(expression):
            value = evaluate(part, {total: a, many: b})
            assert value is None or abs(value) < 1 << 63
        assert is_claimed(found.fields["m"], evaluate(expression, {total: a, many: b}))


def test_a_filter_of_a_measure_per_unit_counts_what_it_says() -> None:
    tables = data(Random(0)) | {"people": {"id": [1, 1, 1, 2], "age": [1, 50, 70, 2], "city": [None] * 4}}
    old = call("gt", col("age"), 40)
    asked = PerUnit(
        Scan("people"),
        (("id", col("id")),),
        (
            Measure("n", Aggregate.COUNT, (), old),
            Measure("s", Aggregate.SUM, (col("age"),), old),
            Measure("d", Aggregate.COUNT_DISTINCT, (col("age"),)),
        ),
    )
    found = {dict(r)["id"]: dict(r) for r in rows(lower_relation(asked, CATALOG).relation, tables)}
    assert [found[1][x] for x in "nsd"] == [2, 120, 3]
    assert [found[2][x] for x in "nsd"] == [0, None, 1]


MODULO = Project(VISITS, (("pid", call("mod", col("pid"), 1)), ("clinic", col("clinic"))))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (PerUnit(MODULO, (("pid", col("pid")),), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(VISITS, (("x", col("clinic")),), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(VISITS, (), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(VISITS, (("pid", col("pid")), ("r", col("raw"))), ()), "floats"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.VARIANCE, (col("cost"),)),)), "VARIANCE per"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.COUNT_UNITS),)), "COUNT_UNITS per unit"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.SUM),)), "one argument"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.SUM, (col("raw"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.MIN, (col("raw"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.AVG, (col("pid"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("pid", Aggregate.COUNT),)), "two columns"),
    ],
)  # fmt: skip
def test_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, CATALOG)


def test_a_public_table_may_be_summarised_by_any_keys() -> None:
    tables = data(Random(0))
    found = lower_relation(PerUnit(CITIES, (("city", col("city")),), (Measure("n", Aggregate.COUNT),)), CATALOG)
    assert not found.private
    counted = {dict(row)["city"]: dict(row)["n"] for row in rows(found.relation, tables)}
    stored = list(tables["cities"]["city"])
    assert counted == {city: stored.count(city) for city in set(stored)}
