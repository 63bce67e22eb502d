"""Asking a curator from afar, as if its tables were here.

    session = dp.connect("https://curator.example", token)
    query = session.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    query.preview(epsilon="0.1")            # free
    answer = query.release(epsilon="0.1")   # pays, then answers
    answer["n"], answer.errors(), answer.receipt, session.remaining

Promise: each release has a key of its own, and is asked again under that key when the connection breaks: it is charged
once, and the answer is the one that was stored. Errors are those of the tree, raised here as they were there.
"""

from __future__ import annotations

import http.client
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from discreet import errors
from discreet.answer import CONFIDENCE
from discreet.errors import BadParameter, CuratorRefused, DiscreetError, LedgerUnavailable, Unsupported
from discreet.exact import Number, number
from discreet.table.answered import Answered, Row
from discreet.table.preview import ColumnPreview, Preview

_TRIES = 4
_SECONDS = 120.0
_AGAIN = frozenset({"LedgerBusy", "LedgerUnavailable", "TooMany"})


def _refused(what: str, hint: str) -> Callable[..., NoReturn]:
    """A part of a local session or answer that does not go over the line: refused by name."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Unsupported(f"{what} from afar", hint)

    return refuse


_ASK_SQL = 'ask a curator with session.sql("SELECT ...")'
_IN_SQL = "write it into the SQL"
_OWNER = "ask the owner, who declares the tables"


def connect(url: str, token: str, dataset: str | None = None) -> RemoteSession:
    """A curator's data set, to be asked like a ``Session``; ``dataset`` may be left out if there is one.

    Guarantee: each release is charged once, however often the connection breaks. Nothing is sent to anybody but the
    curator. ``CuratorRefused`` if the token is not good, ``LedgerUnavailable`` if nobody is there.

    >>> connect("curator.example", "discreet_...")
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: url is 'curator.example', but it must be http:// or https:// and a host
    """
    line = _Line(url, token)
    names = [str(one["name"]) for one in line.get("/api/datasets")]
    if dataset is None and len(names) != 1:
        raise BadParameter("dataset", None, f"must be one of {', '.join(names) or 'none: there is no leave to ask'}")
    chosen = names[0] if dataset is None else dataset
    if chosen not in names:
        raise BadParameter("dataset", chosen, f"must be one of {', '.join(names) or 'none'}")
    return RemoteSession(line, chosen, line.get(f"/api/datasets/{quote(chosen, safe='')}"))


@dataclass(frozen=True, slots=True)
class RemoteSession:
    """A data set of a curator. Made by ``connect``."""

    _line: _Line = field(repr=False)
    dataset: str
    schema: Mapping[str, Any] = field(repr=False)
    """What is public about its tables."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self.schema["tables"])

    @property
    def remaining(self) -> str:
        """What is left to you, in words."""
        return str(self._standing()["remaining"]["text"])

    @property
    def budget(self) -> str:
        """What all your answers together keep, in words."""
        return str(self._standing()["budget"]["text"])

    @property
    def public_key(self) -> str:
        """The key with which receipts and release cards can be checked."""
        return str(self._line.get("/api/key")["public_key"])

    def sql(self, text: str) -> RemoteQuery:
        """A question in SQL. Nothing is spent until ``release``."""
        return RemoteQuery(self, text)

    def __getitem__(self, name: str) -> NoReturn:
        raise Unsupported("a table with verbs from afar", _ASK_SQL)

    ask = _refused("a plan", _ASK_SQL)
    workload = _refused("a workload", "ask its questions one by one, or as one with GROUPING SETS")
    suggest_bounds = _refused("suggest_bounds", _OWNER)
    suggest_max_rows = _refused("suggest_max_rows", _OWNER)
    with_columns = _refused("with_columns", _OWNER)

    def answers(self) -> list[dict[str, Any]]:
        """The questions that you paid, oldest first."""
        found: list[dict[str, Any]] = []
        while True:
            after = found[-1]["number"] if found else 0
            more = self._line.get(f"/api/answers?limit=1000&after={after}")["charges"]
            if not more:
                return found
            found += more

    def answer(self, sequence: int) -> RemoteAnswer:
        """A stored answer, by the number of its charge. Costs nothing."""
        return RemoteAnswer(self._line.get(f"/api/answers/{int(sequence)}"))

    def _standing(self) -> Mapping[str, Any]:
        population = self.schema["population"]
        return next(one for one in self._line.get("/api/budget") if one["population"] == population)

    def _path(self, what: str) -> str:
        return f"/api/datasets/{quote(self.dataset, safe='')}/{what}"


