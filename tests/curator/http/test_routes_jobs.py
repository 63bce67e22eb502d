"""Jobs over HTTP."""

from __future__ import annotations

import pytest

from tests.helpers.curator.town import COUNT, Town
from tests.helpers.processes import until

pytestmark = pytest.mark.slow


def test_a_question_becomes_a_job_when_nobody_waits(new_town: Town) -> None:
    reply = new_town.ask(COUNT, wait=0, key="k")
    number = reply.json()["number"]
    assert reply.status_code in (200, 202)
    path = f"/api/jobs/{number}"
    until(lambda: new_town.get(path, new_town.ann).json()["state"] == "done", what="answered")
    done = new_town.get(path, new_town.ann).json()
    assert done["answer"]["answer"]["rows"] == new_town.ask(COUNT, key="k").json()["answer"]["rows"]
    assert new_town.post(f"{path}/cancel", {}, new_town.ann).json()["state"] == "done"
    assert new_town.get(path, new_town.bob).status_code == 404
    assert new_town.get(path).status_code == 401
    assert new_town.ask(COUNT, wait=61).status_code == 422
    assert new_town.ask(COUNT, wait=-1).status_code == 422


def test_whoever_waits_long_enough_has_the_answer(new_town: Town) -> None:
    reply = new_town.ask(COUNT, wait=60)
    assert reply.status_code == 200
    assert len(reply.json()["answer"]["rows"]) == 3
    assert new_town.ask("nonsense", wait=60).status_code == 422


def test_the_schema_says_what_reply_times_tell(new_town: Town) -> None:
    assert "seen for certain" in new_town.get("/api/datasets/town", new_town.ann).json()["replies"]
