"""Attacks that broke other services, by their number in the catalogue (B: side channels, D: ledger, F: service).

``ELSEWHERE`` names the tests of those that are not here.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.reply_timing import Grid
from tests.helpers.curator.land import CITIES
from tests.helpers.curator.town import COUNT, Town, open_town

# Tests elsewhere that stand for a row.
ELSEWHERE = {
    "B1": [
        "test_nobody_sees_the_answer_before_the_grid_lets_it_go",
        "test_a_reply_leaves_on_a_line_of_the_grid",
    ],
    "B2": [
        "test_status_words_and_charge_are_the_same_on_neighbouring_data",
    ],
    "B3": [
        "test_after_the_payment_every_failure_is_the_same_and_is_charged",
        "test_a_log_that_repeats_the_words_of_an_engine_would_be_seen",
    ],
    "B4": [
        "test_the_engine_hangs_until_the_deadline",
    ],
    "B6": [
        "test_status_words_and_charge_are_the_same_on_neighbouring_data",
    ],
    "B8": [
        "test_no_canary_under_fuzzed_questions",
        "test_what_a_crash_left_is_swept_away_and_what_is_in_use_is_not",
        "test_what_a_process_says_of_a_failure_is_logged_only_as_a_name",
    ],
    "D1": [
        "test_the_ledger_counts_as_the_filter_does",
    ],
    "D2": [
        "test_interactive_mechanisms_under_approximate_zcdp_are_refused",
    ],
    "D3": [
        "test_a_race_for_ten_answers_has_ten_winners",
        "test_a_cap_for_ten_gives_ten_answers_whoever_asks_where",
    ],
    "D4": [
        "test_the_order_is_plan_pay_run_noise_store",
        "test_dying_at_each_point_of_a_question",
    ],
    "D5": [
        "test_a_charge_whose_answer_was_lost_in_a_crash_stays_charged",
        "test_the_client_goes_away",
        "test_the_request_is_cancelled",
        "test_the_engine_is_killed",
        "test_the_engine_hangs_until_the_deadline",
    ],
    "D6": [
        "test_a_key_is_charged_once_and_gives_the_same_answer",
    ],
    "D7": [
        "test_a_cap_of_one_takes_ten_tenths",
        "test_a_cap_of_three_tenths_takes_three",
    ],
    "D8": [
        "test_after_a_rollback_nothing_is_answered_until_the_owner_acts",
        "test_a_restored_backup_is_found_out",
    ],
    "D9": [
        "test_sqlite_is_kept_with_full_durability",
        "test_unsafe_settings_are_refused",
        "test_a_server_without_durability_is_refused",
        "test_a_ledger_in_memory_warns",
    ],
    "D10": [
        "test_a_race_for_ten_answers_has_ten_winners",
    ],
    "D11": [
        "test_a_clock_that_is_set_back_changes_nothing",
    ],
    "D12": [
        "test_registering_the_same_data_again_takes_a_decision",
    ],
    "D13": [
        "test_colluding_analysts_share_the_budget",
    ],
    "F2": [
        "test_each_role_gets_what_the_table_allows",
        "test_what_is_not_in_the_table_is_refused_to_everybody",
        "test_receipts_of_others_are_invisible_and_shared_answers_are_not",
    ],
    "F3": [
        "test_tokens_are_kept_as_hashes_only",
        "test_a_token_in_the_address_is_no_token",
        "test_a_token_expires",
        "test_a_revoked_token_is_worthless_and_the_others_stay",
    ],
    "F4": [
        "test_what_leads_elsewhere_is_refused",
        "test_the_service_refuses_it_and_records_nothing",
    ],
    "F5": [
        "test_form_posts_from_elsewhere_change_nothing",
        "test_names_that_are_html_are_shown_as_they_are",
        "test_the_files_of_the_page_make_no_html_from_text_and_ask_nobody_else",
    ],
    "F6": [
        "test_questions_that_are_too_much_are_refused_or_answered_and_never_hang",
        "test_bodies_are_limited_and_must_be_json",
        "test_a_client_that_never_ends_its_request_is_let_go",
        "test_bad_tokens_are_counted_before_the_ledger_is_read_and_good_ones_are_not",
    ],
    "F7": [
        "test_what_should_not_happen_says_nothing",
    ],
    "F8": [
        "test_receipts_of_others_are_invisible_and_shared_answers_are_not",
    ],
}
ROWS = [f"{letter}{i}" for letter, last in (("B", 8), ("D", 13), ("F", 8)) for i in range(1, last + 1)]


def functions_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.slow
def test_every_row_of_the_catalogue_has_a_test_by_name() -> None:
    everywhere = {name for path in Path(__file__).parents[2].rglob("test_*.py") for name in functions_in(path)}
    for names in ELSEWHERE.values():
        assert set(names) <= everywhere
    here = functions_in(Path(__file__))
    for row in ROWS:
        assert row in ELSEWHERE or any(name.startswith(f"test_{row.lower()}_") for name in here), row


@pytest.mark.slow
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
        lambda: town.post("/api/datasets/town/workload", {"sqls": [COUNT, COUNT], "epsilon": 1}, town.ann),
        lambda: town.post("/api/datasets/town/workload", {"sqls": ["SELECT *"], "epsilon": 1}, town.ann),
        lambda: town.post("/api/datasets/town/plan", {"sqls": [COUNT, COUNT], "epsilon": 1}, town.ann),
        lambda: town.post("/api/datasets/town/plan", {"sqls": ["SELECT *"], "epsilon": 1}, town.ann),
        lambda: town.post("/api/datasets/town/bounds", {"table": "people", "column": "pay", "epsilon": 1}, town.ann),
        lambda: town.post("/api/datasets/town/bounds", {"table": "people", "column": "name", "epsilon": 1}, town.ann),
    ):
        before = len(waited)
        ask()
        assert len(waited) == before + 1
    before = len(waited)
    town.preview(COUNT, epsilon="1")
    town.post("/api/datasets/town/workload/preview", {"sqls": [COUNT], "epsilon": 1}, town.ann)
    town.post("/api/datasets/town/plan/preview", {"sqls": [COUNT], "epsilon": 1}, town.ann)
    town.get("/api/me", town.ann)
    town.get("/")
    assert len(waited) == before


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE FUNCTION f(x) AS x; SELECT SUM(f(pay)) FROM people",
        "CREATE MACRO f(x) AS x",
        "SELECT SUM(f(pay)) AS x FROM people",
        "SELECT SUM(list_transform([pay], x -> x)[1]) AS x FROM people",
        "SELECT COUNT(*) FROM people WHERE nextval('s') > 0",
        "SELECT COUNT(*) FROM people WHERE setseed(0.5) IS NULL",
        "SELECT COUNT(*) FROM people WHERE random() > 0.5",
        "INSERT INTO people SELECT * FROM people",
        "UPDATE people SET pay = 1",
        "PREPARE q AS SELECT 1",
        "EXECUTE q",
    ],
)
def test_b5_no_code_of_an_analyst_runs_and_no_state_is_kept(town: Town, sql: str) -> None:
    before = town.curator.ledger.head
    assert town.ask(sql).status_code == 422
    assert town.curator.ledger.head == before


@pytest.mark.slow
def test_b7_the_shape_of_an_answer_is_the_same_whoever_is_in_the_data(tmp_path: Path) -> None:
    shapes = []
    for people in (1, 2, 120):
        with open_town(tmp_path / str(people), people=people) as town:
            said = town.ask(COUNT, epsilon="0.1").json()["answer"]
            shapes.append((said["columns"], [row[0] for row in said["rows"]], [type(row[1]) for row in said["rows"]]))
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0][1] == list(CITIES)  # groups where nobody is are answered too


@pytest.mark.slow
def test_d7_a_cap_of_one_takes_ten_times_a_tenth_and_then_refuses_the_smallest_thing(new_town: Town) -> None:
    town = new_town
    town.post("/api/analysts/ann/grant", {"population": "other"}, town.owner)
    body = {"sql": "SELECT COUNT(*) AS n FROM notes", "epsilon": "0.1", "fresh": True}
    path = "/api/datasets/other/questions"
    statuses = [town.post(path, body, town.ann).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [402]
    assert town.post(path, body | {"epsilon": "1e-9"}, town.ann).status_code == 402
    (mine,) = [one for one in town.get("/api/budget", town.ann).json() if one["population"] == "other"]
    assert mine["remaining"]["epsilon"] == "0"
    raised = {"budget": {"epsilon": "1.3"}, "reason": "a cap of three tenths more"}
    assert town.post("/api/populations/other/budget", raised, town.owner).status_code == 200
    assert [town.post(path, body, town.ann).status_code for _ in range(4)] == [200, 200, 200, 402]


@pytest.mark.slow
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


def test_f7_no_debug_no_docs_and_metrics_for_few(town: Town) -> None:
    assert not town.http.app.debug  # type: ignore[attr-defined]
    for path in ("/docs", "/redoc", "/openapi.json", "/debug", "/admin", "/.env", "/web/", "/static/x"):
        for token in (None, town.owner):
            assert town.get(path, token).status_code == 404
    assert [town.get("/metrics", token).status_code for token in (None, town.ann, town.owner)] == [401, 403, 200]