@dataclass(frozen=True, slots=True)
class RemoteQuery:
    """A question to a curator: preview it for free, release it for a price."""

    session: RemoteSession
    text: str

    def preview(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        rows: int | None = None,
    ) -> RemotePreview:
        """Error bars and cost, and what would be left."""
        body = self._body(epsilon, delta, rho, error, confidence)
        if rows is not None:
            body["rows"] = rows
        return RemotePreview(self.session._line.post(self.session._path("preview"), body))

    def release(
        self,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        confidence: Number = CONFIDENCE,
        key: str | None = None,
    ) -> RemoteAnswer:
        """Pay, then answer. The same ``key`` gives the same answer again, for nothing."""
        body = self._body(epsilon, delta, rho, error, confidence)
        body["key"] = key if key is not None else secrets.token_hex(16)
        return RemoteAnswer(self.session._line.post(self.session._path("questions"), body))

    def explain(self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None) -> str:
        """The plan for a price, with how far one unit reaches at each step and the noise. Free."""
        if epsilon is None and rho is None:
            raise BadParameter("epsilon", None, "must say a price, such as epsilon=0.1: a curator plans for one")
        return "\n".join(self.preview(epsilon, delta=delta, rho=rho).story)

    having = _refused("having", _IN_SQL)
    order_by = _refused("order_by", _IN_SQL)
    limit = _refused("limit", _IN_SQL)
    quote = _refused("a quote", "preview tells what it costs")
    statements = _refused("what an engine is asked", "query.explain(epsilon=...) tells the plan")

    def _body(
        self,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
        error: Number | Mapping[str, Number] | None,
        confidence: Number,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"sql": self.text, "confidence": _text(confidence, "confidence")}
        for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho)):
            if value is not None:
                body[name] = _text(value, name)
        if isinstance(error, Mapping):
            body["error"] = {name: _text(value, "error") for name, value in error.items()}
        elif error is not None:
            body["error"] = _text(error, "error")
        return body


@dataclass(frozen=True, slots=True, repr=False)
class RemotePreview:
    """What a release would cost, and the error bars that it would have."""

    said: Mapping[str, Any]

    @property
    def cost(self) -> str:
        """The price, in words."""
        return str(self.said["cost"])

    @property
    def affordable(self) -> bool:
        """Whether it fits what is left."""
        return bool(self.said["affordable"])

    @property
    def remaining(self) -> str:
        """What is left before it, in words."""
        return str(self.said["remaining"])

    @property
    def counted(self) -> str:
        """What counts of one unit."""
        return str(self.said["counted"])

    @property
    def confidence(self) -> float:
        """Of the error bars."""
        return float(self.said["confidence"])

    @property
    def story(self) -> tuple[str, ...]:
        """How the answer would be made."""
        return tuple(self.said["story"])

    def error(self, name: str) -> float:
        """The error bar of a column."""
        return self._shown.error(name)

    def as_dict(self) -> dict[str, Any]:
        """All that the curator said."""
        return dict(self.said)

    @property
    def _shown(self) -> Preview:
        """The same as it is told of a session here."""
        said = self.said
        columns = tuple(
            ColumnPreview(
                one["name"], math.inf if one["error"] is None else float(one["error"]), one["rows"], one["unit"]
            )
            for one in said["columns"]
        )
        left = said["left_after"]["text"] if said["affordable"] else said["remaining"]
        return Preview(
            columns, self.confidence, self.cost, str(left), self.affordable, said["noise"], said["named_from"],
            said["advice"], self.counted,
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self._shown)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._shown._repr_html_()


