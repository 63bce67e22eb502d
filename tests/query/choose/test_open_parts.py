"""What is open follows from declarations and the query alone."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import BadParameter, Unsupported
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


# --- an owner's word that nothing is chosen ---------------------------------------------------------------------------

WARY = ("x", "k")


def wary(**more: object) -> dp.Session:
    rows = {"u": [1, 1, 2], "x": [0.5, 2.0, 9.0], "k": [1, 2, 3], "y": [1, 2, 3]}
    columns = {name: dp.bounds("never") for name in WARY} | more
    return dp.Session(t=dp.table(rows, unit="u", columns=columns), budget=dp.Approx(9, "1e-6"))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) AS n FROM t WHERE x > 1 AND k = 2", "SELECT COUNT(x) AS n FROM t", "SELECT SUM(y) AS s FROM t",
    "SELECT k > 1 AS g, SUM(y) AS s FROM t GROUP BY g", "SELECT y AS g, COUNT(k) AS n FROM t GROUP BY g",
    "SELECT AVG(m) AS a FROM (SELECT u, COUNT(k) AS m FROM t GROUP BY u)",
])  # fmt: skip
def test_what_needs_no_choice_by_such_values_is_answered(text: str) -> None:
    wary().sql(text).quote(epsilon=1)


@pytest.mark.parametrize("text", [
    "SELECT SUM(x) AS s FROM t", "SELECT AVG(x + y) AS s FROM t", "SELECT MEDIAN(k) AS s FROM t",
    "SELECT VARIANCE(x) AS s FROM t", "SELECT SUM(CLAMP(k, 0, 9)) AS s FROM t", "SELECT COUNT(DISTINCT k) AS s FROM t",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k", "SELECT 2 * k AS g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT AVG(m) AS s FROM (SELECT u, SUM(k) AS m FROM t GROUP BY u)",
    "SELECT AVG(m) AS s FROM (SELECT u, MAX(k) AS m FROM t GROUP BY u)",
    "SELECT SUM(m) AS s FROM (SELECT u, SUM(k) OVER (PARTITION BY u ORDER BY y) AS m FROM t)",
    "SELECT SUM(m) AS s FROM (SELECT u, LAG(k) OVER (PARTITION BY u ORDER BY y) AS m FROM t)",
    "SELECT SUM(z) AS s FROM (SELECT u, y AS z FROM t UNION ALL SELECT u, k AS z FROM t)",
    "SELECT SUM(a.k) AS s FROM t a JOIN t b ON a.u = b.u",
])  # fmt: skip
def test_a_choice_by_values_of_which_the_owner_allows_none_is_refused_and_free(text: str) -> None:
    own = wary()
    with pytest.raises(Unsupported, match="the owner has declared"):
        own.sql(text).release(epsilon=1)
    assert own.remaining.epsilon == 9  # type: ignore[union-attr]


def test_a_profile_leaves_such_columns_out() -> None:
    assert "values of y" in str(shown := wary().profile("t", epsilon=9))
    assert not any(f"values of {name}" in str(shown) for name in WARY)
    with pytest.raises(BadParameter, match="never"):
        wary().profile("t", columns=["x"], epsilon=1)


def test_where_rows_are_declared_an_analyst_may_clamp_such_values() -> None:
    rows = {"u": [1, 1, 2], "x": [0.5, 2.0, 9.0]}
    table = dp.table(rows, unit="u", max_rows=2, columns={"x": dp.bounds("never")})
    own = dp.Session(t=table, budget=dp.Pure(9))
    assert own.sql("SELECT SUM(CLAMP(x, 0, 9)) AS s FROM t").quote(epsilon=1).choosing is None
