"""One client's session: what its statements mean, answered through the curator's own HTTP service.

Guarantee: a statement is charged only if a price is set for it: by ``SET discreet.epsilon``, by a comment
``/* epsilon=0.1 */``, or when it connected. Without one the reply is the free preview, as rows. To describe a statement
charges nothing. Permission, budget and noise are the service's: here are neither data nor a ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeAlias

from discreet.curator.client.client import RemoteQuery, RemoteSession
from discreet.curator.client.dbapi import ERROR
from discreet.curator.client.remote_answer import RemoteAnswer, RemotePreview
from discreet.curator.wire.catalog import Catalog, column_type
from discreet.curator.wire.catalog_queries import read
from discreet.curator.wire.catalog_tables import SETTINGS
from discreet.curator.wire.statements import PRICES, Statement, statements
from discreet.curator.wire.types import BOOL, DATE, FLOAT8, INT8, TEXT, TIMESTAMP, WireType
from discreet.errors import BadParameter, BadQuestion, DiscreetError, Unsupported
from discreet.messages import Interface
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate

OWN = "discreet."
"""What settings of this service begin with."""
SHOWN_EPSILON = "0.1"
"""The price of a preview where none is set."""
MOST_NAMES, MOST_OPEN, MOST_COLUMNS = 1_000, 100, 1_600
"""Prepared statements and settings of one client; its portals, and its cursors; columns of an answer."""
Columns: TypeAlias = tuple[tuple[str, WireType], ...]
_BEGIN, _END, _UNDO = {"BEGIN", "START"}, {"COMMIT", "END"}, {"ROLLBACK", "ABORT"}
_POINTS = {"SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE"}
_QUERIES = {"SELECT", "WITH", "VALUES", "TABLE", "("}
_PREVIEW: Columns = (("column", TEXT), ("error", FLOAT8), ("confidence", FLOAT8), ("rows_in_group", INT8),
                     ("cost", TEXT), ("remaining_after", TEXT), ("affordable", BOOL))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gives."""

    tag: str
    columns: Columns | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    notices: tuple[str, ...] = ()
    charge: int | None = None
    """The number of the charge that paid for it, if one did."""


class FailedTransaction(DiscreetError):
    """A statement came after an error in a transaction, before its ROLLBACK."""


class NotShown(DiscreetError):
    """An answer is paid and stored, and cannot be sent in the form that was asked for."""

    def __init__(self, charge: int) -> None:
        super().__init__(
            f"The answer is charged and stored as charge {charge}, and cannot be sent in this form. It is not lost: "
            f"read it for nothing with session.answer({charge}) in Python, or GET /api/answers/{charge}"
        )


@dataclass(frozen=True, slots=True)
class Work:
    """A statement that is understood: what its rows look like, and what does it."""

    columns: Callable[[], Columns | None]
    run: Callable[[], Result]


@dataclass
class _Cursor:
    columns: Columns
    rows: list[tuple[Any, ...]]
    charge: int | None = None
    stays: bool = False
    """Whether it stays when a transaction ends: WITH HOLD."""
    at: int = 0


