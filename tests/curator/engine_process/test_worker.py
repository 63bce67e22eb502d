"""The engine's process, its parts in this one: replies, failures by their type alone, its end with the service."""

from __future__ import annotations

import io
import json
import pickle
import queue
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.curator.engine_process.ipc import pack, read_columns, read_exact
from discreet.curator.engine_process.worker import answer, listen
from discreet.engines.memory.engine import memory
from discreet.errors import BadData
from discreet.query.plan.schema import StoredKind
from discreet.query.run import works_of
from tests.helpers.shop import declared, schemas, tables


class Failing:
    """An engine that fails in one way."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def columns(self, source: object) -> Any:
        raise self.error

    def run(self, works: object, schemas: object) -> Any:
        raise self.error


def test_a_request_for_columns_or_for_works_is_answered() -> None:
    found = read_columns(answer(memory(), {}, ("columns", tables()["orders"])))
    assert {name: one.kind for name, one in found.items()} == {
        "id": StoredKind.INTEGER, "user_id": StoredKind.INTEGER, "region": StoredKind.TEXT, "total": StoredKind.INTEGER,
    }  # fmt: skip
    session = dp.Session(declared(tables()), budget=dp.Pure(1), engine=memory())
    works = works_of(session.sql("SELECT country, COUNT(*) AS n FROM users GROUP BY country").quote(epsilon=1), "salt")
    (exact,) = read_exact(answer(memory(), schemas(), ("run", works)))
    counted = dict(zip(exact.keys, exact.numbers[0].tolist(), strict=True))
    assert {key: n // min(counted.values()) for key, n in counted.items()} == {("NO",): 2, ("SE",): 2, (None,): 1}


@pytest.mark.parametrize("kind", ["columns", "run"])
@pytest.mark.parametrize("error", [ValueError("row 7 is canary"), MemoryError("canary"), SystemExit("canary")])
def test_a_failure_is_reported_by_its_type_alone(kind: str, error: BaseException) -> None:
    reply = answer(Failing(error), {}, (kind, None))  # type: ignore[arg-type]
    assert json.loads(reply) == {"failed": type(error).__name__}


def test_bad_data_keeps_its_message_which_names_no_value() -> None:
    assert json.loads(answer(Failing(BadData("no such file")), {}, ("columns", None))) == {"bad": "no such file"}  # type: ignore[arg-type]


def test_when_the_service_is_gone_the_folder_goes_and_the_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr("discreet.curator.engine_process.worker.os._exit", ended.append)
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "spilled").write_text("rows that did not fit")
    requests: queue.Queue[tuple[str, Any]] = queue.Queue()
    sent = [("columns", ["a.parquet"]), ("run", ((), None))]
    listen(io.BytesIO(b"".join(pack(pickle.dumps(one)) for one in sent) + b"\x00"), requests, str(folder))
    assert [requests.get_nowait() for _ in sent] == sent
    assert requests.empty()
    assert not folder.exists()
    assert ended == [0]
