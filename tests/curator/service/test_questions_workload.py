"""Several questions in one request: planned together, paid once, stored as one answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

import discreet as dp
from discreet.curator.client.remote_answer import RemoteAnswer
from discreet.curator.error_replies import reply
from discreet.curator.service.library import SAME
from discreet.curator.service.questions import WorkloadQuestion
from discreet.errors import BadParameter, BadQuestion, EngineFailed, KeyReused
from discreet.ledger import verify_card, verify_receipt
from discreet.session.price import Price
from tests.helpers.curator.shop import Shop
from tests.helpers.curator.town import COUNT, Town, broken, charges

PAY = "SELECT city, AVG(pay) AS pay FROM people GROUP BY city"
DAYS = "SELECT MIN(day) AS first FROM trips"


def ask(town: Town, *sqls: str, token: str | None = None, **more: Any) -> Any:
    body = {"sqls": list(sqls), "epsilon": "1", "fresh": True, **more}
    return town.post("/api/datasets/town/workload", body, token or town.ann)


def look(town: Town, *sqls: str, **more: Any) -> Any:
    return town.post("/api/datasets/town/workload/preview", {"sqls": list(sqls), "epsilon": "1", **more}, town.ann)


@pytest.mark.slow
def test_one_charge_one_answer_with_all_tables(town: Town) -> None:
    before = charges(town)
    said = ask(town, COUNT, f"  {DAYS}\n", confidence="0.9").json()
    assert charges(town) == before + 1
    assert said["query"] == f"{COUNT};\n{DAYS}"
    assert said["parameters"] == {"epsilon": "1", "confidence": "9/10", "workload": [len(COUNT), len(DAYS)]}
    first, second = said["answer"]["answers"]
    assert (first["columns"], second["columns"]) == (["city", "n"], ["first"])
    assert said["answer"]["confidence"] == first["confidence"] == "9/10"
    key = town.get("/api/key").json()["public_key"]
    receipt, card = verify_receipt(said["receipt"], key), verify_card(said["card"], key)
    assert receipt.query == card["query"] == said["query"]
    assert receipt.parameters == card["parameters"] == said["parameters"] | {SAME: receipt.parameters[SAME]}
    assert set(card["accuracy"]) == {"1. n", "2. first", "confidence"}
    assert card["accuracy"]["2. first"].endswith(" days")
    stored = town.curator.ledger.charge(said["number"])
    assert stored.answer is not None
    verify_card(said["card"], key, stored.answer)
    assert town.get(f"/api/answers/{said['number']}", town.ann).json() == said
    assert town.get(f"/api/answers/{said['number']}/receipt", town.bob).status_code == 404
    assert town.get("/api/ledger/verify", town.owner).json()["ok"]
    listed = town.get("/api/answers?limit=1000", town.ann).json()["charges"][-1]
    assert (listed["query"], listed["parameters"]) == (said["query"], said["parameters"])


@pytest.mark.slow
def test_a_preview_is_free_and_tells_what_the_release_costs(town: Town) -> None:
    before = town.curator.ledger.head
    found = look(town, COUNT, PAY, rows=40).json()["questions"]
    assert town.curator.ledger.head == before
    assert [[one["name"] for one in each["columns"]] for each in found] == [["n"], ["pay"]]
    assert found[0]["price"] == found[1]["price"]
    assert found[1]["columns"][0]["rows"] == 40
    said = ask(town, COUNT, PAY).json()
    assert said["price"] == found[0]["price"]
    errors = [max(one["errors"][name]) for one, name in zip(said["answer"]["answers"], ("n", "pay"), strict=True)]
    assert errors[0] == pytest.approx(found[0]["columns"][0]["error"], abs=0.51)


@pytest.mark.slow
def test_a_key_is_bound_to_all_texts(town: Town) -> None:
    first = ask(town, COUNT, PAY, key="both")
    before = charges(town)
    assert ask(town, COUNT + " ", PAY, key="both").json() == {**first.json(), "paid_before": True}
    others: list[tuple[str, ...]] = [(PAY, COUNT), (COUNT,), (COUNT, PAY, PAY), (COUNT, DAYS), (f"{COUNT};\n{PAY}",)]
    for other in others[:-1]:
        assert ask(town, *other, key="both").json()["error"]["kind"] == "KeyReused"
    assert ask(town, *others[-1], key="both").status_code == 422
    assert town.ask(COUNT, key="both").json()["error"]["kind"] == "KeyReused"
    assert ask(town, COUNT, PAY, key="both", epsilon="2").json()["error"]["kind"] == "KeyReused"
    assert charges(town) == before


def test_a_workload_of_one_is_not_the_question_itself(town: Town) -> None:
    """The stored answers have different shapes, so their keys must not meet."""
    assert "answers" in ask(town, COUNT, key="alone").json()["answer"]
    assert town.ask(COUNT, key="alone").json()["error"]["kind"] == "KeyReused"


def test_texts_can_be_told_apart_again() -> None:
    strange = ("SELECT 'a;\n' ", "SELECT 2 -- c", "SELECT '😀'")
    both = WorkloadQuestion(sqls=strange, price=Price("1"))
    at, found = 0, []
    for length in both.parameters["workload"]:
        found.append(both.query[at : at + length])
        at += length + 2
    assert found == [text.strip() for text in strange]
    assert at == len(both.query) + 2


@pytest.mark.parametrize(
    "body",
    [
        {"sqls": []},
        {"sqls": [COUNT] * 51},
        {"sqls": COUNT},
        {"sqls": [COUNT, 3]},
        {"sqls": [COUNT, ""]},
        {"sqls": [COUNT], "error": "25"},
        {"sqls": [COUNT], "sql": COUNT},
        {"sqls": [COUNT, "SELECT * FROM people"]},
        {"sqls": [COUNT, "SELECT secrets, COUNT(*) FROM people GROUP BY secrets"]},
        {"sqls": [COUNT, "DROP TABLE people"]},
        {"sqls": [COUNT, f"{COUNT}; {COUNT}"]},
        {"sqls": [COUNT], "confidence": "1"},
        {"sqls": [COUNT], "epsilon": None},
        {"sqls": [COUNT], "epsilon": "-1"},
        {"sqls": [COUNT], "epsilon": "10000000"},
        {"sqls": ["\ud800"]},
    ],
)
def test_what_cannot_be_asked_costs_nothing(town: Town, body: Any) -> None:
    before = town.curator.ledger.head
    for path in ("workload", "workload/preview"):
        if path == "workload/preview" and body.get("epsilon") == "10000000":
            continue
        answer = town.http.post(
            f"/api/datasets/town/{path}",
            content=json.dumps({"epsilon": "1", **body}).encode("utf-8", "surrogatepass"),
            headers={"authorization": f"Bearer {town.ann}", "content-type": "application/json"},
        )
        assert answer.status_code in (402, 422), answer.text
        assert set(answer.json()) == {"error"}
    assert town.curator.ledger.head == before


def test_limits_count_all_questions_together(town: Town) -> None:
    most = town.config.limits.tables
    before = town.curator.ledger.head
    assert look(town, *[COUNT] * most).status_code == 200
    for found in (look(town, *["what?"] * (most + 1)), ask(town, *[COUNT] * (most + 1))):
        assert found.status_code == 422
        assert f"{most + 1} queries at once" in found.json()["error"]["message"]  # before one of them is read
    two = "SELECT COUNT(*) AS n FROM people a JOIN trips b ON a.person_id = b.person_id"
    assert look(town, *[two] * (most // 2)).status_code == 200
    assert f"read {most + 2} times" in look(town, *[two] * (most // 2 + 1)).json()["error"]["message"]
    long = [f"SELECT COUNT(*) AS n FROM people WHERE city = '{'x' * 30_000}'" for _ in range(3)]
    assert ask(town, *long).status_code == 413
    assert town.curator.ledger.head == before


def test_too_many_texts_are_refused_in_the_words_of_the_limits(town: Town) -> None:
    for refused in (ask(town, *[COUNT] * 51), look(town, *[COUNT] * 51)):
        assert refused.status_code == 422
        assert refused.json()["error"]["kind"] == "BadQuestion"
        assert "51 queries at once, and at most 16" in refused.json()["error"]["message"]


@pytest.mark.slow
def test_rows_of_all_answers_count(new_town: Town) -> None:
    """Each fits, both together do not."""
    groups = "SELECT day, city, COUNT(*) AS n FROM trips GROUP BY day, city"  # 365 days, 3 cities
    object.__setattr__(new_town.curator.config.limits, "groups", 2000)
    assert look(new_town, groups).status_code == 200
    assert "2,190 rows" in look(new_town, groups, groups).json()["error"]["message"]


@pytest.mark.parametrize("error", [EngineFailed(), ValueError("canary7f3a")])
def test_a_failure_after_the_payment_is_the_constant_one(
    town: Town, monkeypatch: pytest.MonkeyPatch, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    before, key = charges(town), f"workload {type(error).__name__}"
    with monkeypatch.context() as patch:
        broken(town, patch, error)
        failed = ask(town, COUNT, DAYS, key=key)
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert ask(town, COUNT, DAYS, key=key).content == failed.content
    assert charges(town) == before + 1
    assert "canary" not in caplog.text


# --- from Python ------------------------------------------------------------------------------------------------------


def texts(session: Any) -> list[Any]:
    return [
        "SELECT region, COUNT(*) AS n FROM orders GROUP BY region",
        session["orders"].group_by("region").agg(mean=dp.agg.mean("price")).order_by("mean"),
        session["orders"].agg(first=dp.agg.min("day")),
    ]


@pytest.mark.slow
def test_it_is_like_a_workload_here(shop: Shop) -> None:
    here, remote = shop.here.workload(texts(shop.here)), shop.remote.workload(texts(shop.remote))
    a, b = here.preview(epsilon="2"), remote.preview(epsilon="2", rows=None)
    assert [one.cost for one in b] == [one.cost for one in a]
    assert [[one.error(c.name) for c in other.columns] for one, other in zip(b, a, strict=True)] == [
        [c.error for c in other.columns] for other in a
    ]
    alone = shop.remote.sql(texts(shop.remote)[0]).preview(epsilon="2")
    assert alone.error("n") < b[0].error("n")  # the price is for all
    before = len(shop.remote.charges())
    counts, means, first = remote.release(epsilon="2000")
    assert len(shop.remote.charges()) == before + 1
    assert sorted(counts["n"]) == pytest.approx([40, 40, 40], abs=5)
    assert means.columns == ("region", "mean")
    assert means["mean"] == sorted(means["mean"])
    assert len(first) == 1
    assert counts.number == means.number
    assert verify_receipt(counts.receipt, shop.remote.public_key).sequence == counts.number
    again = shop.remote.answers_to(counts.number)
    assert [one.rows for one in again] == [counts.rows, means.rows, first.rows]
    assert all(isinstance(one, RemoteAnswer) for one in again)
    with pytest.raises(BadParameter, match="answers_to"):
        shop.remote.answer(counts.number)
    single = shop.remote.sql(texts(shop.remote)[0]).release(epsilon=1)
    assert [one.rows for one in shop.remote.answers_to(single.number)] == [single.rows]


@pytest.mark.slow
def test_a_key_of_a_workload(shop: Shop) -> None:
    both = shop.remote.workload(texts(shop.remote))
    first, again = (both.release(epsilon="1", key="w", fresh=True)[0].reply for _ in range(2))
    assert again == {**first, "paid_before": True}
    with pytest.raises(KeyReused):
        shop.remote.workload(texts(shop.remote)[:2]).release(epsilon="1", key="w")


@pytest.mark.slow
def test_refusals_of_a_workload(shop: Shop) -> None:
    with pytest.raises(BadParameter, match="queries"):
        shop.remote.workload([])
    with pytest.raises(BadQuestion):
        shop.remote.workload(["SELECT COUNT(*) FROM nowhere"])
    with pytest.raises(BadParameter, match="epsilon"):
        shop.remote.workload(texts(shop.remote)).preview()
