"""A DB-API 2.0 driver (PEP 249) for a curator: questions in SQL, answers as rows, for programs that expect a database.

    connection = dbapi.connect("https://curator.example", token, epsilon="0.1")
    cursor = connection.cursor()
    cursor.execute("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")       # pays, then answers
    cursor.execute("SELECT COUNT(*) AS n FROM visits WHERE clinic = ?", ["North"], epsilon="0.3", key="daily 7")
    cursor.fetchall()                       # each column with an error bar is followed by a column NAME_error

Promise: a statement without a price, its own or the connection's, is refused and costs nothing. With a ``key`` the same
statement pays once, however often a script retries or refreshes it: ``cursor.paid_before`` says so. Nothing can be
written: there is nothing to commit or roll back, and no charge is ever undone.
"""

from __future__ import annotations

import re
import time as _time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, NoReturn, Self

from discreet.curator.client.client import RemoteSession
from discreet.curator.client.client import connect as connect_session
from discreet.errors import BadParameter, BadQuestion, DiscreetError, LedgerUnavailable, OverBudget
from discreet.exact import Number
from discreet.query.front.sql.dialects import OwnSpelling, respelled
from discreet.query.front.sql.syntax_tree import placeholders

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"
ERROR = "_error"
"""What is put after the name of a column for the column of its error bars."""
_DIGITS = 300


class Warning(Exception):
    """Never raised here; PEP 249 asks for it."""


class Error(Exception):
    """Whatever goes wrong. Its cause is the error of discreet, with its fields."""


class InterfaceError(Error):
    """The driver was misused."""


class DatabaseError(Error):
    """The curator refused."""


class DataError(DatabaseError):
    """A value that cannot be part of a query."""


class OperationalError(DatabaseError):
    """The curator cannot be reached, or cannot answer now; the budget does not cover the question."""


class IntegrityError(DatabaseError):
    """Never raised here; PEP 249 asks for it."""


class InternalError(DatabaseError):
    """Something that should not have happened."""


class ProgrammingError(DatabaseError):
    """A statement that cannot be asked, or one without a price."""


class NotSupportedError(DatabaseError):
    """What a curator does not do."""


