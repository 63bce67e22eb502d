"""A question over HTTP: answered, previewed, priced, refused; keys, budgets, neighbouring data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import verify_card, verify_receipt
from tests.helpers.curator.land import CITIES, NUMBER
from tests.helpers.curator.town import COUNT, Town, charges, open_town

# --- asking ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
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
    kept = json.loads(stored.answer or b"")
    del kept["numbers"]  # what other answers are derived from
    assert {name: said["answer"][name] for name in kept} == kept
    for what in ("receipt", "card"):
        text = town.get(f"/api/answers/{said['number']}/{what}", town.ann)
        assert text.text == said[what]
        assert "attachment" in text.headers["content-disposition"]


def test_a_preview_is_free_and_touches_nothing(town: Town) -> None:
    before = town.curator.ledger.head
    said = town.preview(COUNT, epsilon="0.5").json()
    assert said["affordable"]
    assert said["columns"][0]["error"] > 0
    assert sum(one["share"] for one in said["shares"]) == pytest.approx(1)
    assert said["price_epsilon"] == pytest.approx(0.5)
    assert town.preview(COUNT, epsilon="0.25").json()["columns"][0]["error"] > said["columns"][0]["error"]
    assert town.curator.ledger.head == before


@pytest.mark.slow
def test_an_error_can_be_asked_for_instead_of_a_price(town: Town) -> None:
    said = town.preview(COUNT, error=25, confidence="0.95").json()
    assert 24 < said["columns"][0]["error"] <= 25
    answer = town.post("/api/datasets/town/questions", {"sql": COUNT, "error": "25"}, town.ann).json()
    assert max(answer["answer"]["errors"]["n"]) <= 25


def test_a_number_in_json_is_the_decimal_that_is_written(town: Town) -> None:
    assert town.ask(COUNT, epsilon=0.1).json()["parameters"]["epsilon"] == "1/10"  # type: ignore[arg-type]
    assert town.ask(COUNT, epsilon="1/3").json()["parameters"]["epsilon"] == "1/3"


@pytest.mark.slow
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
        {"sql": "SELECT secrets, COUNT(*) FROM people GROUP BY secrets", "epsilon": 1},
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
        assert set(reply.json()["error"]) == {"kind", "code", "message", "hint", "fields"}
    assert town.curator.ledger.head == before


# --- keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_is_charged_once_and_gives_the_same_answer(town: Town) -> None:
    first = town.ask(COUNT, key="once")
    before = charges(town)
    paid = {**first.json(), "paid_before": True}
    assert town.ask(COUNT, key="once").json() == paid
    assert town.ask(COUNT + "  ", key="once").json() == paid
    assert town.ask(COUNT, key="once", epsilon="1.0").json() == paid
    assert charges(town) == before
    assert town.ask(COUNT, key="once", epsilon="2").json()["error"]["kind"] == "KeyReused"
    assert town.ask(COUNT + " ORDER BY city", key="once").json()["error"]["kind"] == "KeyReused"
    assert charges(town) == before
    other = town.ask(COUNT, town.bob, key="once")  # a key is one's own
    assert other.status_code == 200
    assert other.json()["number"] != first.json()["number"]


@pytest.mark.slow
def test_a_known_key_is_answered_when_the_budget_is_gone(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="1") as town:
        first = town.ask(COUNT, key="k", epsilon="1")
        assert first.status_code == 200
        over = town.ask(COUNT, key="l", epsilon="0.001")
        assert over.status_code == 402
        assert over.json()["error"]["kind"] == "OverBudget"
        assert town.ask(COUNT, key="k", epsilon="1").json() == {**first.json(), "paid_before": True}
        assert not town.preview(COUNT, epsilon="1").json()["affordable"]


@pytest.mark.slow
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


@pytest.mark.slow
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
            shown = [town.preview(sql, epsilon="1").json() for town in (with_7, without)]
            there = [preview.pop("earlier", None) is None for preview in shown]  # its number and time are the town's
            assert (shown[0], there[0]) == (shown[1], there[1])
        assert charges(with_7) == charges(without)


def test_no_telemetry_whatever_the_environment_says(town: Town) -> None:
    native = getattr(town.http.app, "_native_telemetry", None)
    assert native is None or not native.enabled()


def test_a_text_may_state_its_own_cost(town: Town) -> None:
    """BigQuery's clause: what it costs and bounds; with a cost beside it, it is refused, and nothing is charged."""
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.25, max_groups_contributed = 1) city, COUNT(*) AS n "
    text = f"{clause}FROM people GROUP BY city"
    before = charges(town)
    assert town.preview(text).json()["cost"] == "epsilon 0.25, delta 0"
    refused = town.ask(text, epsilon="1")
    assert (refused.status_code, charges(town)) == (422, before)
    assert "the text states the cost" in refused.json()["error"]["message"]
    reply = town.post("/api/datasets/town/questions", {"sql": text}, town.ann)
    assert (reply.status_code, charges(town)) == (200, before + 1)
    assert reply.json()["price"]["epsilon"] == "1/4"
