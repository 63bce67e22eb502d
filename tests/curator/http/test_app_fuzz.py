"""Canaries in the data: whatever is asked, however badly, no text of the data leaves by any way.

Questions come from a grammar (grammar.py). ``DISCREET_FUZZ`` sets how many are asked; bench/curator.py asks more, of a
real server.

A key that nobody listed is named with a probability of at most 1e-20 here, so a false alarm is below 1e-14.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.curator.service import service
from tests.helpers.curator.grammar import malformed, question
from tests.helpers.curator.land import CANARY, NUMBER, holds_canary
from tests.helpers.curator.town import Town, open_town
from tests.helpers.extent import extent

pytestmark = pytest.mark.slow

MANY = extent(120, 2000)


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Town, Path]]:
    """A town whose every temporary file lies where it can be looked at."""
    folder = tmp_path_factory.mktemp("leaky")
    temporary = folder / "tmp"
    temporary.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(temporary)
    try:
        with open_town(folder / "town") as town:
            yield town, temporary
    finally:
        tempfile.tempdir = before


def scan(town: Town, temporary: Path) -> None:
    """No file but the data themselves holds a canary: not the ledger, not what an engine or a library left behind."""
    files = [path for path in (*town.folder.iterdir(), *temporary.rglob("*")) if path.is_file()]
    assert files
    assert not [path for path in files if holds_canary(path.read_bytes())]


def test_the_canary_would_be_seen(town: Town) -> None:
    assert holds_canary((town.folder / "data" / "notes.csv").read_bytes())
    assert holds_canary(f"could not convert string '{CANARY} person 7' to INT32".encode())


def test_a_log_that_repeats_the_words_of_an_engine_would_be_seen(
    new_town: Town, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: the words of an error go into the log and the ledger; the reply has constant words even then."""
    town = new_town
    opened = town.curator.open(town.curator.ledger.datasets["town"])

    def run(*_: object) -> None:
        raise ValueError(f"could not convert '{CANARY} person 7' to INT32")

    monkeypatch.setattr(opened.engine, "run", run)
    assert not holds_canary(town.ask("SELECT COUNT(*) AS n FROM people").content + caplog.text.encode())
    monkeypatch.setattr(service, "where", str)
    town.ask("SELECT COUNT(*) AS n FROM people")
    assert holds_canary(caplog.text.encode())
    monkeypatch.setattr(service, "reply", lambda _: (500, {"error": str(sys.exc_info()[1])}))
    assert not holds_canary(town.ask("SELECT COUNT(*) AS n FROM people").content)
    with pytest.raises(AssertionError):
        scan(town, town.folder / "nothing")


def test_no_canary_under_fuzzed_questions(leaky: tuple[Town, Path], caplog: pytest.LogCaptureFixture) -> None:
    town, temporary = leaky
    caplog.set_level(logging.DEBUG)
    draw = random.Random(20251115)
    statuses: dict[int, int] = {}
    for _ in range(MANY):
        sql = question(draw)
        reply = town.ask(sql, epsilon=draw.choice(["0.5", "1", "5"]))
        statuses[reply.status_code] = statuses.get(reply.status_code, 0) + 1
        assert not holds_canary(reply.content), sql
        assert not holds_canary(str(reply.headers).encode()), sql
        if reply.status_code != 200:
            assert str(NUMBER // 100) not in reply.text.replace(sql, ""), sql
            assert set(reply.json()) == {"error"}
        assert reply.status_code in (200, 402, 422), (sql, reply.text)
    assert not holds_canary(caplog.text.encode())
    scan(town, temporary)
    assert statuses.get(200, 0) > MANY // 20  # the grammar reaches the data
    assert statuses.get(422, 0) > MANY // 20


def test_no_canary_under_fuzzed_workloads_and_estimates(
    leaky: tuple[Town, Path], caplog: pytest.LogCaptureFixture
) -> None:
    town, temporary = leaky
    caplog.set_level(logging.DEBUG)
    draw = random.Random(11)
    asked = [sql for sql in (question(draw) for _ in range(MANY)) if town.preview(sql, epsilon="1").status_code == 200]
    columns = ["person_id", "name", "city", "pay", "secret", "big", "day", "length", "nothing"]
    statuses: dict[int, int] = {}
    for i in range(MANY // 10):
        sqls = [draw.choice(asked) for _ in range(draw.randint(1, 3))] + [question(draw)] * (draw.random() < 0.2)
        several = {"sqls": sqls, "epsilon": draw.choice(["0.5", "5"])}
        sizes = {"table": draw.choice(["people", "trips", "notes"]), "column": draw.choice(columns), "epsilon": "5"}
        whole = "workload" if i % 4 else "plan"
        for path, body in ((whole, several), (f"{whole}/preview", several), ("bounds", sizes)):
            reply = town.post(f"/api/datasets/town/{path}", body, town.ann)
            statuses[reply.status_code] = statuses.get(reply.status_code, 0) + 1
            assert not holds_canary(reply.content + str(reply.headers).encode()), body
            assert reply.status_code in (200, 402, 422), (body, reply.text)
    assert not holds_canary(caplog.text.encode())
    scan(town, temporary)
    assert statuses.get(200, 0) > MANY // 20
    assert statuses.get(422, 0) > MANY // 100


def test_no_canary_and_no_trace_under_malformed_requests(
    leaky: tuple[Town, Path], caplog: pytest.LogCaptureFixture
) -> None:
    town, temporary = leaky
    caplog.set_level(logging.DEBUG)
    draw = random.Random(7)
    before = town.curator.ledger.head
    paths = [route.path for route in town.http.app.routes]  # type: ignore[attr-defined]
    for _ in range(MANY // 3):
        method, path, body, headers = malformed(draw, paths, [town.ann, town.owner])
        reply = town.http.request(method, path, content=body, headers=headers)
        assert reply.status_code < 500, (path, body, reply.text)
        assert not holds_canary(reply.content + str(reply.headers).encode())
        assert "Traceback" not in reply.text
        if reply.status_code >= 400 and reply.request.method != "HEAD":
            assert set(reply.json()) == {"error"}
    assert town.curator.ledger.head.sequence == before.sequence
    assert not holds_canary(caplog.text.encode())
    scan(town, temporary)