@dataclass(frozen=True, repr=False)
class RemoteAnswer(Answered):
    """Rows with error bars, a signed receipt and a signed release card; read like an answer of a ``Session``."""

    said: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.said["answer"]["columns"])

    @property
    def rows(self) -> list[Row]:
        """All rows, as dictionaries."""
        return [dict(row) for row in self._kept]

    @cached_property
    def _kept(self) -> list[Row]:
        read = [self._reader(name) for name in self.columns]
        return [
            {name: f(value) for name, f, value in zip(self.columns, read, row, strict=True)}
            for row in self.said["answer"]["rows"]
        ]

    @property
    def cost(self) -> str:
        """What was paid, in words."""
        return str(self.said["answer"]["cost"])

    @property
    def story(self) -> tuple[str, ...]:
        """How it was made."""
        return tuple(self.said["answer"]["story"])

    @property
    def counted(self) -> str:
        """What counts of one unit; empty for answers that were stored before this was said."""
        return str(self.said["answer"].get("counted", ""))

    def _told(self) -> tuple[str, tuple[str, ...]]:
        return self.cost, self.story

    def _caveats(self) -> tuple[str, ...]:
        return (self.counted,) if self.counted else ()

    @property
    def number(self) -> int:
        """The number of its charge in the ledger."""
        return int(self.said["number"])

    @property
    def receipt(self) -> str:
        """The signed receipt; check it with ``discreet receipt verify``."""
        return str(self.said["receipt"])

    @property
    def card(self) -> str:
        """The signed release card."""
        return str(self.said["card"])

    @property
    def _level(self) -> Fraction:
        return number(self.said["answer"]["confidence"], "confidence")

    def errors(self, confidence: Number | None = None, *, simultaneous: bool = False) -> dict[str, list[float | None]]:
        """For each column of numbers, how far each value may be off, with the confidence that was asked for."""
        self._check_level(confidence)
        return dict(self.said["answer"]["errors_together" if simultaneous else "errors"])

    def intervals(
        self, confidence: Number | None = None, *, simultaneous: bool = False
    ) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column of numbers, an interval per row, with the confidence that was asked for.

        With ``simultaneous``, all hold together; they then reach as far on the shorter side as on the longer.
        """
        self._check_level(confidence)
        if simultaneous:
            bars = self.errors(simultaneous=True)
            return {name: [_around(*pair) for pair in zip(self[name], bars[name], strict=True)] for name in bars}
        found: dict[str, list[tuple[Any, Any] | None]] = {}
        for name, column in self.said["answer"]["intervals"].items():
            read = self._reader(name)
            found[name] = [None if pair is None else (read(pair[0]), read(pair[1])) for pair in column]
        return found

    def _check_level(self, confidence: Number | None) -> None:
        if confidence is not None and _exact(confidence, "confidence") != self._level:
            raise BadParameter("confidence", confidence, f"must be {self._level}: the answer was asked for with that")

    consistent = _refused("consistent()", "numbers that agree are worked out where the noise was drawn")

    def _reader(self, name: str) -> Callable[[Any], Any]:
        """What makes a value of a column from its JSON."""
        return _READ.get(self.said["answer"].get("kinds", {}).get(name), _as_is)


_CALENDAR = 10_000_000
"""Days: more than there are."""


def _around(value: Any, error: float | None) -> tuple[Any, Any] | None:
    """All that is no farther off; dates and times: in days, whole ones for dates."""
    if value is None or error is None:
        return None
    if isinstance(value, datetime):
        far = timedelta(days=min(error, _CALENDAR)) + timedelta(microseconds=1)
    elif isinstance(value, date):
        far = timedelta(days=math.ceil(min(error, _CALENDAR)))
    else:
        return value - error, value + error
    try:
        return value - far, value + far
    except OverflowError:  # beyond the calendar
        return None


def _as_is(value: Any) -> Any:
    return value


def _maybe(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_READ: Mapping[str | None, Callable[[Any], Any]] = {
    "date": _maybe(date.fromisoformat),
    "timestamp": _maybe(datetime.fromisoformat),
}


# --- the line -------------------------------------------------------------------------------------------------------


class _Line:
    """HTTP with a token, tried again when it breaks: every request here may safely come twice."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadParameter("url", url, "must be http:// or https:// and a host")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token = token

    def __repr__(self) -> str:
        return f"_Line({self._host})"

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                status, said = self._once(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                if left:
                    time.sleep(0.2)
                    continue
                raise LedgerUnavailable("the curator cannot be reached") from None
            if status < 400:
                return said
            kind = str(said.get("error", {}).get("kind", ""))
            if left and kind in _AGAIN:
                time.sleep(0.5)
                continue
            raise _raised(said)
        raise LedgerUnavailable("the curator cannot be reached")

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        line = kind(self._host, self._port, timeout=_SECONDS)
        try:
            headers = {"authorization": f"Bearer {self._token}"}
            if body is not None:
                headers["content-type"] = "application/json"
            line.request(method, self._base + path, body, headers)
            reply = line.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            line.close()


def _raised(said: Any) -> DiscreetError:
    """The error of the tree that a refusal names, with its words."""
    told = said.get("error", {}) if isinstance(said, dict) else {}
    kind, message = str(told.get("kind", "")), str(told.get("message", "the curator refused"))
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, DiscreetError):
        error = found.__new__(found)
        error.args = (message,)
        return error
    return CuratorRefused(kind, message)


def _exact(value: Number, name: str) -> Fraction:
    return number(str(value) if isinstance(value, float) else value, name)


def _text(value: Number, name: str) -> str:
    """Exact text; a float means its own dyadic value, as everywhere."""
    return str(number(value, name))
