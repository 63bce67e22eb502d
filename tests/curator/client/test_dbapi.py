"""The DB-API 2.0 driver: what PEP 249 asks for, on a real curator."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from inspect import isclass
from typing import Any

import pandas as pd
import pytest

from discreet.curator.client import dbapi
from discreet.curator.client.dbapi import Connection, bind
from discreet.curator.client.transport import Transport
from tests.helpers.curator.town import COUNT, Town, charges

TOWN = "SELECT city, COUNT(*) AS n FROM people WHERE city = ? GROUP BY city"


@pytest.fixture
def connection(served: tuple[Town, str]) -> Iterator[Connection]:
    town, url = served
    with dbapi.connect(url, town.ann, "town", epsilon="100") as found:
        yield found


def test_the_module_has_what_pep_249_asks_for() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "qmark")
    for name in ("InterfaceError", "DatabaseError"):
        assert issubclass(getattr(dbapi, name), dbapi.Error)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert issubclass(getattr(dbapi, f"{name}Error"), dbapi.DatabaseError)
    assert isclass(dbapi.Warning)
    assert dbapi.NUMBER == "number"
    assert dbapi.STRING != "number"
    assert dbapi.DATETIME == "date"
    assert hash(dbapi.STRING) == hash(dbapi.STRING)
    assert dbapi.DateFromTicks(0) == dbapi.Date(1970, 1, 1)
    assert dbapi.TimestampFromTicks(1) == dbapi.Timestamp(1970, 1, 1, 0, 0, 1)
    with pytest.raises(dbapi.NotSupportedError):
        dbapi.Time(1, 2, 3)
    with pytest.raises(dbapi.NotSupportedError):
        dbapi.TimeFromTicks(1)
    assert all(hasattr(Connection, name) for name in ("Error", "ProgrammingError", "Warning"))


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name", "value"), [("SELECT 1", "1", 1), (" select 42 AS answer; ", "answer", 42)])
def test_a_constant_asks_nothing_and_costs_nothing(
    served: tuple[Town, str], connection: Connection, text: str, name: str, value: int
) -> None:
    before = charges(served[0])
    with connection.cursor() as cursor:
        assert cursor.execute(text).fetchall() == [(value,)]
        assert cursor.description is not None
        assert cursor.description[0][:2] == (name, "number")
    assert charges(served[0]) == before


@pytest.mark.slow
def test_statements_may_be_spelled_as_another_database_does(served: tuple[Town, str]) -> None:
    town, url = served
    with dbapi.connect(url, town.ann, "town", epsilon="100", dialect="bigquery", errors=False) as connection:
        cursor = connection.cursor()
        cursor.execute('SELECT COUNT(*) AS n FROM `people` WHERE city = ? OR city = "Bury"', ["it\\'s ?"])
        assert cursor.fetchall() == [(40,)]


@pytest.mark.slow
def test_rows_come_with_their_error_bars(connection: Connection) -> None:
    with connection.cursor() as cursor:
        assert cursor.execute(COUNT) is cursor
        assert cursor.description is not None
        assert [(one[0], one[1], len(one)) for one in cursor.description] == [
            ("city", "text", 7), ("n", "number", 7), ("n_error", "number", 7),
        ]  # fmt: skip
        assert cursor.rowcount == 3
        assert cursor.fetchone() == ("Aton", 40, cursor.answer.errors()["n"][0])
        assert [row[:2] for row in cursor.fetchmany(1)] == [("Bury", 40)]
        assert [row[:2] for row in cursor] == [("Cold", 40)]
        assert cursor.fetchone() is None
        assert cursor.fetchall() == []
        cursor.setinputsizes([1])
        cursor.setoutputsize(1)
    connection.errors = False
    assert connection.cursor().execute(TOWN, ["Bury"]).fetchall() == [("Bury", 40)]


@pytest.mark.slow
def test_a_key_pays_once_and_says_so(served: tuple[Town, str], connection: Connection) -> None:
    town, _ = served
    before = charges(town)
    first, second = connection.cursor(), connection.cursor()
    first.execute(COUNT, epsilon="1", key="nightly", fresh=True)
    second.execute(COUNT, epsilon="1", key="nightly", fresh=True)
    assert (first.paid_before, second.paid_before) == (False, True)
    assert first.charge == second.charge
    assert first.fetchall() == second.fetchall()
    assert charges(town) == before + 1


@pytest.mark.slow
def test_what_cannot_be_asked_is_a_programming_error_and_costs_nothing(
    served: tuple[Town, str], connection: Connection
) -> None:
    town, url = served
    before, cursor = charges(town), connection.cursor()
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()
    for wrong in ("SELECT nothing FROM people", "DELETE FROM people", "nonsense"):
        with pytest.raises(dbapi.ProgrammingError) as found:
            cursor.execute(wrong)
        assert found.value.__cause__ is not None
    with pytest.raises(dbapi.OperationalError):
        cursor.execute(COUNT, epsilon="100000000")
    connection.epsilon = None
    with pytest.raises(dbapi.ProgrammingError, match="needs a privacy cost"):
        cursor.execute(COUNT)
    with pytest.raises(dbapi.NotSupportedError):
        cursor.executemany(TOWN, [["Aton"]], epsilon=1, key="x")
    assert charges(town) == before
    cursor.executemany(TOWN, [["Aton"], ["Bury"]], epsilon=1, fresh=True)
    assert charges(town) == before + 2
    cursor.executemany(TOWN, [["Aton"], ["Bury"]], epsilon=1)
    assert cursor.paid_before
    assert charges(town) == before + 2
    connection.commit()
    connection.rollback()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute(COUNT, epsilon=1)
    connection.close()
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor()
    with pytest.raises(dbapi.DatabaseError):
        dbapi.connect(url, "discreet_wrong_token")


def test_pandas_reads_it(connection: Connection) -> None:
    with pytest.warns(UserWarning, match="pandas only supports SQLAlchemy"):
        frame = pd.read_sql(COUNT, connection)
    assert list(frame.columns) == ["city", "n", "n_error"]
    assert list(frame["n"]) == [40, 40, 40]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-7, "-7"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (Decimal("1.50"), "1.50"),
        ("it's", "'it''s'"),
        ("'; DROP TABLE x; --", "'''; DROP TABLE x; --'"),
        (date(2025, 1, 2), "DATE '2025-01-02'"),
        (datetime(2025, 1, 2, 3, 4, 5), "TIMESTAMP '2025-01-02 03:04:05'"),
        (datetime(2025, 1, 2, 3, tzinfo=timezone(timedelta(hours=5))), "TIMESTAMP '2025-01-01 22:00:00'"),
    ],
)
def test_a_parameter_is_one_literal(value: object, text: str) -> None:
    assert bind("x = ? AND '?' = \"?\"", [value]) == f"x = {text} AND '?' = \"?\""


@pytest.mark.parametrize(
    ("operation", "bound"),
    [
        ("SELECT ? -- don't ?\n, ?", "SELECT 'a' -- don't ?\n, 'b'"),
        ("SELECT /* don't */ ?, 'x?y' = ?", "SELECT /* don't */ 'a', 'x?y' = 'b'"),
        ('/* ? /* \' */ ? */ ? "?" ?', "/* ? /* ' */ ? */ 'a' \"?\" 'b'"),
        ("'it''s ?' = ? AND \u00e9 = ?::TEXT", "'it''s ?' = 'a' AND \u00e9 = 'b'::TEXT"),
    ],
)
def test_marks_in_comments_and_quotes_are_no_places(operation: str, bound: str) -> None:
    """A quote in a comment began a text: the next parameter was put inside the quotes of another one."""
    assert bind(operation, ["a", "b"]) == bound


def test_a_minus_and_a_negative_number_begin_no_comment() -> None:
    assert bind("5-?, 5 - ?", [-7, -7]) == "5- -7, 5 - -7"


@pytest.mark.slow
def test_parameters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(dbapi.ProgrammingError, match="does not end"):
        bind("SELECT 'a = ?", ["b"])
    for operation, parameters in (("?", []), ("x", [1]), ("?", "a"), ("?", {"a": 1})):
        with pytest.raises(dbapi.ProgrammingError):
            bind(operation, parameters)  # type: ignore[arg-type]
    for value in (float("nan"), Decimal("NaN"), Decimal("1e999999999"), 10**301, float("inf"), b"x", object(), "\0"):
        with pytest.raises(dbapi.DataError):
            bind("?", [value])


NESTED = b"[" * 100_000 + b"]" * 100_000
HOSTILE = {
    "nested": NESTED,
    "no object": b"7",
    "other names": b'[{"nam": 1}]',
    "infinite": b'[{"name": Infinity}]',
    "long": b"[" + b" " * (1 << 12) + b"]",
    "not text": b"\xff\xfe",
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("status", [200, 422])
def test_whatever_a_server_sends_is_an_error_of_the_driver(
    sent: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RecursionError, TypeError and MemoryError reached the caller."""
    monkeypatch.setattr("discreet.curator.client.transport.time.sleep", lambda _: None)
    monkeypatch.setattr(Transport, "_sent", lambda *_: (status, sent))
    with pytest.raises(dbapi.Error):
        dbapi.connect("https://curator.example", "token")


def test_a_statement_with_a_reply_of_another_form_is_an_error_of_the_driver(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor, answered = connection.cursor(), connection.cursor().execute(COUNT).answer.reply
    short = answered["answer"] | {"rows": [["Aton"]]}
    replies: list[Any] = [[], {}, {"answer": 7}, {"answer": short}, answered | {"answer": short | {"columns": 1}}]
    for reply in replies:
        monkeypatch.setattr(Transport, "_ask", lambda *_, reply=reply: reply)
        with pytest.raises(dbapi.InternalError, match="another form"):
            cursor.execute(COUNT)
        assert cursor.description is None
