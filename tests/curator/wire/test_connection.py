"""A connection, with real clients: psql, psycopg, SQLAlchemy and pandas."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
from typing import Any

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from discreet.curator.wire.messages import framed
from tests.helpers.curator.town import COUNT, Town, charges
from tests.helpers.curator.wire import about

pytestmark = pytest.mark.slow
PRICED = f"/* epsilon=100, fresh=on */ {COUNT}"


def test_a_failed_batch_charges_nothing_that_follows(served: tuple[Town, str], port: int) -> None:
    before = charges(served[0])
    with psycopg.connect(**about(port, served[0].ann), autocommit=True) as client:
        with pytest.raises(psycopg.Error), client.pipeline():  # noqa: PT012 - both are sent before the first is answered
            client.execute("SELECT x FROM nowhere")
            client.execute(PRICED)
        assert charges(served[0]) == before


def test_psql_connects_lists_and_asks(served: tuple[Town, str], port: int) -> None:
    text = "\\dt\n\\d people\nSHOW discreet.remaining;\n" + PRICED.replace("epsilon=100", "epsilon=10") + ";\n"
    command = ["psql", "-X", "-q", f"host=127.0.0.1 port={port} user=ann dbname=town"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                           env={"PGPASSWORD": served[0].ann, "PATH": "/usr/bin:/bin"}, timeout=120)  # fmt: skip
    for word in ("List of relations", "people", 'Table "public.people"', "epsilon", "n_error", "Aton"):
        assert word in found.stdout
    assert "Spent epsilon 10" in found.stderr


def test_values_come_in_binary_and_in_pieces(client: psycopg.Connection[Any]) -> None:
    with client.cursor(binary=True) as cursor:
        cursor.execute(PRICED)
        assert [round(row[1]) for row in cursor.fetchall()] == [40, 40, 40]
    with client.cursor("on_the_server") as cursor:
        cursor.execute(PRICED)
        assert [len(cursor.fetchmany(2)), len(cursor.fetchmany(2)), len(cursor.fetchmany(2))] == [2, 1, 0]


def test_sqlalchemy_reflects_and_pandas_reads(served: tuple[Town, str], port: int) -> None:
    options = {"options": "-c discreet.epsilon=100"}
    engine = sa.create_engine(f"postgresql+psycopg://ann:{served[0].ann}@127.0.0.1:{port}/town", connect_args=options)
    try:
        looked = sa.inspect(engine)
        assert "people" in looked.get_table_names()
        assert {"city", "pay"} <= {column["name"] for column in looked.get_columns("people")}
        people = sa.Table("people", sa.MetaData(), autoload_with=engine)
        asked = sa.select(people.c.city, sa.func.count().label("n")).group_by(people.c.city)
        with engine.connect() as connection:
            found = pd.read_sql(asked, connection)
        assert list(found.columns) == ["city", "n", "n_error"]
        assert list(found["n"].round()) == [40, 40, 40]
    finally:
        engine.dispose()


# --- messages as no driver sends them ---------------------------------------------------------------------------------


def _parse(name: str, text: str) -> bytes:
    return framed("P", f"{name}\0{text}\0".encode() + b"\0\0")


def _bind(portal: str, statement: str, *forms: int) -> bytes:
    results = struct.pack(f"!{1 + len(forms)}h", len(forms), *forms)
    return framed("B", f"{portal}\0{statement}\0".encode() + b"\0\0\0\0" + results)


def _execute(portal: str) -> bytes:
    return framed("E", portal.encode() + b"\0\0\0\0\0")


def _query(text: str) -> bytes:
    return framed("Q", text.encode() + b"\0")


SYNC = framed("S")


def _told(port: int, password: str, *sent: bytes) -> bytes:
    """All that comes back, for these messages at once."""
    start = struct.pack("!i", 196608) + b"user\0ann\0database\0town\0\0"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(struct.pack("!i", len(start) + 4) + start)
        client.sendall(b"".join([framed("p", password.encode() + b"\0"), *sent, framed("X")]))
        found = bytearray()
        while part := client.recv(1 << 16):
            found += part
    return bytes(found)


def test_nothing_of_a_failed_batch_or_transaction_is_charged(served: tuple[Town, str], port: int) -> None:
    before, bad = charges(served[0]), _parse("", "SELECT x FROM nowhere") + _bind("", "") + _execute("")
    priced = _parse("s", PRICED) + _bind("p", "s")
    for some in (
        (bad, _query(PRICED), SYNC),
        (_query("BEGIN"), priced, SYNC, _query("nonsense"), _execute("p"), SYNC),
        (_query("BEGIN"), priced, SYNC, _query("COMMIT"), _execute("p"), SYNC),
        (priced, framed("D", b"Ss\0"), framed("D", b"Pp\0"), SYNC),
    ):
        _told(port, served[0].ann, *some)
        assert charges(served[0]) == before
    _told(port, served[0].ann, priced, _execute("p"), _execute("p"), SYNC)
    assert charges(served[0]) == before + 1


def test_forms_that_do_not_fit_are_refused_before_the_payment(served: tuple[Town, str], port: int) -> None:
    before = charges(served[0])
    told = _told(port, served[0].ann, _parse("", PRICED), _bind("", "", 0, 1), _execute(""), SYNC)
    assert b"number of result formats" in told
    assert charges(served[0]) == before


def test_what_is_paid_and_cannot_be_sent_is_named(
    served: tuple[Town, str], client: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = charges(served[0])
    with monkeypatch.context() as broken:
        broken.setattr("discreet.curator.wire.connection.encoded", lambda *_: 1 / 0)
        with pytest.raises(psycopg.Error, match="charged and stored as charge") as refused:
            client.execute(PRICED)
    assert charges(served[0]) == before + 1
    number = re.search(r"charge (\d+)", str(refused.value))
    assert number is not None
    stored = served[0].http.get(f"/api/answers/{number[1]}", headers={"Authorization": f"Bearer {served[0].ann}"})
    assert stored.status_code == 200


def test_prepared_statements_have_bounds_together(served: tuple[Town, str], port: int) -> None:
    some = [_parse(f"s{n}", "SELECT '" + "x" * 90_000 + "'") for n in range(12)]
    assert b"too long together" in _told(port, served[0].ann, *some, SYNC)
    assert b"at most 32,767 parameters" in _told(port, served[0].ann, _parse("", "SELECT $40000"), SYNC)
