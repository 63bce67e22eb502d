"""What goes wrong in a database is told in our own words: who is not let in, what is damaged, what is busy."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
import sqlalchemy as sa

from discreet.errors import LedgerBusy, LedgerError, LedgerMismatch, LedgerUnavailable
from discreet.ledger.storage.connections import report_database_errors


@pytest.mark.parametrize(
    ("failure", "let_in"),
    [
        (psycopg.OperationalError("connection failed: fe_sendauth: no password supplied"), False),
        (psycopg.errors.InvalidPassword("authentication failed"), False),
        (psycopg.OperationalError("server closed the connection"), True),
        (psycopg.errors.DiskFull("could not write the password"), True),
        (sqlite3.OperationalError("password"), True),
    ],
)
def test_a_missing_password_is_no_full_disk(failure: Exception, let_in: bool) -> None:
    with pytest.raises(LedgerError) as told, report_database_errors():
        raise sa.exc.OperationalError("SELECT 1", {}, failure)
    assert ("PGPASSWORD" in str(told.value)) is not let_in


def of_sqlite(code: int | None) -> sqlite3.Error:
    failure = sqlite3.OperationalError("something")
    if code is not None:
        failure.sqlite_errorcode = code
    return failure


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (of_sqlite(5), LedgerBusy, None),
        (of_sqlite(6 | 256), LedgerBusy, None),
        (of_sqlite(11), LedgerMismatch, "damaged"),
        (of_sqlite(26 | 512), LedgerMismatch, "damaged"),
        (of_sqlite(None), LedgerMismatch, "damaged"),  # text that is none
        (of_sqlite(13), LedgerUnavailable, None),  # the disk is full
        (psycopg.errors.LockNotAvailable(), LedgerBusy, None),
        (psycopg.errors.InvalidCatalogName(), LedgerUnavailable, "does not let this role in"),
        (psycopg.errors.DiskFull(), LedgerUnavailable, None),
    ],
)
def test_each_failure_has_its_kind(failure: Exception, kind: type[LedgerError], words: str | None) -> None:
    with pytest.raises(kind, match=words) as caught, report_database_errors():
        raise sa.exc.OperationalError("SELECT 1", {}, failure)
    assert type(caught.value) is kind
    assert ("damaged" in str(caught.value)) is (kind is LedgerMismatch)
    assert ("let this role in" in str(caught.value)) is (words == "does not let this role in")
