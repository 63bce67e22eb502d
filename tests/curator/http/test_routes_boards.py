"""Dashboards over HTTP: previewed for free, paid once, read day by day, and everybody sees only their own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.curator.land import CANARY
from tests.helpers.curator.town import Town, broken, charges

SQL = "SELECT city, COUNT(*) AS n, SUM(length) AS km FROM trips GROUP BY city"
PATH = "/api/datasets/town/boards"


def start(town: Town, name: str, token: str, **more: Any) -> Any:
    """Open a dashboard."""
    return town.post(f"{PATH}/{name}", body(**more), token)


def body(**more: Any) -> dict[str, Any]:
    return {"sql": SQL, "by": "day", "horizon": 30, "days": 3, "epsilon": "2"} | more


@pytest.mark.slow
def test_a_dashboard_from_preview_to_totals(town: Town) -> None:
    before = charges(town)
    preview = town.post(f"{PATH}/trips/preview", body(), town.ann)
    assert preview.status_code == 200, preview.text
    assert preview.json()["day_errors"].keys() == {"n", "km"}
    assert charges(town) == before
    opened = start(town, "trips", town.ann)
    assert (opened.status_code, opened.json()["days"], charges(town)) == (200, [], before + 1)
    for i in (1, 2, 3):
        reply = town.post(f"{PATH}/trips/advance", {"day": f"2025-01-0{i}"}, town.ann)
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert (found["position"], [row[0] for row in found["rows"]]) == (i, ["Aton", "Bury", "Cold"])
        assert all(error > 0 for error in found["errors"]["n"])
        assert CANARY not in reply.text
    assert charges(town) == before + 1
    days = town.get(f"{PATH}/trips", town.ann).json()["days"]
    assert [one["day"] for one in days] == ["2025-01-01", "2025-01-02", "2025-01-03"]
    totals = town.get(f"{PATH}/trips?width=0", town.ann).json()["days"]
    assert [one["width"] for one in totals] == [1, 2, 3]
    again = start(town, "trips", town.ann)
    assert (len(again.json()["days"]), charges(town)) == (3, before + 1)
    assert town.get(PATH, town.ann).json() == [{"name": "trips", "position": 3, "last": "2025-01-03", "ended": False}]


@pytest.mark.slow
def test_what_is_wrong_is_refused_with_its_status_and_costs_nothing(town: Town) -> None:
    start(town, "order", town.ann)
    before = charges(town)
    assert town.post(f"{PATH}/order/advance", {"day": "2025-02-02"}, town.ann).status_code == 200
    for day, status in (("2025-02-02", 422), ("2025-02-01", 422), ("2026-01-01", 422), ("2025-13-01", 422)):
        assert town.post(f"{PATH}/order/advance", {"day": day}, town.ann).status_code == status
    assert town.post(f"{PATH}/nothing/advance", {"day": "2025-02-03"}, town.ann).status_code == 404
    assert start(town, "order", town.ann, epsilon="3").status_code == 422  # the name is taken
    assert start(town, "x", town.ann, by="city").status_code == 422
    assert start(town, "x", town.ann, horizon=0).status_code == 422
    assert start(town, "x", town.ann, method="magic").status_code == 422
    assert start(town, "order", town.ann, method="values").status_code == 422  # another dashboard under a taken name
    assert start(town, "x", town.ann, epsilon="1e9").status_code == 402
    assert start(town, "x", town.ann, sql="SELECT COUNT(DISTINCT person_id) AS n FROM trips").status_code == 422
    assert charges(town) == before


def test_everybody_has_their_own(town: Town) -> None:
    assert start(town, "mine", town.ann).status_code == 200
    assert town.get(f"{PATH}/mine", town.bob).status_code == 404
    assert town.get(PATH, town.bob).json() == []
    assert town.post(f"{PATH}/mine/advance", {"day": "2025-03-01"}, town.bob).status_code == 404
    assert town.get(PATH, town.owner).json() == []
    assert start(town, "owner's", town.owner).status_code == 403
    assert town.get(PATH).status_code == 401


@pytest.mark.slow
def test_an_engine_that_fails_is_one_reply_and_the_day_can_be_read_again(
    new_town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(new_town, "trips", new_town.ann)
    with monkeypatch.context() as failing:
        broken(new_town, failing, RuntimeError(CANARY))
        reply = new_town.post(f"{PATH}/trips/advance", {"day": "2025-01-01"}, new_town.ann)
        assert reply.status_code == 500
        assert CANARY not in reply.text
    assert new_town.post(f"{PATH}/trips/advance", {"day": "2025-01-01"}, new_town.ann).status_code == 200


def test_the_charge_of_a_dashboard_can_be_looked_at(town: Town) -> None:
    assert start(town, "looked at", town.ann).status_code == 200
    number = town.get("/api/answers?limit=1000", town.ann).json()["charges"][-1]["number"]
    found = town.get(f"/api/answers/{number}", town.ann)
    assert found.status_code == 200, found.text
    assert found.json()["answer"]["answers"] == []
