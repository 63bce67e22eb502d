"""Errors over HTTP: one table from the error tree to status codes and fields, and the way back at the client.

    {"error": {"kind": "OverBudget", "code": "over_budget", "message": "asked for ...", "hint": "...", "fields": {...}}}

Promise: a reply holds parameters, prices and names that the caller gave, or public ones; never a value of the data, the
message of an engine or a database, or a trace. Fields hold nothing that the message does not say. Whatever is not in
the tree becomes one constant reply. ``rebuilt`` gives the client the same class with the same fields.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet import errors
from discreet.curator.amounts import read_amount, write_amount
from discreet.errors import CuratorRefused, DiscreetError, code_of
from discreet.messages import Interface
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.shown import visible

log = logging.getLogger("discreet.curator")
_LONGEST = 10_000
"""Characters of a text in an error that a server sent."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """How one class of errors is sent."""

    status: int
    hint: str | None = None
    """What to do, where the error itself does not say it."""
    private: bool = False
    """The message is for the owner: an analyst gets the kind alone."""


_AGAIN = "ask again with the same key: nothing is charged twice"
ERROR_REPLIES: dict[type[DiscreetError], ErrorReply] = {
    errors.DiscreetError: ErrorReply(500),
    errors.BadParameter: ErrorReply(422),
    errors.BadData: ErrorReply(422),
    errors.BadQuestion: ErrorReply(422),
    errors.Unsupported: ErrorReply(422),
    errors.EngineUnreachable: ErrorReply(503, hint="nothing was spent; ask again when the owner's server is up"),
    errors.ServiceBusy: ErrorReply(503, hint=_AGAIN),
    errors.EngineFailed: ErrorReply(500, hint="asking again under a new key costs again"),
    errors.NoEstimate: ErrorReply(422),
    errors.NoPrice: ErrorReply(422),
    errors.NotATheorem: ErrorReply(422),
    errors.NoLaw: ErrorReply(422),
    errors.OverBudget: ErrorReply(
        402, "preview a smaller epsilon, or ask the owner; what was spent is never given back"
    ),
    errors.ReceiptRefused: ErrorReply(409),
    errors.StaleState: ErrorReply(409),
    errors.CuratorRefused: ErrorReply(502),
    errors.BadSignature: ErrorReply(422),
    errors.LedgerError: ErrorReply(503),
    errors.LedgerBusy: ErrorReply(503, hint=_AGAIN),
    errors.LedgerUnavailable: ErrorReply(503, hint=_AGAIN),
    errors.LedgerUnsafe: ErrorReply(503, private=True),
    errors.LedgerMismatch: ErrorReply(503, hint="nothing is answered until the owner has acted", private=True),
    errors.KeyReused: ErrorReply(409, hint="a key belongs to one query: leave it out, or make a new one"),
    errors.NotRegistered: ErrorReply(404, hint="GET /api/datasets lists what you may ask about"),
    errors.AlreadyProtected: ErrorReply(
        409, hint="register it under the population that has the budget, or give a decision"
    ),
    errors.UnsafeRandomness: ErrorReply(500),
    errors.UnhealthySource: ErrorReply(500),
    errors.BeyondRange: ErrorReply(500),
    errors.MissingExtra: ErrorReply(500, private=True),
}
"""Every class of the tree; an error of another class is sent like its nearest ancestor here."""


class Refusal(DiscreetError):
    """A refusal by the service itself, before anything is asked: a client gets it as ``CuratorRefused``."""

    _HINTS: ClassVar[dict[str, str]] = {"Unauthorised": "send the header Authorization: Bearer <token>"}

    def __init__(self, status: int, kind: str, message: str) -> None:
        self.status = status
        self.kind = kind
        super().__init__(message)

    @property
    def hint(self) -> str | None:
        """What to do."""
        return self._HINTS.get(self.kind)

    @classmethod
    def unauthorised(cls) -> Refusal:
        """No valid token; the reply never names the reason."""
        return cls(401, "Unauthorised", "a valid token is needed here")

    @classmethod
    def forbidden(cls) -> Refusal:
        """A valid token that does not allow this."""
        return cls(403, "Forbidden", "this token does not allow that")

    @classmethod
    def nothing_here(cls) -> Refusal:
        """There is no such thing, or it is somebody else's: the reply does not distinguish the two."""
        return cls(404, "NotFound", "there is nothing here that you may see")


