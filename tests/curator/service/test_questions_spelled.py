"""The time of asking and foreign spellings, over HTTP: the ledger keeps constants, and a retry is the same query."""

from __future__ import annotations

from datetime import datetime

import pytest

from discreet.curator.service import questions
from discreet.curator.service.questions import SqlQuestion, WorkloadQuestion
from discreet.session.price import Price
from tests.helpers.curator.town import Town, charges

CLOCK = "SELECT COUNT(*) AS n FROM trips WHERE day < CURRENT_DATE"
NEW_YEAR = datetime(2030, 1, 1)


def test_a_question_is_fixed_once() -> None:
    asked = SqlQuestion(sql=CLOCK, price=Price("1"))
    fixed = asked.fixed("2025-03-01T12:00:00")
    assert fixed.query == "SELECT COUNT(*) AS n FROM trips WHERE day < DATE '2025-03-01'"
    assert fixed.parameters == {**asked.parameters, "asked_at": "2025-03-01T12:00:00"}
    assert asked.fixed("2025-03-01T12:00:00") == fixed


def test_without_a_clock_and_a_dialect_nothing_is_added() -> None:
    for asked in (
        SqlQuestion(sql="SELECT 1", price=Price("1")),
        WorkloadQuestion(sqls=("SELECT 1",), price=Price("1")),
    ):
        assert asked.fixed().parameters == asked.parameters
        assert asked.fixed().query == asked.query


def test_the_texts_of_a_workload_have_one_moment() -> None:
    fixed = WorkloadQuestion(sqls=(CLOCK, "SELECT [n]", CLOCK), price=Price("1"), dialect="tsql").fixed()
    assert fixed.parameters["dialect"] == "tsql"
    assert fixed.sqls[0] == fixed.sqls[2]
    assert fixed.sqls[1] == 'SELECT "n"'
    assert fixed.parameters["workload"] == [len(text) for text in fixed.sqls]


@pytest.mark.slow
def test_a_retry_is_about_the_moment_of_the_first_try(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(town)
    first = town.ask(CLOCK, key="clock").json()
    with monkeypatch.context() as patch:
        patch.setattr(questions, "utc_now", lambda: NEW_YEAR)
        again = town.ask(CLOCK, key="clock").json()
        other = town.ask(CLOCK, key="another clock").json()
    assert charges(town) == before + 2
    assert again["number"] == first["number"]
    assert "DATE '20" in first["query"]
    assert other["query"].endswith("DATE '2030-01-01'")


@pytest.mark.slow
def test_a_dialect_is_read_by_the_server(town: Town) -> None:
    body = {"sql": "SELECT COUNT_BIG(*) AS n FROM [trips] WHERE [city] <> N'x'", "epsilon": "1", "dialect": "tsql"}
    said = town.post("/api/datasets/town/questions", body, town.ann).json()
    assert said["parameters"]["dialect"] == "tsql"
    assert said["answer"]["columns"] == ["n"]
    refused = town.post("/api/datasets/town/questions", {**body, "dialect": "klingon"}, town.ann)
    assert refused.status_code in {400, 422}
