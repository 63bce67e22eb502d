"""The clause of BigQuery: read once, at the outermost SELECT, and nothing of it is skipped."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion, OverBudget, Unsupported
from discreet.query.front.sql.privacy_clause import take_privacy_clause

ROWS = {"patient": [i // 4 for i in range(4000)], "clinic": [f"c{i % 5}" for i in range(4000)]}
HEAD = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-7"


def session(budget: Any = None, **declared: Any) -> dp.Session:
    visits = dp.table(ROWS, unit="patient", **declared)
    return dp.Session(visits=visits, budget=budget or dp.Approx(2, "1e-6"))


def test_a_query_costs_what_its_text_says() -> None:
    ours = session()
    query = ours.sql(f"{HEAD}) clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    assert "DIFFERENTIAL" not in query.text
    assert query.preview().cost == query.release().cost == ours.sql(query.text).preview(1, delta="1e-7").cost
    query.release()
    with pytest.raises(OverBudget):
        query.release()
    assert "epsilon 1" in str(query.explain())


@pytest.mark.parametrize("given", [{"epsilon": "0.1"}, {"error": 10}, {"delta": "1e-9"}, {"rho": 1}])
def test_a_second_cost_is_refused(given: dict[str, Any]) -> None:
    query = session().sql(f"{HEAD}) COUNT(*) FROM visits")
    for act in (query.preview, query.release):
        with pytest.raises(BadParameter, match="states the cost"):
            act(**given)
    assert query.release(confidence="0.9").value == pytest.approx(4000, abs=2000)


def test_contribution_bounds_of_the_text_hold_and_wider_ones_do_not() -> None:
    def caps(options: str, **declared: Any) -> Any:
        query = session(**declared).sql(f"{HEAD}{options}) clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
        return query.backend.schemas["visits"].table.caps

    assert caps(", max_groups_contributed=2").max_groups == 2
    assert caps(", max_groups_contributed=NULL") == session()._backend.schemas["visits"].table.caps
    rows = caps(", max_rows_contributed=3")
    assert (rows.max_rows, rows.auto) == (3, False)
    assert caps(", max_rows_contributed=3", max_rows=2).max_rows == 2
    assert caps(", max_groups_contributed=3", max_rows=4, max_groups=1).max_groups == 1


def test_rows_beyond_the_bound_of_the_text_are_scaled_down() -> None:
    query = session(dp.Pure(900)).sql(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=900, max_rows_contributed=2) COUNT(*) AS n FROM visits"
    )
    assert query.release().value == pytest.approx(2000, abs=5)


def test_the_unit_of_the_text_must_be_the_declared_one() -> None:
    for unit in ("patient", "`patient`"):
        session().sql(f"{HEAD}, privacy_unit_column={unit}) COUNT(*) FROM visits")
    with pytest.raises(BadQuestion, match="must be the declared unit: patient"):
        session().sql(f"{HEAD}, privacy_unit_column=clinic) COUNT(*) FROM visits")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon) COUNT(*) FROM visits", "name=value"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, epsilon=2) COUNT(*) FROM visits", "once each"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1 delta=2) COUNT(*) FROM visits", "name=value"),
        (f"{HEAD}, max_groups_contributed=-1) COUNT(*) FROM visits", "positive integer"),
        (f"{HEAD}, max_rows_contributed=0) COUNT(*) FROM visits", "at least 1"),
        (f"{HEAD}, group_selection_strategy=PUBLIC_GROUPS) COUNT(*) FROM visits", "dp.keys"),
        (f"{HEAD}, colour=1) COUNT(*) FROM visits", "the options are epsilon"),
        (f"SELECT COUNT(*) FROM ({HEAD}) patient FROM visits) AS t", "outermost"),
        (f"{HEAD}) COUNT(*) FROM ({HEAD}) patient FROM visits) AS t", "outermost"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM visits", "epsilon"),
    ],
)
def test_what_is_not_understood_is_refused_and_nothing_is_spent(text: str, reason: str) -> None:
    ours = session()
    with pytest.raises((BadQuestion, BadParameter, Unsupported), match=reason):
        ours.sql(text).release()
    assert ours.remaining == ours.budget


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE clinic = 'SELECT WITH DIFFERENTIAL_PRIVACY'",
        "SELECT COUNT(*) FROM visits -- SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=9)",
        'SELECT COUNT(*) AS "SELECT WITH DIFFERENTIAL_PRIVACY" FROM visits',
    ],
)
def test_texts_names_and_comments_are_no_clause(text: str) -> None:
    assert take_privacy_clause(text) == (text, None)


def test_a_clause_after_named_subqueries_and_around_comments() -> None:
    text, clause = take_privacy_clause(
        "WITH t AS (SELECT patient FROM visits) SELECT /* ours */ WITH DIFFERENTIAL_PRIVACY\n"
        "OPTIONS (epsilon = 0.5 /* half */, delta = 1e-9) COUNT(*) FROM t"
    )
    assert clause is not None
    assert (clause.epsilon, clause.delta) == ("0.5", "1e-9")
    assert " ".join(text.split()) == "WITH t AS (SELECT patient FROM visits) SELECT COUNT(*) FROM t"


def test_several_queries_have_one_cost_together() -> None:
    with pytest.raises(BadParameter, match="one cost together"):
        session().workload([f"{HEAD}) COUNT(*) FROM visits"])
