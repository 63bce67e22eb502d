"""Attacks that broke other services, by their number in the catalogue (B: side channels, D: ledger, F: service).

What is not here is elsewhere: B3 and B8 in test_fuzz.py; B2, B6, D4, D5, D6, D12 in test_app.py; D3 in test_servers.py;
F2, F3, F8 in test_access.py; F4 in test_places.py; F5 in test_web.py; F6 in test_limits.py; D1, D2, D8 to D11 with the
ledger. B5 cannot be tried: no code of an analyst runs anywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.clock_grid import Grid
from tests.curator.service.land import CITIES
from tests.curator.service.town import Town, open_town

COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


def test_b1_every_reply_to_a_question_waits_for_the_grid_and_no_other_does(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    keep = Grid.keep

    async def watched(self: Grid, began: float, clock: Callable[[], float], *more: Any) -> None:
        waited.append(began)
        kept: Awaitable[None] = keep(self, began, clock, *more)
        await kept

    monkeypatch.setattr(Grid, "keep", watched)
    path = "/api/datasets/town/questions"
    for ask in (
        lambda: town.ask(COUNT),
        lambda: town.ask("SELECT *"),
        lambda: town.ask(COUNT, epsilon="1e9"),
        lambda: town.post(path, {"sql": COUNT}, "wrong"),
        lambda: town.post(path, {"sql": COUNT}, town.owner),
        lambda: town.http.post(path, content=b"{", headers={"content-type": "text/plain"}),
    ):
        before = len(waited)
        ask()
        assert len(waited) == before + 1
    before = len(waited)
    town.preview(COUNT, epsilon="1")
    town.get("/api/me", town.ann)
    town.get("/")
    assert len(waited) == before


@pytest.mark.parametrize(
    "condition",
    [
        "length(repeat('x', 1000000000)) > 1",
        "CASE WHEN person_id = 7 THEN length(repeat('x', 1000000000)) ELSE 1 END > 0",
        "regexp_matches(secret, '(a+)+$')",
        "(SELECT COUNT(*) FROM people a, people b, people c) > 1",
        "list_sum(range(1000000000)) > 1",
        "factorial(person_id) > 1",
    ],
)
def test_b4_no_time_bomb_is_accepted(town: Town, condition: str) -> None:
    before = town.curator.ledger.head
    assert town.ask(f"SELECT COUNT(*) AS n FROM people WHERE {condition}").status_code == 422
    assert town.curator.ledger.head == before


def test_b7_the_shape_of_an_answer_is_the_same_whoever_is_in_the_data(tmp_path: Path) -> None:
    shapes = []
    for people in (1, 2, 120):
        with open_town(tmp_path / str(people), people=people) as town:
            said = town.ask(COUNT, epsilon="0.1").json()["answer"]
            shapes.append((said["columns"], [row[0] for row in said["rows"]], [type(row[1]) for row in said["rows"]]))
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0][1] == list(CITIES)  # groups where nobody is are answered too


def test_d7_a_cap_of_one_takes_ten_times_a_tenth_and_then_refuses_the_smallest_thing(new_town: Town) -> None:
    town = new_town
    town.post("/api/analysts/ann/grant", {"population": "other"}, town.owner)
    body = {"sql": "SELECT COUNT(*) AS n FROM notes", "epsilon": "0.1"}
    path = "/api/datasets/other/questions"
    statuses = [town.post(path, body, town.ann).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [402]
    assert town.post(path, body | {"epsilon": "1e-9"}, town.ann).status_code == 402
    (mine,) = [one for one in town.get("/api/budget", town.ann).json() if one["population"] == "other"]
    assert mine["remaining"]["epsilon"] == "0"
    raised = {"budget": {"epsilon": "1.3"}, "reason": "a cap of three tenths more"}
    assert town.post("/api/populations/other/budget", raised, town.owner).status_code == 200
    assert [town.post(path, body, town.ann).status_code for _ in range(4)] == [200, 200, 200, 402]


def test_d13_analysts_together_cannot_exceed_the_budget_whatever_their_caps(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="1") as town:
        for name in ("ann", "bob"):
            cap = {"population": "town", "cap": {"epsilon": "1", "delta": "1e-18"}}
            assert town.post(f"/api/analysts/{name}/grant", cap, town.owner).status_code == 200
        statuses = [town.ask(COUNT, token, epsilon="0.8").status_code for token in (town.ann, town.bob, town.ann)]
        assert statuses == [200, 402, 402]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) FROM read_text('/etc/passwd')",
        "SELECT COUNT(*) FROM read_blob('/etc/passwd')",
        "SELECT COUNT(*) FROM glob('/*')",
        "SELECT COUNT(*) FROM sniff_csv('/etc/passwd')",
        "SELECT COUNT(*) FROM '/etc/passwd'",
        "SELECT COUNT(*) FROM 'https://example.com/x.parquet'",
        "SELECT COUNT(*) FROM query('SELECT 1')",
        "SELECT COUNT(*) FROM query_table('people')",
        "SELECT COUNT(*) FROM duckdb_settings()",
        "SELECT COUNT(*) FROM pg_catalog.pg_class",
        "SELECT getenv('PATH'), COUNT(*) FROM people",
        "COPY people TO '/tmp/x'",
        "ATTACH '/tmp/x' AS x",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE '/tmp/x'",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CREATE TABLE x AS SELECT 1",
        "EXPLAIN ANALYZE SELECT COUNT(*) FROM people",
        "SUMMARIZE people",
        "DESCRIBE people",
        "CALL pragma_version()",
    ],
)
def test_f1_nothing_reaches_files_the_network_or_the_engine(town: Town, sql: str) -> None:
    before = town.curator.ledger.head
    reply = town.ask(sql)
    assert reply.status_code == 422
    assert town.curator.ledger.head == before


def test_f7_no_debug_no_docs_no_metrics(town: Town) -> None:
    assert not town.http.app.debug  # type: ignore[attr-defined]
    for path in ("/docs", "/redoc", "/openapi.json", "/metrics", "/debug", "/admin", "/.env", "/web/", "/static/x"):
        for token in (None, town.owner):
            assert town.get(path, token).status_code == 404