class _Type:
    """A type of columns, for comparison with the second item of a description."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = frozenset(kinds)

    def __eq__(self, other: object) -> bool:
        return other in self._kinds if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self._kinds)


STRING = _Type("text")
BINARY = _Type()
NUMBER = _Type("number")
DATETIME = _Type("date", "time")
ROWID = _Type()
Date = date
Timestamp = datetime
Binary = bytes


def Time(hour: int, minute: int, second: int) -> NoReturn:  # noqa: N802 - PEP 249 names it so
    """Times of day without a date are not known here."""
    raise NotSupportedError("times of day without a date are not known here")


def DateFromTicks(ticks: float) -> date:  # noqa: N802
    """The date of so many seconds since 1970."""
    return date(*_time.gmtime(ticks)[:3])


def TimestampFromTicks(ticks: float) -> datetime:  # noqa: N802
    """The time of so many seconds since 1970, in UTC."""
    return datetime(*_time.gmtime(ticks)[:6])


def TimeFromTicks(ticks: float) -> NoReturn:  # noqa: N802
    """Times of day without a date are not known here."""
    Time(0, 0, 0)


def connect(
    url: str,
    token: str,
    dataset: str | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    errors: bool = True,
    dialect: str | None = None,
) -> Connection:
    """A data set of a curator; ``epsilon`` is the price of statements that name none, ``errors``: error columns.

    ``dialect`` says how statements are spelled, as that of ``session.sql`` does.
    """
    try:
        session = connect_session(url, token, dataset)
    except Exception as error:
        raise _translated(error) from error
    return Connection(session, epsilon, delta, errors=errors, dialect=dialect)


class Connection:
    """One data set, to be asked. Made by ``connect``."""

    Error, InterfaceError, DatabaseError, DataError = Error, InterfaceError, DatabaseError, DataError
    OperationalError, IntegrityError, InternalError = OperationalError, IntegrityError, InternalError
    ProgrammingError, NotSupportedError, Warning = ProgrammingError, NotSupportedError, Warning

    def __init__(
        self,
        session: RemoteSession,
        epsilon: Number | None,
        delta: Number | None = None,
        *,
        errors: bool = True,
        dialect: str | None = None,
    ) -> None:
        self._session: RemoteSession | None = session
        self.epsilon = epsilon
        self.delta = delta
        self.errors = errors
        self.dialect = dialect

    @property
    def session(self) -> RemoteSession:
        """The session behind it, for previews and budgets."""
        if self._session is None:
            raise InterfaceError("this connection is closed")
        return self._session

    def cursor(self) -> Cursor:
        """A new cursor."""
        _ = self.session
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: what was paid is paid."""
        _ = self.session

    def rollback(self) -> None:
        """Nothing: no charge is ever undone."""
        _ = self.session

    def close(self) -> None:
        """Ask no more."""
        self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class Cursor:
    """Asks statements and holds the rows of the last answer."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self.lastrowid = None
        self.answer: Any = None
        """The last answer itself, with its cost, receipt and story."""
        self.charge: int | None = None
        """The number of its charge."""
        self.paid_before = False
        """Whether it was paid before: by an earlier statement with the same key, or for the same query."""
        self._rows: list[tuple[Any, ...]] = []
        self._at = 0
        self._closed = False

    def execute(
        self,
        operation: str,
        parameters: Sequence[Any] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> Cursor:
        """Pay for one statement and hold its answer. The same ``key`` pays once and gives the same rows; so does the
        same query of the same data, unless ``fresh``: ``paid_before`` says so.
        """
        session, price = self._open(), epsilon if epsilon is not None else self.connection.epsilon
        if (constant := _CONSTANT.fullmatch(operation)) is not None:  # asks nothing of anybody: is the server there?
            self._rows, self._at, self.rowcount = [(int(constant["value"]),)], 0, 1
            self.description = [(constant["name"] or constant["value"], NUMBER, None, None, None, None, False)]
            return self
        if price is None:
            raise ProgrammingError("a statement needs a privacy cost: epsilon of the connection, or of the statement")
        spelled = self.connection.dialect
        text = bind(operation if spelled is None else respelled(operation, spelled), parameters or ())
        try:
            query = session.sql(text) if spelled is None else session.sql(OwnSpelling(text), dialect=spelled)
            most = delta if delta is not None else self.connection.delta
            answer = query.release(price, delta=most, key=key, fresh=fresh)
            self._take(answer)
            self.answer, self.charge = answer, answer.number
            self.paid_before = answer.paid_before
        except Exception as error:
            raise _translated(error) from error
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]], **options: Any) -> None:
        """Each statement is paid for; the rows are those of the last one."""
        if options.get("key") is not None:
            raise NotSupportedError("a key is for one statement")
        for values in parameters:
            self.execute(operation, values, **options)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        self._has_rows()
        at, self._at = self._at, min(len(self._rows), self._at + (self.arraysize if size is None else size))
        return self._rows[at : self._at]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All further rows."""
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: object) -> None:
        """Nothing: PEP 249 allows that."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """Nothing: PEP 249 allows that."""

    def close(self) -> None:
        """Forget the rows."""
        self._closed, self._rows = True, []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> RemoteSession:
        if self._closed:
            raise InterfaceError("this cursor is closed")
        return self.connection.session

    def _has_rows(self) -> None:
        self._open()
        if self.description is None:
            raise InterfaceError("nothing was asked yet")

    def _take(self, answer: Any) -> None:
        bars = answer.errors() if self.connection.errors else {}
        names = [(name, bar) for name in answer.columns for bar in ((False, True) if name in bars else (False,))]
        self._rows = [
            tuple(bars[name][i] if bar else row[name] for name, bar in names) for i, row in enumerate(answer.rows)
        ]
        self._at, self.rowcount = 0, len(self._rows)
        self.description = [
            (name + ERROR if bar else name, _kind([row[at] for row in self._rows]), None, None, None, None, True)
            for at, (name, bar) in enumerate(names)
        ]


_CONSTANT = re.compile(r"\s*SELECT\s+(?P<value>\d{1,18})(?:\s+(?:AS\s+)?(?P<name>[a-z_]\w*))?\s*;?\s*", re.IGNORECASE)
"""SELECT 1, by which programs try a connection."""


def bind(operation: str, parameters: Sequence[Any]) -> str:
    """The statement with its parameters as literals, each at a "?" that stands outside of quotes and comments.

    >>> bind("SELECT COUNT(*) FROM t WHERE a = ? AND b = '?'", ["it's"])
    "SELECT COUNT(*) FROM t WHERE a = 'it''s' AND b = '?'"
    """
    if isinstance(parameters, str | Mapping) or not isinstance(parameters, Sequence):
        raise ProgrammingError("parameters must be a sequence, one for each ?")
    try:
        places = placeholders(operation)
    except DiscreetError as error:
        raise _translated(error) from error
    if len(places) != len(parameters):
        raise ProgrammingError(f"the statement has {len(places)} ?, and {len(parameters)} parameters were given")
    parts, after = [], 0
    for place, value in zip(places, parameters, strict=True):
        written = literal(value)
        minus = operation[:place].endswith("-") and written.startswith("-")  # two would begin a comment
        parts += [operation[after:place], " " if minus else "", written]
        after = place + 1
    parts.append(operation[after:])
    return "".join(parts)


def literal(value: Any) -> str:
    """A value as SQL. Whatever it holds, it stays one literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{_in_utc(value).isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str) and "\0" not in value:
        return "'" + value.replace("'", "''") + "'"
    raise DataError(f"a {type(value).__name__} cannot be part of a query")


def _in_utc(moment: datetime) -> datetime:
    """A moment as the service has them: in UTC, which is not written."""
    try:
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise DataError("a moment of a query lies in the years 1 to 9999") from None


def _number(value: int | float | Decimal) -> str:
    """A number in digits; one that a query could not hold is refused before it is written out."""
    try:
        exact = Decimal(value) if isinstance(value, int) else Decimal(str(value))
    except (ArithmeticError, ValueError):
        raise DataError("a number with so many digits cannot be part of a query") from None
    if not exact.is_finite() or abs(exact.adjusted()) > _DIGITS:
        raise DataError(f"a number of a query is finite, with at most {_DIGITS} digits")
    return format(exact, "f")


def _kind(values: Sequence[Any]) -> str | None:
    """The type of a column, by its released values."""
    for value in values:
        match value:
            case None:
                continue
            case datetime():
                return "time"
            case date():
                return "date"
            case str():
                return "text"
            case _:
                return "number"
    return None


def _translated(error: Exception) -> Error:
    if isinstance(error, LedgerUnavailable | OverBudget):
        return OperationalError(str(error))
    if isinstance(error, BadQuestion | BadParameter):
        return ProgrammingError(str(error))
    if isinstance(error, DiscreetError):
        return DatabaseError(str(error))
    return InternalError("the reply of the curator has another form than an answer; is this the address of a curator?")
