"""Answers that were paid for: who gets which of them again, for nothing, and who does not."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.library import SAME, read_answer
from discreet.curator.service.opening import open_curator
from discreet.curator.service.questions import SqlQuestion
from discreet.query.answer.serialize import dump
from discreet.session.price import Price
from tests.helpers.curator.town import COUNT, Town, broken, charges, open_town


def ask(town: Town, sql: str, token: str | None = None, **more: Any) -> Any:
    return town.ask(sql, token, **{"fresh": False, **more})


def left(town: Town, token: str) -> str:
    return str(town.get("/api/budget", token).json()[0]["remaining"]["text"])


@pytest.fixture
def own(tmp_path: Path) -> Any:
    with open_town(tmp_path / "town") as town:
        yield town


def test_the_same_plan_at_the_same_price_is_paid_once_by_whoever_asks(own: Town) -> None:
    first = ask(own, COUNT, own.ann).json()
    before = left(own, own.bob)
    for token, sql, epsilon in [
        (own.ann, COUNT, "1"),
        (own.bob, COUNT, "1"),
        (own.bob, "select  city, count(*) as n from people as p group by 1 -- again", "0.5"),
    ]:
        again = ask(own, sql, token, epsilon=epsilon).json()
        assert again["paid_before"]
        assert again["number"] == first["number"]
        assert again["answer"] == first["answer"]
        assert (again["by"], again["data"]) == ("ann", first["data"])
    assert not first["paid_before"]
    assert charges(own) == 1
    assert left(own, own.bob) == before


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": "1.1"},
        {"confidence": "0.9"},
        {"fresh": True},
        {"sql": COUNT.replace("n FROM", "many FROM")},
        {"sql": COUNT + " ORDER BY n LIMIT 1"},
        {"sql": COUNT.replace(" GROUP", " WHERE pay > 3 GROUP")},
    ],
)
def test_what_differs_in_anything_is_paid(own: Town, other: dict[str, Any]) -> None:
    ask(own, COUNT)
    again = ask(own, **{"sql": COUNT, "token": own.bob, **other}).json()
    assert not again["paid_before"]
    assert charges(own) == 2


def test_the_same_key_never_pays_twice_whatever_is_fresh(own: Town) -> None:
    ask(own, COUNT)
    paid = [ask(own, COUNT, own.bob, key="k", fresh=True).json() for _ in range(3)]
    assert [one["paid_before"] for one in paid] == [False, True, True]
    assert charges(own) == 2
    assert ask(own, COUNT + " LIMIT 2", own.bob, key="k").status_code == 409


def test_new_files_are_other_data_and_a_key_outlives_them(own: Town) -> None:
    first = ask(own, COUNT, key="k").json()
    file = own.folder / "data" / "people.parquet"
    os.utime(file, ns=(1, 1))
    assert ask(own, COUNT, key="k").json()["answer"] == first["answer"]
    again = ask(own, COUNT).json()
    assert not again["paid_before"]
    assert again["data"] != first["data"]
    assert charges(own) == 2


def test_files_that_change_while_they_are_read_are_of_no_version(own: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = own.curator.open(own.curator.ledger.datasets["town"])
    versions = iter(["one", "two", "one"])
    monkeypatch.setattr(type(opened), "data_version", lambda *_: next(versions, "one"))
    ask(own, COUNT)
    assert read_answer(own.curator.ledger.charge(charges_of(own)[-1]))["data_changed"]
    assert not ask(own, COUNT).json()["paid_before"]
    assert charges(own) == 2
    assert ask(own, COUNT).json()["paid_before"]


def charges_of(town: Town) -> list[int]:
    return [line.entry.sequence for line in town.curator.ledger.entries(kind="charge")]


def test_the_word_of_the_owner_counts_and_not_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    with open_town(folder, dataset='version = "2025"') as town:
        assert ask(town, COUNT).json()["data"] == "2025"
        os.utime(folder / "data" / "people.parquet", ns=(1, 1))
        assert ask(town, COUNT, town.bob).json()["paid_before"]
    config = folder / "curator.toml"
    config.write_text(config.read_text().replace('"2025"', '"2026"'))
    again = open_curator(read_config(config))
    try:
        caller = again.access.who(f"Bearer {town.bob}")
        assert not again.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1", confidence="0.95"))).again
    finally:
        again.close()


def test_answers_that_are_kept_apart_are_one_s_own(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", dataset="answers_apart = true") as town:
        number = ask(town, COUNT).json()["number"]
        assert ask(town, COUNT, town.ann).json()["paid_before"]
        assert not ask(town, COUNT, town.bob).json()["paid_before"]
        for what in ("", "/receipt", "/card", "/parquet"):
            hidden = town.get(f"/api/answers/{number}{what}", town.bob)
            absent = town.get(f"/api/answers/999999{what}", town.bob)
            assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text)
            assert hidden.status_code == 404
        assert town.preview(COUNT, town.bob, epsilon="0.5").json()["earlier"]["by"] == "bob"


def test_the_shared_answer_is_shown_with_its_card_and_not_with_another_s_receipt(own: Town) -> None:
    first = ask(own, COUNT).json()
    seen = own.get(f"/api/answers/{first['number']}", own.bob).json()
    assert seen["answer"] == first["answer"]
    assert seen["card"] == first["card"]
    assert seen["receipt"] is None
    assert first["receipt"]
    assert own.get(f"/api/answers/{first['number']}/receipt", own.bob).status_code == 404
    assert own.get(f"/api/answers/{first['number']}/parquet", own.bob).status_code == 200


def test_only_whoever_may_ask_now_gets_or_sees_it(own: Town) -> None:
    number = ask(own, COUNT).json()["number"]
    own.curator.ledger.owner.add_analyst("eve")
    eve = own.curator.access.issue("eve", own.curator.access.who(f"Bearer {own.ann}").role)
    assert own.get(f"/api/answers/{number}", eve).status_code == 404
    assert ask(own, COUNT, eve).status_code == 404
    own.curator.ledger.owner.retire("town", reason="over")
    assert own.get(f"/api/answers/{number}", own.bob).status_code == 404
    assert ask(own, COUNT, own.bob).status_code == 404


def test_nobody_cancels_the_job_of_another(own: Town) -> None:
    number = ask(own, COUNT).json()["number"]
    for method, path in [("get", f"/api/jobs/{number}"), ("post", f"/api/jobs/{number}/cancel")]:
        reply = own.get(path, own.bob) if method == "get" else own.post(path, {}, own.bob)
        assert reply.status_code == 404


def test_a_failure_is_no_answer_for_others(own: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        broken(own, patched, RuntimeError("gone"))
        assert ask(own, COUNT).status_code == 500
    again = ask(own, COUNT, own.bob).json()
    assert not again["paid_before"]
    assert own.get(f"/api/answers/{charges_of(own)[0]}", own.bob).status_code in (404, 500)


def test_a_stored_answer_that_was_changed_is_shown_to_nobody(own: Town) -> None:
    number = ask(own, COUNT).json()["number"]
    forged = read_answer(own.curator.ledger.charge(number))
    forged["rows"][0][1] += 1
    with sqlite3.connect(own.config.ledger) as database:
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {trigger}")
        database.execute("UPDATE discreet_answers SET answer = ?", (dump(forged),))
    for token in (own.ann, own.bob):
        assert ask(own, COUNT, token).json()["error"]["kind"] == "LedgerMismatch"
        assert own.get(f"/api/answers/{number}", token).json()["error"]["kind"] == "LedgerMismatch"
    assert own.preview(COUNT, own.bob, epsilon="1").json()["earlier"] is None
    assert charges(own) == 1
    assert not ask(own, COUNT, own.bob, fresh=True).json()["paid_before"]


FINE = "SELECT city, COUNT(*) AS n, SUM(pay) AS s FROM people WHERE city IN ('Aton', 'Bury', 'Cold') GROUP BY city"


@pytest.mark.parametrize("columns", ["COUNT(*) AS n", "SUM(pay) AS s", "COUNT(*) AS n, SUM(pay) / COUNT(*) AS mean"])
def test_totals_of_a_stored_answer_are_free(own: Town, columns: str) -> None:
    where = "FROM people WHERE city IN ('Aton', 'Bury', 'Cold')"
    derive = "/api/datasets/town/derived"
    assert own.post(derive, {"sql": f"SELECT {columns} {where}"}, own.bob).json() is None
    first = ask(own, FINE, epsilon="100").json()
    made = own.post(derive, {"sql": f"SELECT {columns} {where}"}, own.bob).json()
    assert made["derived"]
    assert made["number"] == first["number"]
    assert (made["card"], made["receipt"]) == (None, None)
    (row,), names = made["answer"]["rows"], made["answer"]["columns"]
    sums = [sum(cells[i] for cells in first["answer"]["rows"]) for i in (1, 2)]
    wanted = {"n": sums[0], "s": sums[1], "mean": sums[1] / sums[0]}
    assert row == pytest.approx([wanted[name] for name in names], rel=0.02)
    assert own.post(derive, {"sql": f"SELECT {columns} {where} AND pay > 3"}, own.bob).json() is None
    assert charges(own) == 1


def test_nothing_is_derived_from_answers_that_one_may_not_see(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", dataset="answers_apart = true") as town:
        ask(town, FINE)
        body = {"sql": FINE + " LIMIT 1"}
        assert town.post("/api/datasets/town/derived", body, town.bob).json() is None
        assert town.post("/api/datasets/town/derived", body, town.ann).json()["derived"]
        os.utime(tmp_path / "town" / "data" / "people.parquet", ns=(1, 1))
        assert town.post("/api/datasets/town/derived", body, town.ann).json() is None


def test_an_answer_whose_plan_is_another_by_now_gives_nothing(own: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of the stored numbers is known by the event that was charged, and by nothing else."""
    ask(own, FINE)
    body = {"sql": FINE + " LIMIT 1"}
    assert own.post("/api/datasets/town/derived", body, own.bob).json()["derived"]
    monkeypatch.setattr("discreet.curator.service.service.write_event", lambda event: {"another": 1})
    assert own.post("/api/datasets/town/derived", body, own.bob).json() is None


