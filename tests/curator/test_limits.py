"""Rates, sizes, times. No test sleeps: clocks are moved by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.limits import Limits, Meter
from discreet.errors import BadParameter
from tests.helpers.curator.town import Ticking, Town, open_town


def test_a_burst_then_the_rate_then_a_refill_and_everybody_for_themselves() -> None:
    clock = Ticking()
    meter = Meter(Limits(requests_per_second=Fraction(2), burst=3), clock)
    for _ in range(3):
        meter.count("ann")
    with pytest.raises(Refusal) as found:
        meter.count("ann")
    assert found.value.status == 429
    meter.count("bob")
    clock.now += 0.5
    meter.count("ann")
    with pytest.raises(Refusal):
        meter.count("ann")
    clock.now += 1000
    for _ in range(3):
        meter.count("ann")
    with pytest.raises(Refusal):
        meter.count("ann")


def test_refused_requests_do_not_push_the_refill_away() -> None:
    clock = Ticking()
    meter = Meter(Limits(requests_per_second=Fraction(1), burst=1), clock)
    meter.count("ann")
    for _ in range(9):
        clock.now += 0.1
        with pytest.raises(Refusal):
            meter.count("ann")
    clock.now += 0.11
    meter.count("ann")


def test_places_under_way_are_given_back_whatever_happens() -> None:
    meter = Meter(Limits(under_way=2))
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), meter.under_way("ann"):
            raise ZeroDivisionError
    with meter.under_way("ann"), meter.under_way("ann"):
        with pytest.raises(Refusal), meter.under_way("ann"):
            pass
        with meter.under_way("bob"):
            pass
    with meter.under_way("ann"):
        pass


@pytest.mark.parametrize("name", ["burst", "under_way", "body", "groups", "tables", "memory", "deadline", "patience"])
def test_limits_are_above_0(name: str) -> None:
    with pytest.raises(BadParameter) as found:
        Limits(**{name: Fraction(0)})  # type: ignore[arg-type]
    assert found.value.name == name


# --- in a running service ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_too_many_requests_are_refused_by_name_and_cost_nothing(tmp_path: Path) -> None:
    with open_town(tmp_path / "town") as town:
        slow = Limits(requests_per_second=Fraction(1, 1000), burst=2)
        object.__setattr__(town.curator, "meter", Meter(slow, Ticking()))
        spent = town.curator.ledger.head
        statuses = [town.ask("SELECT COUNT(*) FROM people WHERE", epsilon="1").status_code for _ in range(4)]
        assert statuses == [422, 422, 429, 429]
        assert town.get("/api/me", town.bob).status_code == 200
        assert town.curator.ledger.head == spent


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE " + "(" * 10_000 + "1=1" + ")" * 10_000,
        "SELECT COUNT(*) FROM people WHERE " + "NOT " * 9_000 + "true",
        "SELECT " + "+".join(["1"] * 9_000) + ", COUNT(*) FROM people",
        "SELECT COUNT(*) FROM " + " JOIN ".join(f"people p{i}" for i in range(500)),
        "SELECT COUNT(*) FROM people, people, people, people",
        "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM (" * 500 + "people" + ")" * 500,
        "SELECT COUNT(*) FROM people" + " UNION ALL SELECT COUNT(*) FROM people" * 500,
        "SELECT COUNT(*) FROM people WHERE city IN (" + ",".join(f"'{i}'" for i in range(5_000)) + ")",
    ],
    ids=range(9),
)
def test_questions_that_are_too_much_are_refused_or_answered_and_never_hang(town: Town, sql: str) -> None:
    reply = town.preview(sql, epsilon="1")
    assert reply.status_code in (200, 413, 422), reply.text


@pytest.mark.slow
def test_answers_with_too_many_rows_are_refused_by_the_plan_alone(new_town: Town) -> None:
    object.__setattr__(new_town.curator.config.limits, "groups", 2)
    reply = new_town.preview("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon="1")
    assert reply.status_code == 422
    assert "at most 2" in reply.json()["error"]["message"]
