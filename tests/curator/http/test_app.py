"""A question from the door to the ledger: order, idempotency, failures, headers, what the owner does."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from discreet import errors
from discreet.curator.error_replies import reply
from discreet.curator.http.middleware import HEADERS
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.reply_timing import Grid
from discreet.errors import EngineFailed
from discreet.ledger import verify_card, verify_receipt
from discreet.session.price import Price
from tests.helpers.curator.land import CITIES, NUMBER
from tests.helpers.curator.town import Town, open_town

COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


def charges(town: Town) -> int:
    return len(town.curator.ledger.entries(kind="charge", limit=10_000))


# --- asking ---------------------------------------------------------------------------------------------------------


def test_a_question_is_answered_with_error_bars_a_receipt_and_a_card(town: Town) -> None:
    reply = town.ask(COUNT, epsilon="1000")
    assert reply.status_code == 200
    said = reply.json()
    assert said["answer"]["columns"] == ["city", "n"]
    assert [row[0] for row in said["answer"]["rows"]] == list(CITIES)
    assert [round(row[1], -1) for row in said["answer"]["rows"]] == [40, 40, 40]
    assert len(said["answer"]["errors"]["n"]) == 3
    key = town.get("/api/key").json()["public_key"]
    receipt = verify_receipt(said["receipt"], key)
    assert (receipt.analyst, receipt.dataset, receipt.query, receipt.sequence) == ("ann", "town", COUNT, said["number"])
    stored = town.curator.ledger.charge(said["number"])
    card = verify_card(said["card"], key, stored.answer)
    assert card["unit"] == "one person"
    assert card["accuracy"]["n"].startswith("within")
    assert json.loads(stored.answer or b"") == said["answer"]
    for what in ("receipt", "card"):
        text = town.get(f"/api/answers/{said['number']}/{what}", town.ann)
        assert text.text == said[what]
        assert "attachment" in text.headers["content-disposition"]


def test_reading_an_answer_again_gives_the_same_bytes(town: Town) -> None:
    said = town.ask(COUNT).json()
    before = charges(town)
    assert town.get(f"/api/answers/{said['number']}", town.ann).json() == said
    assert charges(town) == before


def test_a_preview_is_free_and_touches_nothing(town: Town) -> None:
    before = town.curator.ledger.head
    said = town.preview(COUNT, epsilon="0.5").json()
    assert said["affordable"]
    assert said["columns"][0]["error"] > 0
    assert said["price_epsilon"] == pytest.approx(0.5)
    assert town.preview(COUNT, epsilon="0.25").json()["columns"][0]["error"] > said["columns"][0]["error"]
    assert town.curator.ledger.head == before


def test_an_error_can_be_asked_for_instead_of_a_price(town: Town) -> None:
    said = town.preview(COUNT, error=25, confidence="0.95").json()
    assert 24 < said["columns"][0]["error"] <= 25
    answer = town.post("/api/datasets/town/questions", {"sql": COUNT, "error": "25"}, town.ann).json()
    assert max(answer["answer"]["errors"]["n"]) <= 25


def test_a_number_in_json_is_the_decimal_that_is_written(town: Town) -> None:
    assert town.ask(COUNT, epsilon=0.1).json()["parameters"]["epsilon"] == "1/10"  # type: ignore[arg-type]
    assert town.ask(COUNT, epsilon="1/3").json()["parameters"]["epsilon"] == "1/3"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"sql": COUNT},
        {"sql": "", "epsilon": 1},
        {"sql": COUNT, "epsilon": "one"},
        {"sql": COUNT, "epsilon": True},
        {"sql": COUNT, "epsilon": -1},
        {"sql": COUNT, "epsilon": 0},
        {"sql": COUNT, "epsilon": float("1e308")},
        {"sql": COUNT, "epsilon": "1e-99999999"},
        {"sql": COUNT, "epsilon": [1]},
        {"sql": COUNT, "epsilon": 1, "error": 3},
        {"sql": COUNT, "epsilon": 1, "rho": 1},
        {"sql": COUNT, "error": {"nowhere": 3}},
        {"sql": COUNT, "error": 1e-300},
        {"sql": COUNT, "epsilon": 1, "confidence": 2},
        {"sql": COUNT, "epsilon": 1, "confidence": "x"},
        {"sql": COUNT, "epsilon": 1, "more": 1},
        {"sql": [COUNT], "epsilon": 1},
        {"sql": COUNT, "epsilon": 1, "key": ""},
        {"sql": COUNT, "epsilon": 1, "key": "x" * 101},
        {"sql": COUNT, "epsilon": 1, "key": "a\nb"},
        {"sql": COUNT, "epsilon": 1, "key": "\ud800"},
        {"sql": "\ud800", "epsilon": 1},
        {"sql": "SELECT name FROM people", "epsilon": 1},
        {"sql": "SELECT COUNT(*) FROM nowhere", "epsilon": 1},
        {"sql": "SELECT COUNT(*) FROM notes", "epsilon": 1},
        {"sql": "SELECT secret, COUNT(*) FROM people GROUP BY secret", "epsilon": 1},
        {"sql": "COPY people TO 'x'", "epsilon": 1},
        {"sql": "SELECT COUNT(*) FROM read_csv('/etc/passwd')", "epsilon": 1},
        {"sql": "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people", "epsilon": 1},
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_shape_and_costs_nothing(town: Town, body: Any) -> None:
    before = town.curator.ledger.head
    for path in ("preview", "questions"):
        if path == "preview" and "key" in body:
            continue
        reply = town.http.post(
            f"/api/datasets/town/{path}",
            content=json.dumps(body).encode("utf-8", "surrogatepass"),
            headers={"authorization": f"Bearer {town.ann}", "content-type": "application/json"},
        )
        assert reply.status_code in (402, 422), reply.text
        assert set(reply.json()) == {"error"}
        assert set(reply.json()["error"]) == {"kind", "message", "hint", "fields"}
    assert town.curator.ledger.head == before


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_key_is_charged_once_and_gives_the_same_answer(town: Town) -> None:
    first = town.ask(COUNT, key="once")
    before = charges(town)
    again = town.ask(COUNT, key="once")
    assert again.content == first.content
    assert town.ask(COUNT + "  ", key="once").content == first.content
    assert town.ask(COUNT, key="once", epsilon="1.0").content == first.content
    assert charges(town) == before
    assert town.ask(COUNT, key="once", epsilon="2").json()["error"]["kind"] == "KeyReused"
    assert town.ask(COUNT + " ORDER BY city", key="once").json()["error"]["kind"] == "KeyReused"
    assert charges(town) == before
    other = town.ask(COUNT, town.bob, key="once")  # a key is one's own
    assert other.status_code == 200
    assert other.json()["number"] != first.json()["number"]


def test_a_key_that_comes_many_times_at_once_is_charged_once(town: Town) -> None:
    caller = town.curator.access.who(f"Bearer {town.ann}")
    before = charges(town)

    def ask(_: int) -> bytes | None:
        try:
            return town.curator.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1")), "at once").answer
        except errors.LedgerBusy:  # the first one is still being answered
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    assert charges(town) == before + 1
    assert len(answers - {None}) == 1
    assert ask(0) in answers


def test_a_known_key_is_answered_when_the_budget_is_gone(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="1") as town:
        first = town.ask(COUNT, key="k", epsilon="1")
        assert first.status_code == 200
        over = town.ask(COUNT, key="l", epsilon="0.001")
        assert over.status_code == 402
        assert over.json()["error"]["kind"] == "OverBudget"
        assert town.ask(COUNT, key="k", epsilon="1").content == first.content
        assert not town.preview(COUNT, epsilon="1").json()["affordable"]


def test_an_analysts_cap_and_the_budget_of_all_hold_both(new_town: Town) -> None:
    town = new_town
    cap = {"population": "town", "cap": {"epsilon": "1", "delta": "1e-18"}}
    assert town.post("/api/analysts/ann/grant", cap, town.owner).status_code == 200
    assert town.ask(COUNT, epsilon="1").status_code == 200
    assert town.ask(COUNT, epsilon="0.5").status_code == 402
    assert town.ask(COUNT, town.bob, epsilon="0.5").status_code == 200
    lower = {"budget": {"epsilon": "1.2", "delta": "1e-18"}, "reason": "enough"}
    assert town.post("/api/populations/town/budget", lower, town.owner).status_code == 200
    assert town.ask(COUNT, town.bob, epsilon="1").status_code == 402


def test_shares_of_a_budget_add_up(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="2") as town:
        for token, epsilon in ((town.ann, "1"), (town.bob, "0.5")):
            assert town.ask(COUNT, token, epsilon=epsilon).status_code == 200
        (whole, _) = town.get("/api/budget", town.owner).json()
        ann, bob = whole["analysts"]
        assert whole["share"] == pytest.approx(ann["share"] + bob["share"])
        assert whole["gone"] == pytest.approx(whole["share"])
        (mine,) = town.get("/api/budget", town.ann).json()
        assert mine["share"] == ann["share"] < mine["gone"] == whole["gone"]  # what bob spent is gone for ann too
        cap = {"population": "town", "cap": {"epsilon": "1", "delta": "1e-18"}}
        assert town.post("/api/analysts/ann/grant", cap, town.owner).status_code == 200
        (capped,) = town.get("/api/budget", town.ann).json()
        assert capped["share"] == capped["gone"] > mine["gone"]


# --- failures -------------------------------------------------------------------------------------------------------


def broken(town: Town, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """An engine that fails in this way, after the payment."""
    room = town.curator.open(town.curator.ledger.datasets["town"])

    def run(*_: object) -> None:
        raise error

    monkeypatch.setattr(room.engine, "run", run)


@pytest.mark.parametrize(
    "error", [EngineFailed(), ValueError("canary7f3a"), MemoryError("canary7f3a"), KeyError("canary7f3a")]
)
def test_after_the_payment_every_failure_is_the_same_and_is_charged(
    town: Town, monkeypatch: pytest.MonkeyPatch, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    before = charges(town)
    key = f"fail {type(error).__name__} {error}"[:50]
    with monkeypatch.context() as patch:
        broken(town, patch, error)
        failed = town.ask(COUNT, key=key)
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert charges(town) == before + 1
    again = town.ask(COUNT, key=key)  # the engine is well again, and the stored failure stays
    assert (again.status_code, again.content) == (failed.status_code, failed.content)
    assert charges(town) == before + 1
    assert "canary" not in caplog.text


def test_a_charge_whose_answer_was_lost_in_a_crash_stays_charged(
    new_town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    caller = new_town.curator.access.who(f"Bearer {new_town.ann}")
    with monkeypatch.context() as patch:
        patch.setattr(new_town.curator.ledger, "store_answer", die)
        with pytest.raises(Killed):
            new_town.curator.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1")), "lost")
    busy = new_town.ask(COUNT, key="lost")  # it may still be under way elsewhere
    assert busy.json()["error"]["kind"] == "LedgerBusy"
    assert "was paid, and is being answered or was lost" in busy.json()["error"]["message"]
    wait = int(new_town.config.limits.deadline + new_town.config.limits.patience) + 5
    assert f"after {wait} s it is known" in busy.json()["error"]["message"]
    new_town.clock.now += timedelta(seconds=wait - 1)
    assert "after 1 s " in new_town.ask(COUNT, key="lost").json()["error"]["message"]
    new_town.clock.now += timedelta(minutes=10)
    lost = new_town.ask(COUNT, key="lost")
    assert (lost.status_code, lost.json()) == reply(EngineFailed())
    assert charges(new_town) == 1
    number = new_town.get("/api/answers", new_town.ann).json()["charges"][0]["number"]
    assert new_town.get(f"/api/answers/{number}", new_town.ann).status_code == 503
    assert new_town.get(f"/api/answers/{number}/card", new_town.ann).status_code == 404
    assert new_town.get(f"/api/answers/{number}/receipt", new_town.ann).status_code == 200
    assert new_town.get("/api/audit", new_town.owner).json()["unanswered"] == [number]


def test_what_should_not_happen_says_nothing(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("canary7f3a")

    monkeypatch.setattr(town.curator, "budget", fail)
    reply = town.get("/api/budget", town.ann)
    assert reply.status_code == 500
    assert reply.json()["error"]["kind"] == "Fault"
    assert "RuntimeError at fail" in caplog.text
    assert "canary" not in caplog.text + reply.text


def test_the_order_is_plan_pay_run_noise_store(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    room = new_town.curator.open(new_town.curator.ledger.datasets["town"])
    run, store = room.engine.run, new_town.curator.ledger.store_answer

    def watched_run(*given: Any) -> Any:
        seen.append(f"run after {charges(new_town)} charges")
        return run(*given)

    def watched_store(*given: Any, **more: Any) -> Any:
        seen.append("store")
        return store(*given, **more)

    monkeypatch.setattr(room.engine, "run", watched_run)
    monkeypatch.setattr(new_town.curator.ledger, "store_answer", watched_store)
    monkeypatch.setattr(new_town.curator, "at", seen.append)
    monkeypatch.setattr(Grid, "hold", lambda *_: seen.append("grid"))
    new_town.ask(COUNT)
    assert seen == ["planned", "run after 1 charges", "noise", "grid", "store", "sending"]


# --- neighbours -----------------------------------------------------------------------------------------------------


QUESTIONS = [
    COUNT,
    "SELECT AVG(pay) AS x FROM people",
    f"SELECT SUM(1 / (big - {NUMBER + 7})) AS x FROM people",
    f"SELECT COUNT(*) AS n FROM people WHERE CAST(secret AS INTEGER) = {NUMBER}",
    "SELECT SUM(CAST(name AS INTEGER)) AS x FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE sqrt(pay - 7) > 1",
    "SELECT SUM(big * 9223372036854775807) AS x FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE error(secret)",
    "SELECT (SELECT secret FROM people) AS x, COUNT(*) FROM people",
    "SELECT MEDIAN(pay) AS x FROM people",
    "SELECT name, COUNT(*) AS n FROM people GROUP BY name",
]


def test_status_words_and_charge_are_the_same_on_neighbouring_data(tmp_path: Path) -> None:
    with open_town(tmp_path / "with") as with_7, open_town(tmp_path / "without", people=119) as without:
        for sql in QUESTIONS:
            one, other = with_7.ask(sql), without.ask(sql)
            assert one.status_code == other.status_code, sql
            if one.status_code != 200:
                assert one.content == other.content, sql
            else:
                assert one.json()["price"] == other.json()["price"]
                assert one.json()["answer"]["errors"].keys() == other.json()["answer"]["errors"].keys()
            assert with_7.preview(sql, epsilon="1").content == without.preview(sql, epsilon="1").content
        assert charges(with_7) == charges(without)


# --- headers, methods, telemetry ------------------------------------------------------------------------------------


def test_every_reply_has_the_headers_and_tells_no_time(town: Town) -> None:
    replies = [
        town.get("/"),
        town.get("/nowhere"),
        town.get("/api/me"),
        town.get("/api/me", town.ann),
        town.ask(COUNT),
        town.ask("nonsense"),
        town.http.delete("/api/me"),
        town.http.options(
            "/api/me", headers={"origin": "https://evil.example", "access-control-request-method": "GET"}
        ),
    ]
    for one in replies:
        for name, value in HEADERS.items():
            assert one.headers[name] == value
        assert not {"date", "server", "x-process-time", "server-timing", "set-cookie"} & set(one.headers)
        assert not [name for name in one.headers if name.startswith("access-control-")]
    assert [one.status_code for one in replies] == [200, 404, 401, 200, 200, 422, 405, 405]
    assert replies[6].headers["allow"] == "GET"


def test_no_telemetry_whatever_the_environment_says(town: Town) -> None:
    native = getattr(town.http.app, "_native_telemetry", None)
    assert native is None or not native.enabled()


def test_form_posts_from_elsewhere_change_nothing(town: Town) -> None:
    before = town.curator.ledger.head
    for path in ("/api/analysts", "/api/datasets/town/questions", "/api/ledger/acknowledge"):
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"):
            sent = {"content-type": kind, "origin": "https://evil.example", "authorization": f"Bearer {town.owner}"}
            assert town.http.post(path, content=b'{"name":"eve"}', headers=sent).status_code in (403, 415)
    assert town.curator.ledger.head == before


# --- the owner ------------------------------------------------------------------------------------------------------


def test_registering_the_same_data_again_takes_a_decision(new_town: Town) -> None:
    town = new_town
    table = {"people": {"source": "people.parquet", "unit": "person_id"}}
    fresh = {"name": "again", "budget": {"epsilon": 5}, "tables": table}
    refused = town.post("/api/datasets", fresh, town.owner)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "AlreadyProtected")
    assert "again" not in town.curator.ledger.populations
    shared = {"name": "again", "population": "town", "tables": table}
    assert town.post("/api/datasets", shared, town.owner).status_code == 201
    assert town.post("/api/datasets/again/questions", {"sql": COUNT, "epsilon": 1}, town.ann).status_code == 422
    decided = fresh | {"name": "third", "decision": "the people agreed to a second budget"}
    assert town.post("/api/datasets", decided, town.owner).status_code == 201
    assert "agreed to a second budget" in town.get("/api/audit", town.owner).text


@pytest.mark.parametrize(
    "change",
    [
        {"tables": {"people": {"source": "people.parquet", "unit": "nowhere"}}},
        {"tables": {"people": {"source": "people.parquet", "unit": "pay"}}},
        {"tables": {"people": {"source": "people.parquet"}}},
        {"tables": {"people": {"source": "people.parquet", "unit": "person_id", "columns": {"x": {"keys": ["a"]}}}}},
        {
            "tables": {
                "people": {"source": "people.parquet", "unit": "person_id", "columns": {"name": {"bounds": [0, 1]}}}
            }
        },
        {"tables": {"a b": {"source": "people.parquet", "unit": "person_id"}}},
        {"name": "a/b"},
        {"name": ".."},
        {"name": "x\u202e"},
        {"budget": None},
        {"budget": {"epsilon": 1, "rho": 1}},
        {"population": "town"},
    ],
)
def test_a_registration_that_does_not_fit_records_nothing(town: Town, change: dict[str, Any]) -> None:
    before = town.curator.ledger.head
    body = {"name": "bad", "budget": {"epsilon": 5}, "decision": "why not"}
    body["tables"] = {"people": {"source": "people.parquet", "unit": "person_id"}}
    reply = town.post("/api/datasets", body | change, town.owner)
    assert reply.status_code in (409, 422), reply.text
    assert town.curator.ledger.head == before


def test_an_analyst_who_cannot_be_added_whole_is_not_added_at_all(new_town: Town) -> None:
    before = new_town.curator.ledger.head
    for change in (
        {"grants": [{"population": "other"}, {"population": "town", "cap": {"epsilon": "1"}}]},  # not as the budget is
        {"grants": [{"population": "other"}, {"population": "nowhere"}]},
        {"name": "owner"},
        {"name": "Owner"},
        {"name": "a/b"},
        {"days": 100_000},
    ):
        assert new_town.post("/api/analysts", {"name": "zoe", **change}, new_town.owner).status_code in (404, 422)
    assert new_town.curator.ledger.head == before
    assert new_town.post("/api/analysts", {"name": "zoe"}, new_town.owner).status_code == 201


def test_a_retired_data_set_answers_no_more(new_town: Town) -> None:
    assert new_town.ask(COUNT).status_code == 200
    assert new_town.post("/api/datasets/town/retire", {"reason": "over"}, new_town.owner).status_code == 200
    assert new_town.ask(COUNT).status_code == 404
    assert new_town.get("/api/datasets/town", new_town.owner).status_code == 404


def test_columns_of_a_source_are_names_and_types(town: Town) -> None:
    said = town.post("/api/sources/columns", {"source": "people.parquet"}, town.owner).json()
    assert {one["name"]: one["kind"] for one in said} == {
        "person_id": "integer",
        "name": "text",
        "city": "text",
        "pay": "real",
        "secret": "text",
        "big": "integer",
    }
    assert town.get("/api/sources", town.owner).json() == ["notes.csv", "people.parquet", "trips.parquet"]


def test_the_ledger_can_be_checked_from_what_the_owner_is_shown(town: Town) -> None:
    town.ask(COUNT)
    entries = town.get("/api/ledger?limit=1000", town.owner).json()["entries"]
    for before, after in pairwise(entries):
        assert after["previous"] == before["hash"] == hashlib.sha256(before["text"].encode()).hexdigest()
    assert town.get("/api/ledger/verify", town.owner).json()["ok"]


def test_after_a_rollback_nothing_is_answered_until_the_owner_acts(new_town: Town) -> None:
    town = new_town
    town.ask(COUNT)
    head = Path(f"{town.config.ledger}.head")
    later = head.read_bytes()
    again = town.ask(COUNT, key="k")
    assert again.status_code == 200
    head.write_bytes(later.replace(later[:4096], later[:4096]))  # the same bytes: no mismatch
    assert town.ask(COUNT).status_code == 200
    text = json.loads(head.read_bytes()[:4096])
    forged = {"ledger": text["ledger"], "sequence": 10_000, "hash": "0" * 64}
    canonical = json.dumps(forged, sort_keys=True, separators=(",", ":"))
    line = json.dumps(forged | {"sum": hashlib.sha256(canonical.encode()).hexdigest()}, sort_keys=True)
    head.write_bytes((line.encode().ljust(4095) + b"\n") * 2)
    refused = town.ask(COUNT)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "LedgerMismatch")
    assert "entry" not in refused.json()["error"]["message"]
    assert "rolled back" in town.get("/api/audit", town.owner).json()["trouble"]
    assert town.post("/api/ledger/acknowledge", {"reason": "a test wrote the head file"}, town.ann).status_code == 403
    done = town.post("/api/ledger/acknowledge", {"reason": "a test wrote the head file"}, town.owner)
    assert done.status_code == 200
    assert town.ask(COUNT).status_code == 200
    assert "a test wrote the head file" in town.get("/api/audit", town.owner).text
