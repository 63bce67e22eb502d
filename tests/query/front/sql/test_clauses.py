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


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("GROUP BY nothing", "nothing"),
        ("GROUP BY 0", "from 1 to 2"),
        ("GROUP BY 3", "from 1 to 2"),
        ("GROUP BY 1.5", "from 1 to 2"),
        ("GROUP BY COUNT(*)", "not aggregates"),
        ("GROUP BY 2", "not aggregates"),
        ("GROUP BY k WITH ROLLUP", "WITH ROLLUP"),
        ("GROUP BY k ORDER BY 3", "from 1 to 2"),
        ("GROUP BY k ORDER BY n NULLS FIRST", "NULLS FIRST"),
        ("GROUP BY k LIMIT '5'", "LIMIT needs an integer"),
        ("GROUP BY k LIMIT 2.5", "LIMIT needs an integer"),
        ("GROUP BY k LIMIT 1000000000", "LIMIT needs an integer"),
        ("GROUP BY k LIMIT 5 OFFSET 1 + 1", "OFFSET needs an integer"),
        ("GROUP BY k FETCH FIRST 5 PERCENT ROWS ONLY", "PERCENT"),
    ],
)
def test_clauses_that_cannot_be_read_are_refused(rest: str, words: str) -> None:
    with pytest.raises(BadQuestion, match=words):
        read(f"SELECT clinic AS k, COUNT(*) AS n FROM visits {rest}")


def test_a_group_may_be_named_by_its_output_if_there_is_one_of_that_name() -> None:
    """A column comes first; two outputs of nearly one name are none."""
    for named in ("k", "K", "1", "clinic"):
        assert read(f"SELECT clinic AS k, COUNT(*) FROM visits GROUP BY {named}").keys[0].expression == CLINIC
    assert read("SELECT year AS clinic, COUNT(*) FROM visits GROUP BY clinic, year").keys[0].expression == CLINIC
    with pytest.raises(BadQuestion, match="a_b"):
        read('SELECT clinic AS "A_b", year AS "a_B", COUNT(*) FROM visits GROUP BY a_b')


@pytest.mark.parametrize(
    ("rest", "limit", "offset"),
    [
        ("", None, 0),
        ("LIMIT 0", 0, 0),
        ("LIMIT 999999999 OFFSET 3", 999_999_999, 3),
        ("FETCH FIRST 5 ROWS ONLY", 5, 0),
    ],
)
def test_how_many_rows_are_shown(rest: str, limit: int | None, offset: int) -> None:
    outcome = read(f"SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic {rest}").outcome
    assert (outcome.limit, outcome.offset) == (limit, offset)
