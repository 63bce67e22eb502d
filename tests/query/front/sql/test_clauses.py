"""GROUP BY with grouping sets, and GROUPING."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import (
    Key,
    Order,
)
from tests.helpers.sql_questions import CLINIC, read


def test_keys_only() -> None:
    grouped = read("SELECT clinic FROM visits GROUP BY clinic")
    assert (grouped.keys, grouped.measures) == ((Key("clinic", CLINIC),), ())
    assert read("SELECT DISTINCT clinic FROM visits") == grouped


SETS = [
    ("ROLLUP(clinic, year)", [("clinic", "year"), ("clinic",), ()]),
    ("ROLLUP((clinic, year), cost)", [("clinic", "year", "cost"), ("clinic", "year"), ()]),
    ("CUBE(clinic, year)", [("clinic", "year"), ("clinic",), ("year",), ()]),
    ("GROUPING SETS ((clinic, year), cost, ())", [("clinic", "year"), ("cost",), ()]),
    ("GROUPING SETS (ROLLUP(clinic), year)", [("clinic",), (), ("year",)]),
    ("clinic, ROLLUP(year)", [("clinic", "year"), ("clinic",)]),
    ("ROLLUP(clinic), ROLLUP(year)", [("clinic", "year"), ("clinic",), ("year",), ()]),
    ("clinic, visits.CLINIC", [("clinic",)]),
]


@pytest.mark.parametrize(("group", "sets"), SETS, ids=[group for group, _ in SETS])
def test_grouping_sets(group: str, sets: list[tuple[str, ...]]) -> None:
    assert list(read(f"SELECT COUNT(*) FROM visits GROUP BY {group}").sets) == sets


@pytest.mark.parametrize(
    "group", ["ROLLUP(1, visits.clinic)", "GROUPING SETS (clinic, (clinic))", "clinic, CUBE(clinic)"]
)
def test_a_grouping_set_twice_is_refused(group: str) -> None:
    with pytest.raises(BadQuestion, match="same grouping set"):
        read(f"SELECT clinic, COUNT(*) FROM visits GROUP BY {group}")


def test_grouping_is_of_keys_and_only_after_the_groups() -> None:
    plan = read("SELECT year AS y, GROUPING(clinic, year), COUNT(*) FROM visits GROUP BY CUBE(clinic, year) "
                "HAVING GROUPING_ID(CLINIC) = 0 ORDER BY GROUPING(y)")  # fmt: skip
    both = Call("grouping", (CLINIC, Column("y")))
    assert plan.outcome.columns[1] == ("grouping_clinic_year", both)
    assert plan.outcome.having == Call("eq", (Call("grouping", (CLINIC,)), Literal(Fraction(0))))
    assert plan.outcome.order == (Order(Call("grouping", (Column("y"),))),)
    of_expression = read("SELECT GROUPING(cost + 1) AS g, COUNT(*) FROM visits GROUP BY ROLLUP(cost + 1)")
    assert of_expression.outcome.columns[0] == ("g", Call("grouping", (Column(of_expression.keys[0].name),)))


@pytest.mark.parametrize("argument", ["cost", "COUNT(*)", "1", "clinic || 'x'", "n", "clinic, cost"])
def test_grouping_of_what_is_no_key_is_refused(argument: str) -> None:
    with pytest.raises(BadQuestion, match="each argument of GROUPING must be a key"):
        read(f"SELECT clinic, COUNT(*) AS n FROM visits GROUP BY ROLLUP(clinic) ORDER BY GROUPING({argument})")


def test_a_cube_of_many_keys_is_refused() -> None:
    with pytest.raises(BadQuestion, match="64 grouping sets"):
        read("SELECT COUNT(*) FROM visits GROUP BY CUBE(patient_id, clinic, cost, year, day, note, paid)")
