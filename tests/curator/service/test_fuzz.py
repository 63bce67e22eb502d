"""Canaries in the data: whatever is asked, however badly, no text of the data leaves by any way.

Questions come from a grammar that knows the tables and reaches for everything that has ever leaked: casts, divisions,
functions of files, subqueries, unions, windows, errors that quote a value. ``DISCREET_FUZZ`` sets how many are asked.

A key that nobody listed is named with a probability of at most 1e-20 here, so a false alarm is below 1e-14.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.curator import service
from tests.curator.service.land import CANARY, NUMBER
from tests.curator.service.town import Town, bearer, open_town

MANY = int(os.environ.get("DISCREET_FUZZ", "300"))
COLUMNS = ["person_id", "name", "city", "pay", "secret", "big", "day", "length", "note", "*", "nowhere", "rowid"]
FUNCTIONS = [
    *("CAST({} AS INTEGER)", "CAST({} AS TINYINT)", "CAST({} AS DATE)", "TRY_CAST({} AS DOUBLE)", "1/({}-7)"),
    *("{} % ({}-7)", "{} * 9223372036854775807", "LENGTH({})", "UPPER({})", "SUBSTR({},1,3)", "error({})", "chr({})"),
    *("strptime({},'%Y')", "regexp_extract({},'.*')", "{} || {}", "sqrt({})", "ln({})", "abs({})", "repeat({},1000)"),
    *("CASE WHEN {} THEN 1 ELSE {} END", "COALESCE({},0)", "NULLIF({},1)", "YEAR({})", "CLAMP({},0,10)", "hash({})"),
    *("md5({})", "read_text({})", "getenv('HOME')", "ROUND({},2)", "{}"),
]
AGGREGATES = [
    *("COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "MEDIAN({})", "COUNT(DISTINCT {})", "STDDEV({})"),
    *("ANY_VALUE({})", "FIRST({})", "STRING_AGG({}, ',')", "LIST({})", "ARG_MAX({},{})", "MODE({})", "HISTOGRAM({})"),
    *("APPROX_QUANTILE({},0.5)", "SUM({}) OVER ()", "{}", "QUANTILE({}, 0.9)"),
]
SOURCES = [
    *("people p JOIN trips t ON p.person_id = t.person_id", "people, trips", "notes", "(SELECT {} FROM people)"),
    *("read_csv('data/notes.csv')", "'people.parquet'", "duckdb_tables()", "information_schema.tables"),
    *(
        "people TABLESAMPLE 10%",
        "(SELECT person_id, COUNT(*) AS c FROM trips GROUP BY person_id)",
        "generate_series(9)",
    ),
    *("sqlite_master", "pragma_storage_info('people')", "people UNION ALL SELECT * FROM people"),
]
TAILS = [
    *("", "WHERE {} = {}", "WHERE {} IN (SELECT {} FROM people)", "GROUP BY {}", "GROUP BY {} HAVING {} > 3"),
    *("ORDER BY {}", "LIMIT 3", "WHERE {} LIKE '%a%'", "GROUP BY ROLLUP({}, city)", "QUALIFY {} > 1"),
    *("; DROP TABLE people", "WHERE EXISTS (SELECT 1)", "UNION SELECT {} FROM people", "FOR UPDATE", "-- {}"),
]
LITERALS = ["1", "0", "NULL", "'x'", "''", "1e308", "-1", "DATE '2025-01-01'", "TRUE", "'\\'", "99999999999999999999"]
# What is allowed, pointed at the texts and numbers that hold canaries.
TAME_ITEMS = [
    *("COUNT(*)", "AVG(pay)", "SUM(pay)", "MEDIAN(pay)", "COUNT(DISTINCT secret)", "COUNT(name)", "STDDEV(pay)"),
    *("SUM(CLAMP(big, 0, 100))", "SUM(LENGTH(secret))", "COUNT(DISTINCT name)", "AVG(CLAMP(LENGTH(name), 0, 40))"),
    *("SUM(CASE WHEN secret > 'canary' THEN 1 ELSE 0 END)", "COUNT(*) FILTER (WHERE name LIKE '%7%')", "MIN(pay)"),
    *("SUM(CLAMP(CAST(SUBSTR(secret, 19, 3) AS INTEGER), 0, 500))", "MAX(pay)", "AVG(ABS(pay - 7))"),
]
TAME_TAILS = [
    *("", "WHERE secret LIKE '%secret 7%'", "WHERE UPPER(name) > 'D'", "WHERE SUBSTR(secret, 1, 3) = 'can'"),
    *("WHERE CAST(SUBSTR(name, 19, 3) AS INTEGER) = 7", "WHERE big > 48213980", "WHERE pay / (pay - 7) > 1"),
    *("WHERE name || secret <> ''", "WHERE secret IN ('a', 'b') OR name IS NOT NULL", "WHERE person_id <> 7"),
]
TAME_KEYS = ["", "", "city", "name", "FLOOR(pay / 100)", "SUBSTR(name, 1, 6)", "UPPER(city)"]


def fill(template: str, draw: random.Random, depth: int) -> str:
    """A template with columns, literals or calls in its holes."""
    while "{}" in template:
        hole = draw.random()
        if hole < 0.6 or depth <= 0:
            part = draw.choice(COLUMNS)
        elif hole < 0.75:
            part = draw.choice(LITERALS)
        else:
            part = fill(draw.choice(FUNCTIONS), draw, depth - 1)
        template = template.replace("{}", part.replace("{}", "x"), 1)
    return template


def tame(draw: random.Random) -> str:
    """A question that is allowed, more often than not."""
    key, items = draw.choice(TAME_KEYS), draw.sample(TAME_ITEMS, draw.choice([1, 1, 2]))
    by = f" GROUP BY {key}" if key else ""
    shown = f"{key}, " if key else ""
    return f"SELECT {shown}{', '.join(items)} FROM people {draw.choice(TAME_TAILS)}{by}"


def question(draw: random.Random) -> str:
    """A question, or something that looks like one."""
    if draw.random() < 0.4:
        return tame(draw)
    items = [fill(draw.choice(AGGREGATES), draw, 2) for _ in range(draw.choice([1, 1, 2, 3]))]
    if draw.random() < 0.4:
        items.insert(0, draw.choice(["city", "name", "secret", "person_id"]))
    source = draw.choice(["people", "people", "trips", fill(draw.choice(SOURCES), draw, 1)])
    tail = fill(draw.choice(TAILS), draw, 1)
    if items[0] in COLUMNS and draw.random() < 0.7:
        tail = f"GROUP BY {items[0]}"
    text = f"SELECT {', '.join(items)} FROM {source} {tail}"
    if draw.random() < 0.05:
        cut = draw.randrange(len(text))
        text = text[:cut] + draw.choice(["'", '"', ")", "\x00", "é", "--", "/*"]) + text[cut:]
    return text


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


def holds_canary(content: bytes) -> bool:
    return CANARY.encode() in content.lower()


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
    """A planted bug: the words of an error go into the log, the reply and the ledger."""
    town = new_town
    room = town.curator.room(town.curator.ledger.datasets["town"])

    def run(*_: object) -> None:
        raise ValueError(f"could not convert '{CANARY} person 7' to INT32")

    monkeypatch.setattr(room.engine, "run", run)
    assert not holds_canary(town.ask("SELECT COUNT(*) AS n FROM people").content + caplog.text.encode())
    monkeypatch.setattr(service, "where", str)
    town.ask("SELECT COUNT(*) AS n FROM people")
    assert holds_canary(caplog.text.encode())
    monkeypatch.setattr(service, "reply", lambda _: (500, {"error": str(sys.exc_info()[1])}))
    assert holds_canary(town.ask("SELECT COUNT(*) AS n FROM people").content)
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


def test_no_canary_and_no_trace_under_malformed_requests(
    leaky: tuple[Town, Path], caplog: pytest.LogCaptureFixture
) -> None:
    town, temporary = leaky
    caplog.set_level(logging.DEBUG)
    draw = random.Random(7)
    before = town.curator.ledger.head
    paths = [route.path for route in town.http.app.routes]  # type: ignore[attr-defined]
    methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "FOO"]
    good = b'{"sql":"SELECT COUNT(*) AS n FROM people","epsilon":"x"}'
    for _ in range(MANY // 3):
        path = draw.choice(paths).replace(
            "{dataset}", draw.choice(["town", "%00", "..%2f..", "a" * 5000, "town%0d%0aX: y"])
        )
        path = path.replace("{number}", draw.choice(["1", "-1", "9" * 40, "x", "1e3"]))
        body = bytearray(good)
        for _ in range(draw.randrange(6)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        headers = {
            **bearer(draw.choice([town.ann, town.owner, "x", None])),
            "content-type": draw.choice(["application/json", "text/plain", "application/json; charset=utf-16", ""]),
            "accept": draw.choice(["*/*", "text/html", "\x7f"]),
        }
        reply = town.http.request(draw.choice(methods), path, content=bytes(body), headers=headers)
        assert reply.status_code < 500, (path, body, reply.text)
        assert not holds_canary(reply.content + str(reply.headers).encode())
        assert "Traceback" not in reply.text
        if reply.status_code >= 400 and reply.request.method != "HEAD":
            assert set(reply.json()) == {"error"}
    assert town.curator.ledger.head.sequence == before.sequence
    assert not holds_canary(caplog.text.encode())
    scan(town, temporary)
