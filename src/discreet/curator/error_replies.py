"""What the service says when it refuses: one shape, made from the error tree in this one place.

    {"error": {"kind": "OverBudget", "message": "asked for ...", "hint": "..."}}

Promise: a reply holds parameters, prices and names that the caller gave, or public ones; never a value of the data, the
words of an engine or a database, or a trace. Whatever is not in the tree becomes one constant reply.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any, ClassVar

from discreet import errors
from discreet.errors import DiscreetError

log = logging.getLogger("discreet.curator")

STATUS: dict[type[DiscreetError], int] = {
    errors.BadParameter: 422,
    errors.BadData: 422,
    errors.BadQuestion: 422,
    errors.NoEstimate: 422,
    errors.NoPrice: 422,
    errors.NotATheorem: 422,
    errors.NoLaw: 422,
    errors.BadSignature: 422,
    errors.OverBudget: 402,
    errors.KeyReused: 409,
    errors.AlreadyProtected: 409,
    errors.ReceiptRefused: 409,
    errors.NotRegistered: 404,
    errors.LedgerError: 503,
    errors.EngineFailed: 500,
    errors.UnsafeRandomness: 500,
    errors.BeyondRange: 500,
    errors.MissingExtra: 500,
}
"""The HTTP status of each error; the nearest ancestor in this table counts."""

HINT: dict[type[DiscreetError], str] = {
    errors.OverBudget: "preview a smaller epsilon, or ask the owner; what was spent is never given back",
    errors.KeyReused: "a key belongs to one question: leave it out, or make a new one",
    errors.LedgerBusy: "ask again with the same key: nothing is charged twice",
    errors.LedgerUnavailable: "ask again with the same key: nothing is charged twice",
    errors.LedgerMismatch: "nothing is answered until the owner has acted",
    errors.EngineFailed: "asking again under a new key costs again",
    errors.NotRegistered: "GET /api/datasets lists what you may ask about",
    errors.AlreadyProtected: "register it under the population that has the budget, or give a decision",
}
SECRET = frozenset({errors.LedgerMismatch, errors.LedgerUnsafe, errors.MissingExtra})
"""Errors whose words are for the owner: an analyst is told the kind alone."""


class Refusal(DiscreetError):
    """A refusal by the service itself, before anything is asked: it has no other place in the tree."""

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
        """No token, or one that is not good: never says why."""
        return cls(401, "Unauthorised", "a valid token is needed here")

    @classmethod
    def forbidden(cls) -> Refusal:
        """A good token of somebody who may not do this."""
        return cls(403, "Forbidden", "this token does not allow that")

    @classmethod
    def nothing_here(cls) -> Refusal:
        """There is no such thing, or it is somebody else's: nobody can tell which."""
        return cls(404, "NotFound", "there is nothing here that you may see")


def reply(error: DiscreetError, *, to_owner: bool = False) -> tuple[int, dict[str, Any]]:
    """Status and body of the reply to an error.

    >>> reply(errors.OverBudget(asked="epsilon 1/2", left="epsilon 0"))[0]
    402
    """
    if isinstance(error, Refusal):
        return error.status, _body(error.kind, str(error), error.hint)
    kind = type(error)
    secret = kind in SECRET and not to_owner
    message = "the service cannot answer now; the owner knows why" if secret else str(error)
    hint = error.hint if isinstance(error, errors.Unsupported) else _nearest(HINT, kind)
    return _nearest(STATUS, kind) or 500, _body(kind.__name__, message, hint)


def fault(error: BaseException) -> tuple[int, dict[str, Any]]:
    """The reply to what should not have happened. The log gets its type and where, never its words."""
    log.error("%s", where(error))
    return 500, _body("Fault", "something went wrong here; the owner's log says where", None)


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


def _nearest(table: dict[type[DiscreetError], Any], kind: type[DiscreetError]) -> Any:
    return next((table[base] for base in kind.__mro__ if base in table), None)


def _body(kind: str, message: str, hint: str | None) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, "hint": hint}}
