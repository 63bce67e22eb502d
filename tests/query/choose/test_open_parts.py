"""What is open follows from declarations and the query alone."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.query.choose.open_parts import OpenPart, clamped, open_part, open_parts, usual, with_chosen
from discreet.query.plan.types import Number

CHOSEN_CAPS = True
ROWS = {"id": [1, 2], "g": ["a", "b"], "x": [1.5, 2.0], "k": [1, 2]}


def opened(text: str, **declared: object) -> OpenPart | None:
    table = dp.table(ROWS, unit="id", **declared)  # type: ignore[arg-type]
    return open_part(dp.Session(t=table, budget=dp.Approx(1, "1e-6")).sql(text).prepared.parts[0])


COLUMNS = {"x": dp.bounds(0, 10), "k": dp.bounds(0, 10), "g": dp.keys(["a", "b"])}


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) AS n FROM t", "SELECT SUM(x) AS s, AVG(k) AS m FROM t",
    "SELECT g, COUNT(DISTINCT id) AS u, MEDIAN(x) AS q FROM t GROUP BY g",
])  # fmt: skip
def test_nothing_is_open_where_all_is_declared(text: str) -> None:
    assert opened(text, columns=COLUMNS, max_rows=3) is None


@pytest.mark.parametrize(("text", "declared", "rows", "groups", "clipped", "values"), [
    ("SELECT COUNT(*) AS n FROM t", {}, True, False, (), ()),
    ("SELECT COUNT(DISTINCT id) AS n FROM t", {}, None, None, None, None),
    ("SELECT SUM(k) AS s FROM t", {}, False, False, (0,), ()),
    ("SELECT SUM(k) AS s FROM t", {"max_rows": 3}, False, False, (0,), ()),
    ("SELECT SUM(k) AS s FROM t", {"columns": COLUMNS}, False, False, (0,), ()),
    ("SELECT COUNT(*) AS n, SUM(k) AS s, AVG(x) AS m FROM t", {}, True, False, (1, 2), (2,)),
    ("SELECT SUM(x) AS s, AVG(x) AS m, SUM(k) AS t FROM t", {}, True, False, (1, 2), (1,)),
    ("SELECT AVG(x) AS m FROM t", {"columns": COLUMNS}, True, False, (0,), (0,)),
    ("SELECT AVG(k) AS m FROM t", {"columns": COLUMNS}, True, False, (), ()),
    ("SELECT VARIANCE(x) AS v, MEDIAN(k) AS q FROM t", {"columns": COLUMNS}, False, False, (), (0,)),
    ("SELECT VARIANCE(x) AS v, MEDIAN(k) AS q FROM t", {"max_rows": 2}, False, False, (), (0, 1)),
    ("SELECT g, COUNT(DISTINCT id) AS u FROM t GROUP BY g", {}, False, True, (), ()),
    ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", {"columns": COLUMNS}, True, False, (), ()),
])  # fmt: skip
def test_what_is_open(  # noqa: PLR0917
    text: str, declared: dict[str, object], rows: bool | None, groups: bool, clipped: object, values: object
) -> None:
    found = opened(text, **declared)
    if rows is None:
        assert found is None
        return
    assert found is not None
    assert (found.rows, found.groups, found.clipped, found.values) == (rows, groups, clipped, values)


def test_questions_about_the_same_groups_are_chosen_for_once() -> None:
    session = dp.Session(t=dp.table(ROWS, unit="id"), budget=dp.Pure(1))
    texts = ["SELECT COUNT(*) AS n FROM t", "SELECT SUM(k) AS s FROM t", "SELECT SUM(k) AS s FROM t WHERE k > 1"]
    questions = tuple(session.sql(text).prepared for text in texts)
    parts = open_parts(questions)
    assert [len(part.part.measures) for part in parts] == [2, 1]
    made = tuple((part, usual(part)) for part in parts)
    assert all(open_part(part) is None for question in questions for part in with_chosen(question, made).parts)


def test_an_argument_is_clamped_within_what_was_declared() -> None:
    found = opened("SELECT VARIANCE(x) AS v FROM t")
    assert found is not None
    x = found.part.measures[0].arguments[0]
    inside = clamped(x, Fraction(2), Fraction(7))
    assert isinstance(inside.kind, Number)
    assert inside.kind.ends == (Fraction(2), Fraction(7))
