"""Schedules over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.curator.service.scheduler import DueRuns
from tests.helpers.curator.town import COUNT, Town, charges

pytestmark = pytest.mark.slow
BODY = {
    "sqls": [COUNT, "SELECT COUNT(*) AS n FROM people"],
    "epsilon": "0.05",
    "every": "monday",
    "until": "2025-07-31",
}


def test_a_report_every_monday(new_town: Town) -> None:
    new_town.clock.now = datetime(2025, 6, 10, 12, tzinfo=UTC)  # a Tuesday
    shown = new_town.post("/api/datasets/town/schedules/preview", BODY, new_town.ann).json()
    assert (shown["left"], shown["next"], len(shown["previews"])) == (7, "2025-06-16T06:00:00+00:00", 2)
    assert new_town.get("/api/schedules", new_town.ann).json() == []
    begun = new_town.post("/api/datasets/town/schedules", BODY, new_town.ann)
    assert begun.status_code == 201, begun.text
    identity = begun.json()["schedule"]
    assert charges(new_town) == 0
    new_town.clock.now += timedelta(days=6)
    DueRuns(new_town.curator).run()
    (schedule,) = new_town.get("/api/schedules", new_town.ann).json()
    (run,) = schedule["runs"]
    assert (run["day"], run["refused"], schedule["left"]) == ("2025-06-16", None, 6)
    assert len(new_town.get(f"/api/answers/{run['number']}", new_town.ann).json()["answer"]["answers"]) == 2
    assert new_town.post(f"/api/schedules/{identity}/end", {"reason": "no"}, new_town.bob).status_code == 404
    ended = new_town.post(f"/api/schedules/{identity}/end", {"reason": "enough"}, new_town.ann).json()
    assert (ended["ended"], ended["left"], ended["next"]) == (True, 0, None)
    new_town.clock.now += timedelta(days=7)
    DueRuns(new_town.curator).run()
    assert charges(new_town) == 1


def test_who_may_and_what_is_refused(new_town: Town) -> None:
    new_town.clock.now = datetime(2025, 6, 10, 12, tzinfo=UTC)
    path = "/api/datasets/town/schedules"
    assert new_town.post(path, BODY, new_town.owner).status_code == 403
    assert new_town.post(path, BODY).status_code == 401
    wrongs: tuple[dict[str, object], ...] = (
        {"every": "hour"},
        {"sqls": []},
        {"until": "2020-01-01"},
        {"sqls": ["nonsense"]},
        {"epsilon": "-1"},
    )
    for wrong in wrongs:
        assert new_town.post(path, BODY | wrong, new_town.ann).status_code == 422, wrong
    assert new_town.post("/api/datasets/nowhere/schedules", BODY, new_town.ann).status_code == 404
    assert new_town.post(path, BODY, new_town.ann).status_code == 201
    assert [one["analyst"] for one in new_town.get("/api/schedules", new_town.owner).json()] == ["ann"]
    assert new_town.get("/api/schedules", new_town.bob).json() == []