# --- at the service -------------------------------------------------------------------------------------------------


def reply(
    error: DiscreetError, *, to_owner: bool = False, interface: Interface = Interface.HTTP
) -> tuple[int, dict[str, Any]]:
    """Status and body of the reply to an error, in the words of an interface.

    >>> status, body = reply(errors.OverBudget(asked=Pure("0.5"), left=Pure(0)))
    >>> status, body["error"]["fields"]["asked"]["epsilon"]
    (402, '1/2')
    """
    if isinstance(error, Refusal):
        return error.status, error_body(error.kind, str(error), error.hint)
    how, kind = _nearest(type(error)), type(error).__name__
    if how.private and not to_owner:
        return how.status, error_body(kind, "the service cannot answer now; the reason is in the owner's log", how.hint)
    own = (
        error.hint
        if isinstance(error, errors.Unsupported)
        else None
        if error.fix is None
        else error.fix.text(interface)
    )
    fields = {name: _write(value) for name, value in error.fields.items()}
    return how.status, error_body(kind, error.text(interface), how.hint or own, fields, error.code)


def fault(error: BaseException) -> tuple[int, dict[str, Any]]:
    """The reply to what should not have happened. The log gets its type and where, never its message."""
    log.error("%s", where(error))
    return 500, error_body("Fault", "internal error; the owner's log has its type and place")


def where(error: BaseException) -> str:
    """The type of an error and the places it went through: its message may hold values and is left out.

    >>> try:
    ...     int("secret")
    ... except ValueError as found:
    ...     print(where(found))
    ValueError at <module> (...)
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{f.name} ({f.filename.rpartition('/')[2]}:{f.lineno})" for f in reversed(frames[-8:]))
    return f"{type(error).__name__} at {places or 'nowhere'}"


def _nearest(kind: type[DiscreetError]) -> ErrorReply:
    return next(ERROR_REPLIES[base] for base in kind.__mro__ if base in ERROR_REPLIES)


def error_body(
    kind: str,
    message: str,
    hint: str | None = None,
    fields: Mapping[str, Any] | None = None,
    code: str | None = None,
) -> dict[str, Any]:
    """The one shape of errors."""
    named = code or code_of(kind)
    return {"error": {"kind": kind, "code": named, "message": message, "hint": hint, "fields": dict(fields or {})}}


def _write(value: object) -> Any:
    """A field as JSON: amounts exactly, all else as text."""
    if isinstance(value, Pure | Approx | ZCDP):
        return write_amount(value)
    return None if value is None or callable(value) else str(value)


# --- at the client --------------------------------------------------------------------------------------------------


def rebuilt(body: Any) -> DiscreetError:
    """The error that a reply names, of the same class and with the same fields; CuratorRefused for all others.

    >>> body = reply(errors.OverBudget(asked=Pure("0.5"), left=Pure(0)))[1]
    >>> error = rebuilt(body)
    >>> type(error), error.asked
    (<class 'discreet.errors.OverBudget'>, Pure(epsilon='1/2'))
    """
    sent = body.get("error") if isinstance(body, dict) else None
    sent = sent if isinstance(sent, dict) else {}
    kind, message = _text(sent.get("kind")) or "", _text(sent.get("message")) or "the curator refused"
    found = next((one for one in ERROR_REPLIES if one.__name__ == kind and one is not DiscreetError), None)
    if found is None:
        return CuratorRefused(kind, message)
    error = found.__new__(found)
    error.args = (message,)
    fields = sent.get("fields")
    for name in found.FIELDS:
        setattr(error, name, _read(fields.get(name) if isinstance(fields, dict) else None))
    return error


def _read(value: Any) -> Any:
    try:
        return read_amount(value) if isinstance(value, dict) else _text(value)
    except (KeyError, TypeError, ValueError, DiscreetError):  # a curator of another version
        return None


def _text(value: Any) -> str | None:
    """A text for a terminal, not too long; whatever is not text is left out."""
    return visible(value[:_LONGEST]) if isinstance(value, str) else None
