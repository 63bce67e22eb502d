"""The audit as JSON lines: whole, in order, and with nothing that must stay here."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.audit_export import AuditExport, audit_rows
from discreet.curator.service.config import read_config
from discreet.ledger.durable_files import locked
from tests.helpers.curator.land import CANARY, write_town
from tests.helpers.curator.town import COUNT, Town
from tests.helpers.processes import until

pytestmark = pytest.mark.slow


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def exported(town: Town, target: str | Path, name: str = "position") -> AuditExport:
    export = AuditExport(town.curator.ledger, target, town.folder / name)
    export.close()
    return export


def test_every_entry_is_a_line_and_comes_once(new_town: Town) -> None:
    path = new_town.folder / "audit.jsonl"
    assert new_town.ask(COUNT, epsilon="1/2").status_code == 200
    assert exported(new_town, path).waiting == 0
    before = rows(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert new_town.ask(COUNT, new_town.bob).status_code == 200
    exported(new_town, path)
    after = rows(path)
    assert [row["number"] for row in after] == list(range(1, new_town.curator.ledger.head.sequence + 1))
    assert after[: len(before)] == before
    ann, bob = [row for row in after if row["kind"] == "charge"]
    assert (ann["by"], ann["dataset"], ann["about"]) == ("ann", "town", COUNT)
    assert ann["price"].startswith("epsilon 0.5")
    assert bob["by"] == "bob"


def test_nothing_leaves_that_must_stay(new_town: Town) -> None:
    path = new_town.folder / "audit.jsonl"
    reply = new_town.ask(COUNT).json()
    exported(new_town, path)
    text = path.read_text()
    assert CANARY not in text
    stored = {act.body["digest"] for act in new_town.curator.ledger.owner.acts("access.token")}
    assert not [digest for digest in stored if digest in text]
    units = [act for kind, acts in new_town.curator.ledger.look().acts.items() if "unit" in kind for act in acts]
    assert units
    assert not [mark for act in units for mark in act.body.get("hashes", ()) if mark in text]
    assert str(reply["answer"]["rows"]) not in text
    assert "card" not in text


def test_a_torn_line_a_rotated_file_and_another_ledger(new_town: Town) -> None:
    path = new_town.folder / "audit.jsonl"
    exported(new_town, path)
    many = len(rows(path))
    path.write_text('{"number": 7, "to')  # the disk was full; the position says that all is there
    new_town.ask(COUNT)
    exported(new_town, path)
    assert [json.loads(line)["number"] for line in path.read_text().splitlines()[1:]] == [many + 1]
    path.rename(path.with_name("audit.1"))
    new_town.ask(COUNT, new_town.bob)
    exported(new_town, path)
    assert [row["number"] for row in rows(path)] == [many + 2]
    position = new_town.folder / "position"
    position.write_text(position.read_text().replace('"hash": "', '"hash": "f'))
    exported(new_town, path)
    assert [row["number"] for row in rows(path)][1:] == list(range(1, many + 3))


def test_one_process_writes_and_trouble_passes(new_town: Town, caplog: pytest.LogCaptureFixture) -> None:
    path = new_town.folder / "there" / "audit.jsonl"
    with locked(new_town.folder / "position.lock"):
        exported(new_town, path)
    assert not caplog.records
    assert exported(new_town, path).waiting > 0
    assert [record.getMessage() for record in caplog.records] == [
        "the audit cannot be exported, and is tried again: FileNotFoundError"
    ]
    path.parent.mkdir()
    exported(new_town, path)
    assert len(rows(path)) == new_town.curator.ledger.head.sequence


def test_the_syslog_of_this_machine(new_town: Town) -> None:
    place = new_town.folder / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(place))
        listening.setblocking(False)
        long = "SELECT COUNT(*) AS n FROM people WHERE city <> '" + "x" * 6_000 + "'"
        assert new_town.ask(long).status_code == 200
        sent: list[bytes] = []

        def read() -> bool:
            try:
                while True:
                    sent.append(listening.recv(1 << 16))
            except BlockingIOError:
                return len(sent) >= new_town.curator.ledger.head.sequence

        export = AuditExport(new_town.curator.ledger, f"syslog:{place}", new_town.folder / "position")
        until(read, what="written")
        export.close()
    assert all(line.startswith(b"<85>discreet: {") for line in sent)
    last = json.loads(sent[-1].partition(b": ")[2])
    assert (last["kind"], last["cut"], len(last["about"])) == ("charge", True, 4_000)


def test_the_rows_are_those_of_the_ledger(new_town: Town) -> None:
    assert next(iter(audit_rows(new_town.curator.ledger)))["number"] == 1
    assert not list(audit_rows(new_town.curator.ledger, new_town.curator.ledger.head.sequence))


def test_the_service_exports_while_it_runs(tmp_path: Path) -> None:
    from discreet.curator.service.opening import open_curator

    path = write_town(tmp_path)
    path.write_text(path.read_text().replace("[server]", '[server]\naudit = "audit.jsonl"'))
    assert read_config(path).audit == tmp_path / "audit.jsonl"
    curator = open_curator(read_config(path), create=True)
    curator.serve()
    assert curator.audit is not None
    curator.close()
    assert len(rows(tmp_path / "audit.jsonl")) > 3
