"""One connection: the start, the password, and the two query protocols of PostgreSQL.

Guarantee: nothing is asked of the service before a valid token has come, over TLS unless both ends are on this machine.
A client that sends what is no message, too much or nothing for too long is disconnected. After an error in the
extended protocol everything is skipped until Sync, so that no statement of a failed batch is charged.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from discreet import errors
from discreet.curator.client import dbapi
from discreet.curator.error_replies import where
from discreet.curator.wire import messages
from discreet.curator.wire.catalog_tables import SETTINGS
from discreet.curator.wire.messages import Malformed
from discreet.curator.wire.session import (
    MOST_NAMES,
    MOST_OPEN,
    OWN,
    Columns,
    FailedTransaction,
    NotShown,
    Result,
    Session,
    Work,
)
from discreet.curator.wire.statements import Statement
from discreet.curator.wire.types import TEXT, encoded, formats, literal
from discreet.errors import DiscreetError

log = logging.getLogger("discreet.curator.wire")
T = TypeVar("T")
IDLE = 3600.0
"""Seconds that a client may send nothing."""
WRITING = 60.0
"""Seconds in which a client must read what was sent."""
_MOST_TEXT, _LONGEST_NAME, _MOST_PARAMETERS = 1_000_000, 1_000, 32_767
"""Characters of all prepared statements, and of the name of a portal; parameters of one."""
_AT_ONCE = 1 << 16
"""Bytes of rows that are written before the client must have read them."""
_STATES: tuple[tuple[type[Exception], str], ...] = (
    (FailedTransaction, "25P02"),
    (errors.OverBudget, "53400"),
    (errors.Unsupported, "0A000"),
    (errors.BadQuestion, "42000"),
    (errors.BadParameter, "22023"),
    (errors.NotRegistered, "42501"),
    (errors.KeyReused, "22023"),
    (errors.ServiceBusy, "53300"),
    (errors.LedgerBusy, "55P03"),
    (errors.EngineUnreachable, "57P03"),
    (errors.EngineFailed, "58000"),
    (errors.LedgerError, "57P03"),
    (errors.CuratorRefused, "28000"),
    (dbapi.DataError, "22P02"),
    (DiscreetError, "58000"),
)
"""Codes of PostgreSQL for our errors, the nearest first."""
Login = Callable[[str, str, str], Session]
"""User, password and data set: a session, or an error of discreet."""
InThread = Callable[..., Awaitable[Any]]


class Refused(Exception):
    """The connection is refused, with a code and a sentence."""

    def __init__(self, code: str, text: str) -> None:
        self.code, self.text = code, text
        super().__init__(text)


@dataclass(slots=True)
class _Portal:
    work: Work
    forms: tuple[int, ...]
    result: Result | None = None
    at: int = 0


@dataclass
class Connection:
    """A client that has said how it speaks; ``secure``: whether over TLS or on this machine."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    in_thread: InThread
    login: Login
    session: Session = field(init=False)
    _statements: dict[str, tuple[Statement | None, tuple[int, ...]]] = field(default_factory=dict, init=False)
    _portals: dict[str, _Portal] = field(default_factory=dict, init=False)
    _skipping: bool = field(default=False, init=False)

    async def begin(self, settings: dict[str, str]) -> None:
        """Ask for the token, and open the session."""
        user = settings.get("user", "")
        if not user:
            raise Refused("28000", "The connection needs a user: the name of the analyst.")
        self.writer.write(messages.framed("R", struct.pack("!i", 3)))  # the password as it is
        kind, body = await self._message(messages.LARGEST_PASSWORD)
        if kind != "p":
            raise Malformed
        password = messages.read_text(body)
        self.session = await self.in_thread(self.login, user, password, settings.get("database") or user)
        for name, value in _given(settings):
            if name.startswith(OWN):
                self.session.set(name, value)
        shown = {"server_version": SETTINGS["server_version"], "server_encoding": "UTF8", "client_encoding": "UTF8",
                 "DateStyle": SETTINGS["datestyle"], "integer_datetimes": "on", "TimeZone": "UTC",
                 "standard_conforming_strings": "on", "is_superuser": "off", "session_authorization": user,
                 "application_name": settings.get("application_name", "")[:64]}  # fmt: skip
        self._send(
            messages.framed("R", struct.pack("!i", 0)),
            *(messages.setting(name, value) for name, value in shown.items()),
            messages.framed("K", struct.pack("!iI", 0, secrets.randbits(32))),
            messages.ready("I"),
        )

    async def serve(self) -> None:
        """Answer until the client leaves."""
        while True:
            await self._written()
            kind, body = await self._message(messages.LARGEST_MESSAGE)
            if kind == "X":
                return
            if self._skipping and kind != "S":
                continue
            try:
                await self._answer(kind, body)
            except (DiscreetError, dbapi.Error) as error:
                self._failed(error, in_batch=kind not in "QSF")
            except (Malformed, asyncio.IncompleteReadError, ConnectionError, TimeoutError):
                raise
            except Exception as error:
                log.error("a statement failed: %s", where(error))
                self._failed(errors.EngineFailed(), in_batch=kind not in "QSF")
            if kind in "QF":
                if self.session.status == "I":
                    self._portals.clear()
                self._send(messages.ready(self.session.status))

    async def _answer(self, kind: str, body: bytes) -> None:
        match kind:
            case "Q":
                await self._simple(messages.read_text(body))
            case "P":
                await self._parse(messages.read_parse(body))
            case "B":
                await self._bind(messages.read_bind(body))
            case "D":
                await self._describe(*messages.read_named(body))
            case "E":
                await self._execute(*messages.read_execute(body))
            case "C":
                self._close(*messages.read_named(body))
            case "H":
                pass  # what was sent is written before the next message is read
            case "S":
                self._skipping = False
                if self.session.status == "I":
                    self._portals.clear()
                self._send(messages.ready(self.session.status))
            case "d" | "c" | "f":
                pass  # of a COPY that was refused
            case "F":
                raise errors.Unsupported("a function call", "send a query")
            case _:
                raise Malformed

    # --- one message after the other ----------------------------------------------------------------------------------

    async def _simple(self, text: str) -> None:
        found = await self.in_thread(self.session.parsed, text)
        if not found:
            self._send(messages.framed("I"))
        for statement in found:
            work = await self.in_thread(self.session.work, statement)
            result: Result = await self.in_thread(work.run)
            forms = [0] * len(result.columns or ())
            if result.columns is not None:
                self._send(_described(result.columns, forms))
                await self._rows(result.columns, result.rows, forms, result.charge)
            self._notices(result)
            self._send(messages.complete(result.tag))

    async def _parse(self, parsed: messages.Parse) -> None:
        found = await self.in_thread(self.session.parsed, parsed.text)
        if len(found) > 1:
            raise errors.BadQuestion("A prepared statement is one statement.")
        if parsed.name and len(self._statements) >= MOST_NAMES:
            raise errors.BadQuestion("There are too many prepared statements: close some.")
        if found and found[0].parameters > _MOST_PARAMETERS:
            raise errors.BadQuestion(f"A statement has at most {_MOST_PARAMETERS:,} parameters.")
        kept = sum(len(name) + (0 if one is None else len(one.text)) for name, (one, _) in self._statements.items())
        if kept + len(parsed.name) + len(parsed.text) > _MOST_TEXT:
            raise errors.BadQuestion("The prepared statements are too long together: close some.")
        self._statements[parsed.name] = (found[0] if found else None, parsed.types)
        self._send(messages.framed("1"))

    async def _bind(self, bound: messages.Bind) -> None:
        statement, types = self._statement(bound.statement)
        if bound.portal and (len(self._portals) >= MOST_OPEN or len(bound.portal) > _LONGEST_NAME):
            raise errors.BadQuestion("There are too many portals, or its name is too long: close some.")
        needed = 0 if statement is None else statement.parameters
        if len(bound.values) != needed:
            raise errors.BadQuestion(f"The statement has {needed} parameters, and {len(bound.values)} values came.")
        forms = formats(bound.formats, needed)
        oids = (*types, *[0] * needed)
        literals = [literal(*one) for one in zip(bound.values, oids, forms, strict=False)]
        if statement is None:
            work = Work(lambda: None, lambda: Result(""))
        else:
            work = await self.in_thread(self.session.work, statement, literals)
        self._portals[bound.portal] = _Portal(work, bound.results)
        self._send(messages.framed("2"))

    async def _describe(self, kind: str, name: str) -> None:
        cursor = self.session.cursor_columns(name) if kind == "P" and name not in self._portals else None
        if cursor is not None:  # what DECLARE made
            self._send(_described(cursor, [0] * len(cursor)))
            return
        if kind == "P":
            portal = self._portal(name)
            columns = await self.in_thread(portal.work.columns)
            self._send(messages.framed("n") if columns is None else _described(columns, _forms(portal.forms, columns)))
            return
        statement, types = self._statement(name)
        needed = 0 if statement is None else statement.parameters
        oids = [given or TEXT.oid for given in (*types, *[0] * needed)][:needed]
        self._send(messages.parameters(oids))
        columns = None if statement is None else await self.in_thread(self._columns, statement, oids)
        self._send(messages.framed("n") if columns is None else _described(columns, [0] * len(columns)))

    def _columns(self, statement: Statement, oids: Sequence[int]) -> Columns | None:
        """The columns before there are parameters: with values in their place that fit."""
        tried = [["NULL"] * len(oids), ["'x'"] * len(oids), ["1"] * len(oids), ["DATE '2000-01-01'"] * len(oids)]
        for place, literals in enumerate(tried, 1):
            try:
                return self.session.work(statement, literals).columns()
            except errors.BadQuestion:
                if place == len(tried) or not oids:
                    raise
        return None

    async def _execute(self, name: str, most: int) -> None:
        portal = self._portal(name)
        if portal.result is None:
            _forms(portal.forms, await self.in_thread(portal.work.columns) or ())  # refused before it is paid
            portal.result = await self.in_thread(portal.work.run)
            self._notices(portal.result)
        result = portal.result
        if not result.tag:
            self._send(messages.framed("I"))
            return
        columns = result.columns or ()
        end = len(result.rows) if most == 0 else min(len(result.rows), portal.at + most)
        await self._rows(columns, result.rows[portal.at : end], _forms(portal.forms, columns), result.charge)
        portal.at = end
        self._send(messages.framed("s") if end < len(result.rows) else messages.complete(result.tag))

    def _close(self, kind: str, name: str) -> None:
        if kind == "S":
            self._statements.pop(name, None)
        else:
            self._portals.pop(name, None)
        self._send(messages.framed("3"))

    def _statement(self, name: str) -> tuple[Statement | None, tuple[int, ...]]:
        if name not in self._statements:
            raise errors.BadQuestion(f"There is no prepared statement {name[:60]!r}.")
        return self._statements[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise errors.BadQuestion(f"There is no portal {name[:60]!r}.")
        return self._portals[name]

    # --- bytes --------------------------------------------------------------------------------------------------------

    async def _message(self, largest: int) -> tuple[str, bytes]:
        async with asyncio.timeout(IDLE):
            head = await self.reader.readexactly(5)
            size = struct.unpack("!i", head[1:])[0] - 4
            if not 0 <= size <= largest:
                raise Malformed
            return chr(head[0]), await self.reader.readexactly(size)

    async def _rows(
        self, columns: Columns, rows: Sequence[tuple[Any, ...]], forms: Sequence[int], charge: int | None
    ) -> None:
        waiting = 0
        for values in rows:
            try:
                sent = messages.row(
                    [encoded(v, kind, form) for v, (_, kind), form in zip(values, columns, forms, strict=True)]
                )
            except Exception:
                if charge is None:
                    raise
                raise NotShown(charge) from None
            self.writer.write(sent)
            waiting += len(sent)
            if waiting > _AT_ONCE:
                await self._written()
                waiting = 0

    async def _written(self) -> None:
        async with asyncio.timeout(WRITING):
            await self.writer.drain()

    def _send(self, *sent: bytes) -> None:
        self.writer.write(b"".join(sent))

    def _notices(self, result: Result) -> None:
        for text in result.notices:
            self._send(messages.report("N", "NOTICE", "00000", text))

    def _failed(self, error: Exception, *, in_batch: bool) -> None:
        self._skipping = in_batch
        self._portals.clear()  # none of them is run, and charged, after an error
        self.session.failed()
        self._send(messages.report("E", "ERROR", state_of(error), str(error)))


def state_of(error: Exception) -> str:
    """The code of PostgreSQL for an error."""
    return next((code for kind, code in _STATES if isinstance(error, kind)), "58000")


def _described(columns: Columns, forms: Sequence[int]) -> bytes:
    return messages.described([(name, kind.oid, kind.size) for name, kind in columns], forms)


def _forms(given: tuple[int, ...], columns: Columns) -> list[int]:
    found = formats(given, len(columns))
    if len(found) != len(columns):
        raise errors.BadQuestion("The number of result formats is not the number of columns.")
    return found


def _given(settings: dict[str, str]) -> list[tuple[str, str]]:
    """Settings of the start: by name, and in ``options`` as ``-c name=value``."""
    words = settings.get("options", "").replace("--", "-c ").split()
    pairs = [word.removeprefix("-c").partition("=") for word in words if "=" in word]
    return [(name, value) for name, _, value in pairs] + [(n, v) for n, v in settings.items() if n.startswith(OWN)]
