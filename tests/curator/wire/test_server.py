"""The port: who may connect, and clients that are none."""

from __future__ import annotations

import random
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from discreet.curator.service.people import NAMED, Role
from discreet.curator.wire.server import check_secure
from discreet.errors import BadParameter
from tests.curator.http.test_serving import self_signed
from tests.helpers.curator.town import COUNT, Town, charges, on_a_socket
from tests.helpers.curator.wire import about, listening

pytestmark = pytest.mark.slow
PRICED = f"/* epsilon=100 */ {COUNT}"


def test_the_user_is_the_name_of_the_token(served: tuple[Town, str], port: int) -> None:
    town, _ = served
    for user, password in (("ann", "wrong"), ("bob", town.ann), ("ann", "")):
        with pytest.raises(psycopg.OperationalError, match=r"analyst's token|no password"):
            psycopg.connect(**about(port, password, user))
    with pytest.raises(psycopg.OperationalError, match="must be one of town"):
        psycopg.connect(**about(port, town.ann, dbname="elsewhere"))


def test_only_analysts_may_ask_whatever_the_protocol(new_town: Town) -> None:
    """Each role over the port: who oversees a data set connects and sees its schema, and no question is priced."""
    access = new_town.curator.access
    tokens = {"owner": new_town.owner}
    for role in NAMED:
        new_town.curator.people.add(f"the {role.value}", role, ["town"], by="owner")
        tokens[f"the {role.value}"] = access.issue(f"the {role.value}", role)
    with on_a_socket(new_town) as url, listening(url) as port:
        for name, token in tokens.items():
            with psycopg.connect(**about(port, token, name), autocommit=True) as client:
                assert client.execute("SELECT 1").fetchone() == (1,)
                for text in (COUNT, PRICED, f"EXPLAIN {COUNT}"):
                    with pytest.raises(psycopg.Error, match="does not allow"):
                        client.execute(text)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(**about(port, access.issue("monitor", Role.MONITOR), "monitor"))
    assert charges(new_town) == 0


def test_tls_is_spoken_with_a_certificate(served: tuple[Town, str], tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with listening(served[1], certificate=certificate, certificate_key=key) as port:
        more = {"sslmode": "verify-ca", "sslrootcert": str(certificate)}
        with psycopg.connect(**about(port, served[0].ann, **more)) as client:
            assert client.execute("SELECT 1").fetchone() == (1,)
            assert client.pgconn.ssl_in_use
        with socket.create_connection(("127.0.0.1", port)) as client_socket:  # a message hidden behind the request
            client_socket.sendall(struct.pack("!ii", 8, 80877103) + struct.pack("!ii", 9, 196608) + b"\0")
            assert client_socket.recv(1) == b"S"
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with pytest.raises((ssl.SSLError, ConnectionError)):
                context.wrap_socket(client_socket)


def test_others_need_tls() -> None:
    check_secure("127.0.0.1", None)
    check_secure("10.0.0.1", Path("certificate.pem"))
    for host in ("0.0.0.0", "10.0.0.1", "curator.example"):  # noqa: S104
        with pytest.raises(BadParameter, match="TLS"):
            check_secure(host, None)


# --- clients that are none --------------------------------------------------------------------------------------------


def test_no_bytes_end_the_server_or_charge(served: tuple[Town, str], port: int) -> None:
    before, chance = charges(served[0]), random.Random(7)
    start = struct.pack("!i", 196608) + b"user\0ann\0database\0town\0\0"
    begin = struct.pack("!i", len(start) + 4) + start
    password = served[0].ann.encode() + b"\0"
    signed = begin + b"p" + struct.pack("!i", len(password) + 4) + password
    for round_ in range(60):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            size = chance.choice([0, 3, 20, 200])
            noise = chance.randbytes(size)
            kind = chance.choice(b"QPBDECSHFdcfXp?").to_bytes(1, "big")
            framed = kind + struct.pack("!i", chance.choice([len(noise) + 4, 0, -1, 1 << 30])) + noise
            client.sendall([noise, begin + noise, begin + framed, signed + framed][round_ % 4])
            with suppress(OSError):
                client.shutdown(socket.SHUT_WR)
                while client.recv(1 << 16):
                    pass
    with psycopg.connect(**about(port, served[0].ann)) as still:
        assert still.execute("SELECT 1").fetchone() == (1,)
    assert charges(served[0]) == before


def test_connections_without_a_token_have_few_places(served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.curator.wire.server.WITHOUT_TOKEN", 2)
    with listening(served[1]) as port:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        try:
            with pytest.raises(psycopg.OperationalError, match="too many"):
                psycopg.connect(**about(port, served[0].ann))
        finally:
            for one in idle:
                one.close()