@dataclass
class Session:
    """The state of one client."""

    remote: RemoteSession
    user: str
    make_catalog: Callable[[RemoteSession, str], Catalog]
    settings: dict[str, str] = field(default_factory=dict)
    status: str = "I"
    """I: no transaction; T: in one; E: in one that failed."""
    _cursors: dict[str, _Cursor] = field(default_factory=dict)
    _undone: dict[str, str] = field(default_factory=dict)
    """The prices that were set when the transaction began."""
    _after: dict[str, str] = field(default_factory=dict)
    """The prices that COMMIT leaves set: those without SET LOCAL."""
    _points: dict[str, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)
    """Both at each savepoint."""

    def parsed(self, text: str) -> list[Statement]:
        """The statements of a text. Of several, none may be a query: refused before the first is run."""
        found = statements(text)
        if len(found) > 1 and any(
            one.words[0] == "DECLARE" or (one.words[0] in _QUERIES and read(one.text) is None) for one in found
        ):
            raise BadQuestion(
                "Send queries one by one: a text with several statements may not hold one. Budget unchanged."
            )
        return found

    def work(self, statement: Statement, literals: Sequence[str] = ()) -> Work:
        """What a statement with these parameters means."""
        first = statement.words[0]
        if self.status == "E" and first not in _UNDO | _END:
            raise FailedTransaction("A statement before this one failed: send ROLLBACK first.")
        if first in _QUERIES:
            return self._query(statement, literals)
        if first == "EXPLAIN":
            return self._explain(statement, literals)
        if first == "DECLARE":
            return _quiet(lambda: self._declare(statement, literals))
        if first == "SHOW":
            return self._show(statement)
        if first == "FETCH":
            return self._fetch(statement)
        command = _COMMANDS.get(first)
        if command is None:
            raise Unsupported(f"{first[:30]}", "this service answers queries; nothing can be written")
        return _quiet(lambda: command(self, statement))

    def cursor_columns(self, name: str) -> Columns | None:
        """The columns of what DECLARE made; None if there is no cursor of this name."""
        cursor = self._cursors.get(name)
        return None if cursor is None else cursor.columns

    def failed(self) -> None:
        """A statement failed."""
        self.status = "E" if self.status == "T" else self.status

    # --- queries ------------------------------------------------------------------------------------------------------

    def _query(self, statement: Statement, literals: Sequence[str]) -> Work:
        text = statement.filled(literals)
        about = read(text)
        if about is not None:
            rows = self.make_catalog(self.remote, self.user).run(about)
            return Work(lambda: rows.columns, lambda: Result(f"SELECT {len(rows.rows)}", rows.columns, rows.rows))
        price = self._price(statement)
        if not {"epsilon", "rho"} & price.keys():
            return self._previewed(text, price | {"epsilon": SHOWN_EPSILON}, _UNPRICED)
        query = self.remote.sql(text)
        again = {"key": price.pop("key", None), "fresh": _is_on(price.pop("fresh", "off"))}
        shown = _Columns(query, price)
        return Work(lambda: shown.columns, lambda: self._release(query, {**price, **again}, shown))

    def _release(self, query: RemoteQuery, terms: Mapping[str, Any], shown: _Columns) -> Result:
        columns = shown.columns  # whatever is refused is refused before the payment
        answer = query.release(**terms)
        try:
            return self._shown(answer, columns)
        except Exception:  # it is paid: whatever happens, say where it is
            raise NotShown(answer.number) from None

    @staticmethod
    def _shown(answer: RemoteAnswer, columns: Columns) -> Result:
        bars = answer.errors()
        rows = [
            tuple(
                row[name] if name in row else bars.get(name.removesuffix(ERROR), [None] * len(answer.rows))[place]
                for name, _ in columns
            )
            for place, row in enumerate(answer.rows)
        ]
        before = f"Nothing was charged: answered at {answer.time}. SET discreet.fresh = on charges again."
        spent = before if answer.paid_before else f"Spent {answer.cost}."
        notes = [note.text(Interface.HTTP) for note in answer.notes]
        return Result(f"SELECT {len(rows)}", columns, rows, (spent, *notes), answer.number)

    def _explain(self, statement: Statement, literals: Sequence[str]) -> Work:
        place = 1
        while place < len(statement.tokens) and statement.tokens[place].text.upper() not in _QUERIES - {"("}:
            if statement.tokens[place].text.upper() == "ANALYZE":
                raise Unsupported("EXPLAIN ANALYZE", "EXPLAIN shows the preview, which is free")
            place += 1
        (inner,) = statements(statement.after(place)) or [statement]
        if inner.words[0] not in _QUERIES:
            raise BadQuestion("EXPLAIN needs a query after it.")
        price = self._price(statement)
        return self._previewed(
            inner.filled(literals), price if {"epsilon", "rho"} & price.keys() else price | {"epsilon": SHOWN_EPSILON}
        )

    def _previewed(self, text: str, price: dict[str, str], *notices: str) -> Work:
        """The preview of a text that is read by the service alone: to read it here, too, would double its time."""
        price = {name: value for name, value in price.items() if name not in {"key", "fresh"}}
        query = RemoteQuery(self.remote, None, text, None)

        def run() -> Result:
            preview = query.preview(**price)  # type: ignore[arg-type]
            rows = list(_preview_rows(preview))
            return Result(
                f"SELECT {len(rows)}",
                _PREVIEW,
                rows,
                (*notices, *(note.text(Interface.HTTP) for note in preview.notes)),
            )

        return Work(lambda: _PREVIEW, run)

    def _price(self, statement: Statement) -> dict[str, str]:
        own = {name: self.settings[OWN + name] for name in PRICES if self.settings.get(OWN + name)}
        if {"epsilon", "rho"} & statement.prices.keys():
            own = {name: value for name, value in own.items() if name not in {"epsilon", "rho", "delta"}}
        return own | dict(statement.prices)

    # --- settings -----------------------------------------------------------------------------------------------------

    def set(self, name: str, value: str) -> None:
        """One setting; those of this service are checked, the others are kept and do nothing."""
        name = name.lower()
        if name.startswith(OWN) and name.removeprefix(OWN) not in PRICES:
            raise BadParameter(name, value, f"must be one of {', '.join(OWN + one for one in PRICES)}")
        if len(self.settings) >= MOST_NAMES or len(name) > 100 or len(value) > 1_000:
            raise BadParameter(name, "too much", "must be a short text")
        self.settings[name] = value

    def _show(self, statement: Statement) -> Work:
        name = statement.after(1).strip().strip('"').lower() or "all"
        name = {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}.get(name, name)
        budgets: dict[str, Callable[[], Any]] = {
            OWN + "remaining": lambda: self.remote.remaining,
            OWN + "budget": lambda: self.remote.budget,
        }
        if name == "all":
            rows = [(key, value, "") for key, value in sorted((SETTINGS | self.settings).items())]
            columns: Columns = (("name", TEXT), ("setting", TEXT), ("description", TEXT))
            return Work(lambda: columns, lambda: Result("SHOW", columns, rows))
        known = SETTINGS | {OWN + price: "" for price in PRICES} | self.settings
        if name not in budgets and name not in known:
            raise BadParameter("setting", name, f"must be known here; {OWN}remaining shows the budget that is left")
        one: Columns = ((name, TEXT),)
        return Work(
            lambda: one, lambda: Result("SHOW", one, [(str(budgets[name]()) if name in budgets else known[name],)])
        )

    def _set(self, statement: Statement) -> Result:
        words = [token.text for token in statement.tokens[1:]]
        local = words[:1] != [] and words[0].upper() == "LOCAL"
        if words and words[0].upper() in {"SESSION", "LOCAL"}:
            words = words[1:]
        upper = [word.upper() for word in words]
        if (
            upper[:1] in (["CHARACTERISTICS"], ["TRANSACTION"])
            or upper[:2] == ["TIME", "ZONE"]
            or upper[:1] == ["NAMES"]
        ):
            return Result("SET")
        sign = next((i for i, word in enumerate(upper) if word in {"=", "TO"}), None)
        if not sign:
            raise BadQuestion("SET needs a name and a value: SET discreet.epsilon = '0.1'.")
        name, value = "".join(words[:sign]), "".join(words[sign + 1 :])
        if local and self.status == "I":
            return Result("SET")  # for the rest of no transaction
        self.set(name, "" if value.upper() == "DEFAULT" else value)
        if not local:
            self._after |= _prices_of({name.lower(): self.settings[name.lower()]})
        return Result("SET")

    def _reset(self, statement: Statement) -> Result:
        name = "".join(token.text for token in statement.tokens[1:]).lower()
        if statement.words[0] == "DISCARD":
            self._cursors.clear()
        if name == "all" or statement.words[0] == "DISCARD":
            self.settings.clear()
            self._after = {}
        elif name.startswith(OWN) and name.removeprefix(OWN) not in PRICES:
            raise BadParameter("setting", name, f"must be one of {', '.join(OWN + one for one in PRICES)}")
        self.settings.pop(name, None)
        self._after.pop(name, None)
        return Result("DISCARD ALL" if statement.words[0] == "DISCARD" else "RESET")

    # --- transactions and cursors -------------------------------------------------------------------------------------

    def _begin(self, _: Statement) -> Result:
        if self.status == "I":
            self._undone, self._after = _prices_of(self.settings), _prices_of(self.settings)
        self.status = "T"
        return Result("BEGIN")

    def _end(self, statement: Statement) -> Result:
        tag = "ROLLBACK" if self.status == "E" or statement.words[0] in _UNDO else "COMMIT"
        if statement.words[0] == "ROLLBACK" and "TO" in statement.words:
            now, after = self._points.get(statement.tokens[-1].text, (self._undone, self._undone))
            if self.status != "I":
                self.status = "T"
                self._set_prices(now)
                self._after = dict(after)
            return Result("ROLLBACK")
        if self.status != "I":
            self._set_prices(self._after if tag == "COMMIT" else self._undone)
        self.status = "I"
        self._points.clear()
        self._cursors = {name: one for name, one in self._cursors.items() if one.stays}
        return Result(tag)

    def _set_prices(self, prices: Mapping[str, str]) -> None:
        """These, and no other price: whoever set one for a transaction that has ended pays no more."""
        self.settings = {name: v for name, v in self.settings.items() if not name.startswith(OWN)} | dict(prices)

    def _point(self, statement: Statement) -> Result:
        if statement.words[0] == "SAVEPOINT":
            if len(self._points) >= MOST_NAMES:
                raise BadQuestion("There are too many savepoints.")
            self._points[statement.tokens[-1].text] = _prices_of(self.settings), dict(self._after)
        return Result(_POINTS[statement.words[0]])

    def _deallocate(self, _: Statement) -> Result:
        return Result("DEALLOCATE")

    def _declare(self, statement: Statement, literals: Sequence[str]) -> Result:
        upper = [token.text.upper() for token in statement.tokens]
        if "CURSOR" not in upper or "FOR" not in upper[upper.index("CURSOR") :]:
            raise BadQuestion("DECLARE needs a query: DECLARE c CURSOR FOR SELECT ...")
        place = upper.index("FOR", upper.index("CURSOR"))
        if len(self._cursors) >= MOST_OPEN:
            raise BadQuestion("There are too many cursors: close some.")
        name = statement.tokens[1].text
        if name in self._cursors:  # what was paid for the rows of that one would be lost
            raise BadQuestion(f"There is a cursor {name[:60]} already: CLOSE it first. Budget unchanged.")
        (inner,) = statements(statement.after(place + 1)) or [statement]
        inner = Statement(inner.text, inner.tokens, {**inner.prices, **statement.prices})
        result = self._query(inner, literals).run()
        stays = any(pair == ("WITH", "HOLD") for pair in pairwise(upper[:place]))
        self._cursors[name] = _Cursor(result.columns or (), list(result.rows), result.charge, stays)
        return Result("DECLARE CURSOR", notices=result.notices)

    def _fetch(self, statement: Statement) -> Work:
        words = [token.text for token in statement.tokens[1:]]
        name = words[-1] if words else ""
        cursor = self._cursors.get(name)
        if cursor is None:
            raise BadQuestion(f"There is no cursor {name[:60]}.")
        amounts = [word.upper() for word in words[:-1] if word.upper() not in {"FORWARD", "FROM", "IN", "NEXT"}]
        if len(amounts) > 1 or not all(word.isdigit() or word == "ALL" for word in amounts):
            raise Unsupported("FETCH in another direction", "write FETCH FORWARD 100 FROM c")
        many = len(cursor.rows) if amounts == ["ALL"] else int(amounts[0]) if amounts else 1

        def run() -> Result:
            rows = cursor.rows[cursor.at : cursor.at + many]
            cursor.at += len(rows)
            return Result(f"FETCH {len(rows)}", cursor.columns, rows, charge=cursor.charge)

        return Work(lambda: cursor.columns, run)

    def _close(self, statement: Statement) -> Result:
        self._cursors.pop(statement.tokens[-1].text, None)
        return Result("CLOSE CURSOR")


