"""Aggregates of the verbs under ``dp.agg``."""

import discreet as dp


def test_each_aggregate_is_that_of_the_verbs() -> None:
    from discreet.query.front import verbs

    assert all(getattr(dp.agg, name) is getattr(verbs, name) for name in dp.agg.__all__)


def test_they_are_asked_like_sql() -> None:
    visits = dp.table(
        {"patient": [1, 2, 2], "cost": [1, 2, 3]}, unit="patient", columns={"cost": dp.bounds(0, 5)}, max_rows=2
    )
    session = dp.Session(visits=visits, budget=dp.Pure(1))
    query = session["visits"].agg(n=dp.agg.count(), total=dp.agg.sum("cost"))
    assert query.text == session.sql("SELECT COUNT(*) AS n, SUM(cost) AS total FROM visits").text
