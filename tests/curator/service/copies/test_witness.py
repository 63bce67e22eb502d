"""A witness sees a restored ledger, even if its head file was restored with it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from discreet.curator.service.copies.witness import KIND, Publisher, Witness, accept_witness, check_witness
from discreet.errors import LedgerMismatch, LedgerUnavailable
from discreet.ledger import Ledger, open_ledger
from discreet.ledger.head_file import Head


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    (tmp_path / "ledger").mkdir()
    with open_ledger(tmp_path / "ledger" / "l", create=True) as found:
        yield found


@pytest.fixture
def address() -> Iterator[str]:
    """A witness over HTTP."""
    kept: list[bytes] = []

    class Kept(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if kept else 404)
            self.end_headers()
            self.wfile.write(kept[-1] if kept else b"")

        def do_PUT(self) -> None:
            kept.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Kept)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["file", "http"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return tmp_path / "witness" if request.param == "file" else str(request.getfixturevalue("address"))


@pytest.mark.slow
def test_database_and_head_restored_together_are_noticed(ledger: Ledger, place: str | Path, tmp_path: Path) -> None:
    """Fails without a witness: everything on the disk agrees with itself."""
    check_witness(ledger, place)
    publisher = Publisher(ledger, place)
    shutil.copytree(tmp_path / "ledger", tmp_path / "old")
    ledger.owner.add_analyst("ann")
    publisher.close()
    check_witness(ledger, place)
    with open_ledger(tmp_path / "old" / "l") as restored:
        assert restored.trouble is None
        with pytest.raises(LedgerMismatch, match="accept-witness"):
            check_witness(restored, place)
        accept_witness(restored, place, "the disk broke")
        check_witness(restored, place)
        assert restored.owner.acts(KIND)[0].body["reason"] == "the disk broke"


def test_two_copies_that_serve_at_once_stop(ledger: Ledger, place: str | Path, tmp_path: Path) -> None:
    """Fails where the witness is compared at the start alone: a machine and its copy would both go on."""
    first = Publisher(ledger, place)
    first.close()
    shutil.copytree(tmp_path / "ledger", tmp_path / "copy")
    with open_ledger(tmp_path / "copy" / "l") as copy:
        second = Publisher(copy, place)  # all is well as long as neither has spent
        second.close()
        assert copy.mismatch is None
        ledger.owner.add_analyst("ann")
        first.publish()
        second.publish()
        assert "a copy of it is being served" in str(copy.trouble)
        with pytest.raises(LedgerMismatch, match="the witness has seen entry 2"):
            copy.owner.add_analyst("bob")
    assert ledger.trouble is None
    assert ledger.owner.add_analyst("bob").sequence == 3


def test_another_ledger_is_noticed(ledger: Ledger, tmp_path: Path) -> None:
    Witness(tmp_path / "w").publish(ledger.head)
    with open_ledger(tmp_path / "other", create=True) as other, pytest.raises(LedgerMismatch):
        check_witness(other, tmp_path / "w")


def test_a_torn_last_line_leaves_the_one_before(ledger: Ledger, tmp_path: Path) -> None:
    witness = Witness(tmp_path / "w")
    assert witness.last() is None
    witness.publish(ledger.head)
    with (tmp_path / "w").open("a") as file:
        file.write('{"ledger": "x", "seq')
    assert witness.last() == ledger.head
    assert (tmp_path / "w").stat().st_mode & 0o077 == 0
    (tmp_path / "w").write_text("nonsense\n")
    with pytest.raises(LedgerMismatch):
        witness.last()


def test_a_witness_that_cannot_be_read_stops_the_start(ledger: Ledger, tmp_path: Path) -> None:
    for place in (tmp_path, "http://127.0.0.1:9/", "http://witness.example/"):
        with pytest.raises(LedgerUnavailable):
            check_witness(ledger, place)


def test_one_that_cannot_be_written_to_is_reported(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(ledger, tmp_path)
    publisher.close()
    assert "the witness cannot be read or written to" in caplog.text
    assert Head("a", 1, "b") != ledger.head