_COMMANDS: Mapping[str, Callable[[Session, Statement], Result]] = {
    **dict.fromkeys(_BEGIN, Session._begin),
    **dict.fromkeys(_END | _UNDO, Session._end),
    **dict.fromkeys(_POINTS, Session._point),
    "SET": Session._set,
    "RESET": Session._reset,
    "DISCARD": Session._reset,
    "DEALLOCATE": Session._deallocate,
    "CLOSE": Session._close,
}
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
_UNPRICED = (
    f"No privacy cost was set, so nothing was charged: this is the free preview at epsilon {SHOWN_EPSILON}. "
    "To release the answer, SET discreet.epsilon = '0.1' or write /* epsilon=0.1 */ before the query."
)


class _Columns:
    """The columns of an answer: known from public things, looked up once, before anything is paid."""

    def __init__(self, query: RemoteQuery, price: Mapping[str, str]) -> None:
        self._query, self._price, self._found = query, price, None

    _found: Columns | None

    @property
    def columns(self) -> Columns:
        """Each column with an error is followed by one, as in the DB-API driver."""
        if self._found is None:
            preview = self._query.preview(**self._price)  # type: ignore[arg-type]
            found = tuple(answer_columns(self._query, {column.name for column in preview.columns}))
            if len(found) > MOST_COLUMNS:
                raise BadQuestion(f"An answer has at most {MOST_COLUMNS:,} columns here. Budget unchanged.")
            self._found = found
        return self._found


