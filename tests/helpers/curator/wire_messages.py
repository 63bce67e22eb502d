"""Messages for the PostgreSQL port as no client sends them: of the right shape mostly, with anything in them.

None of them names a price, so none may be charged.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from random import Random

TEXTS = (
    "SELECT 1", "SELECT 1; SELECT 2", "", ";", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a",
    "RELEASE a", "SET application_name = 'x'", "SET LOCAL search_path TO public", "RESET ALL", "DISCARD ALL",
    "SHOW ALL", "SHOW discreet.remaining", "SHOW nothing", "SELECT version()", "SELECT $1::int", "SELECT $1, $2",
    "SELECT current_schema()", "SELECT relname FROM pg_catalog.pg_class", "SELECT repeat('x', 1000)",
    "SELECT * FROM information_schema.columns", "DECLARE c CURSOR FOR SELECT 1", "FETCH ALL FROM c", "FETCH -1 FROM c",
    "CLOSE c", "DEALLOCATE ALL", "COPY people TO STDOUT", "LISTEN x", "DROP TABLE people",
    "INSERT INTO people VALUES (1)", "SELECT 'a", "SELECT /* b", "SELECT \"city FROM people", "EXPLAIN",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT COUNT(*) FROM nowhere",
)  # fmt: skip
PREVIEWS = ("SELECT COUNT(*) AS n FROM people", "EXPLAIN SELECT COUNT(*) AS n FROM people WHERE city = $1")
"""These take the service some time each."""
NAMES = ("", "a", "b", "c", "ä", "x" * 300, "'; --")
_LETTERS = "\t '\"$;()*,=0123456789abcXYZ\u00e9\u4e2d\U0001f600"


def start(token: str, user: str = "ann", database: str = "town") -> bytes:
    """What opens a session."""
    body = struct.pack("!i", 196608) + b"".join(
        text.encode() + b"\0" for text in ("user", user, "database", database, "")
    )
    return struct.pack("!i", len(body) + 4) + body + framed("p", token.encode() + b"\0")


def framed(kind: str, body: bytes) -> bytes:
    return kind.encode("latin-1") + struct.pack("!i", len(body) + 4) + body


def message(draw: Random) -> bytes:
    """One message. Those that end the connection are few: of a hundred together, most are read."""
    chance = draw.random()
    if chance < 0.002:
        return draw.randbytes(draw.randrange(1, 60))  # no message at all
    kind, body = _shaped(draw)
    if chance < 0.006 and body:
        place = draw.randrange(len(body))
        body = body[:place] + draw.randbytes(draw.choice((1, 1, 4))) + body[place + draw.choice((0, 1)) :]
    if chance > 0.999:
        return kind.encode() + struct.pack("!i", draw.choice((0, -1, 3, 1 << 30, len(body) + 5))) + body
    return framed(kind, body)


def talked(port: int, signed: bytes, sent: list[bytes]) -> None:
    """Sign in, send all at once, and read what comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client, suppress(ConnectionError):
        client.sendall(signed)
        for part in sent:
            client.sendall(part)
        client.sendall(framed("S", b"") + framed("X", b""))
        client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            pass


def _shaped(draw: Random) -> tuple[str, bytes]:
    wild = draw.random() < 0.003
    kind = draw.choice("p?X" if wild else "QQQPPBBBDDEEECHSSSdcfF")
    name, text = (draw.choice(NAMES).encode() + b"\0" for _ in range(2))
    match kind:
        case "Q":
            return kind, _text(draw)
        case "P":
            types = [draw.choice((0, 23, 25, 1082, -1, 1 << 30)) for _ in range(draw.randrange(3))]
            return kind, name + _text(draw) + struct.pack(f"!h{len(types)}i", len(types), *types)
        case "B":
            forms, values = [draw.choice((0, 1)) for _ in range(draw.randrange(2))], draw.randrange(3)
            body = name + text + struct.pack(f"!h{len(forms)}h", len(forms), *forms) + struct.pack("!h", values)
            for _ in range(values):
                value = draw.choice((b"", b"1", b"x" * 40, draw.randbytes(8)))
                body += draw.choice((struct.pack("!i", -1), struct.pack("!i", len(value)) + value))
            return kind, body + struct.pack("!hh", 1, draw.choice((0, 1)))
        case "D" | "C":
            return kind, draw.choice((b"S", b"P")) + name
        case "E":
            return kind, name + struct.pack("!i", draw.choice((0, 1, -5, 1 << 30)))
        case "p" | "d" | "F" | "?":
            return kind, draw.randbytes(draw.randrange(20))
    return kind, b""


def _text(draw: Random) -> bytes:
    text = draw.choice(PREVIEWS if draw.random() < 0.01 else TEXTS)
    for _ in range(draw.choice((0, 0, 0, 1, 3))):
        place, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        more = "".join(draw.choices(_LETTERS, k=draw.randrange(4)))
        text = text[:place] + draw.choice((more, text[place:end] * 2, more + text[place:end])) + text[end:]
    return text.encode() + b"\0"