def test_two_servers_on_one_ledger_know_each_other_s_answers(own: Town) -> None:
    first = ask(own, COUNT).json()
    other = open_curator(own.config)
    try:
        caller = other.access.who(f"Bearer {own.bob}")
        charge = other.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("1", confidence="0.95")))
        assert charge.again
        assert charge.sequence == first["number"]
        second = other.ask(caller, "town", SqlQuestion(sql=COUNT, price=Price("2", confidence="0.95")))
    finally:
        other.close()
    assert ask(own, COUNT, epsilon="2").json()["number"] == second.sequence
    assert charges(own) == 2


def test_a_preview_says_which_answer_is_there(own: Town) -> None:
    assert own.preview(COUNT, epsilon="1").json()["earlier"] is None
    number = ask(own, COUNT).json()["number"]
    assert own.preview(COUNT, own.bob, epsilon="1").json()["earlier"]["number"] == number
    assert own.preview(COUNT, own.bob, epsilon="2").json()["earlier"] is None


def test_a_preview_says_how_many_more_there_are(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="1") as town:
        promised = [
            town.preview(COUNT, epsilon="0.3").json()["more"]
            for _ in range(3)
            if ask(town, COUNT, epsilon="0.3", fresh=True)
        ]
        assert promised == [1, 0, None]
        assert not town.preview(COUNT, epsilon="0.3").json()["affordable"]


def test_what_the_ledger_keeps_is_a_hash_that_tells_no_size(own: Town) -> None:
    ask(own, COUNT)
    same = own.curator.ledger.charge(charges_of(own)[0]).record.parameters[SAME]
    assert len(same["plan"]) == 64
    assert same["data"].startswith("files ")
    assert len(same["data"]) == 22
    assert own.curator.ledger.owner.hidden("x") not in same["data"]


def test_whether_an_answer_is_used_again_is_the_same_on_neighbouring_data(tmp_path: Path) -> None:
    """The same requests, with one person more: the same are free."""
    seen = []
    for people in (120, 121):
        with open_town(tmp_path / str(people), people=people) as town:
            asked = [(COUNT, town.ann, "1"), (COUNT, town.bob, "1"), (COUNT, town.bob, "2"), (COUNT, town.ann, "1.5")]
            seen.append([ask(town, sql, token, epsilon=e).json()["paid_before"] for sql, token, e in asked])
    assert seen[0] == seen[1] == [False, True, False, True]
