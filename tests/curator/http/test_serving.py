"""Several server processes on one ledger, and servers that are killed: no answer without a charge, no cap exceeded."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.curator.engine_process.scratch import PREFIX
from discreet.curator.http import connections
from discreet.curator.http.serving import check_certificate
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter
from discreet.ledger import verify_receipt
from discreet.privacy.promises.measures import Pure
from tests.helpers.curator.servers import Server, Village
from tests.helpers.curator.town import Town, on_a_socket
from tests.helpers.extent import AUDIT, extent

pytestmark = pytest.mark.slow

CLIENTS = 64


@pytest.fixture(params=["sqlite", "postgres"])
def village(request: pytest.FixtureRequest, tmp_path: Path) -> Village:
    dsn = None if request.param == "sqlite" else request.getfixturevalue("durable_postgres_dsn")
    return Village(tmp_path / "village", ledger=dsn)


def race(village: Village, servers: list[Server], round_: int) -> list[int]:
    """All clients ask at the same instant, each once."""
    start = threading.Barrier(CLIENTS)

    def client(i: int) -> int:
        token = village.tokens[i % len(village.tokens)]
        start.wait()
        return servers[i % len(servers)].ask(token, f"round {round_} client {i}")[0]

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(client, range(CLIENTS)))


def test_a_cap_for_ten_gives_ten_answers_whoever_asks_where(village: Village) -> None:
    with village.server() as one, village.server() as other:
        for round_ in range(2):
            statuses = race(village, [one, other], round_)
            assert sorted(set(statuses)) == [200, 402]
            assert statuses.count(200) == 10
            curator = open_curator(village.config)
            assert curator.ledger.standing("other").remaining == Pure(0)
            curator.ledger.owner.set_budget("other", Pure(round_ + 2), reason="one more round")
            curator.close()


# --- crashes --------------------------------------------------------------------------------------------------------


def deliver(village: Village, server: Server, delivered: dict[str, Any], stop: Callable[[], bool], seed: int) -> None:
    """Ask until the server is gone; write down what was answered."""
    token, i = village.tokens[seed % len(village.tokens)], 0
    while not stop():
        key = f"{server.port} {seed} {i}"
        i += 1
        try:
            status, said = server.ask(token, key)
        except OSError:
            return
        if status == 200:
            delivered[key] = said


def check(village: Village, delivered: dict[str, Any], before: int) -> int:
    """The ledger opens as it is, spends, has every delivered answer as it was delivered, and never fewer charges."""
    curator = open_curator(village.config)
    try:
        assert curator.ledger.trouble is None
        assert curator.verified()["ok"]
        charges = {line.entry.sequence: line for line in curator.ledger.entries(kind="charge", limit=1_000_000)}
        assert len(charges) >= before
        for key, said in delivered.items():
            assert charges[said["number"]].entry.body["key"] == key
            assert charges[said["number"]].answered
            receipt = verify_receipt(said["receipt"], curator.ledger.public_key)
            assert receipt.hash == charges[said["number"]].entry.hash
        assert len({said["number"] for said in delivered.values()}) == len(delivered)
        return len(charges)
    finally:
        curator.close()


def crash(village: Village, draw: Random, delivered: dict[str, Any], clients: int = 4) -> None:
    """Serve under load, and kill the server at a random instant."""
    with village.server() as server:
        done = threading.Event()
        status, said = server.ask(village.tokens[0], f"{server.port} first")  # from here on there is load
        assert status == 200
        delivered[f"{server.port} first"] = said
        threads = [
            threading.Thread(target=deliver, args=(village, server, delivered, done.is_set, i)) for i in range(clients)
        ]
        for thread in threads:
            thread.start()
        done.wait(draw.uniform(0.0, 1.5))  # the instant at which the power fails; nothing depends on how long it is
        server.kill()
        done.set()
        for thread in threads:
            thread.join()


def test_killed_under_load_again_and_again(village: Village) -> None:
    curator = open_curator(village.config)
    curator.ledger.owner.set_budget("other", Pure(10**6), reason="room for many questions")
    curator.close()
    draw, delivered, charges = Random(4), dict[str, Any](), 0
    for _ in range(extent(2, 10)):
        crash(village, draw, delivered)
        charges = check(village, delivered, charges)
    assert charges >= len(delivered) > 2


POINTS = {
    "planned": "none",
    "appended": "none",
    "committed": "lost",
    "head": "lost",
    "noise": "lost",
    "stored": "kept",
    "sending": "kept",
}
"""Where the server dies, and what is there afterwards: no charge, a charge without an answer, or the answer too."""
TRIED = POINTS if AUDIT else {point: POINTS[point] for point in ("appended", "committed", "stored")}


def test_dying_at_each_point_of_a_question(tmp_path: Path) -> None:
    village = Village(tmp_path / "village", analysts=1)
    (token,) = village.tokens
    for point in TRIED:
        with village.server(point) as server, pytest.raises(OSError, match=r".*"):
            server.ask(token, point)
    curator = open_curator(village.config)
    charges = {line.entry.body["key"]: line for line in curator.ledger.entries(kind="charge")}
    curator.close()
    for point, what in TRIED.items():
        assert (point in charges) is (what != "none"), point
        if point in charges:
            assert charges[point].answered is (what == "kept"), point
    with village.server() as server:
        left = list(village.temporary.glob(f"{PREFIX}*"))  # of all the engines that were killed, nothing is left
        assert len(left) <= len(village.config.datasets)
        for point, what in TRIED.items():
            status, said = server.ask(token, point)
            if what == "lost":
                assert said["error"]["kind"] in ("LedgerBusy", "EngineFailed")  # by how long ago it was
            else:
                assert status == 200
                assert server.ask(token, point) == (status, {**said, "paid_before": True})
            if what == "kept":
                assert said["number"] == charges[point].entry.sequence
    curator = open_curator(village.config)
    assert len(curator.ledger.entries(kind="charge")) == len(TRIED)  # whatever happened, each was charged once
    curator.close()


def test_a_client_that_never_ends_its_request_is_let_go(
    served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = served
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    address = (urlsplit(url).hostname, urlsplit(url).port)
    with socket.create_connection(address, timeout=60) as line:
        assert line.recv(100) == b""  # closed by the server
    with socket.create_connection(address, timeout=60) as line:
        line.sendall(b"GET /api/health HTTP/1.1\r\nx: ")
        said = b"".join(iter(lambda: line.recv(1000), b""))
        assert said.startswith(b"HTTP/1.1 408 ")
        assert json.loads(said.partition(b"\r\n\r\n")[2])["error"]["kind"] == "TooSlow"
    with socket.create_connection(address, timeout=60) as line:
        line.sendall(b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b" 200 " in line.recv(1000)
        line.sendall(b"GET /api")  # a second request on the same line
        assert b"" in iter(lambda: line.recv(1000), None)


def test_a_question_under_way_is_answered_before_the_service_stops(tmp_path: Path) -> None:
    village = Village(tmp_path / "village", analysts=1)
    text = village.path.read_text().replace("quantum = 0.01", "quantum = 1")
    village.path.write_text(text)
    with village.server() as server, ThreadPoolExecutor(1) as pool:
        server.ask(village.tokens[0], "first")
        asked = pool.submit(server.ask, village.tokens[0], "second")
        curator = open_curator(village.config)
        while len(curator.ledger.entries(kind="charge")) < 2:  # it is under way, and waits for the grid
            pass
        curator.close()
        os.kill(server.process.pid, signal.SIGTERM)
        assert asked.result()[0] == 200
        assert server.process.wait(60) in (0, -signal.SIGTERM)


def test_tls_by_options(town: Town, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    check_certificate(certificate, key)
    with on_a_socket(town, certificate=certificate, certificate_key=key) as url:
        trusting = ssl.create_default_context(cafile=str(certificate))
        with urlopen(f"{url.replace('http:', 'https:')}/healthz", context=trusting) as reply:  # noqa: S310 - this machine
            assert reply.status == 200
    key.chmod(0o644)
    with pytest.raises(BadParameter, match="chmod 600"):
        check_certificate(certificate, key)
    with pytest.raises(BadParameter, match="PEM"):
        check_certificate(tmp_path / "nothing.pem", None)


def self_signed(folder: Path, host: str = "localhost") -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and a name, and its key."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName(host)]), critical=False
        )
        .sign(private, hashes.SHA256())
    )
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    key.chmod(0o600)
    return certificate, key
