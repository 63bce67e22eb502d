"""Synthetic rows over HTTP: a job that is paid once, watched, cancelled, and stored like an answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import EngineFailed
from tests.helpers.curator.land import CITIES, holds_canary
from tests.helpers.curator.town import Town, broken, charges
from tests.helpers.processes import until

pytestmark = pytest.mark.slow

PATH = "/api/datasets/town/synthetic"
BODY = {"table": "people", "epsilon": "1", "rows": 30, "columns": ["city"], "quick": True}


def ended(town: Town, number: int) -> Any:
    until(lambda: town.get(f"/api/synthetic/{number}", town.ann).json()["state"] != "running", what="ended")
    return town.get(f"/api/synthetic/{number}", town.ann).json()


def test_a_job_is_paid_once_and_its_rows_are_stored(new_town: Town) -> None:
    town = new_town
    begun = town.post(PATH, {**BODY, "key": "mine"}, town.ann)
    assert begun.status_code == 200, begun.text
    number = begun.json()["number"]
    done = ended(town, number)
    assert (done["state"], done["result"]["rows"], done["result"]["complete"]) == ("done", 30, True)
    found = town.get(f"/api/synthetic/{number}/rows", town.ann)
    rows = pq.read_table(pa.BufferReader(found.content))
    assert rows.num_rows == 30
    assert set(rows.column("city").to_pylist()) <= {*CITIES, None}
    assert not holds_canary(found.content)
    assert town.post(PATH, {**BODY, "key": "mine"}, town.ann).json() == done  # the same key is the same job
    assert town.get(f"/api/synthetic/{number}/rows", town.ann).content == found.content
    assert charges(town) == 1
    assert town.post(PATH, {**BODY, "rows": 31, "key": "mine"}, town.ann).status_code == 409
    assert town.get(f"/api/answers/{number}", town.ann).status_code == 404
    assert town.curator.verified()["ok"]


def test_a_cancelled_job_keeps_what_was_measured(new_town: Town) -> None:
    town = new_town
    number = town.post(PATH, BODY | {"columns": None, "quick": False}, town.ann).json()["number"]
    assert town.post(f"/api/synthetic/{number}/cancel", {}, town.ann).status_code == 200
    done = ended(town, number)
    assert (done["state"], done["result"]["rows"]) == ("done", 30)
    assert town.post(f"/api/synthetic/{number}/cancel", {}, town.ann).json() == done  # too late, and no harm


def test_others_see_nothing_of_it(new_town: Town) -> None:
    town = new_town
    number = town.post(PATH, BODY, town.ann).json()["number"]
    ended(town, number)
    asked = town.ask("SELECT COUNT(*) AS n FROM people").json()["number"]
    for path in (f"/api/synthetic/{number}", f"/api/synthetic/{number}/rows", "/api/synthetic/999999"):
        assert town.get(path, town.bob).status_code == 404
    assert town.get(f"/api/synthetic/{asked}", town.ann).status_code == 404  # a question is no job
    assert town.get(f"/api/synthetic/{number}", town.owner).status_code == 200
    assert town.post(PATH, BODY, town.owner).status_code == 403


def test_a_failure_after_the_payment_is_stored_like_an_answer(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(new_town, monkeypatch, EngineFailed())
    number = new_town.post(PATH, BODY, new_town.ann).json()["number"]
    assert ended(new_town, number)["state"] == "failed"
    assert new_town.get(f"/api/synthetic/{number}/rows", new_town.ann).status_code == 404
    assert charges(new_town) == 1


@pytest.mark.parametrize(
    "change", [{"rows": 0}, {"rows": 10**9}, {"table": "nobody"}, {"columns": []}, {"workload": "some"}, {"more": 1},
               {"columns": ["nothing"]}, {"epsilon": None}],
)  # fmt: skip
def test_bad_input_costs_nothing(town: Town, change: dict[str, Any]) -> None:
    before = charges(town)
    assert town.post(PATH, BODY | change, town.ann).status_code == 422
    assert charges(town) == before