def answer_columns(query: RemoteQuery, with_errors: set[str]) -> Iterator[tuple[str, WireType]]:
    """Names and types of an answer's columns."""
    kinds: dict[str, WireType] = {}
    for part in () if query.prepared is None else query.prepared.all:
        kinds |= {key.name: column_type(key.typed.kind) for key in part.asked.keys}
        for measure in part.asked.measures:
            start = None if measure.span is None else measure.span.first
            timed = isinstance(start, datetime) or measure.measure.aggregate is Aggregate.AVG  # a mean of dates has one
            kinds[measure.measure.name] = FLOAT8 if start is None else TIMESTAMP if timed else DATE
    names = {name for name, _ in query.plan.outcome.columns}
    for name, expression in query.plan.outcome.columns:
        plain = kinds.get(expression.name) if isinstance(expression, Column) else None
        yield name, plain or (FLOAT8 if name in with_errors else TEXT)
        if name in with_errors and name + ERROR not in names:  # what was asked for under that name stands there
            yield name + ERROR, FLOAT8


def _preview_rows(preview: RemotePreview) -> Iterator[tuple[Any, ...]]:
    left = str(preview.remaining)
    for column in preview.columns:
        error = None if math.isinf(column.error) else column.error
        yield (column.name, error, preview.confidence, column.rows, preview.cost, left, preview.affordable)


def _is_on(text: str) -> bool:
    """A setting that is on or off, as PostgreSQL writes it."""
    if text.lower() not in {*_ON, *_OFF}:
        raise BadParameter("fresh", text, "must be on or off")
    return text.lower() in _ON


def _prices_of(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.startswith(OWN)}


def _quiet(run: Callable[[], Result]) -> Work:
    """A statement without rows."""
    return Work(lambda: None, run)
