"""Who may do what: roles, tokens, and the one table of what each route allows.

Promise: what the table does not allow is refused. A token is 256 random bits, shown once, kept as a hash in the
ledger; it is taken from the Authorization header only, expires, and can be revoked. Comparing takes the same time
whatever was sent.
Assumes: SHA-256, and that the channel between the analyst and the service is private (TLS).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Protocol, TypeVar

from discreet.curator.error_replies import Refusal
from discreet.curator.service.declarations import read_name
from discreet.errors import BadParameter, LedgerMismatch, NotRegistered
from discreet.exact import integer
from discreet.ledger.entries import Broken
from discreet.ledger.journal import Clock, utc
from discreet.ledger.owner_acts import check_name
from discreet.ledger.record_base import Record
from discreet.ledger.state import Act, State
from discreet.ledger.store import Ledger

PREFIX = "discreet"
DAYS = 90
"""How many days a token is valid by default."""
OWNER = "owner"
"""The name under which the owner's acts are recorded."""
R = TypeVar("R", bound=Record)


class Role(Enum):
    """What somebody may be."""

    OWNER = "owner"
    ANALYST = "analyst"
    MONITOR = "monitor"
    """A program that reads the counters, and nothing else."""


ANYBODY: frozenset[Role] | None = None
"""No token is needed: what such a route sends is the same for everyone, and nothing of the data or the ledger."""
OWNERS = frozenset({Role.OWNER})
ANALYSTS = frozenset({Role.ANALYST})
ALL = OWNERS | ANALYSTS
MONITORS = OWNERS | {Role.MONITOR}

TABLE: Mapping[tuple[str, str], frozenset[Role] | None] = {
    ("GET", "/"): ANYBODY,
    ("GET", "/web/{name}"): ANYBODY,
    ("GET", "/healthz"): ANYBODY,
    ("GET", "/readyz"): ANYBODY,
    ("GET", "/metrics"): MONITORS,
    ("GET", "/api/health"): ANYBODY,
    ("GET", "/api/key"): ANYBODY,
    ("GET", "/api/learn/attacker"): ANYBODY,
    ("GET", "/api/learn/composition"): ANYBODY,
    ("GET", "/api/learn/noise"): ANYBODY,
    ("GET", "/api/openapi.json"): ALL,
    ("GET", "/api/me"): ALL,
    ("GET", "/api/datasets"): ALL,
    ("GET", "/api/datasets/{dataset}"): ALL,
    ("POST", "/api/datasets/{dataset}/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/questions"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/workload"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/workload/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/plan"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/plan/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/bounds"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/synthetic"): ANALYSTS,
    ("GET", "/api/synthetic/{number}"): ALL,
    ("POST", "/api/synthetic/{number}/cancel"): ALL,
    ("GET", "/api/synthetic/{number}/rows"): ALL,
    ("POST", "/api/datasets/{dataset}/profile"): ANALYSTS,
    ("GET", "/api/datasets/{dataset}/boards"): ALL,
    ("GET", "/api/datasets/{dataset}/boards/{board}"): ALL,
    ("POST", "/api/datasets/{dataset}/boards/{board}"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/boards/{board}/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/boards/{board}/advance"): ANALYSTS,
    ("GET", "/api/answers"): ALL,
    ("GET", "/api/answers/{number}"): ALL,
    ("GET", "/api/answers/{number}/receipt"): ALL,
    ("GET", "/api/answers/{number}/card"): ALL,
    ("GET", "/api/answers/{number}/parquet"): ALL,
    ("POST", "/api/papers/verify"): ALL,
    ("GET", "/api/budget"): ALL,
    ("GET", "/api/ledger"): ALL,
    ("GET", "/api/ledger/head"): ALL,
    ("GET", "/api/audit"): OWNERS,
    ("GET", "/api/ledger/verify"): OWNERS,
    ("POST", "/api/ledger/acknowledge"): OWNERS,
    ("GET", "/api/sources"): OWNERS,
    ("POST", "/api/sources/columns"): OWNERS,
    ("POST", "/api/datasets"): OWNERS,
    ("POST", "/api/datasets/{dataset}/retire"): OWNERS,
    ("POST", "/api/populations/{population}/budget"): OWNERS,
    ("GET", "/api/populations/{population}/household"): OWNERS,
    ("GET", "/api/analysts"): OWNERS,
    ("POST", "/api/analysts"): OWNERS,
    ("POST", "/api/analysts/{analyst}/grant"): OWNERS,
    ("POST", "/api/analysts/{analyst}/tokens"): OWNERS,
    ("POST", "/api/analysts/{analyst}/revoke"): OWNERS,
    ("POST", "/api/tokens/{token}/revoke"): OWNERS,
}
"""Which roles may use which route. A route that is not here is refused to everybody."""
PAID = frozenset(
    {
        ("POST", "/api/datasets/{dataset}/questions"),
        ("POST", "/api/datasets/{dataset}/workload"),
        ("POST", "/api/datasets/{dataset}/plan"),
        ("POST", "/api/datasets/{dataset}/bounds"),
        ("POST", "/api/datasets/{dataset}/synthetic"),
        ("POST", "/api/datasets/{dataset}/profile"),
        ("POST", "/api/datasets/{dataset}/boards/{board}"),
        ("POST", "/api/datasets/{dataset}/boards/{board}/advance"),
    }
)
"""The routes that read data, and are paid for: their replies leave on the grid of time."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: known by a token."""

    name: str
    role: Role
    token: str
    """The public part of the token, by which it can be revoked."""
    expires: datetime

    @property
    def owner(self) -> bool:
        """Whether this is the owner of the data."""
        return self.role is Role.OWNER


@dataclass(frozen=True, slots=True)
class Token:
    """A token, as it is kept: everything but the secret."""

    name: str
    role: Role
    identity: str
    digest: str
    expires: datetime
    revoked: bool


@dataclass(frozen=True, slots=True)
class TokenRecord(Record):
    """What the ledger keeps of a token."""

    KIND = "access.token"
    token: str
    name: str
    role: str
    digest: str
    expires: str


@dataclass(frozen=True, slots=True)
class TokenRevokedRecord(Record):
    """A token was revoked."""

    KIND = "access.revoked"
    token: str
    reason: str


class Allowed(Protocol):
    """Somebody who has a role."""

    @property
    def role(self) -> Role:
        """What they are."""
        ...


def check_allowed(method: str, path: str, caller: Allowed | None) -> None:
    """Refuse what the table does not allow; ``path`` is the route's, with the names of its parts in braces."""
    if (method, path) not in TABLE:
        raise Refusal.forbidden()
    roles = TABLE[method, path]
    if roles is None:
        return
    if caller is None:
        raise Refusal.unauthorised()
    if caller.role not in roles:
        raise Refusal.forbidden()


def check_analyst(name: str) -> str:
    """A name for an analyst: one that can stand in an address, and that cannot be mistaken for the owner."""
    if name.casefold() == OWNER:
        raise BadParameter("analyst", name, "must be another name: this one is the owner's")
    return read_name(name, "analyst")


class Access:
    """The tokens of one ledger."""

    def __init__(self, ledger: Ledger, clock: Clock = utc) -> None:
        self._ledger = ledger
        self._clock = clock
        self._known: tuple[tuple[int, int], Mapping[str, Token]] = ((-1, -1), {})
        """How many tokens were issued and revoked, and what follows; replaced as a whole, for many threads read it."""
        self.tokens()

    def issue(self, name: str, role: Role, *, days: int = DAYS, by: str = OWNER) -> str:
        """A new token. It is shown here, once: only its hash is kept."""
        if integer(days, "days", at_least=1) > 3660:
            raise BadParameter("days", days, "must be at most ten years")
        if role is Role.ANALYST:
            known = self._ledger.analysts.get(name)
            if known is None:
                raise BadParameter("analyst", name, "must be added first")
            if known.revoked:
                raise BadParameter("analyst", name, "must not be revoked, which is permanent: add a new name")
        identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        expires = self._clock() + timedelta(days=days)
        record = TokenRecord(
            token=identity,
            name=check_name(name, "name"),
            role=role.value,
            digest=_digest(secret),
            expires=expires.isoformat(timespec="seconds"),
        )
        self._ledger.owner.record(record.kind, record.body(), by=by)
        self.tokens()
        return f"{PREFIX}_{identity}_{secret}"

    def revoke(self, identity: str, *, reason: str, by: str = OWNER) -> int:
        """Revoke a token, at once on all servers; the number of the entry."""
        if identity not in self.tokens():
            raise NotRegistered("there is no such token")
        record = TokenRevokedRecord(identity, reason)
        return self._ledger.owner.record(record.kind, record.body(), by=by).sequence

    def seen(self, header: str | None) -> bool:
        """Whether this server knows the token of this header, without reading the ledger; it may be invalid by now."""
        _, _, identity, secret = _parts(header)
        found = self._known[1].get(identity)
        return hmac.compare_digest(found.digest if found else _digest(""), _digest(secret)) and found is not None

    def who(self, header: str | None) -> Caller:
        """Who sent this Authorization header; refuses with the same message whatever is wrong with it."""
        scheme, prefix, identity, secret = _parts(header)
        state = self._ledger.look()
        found = self._tokens(state).get(identity)
        good = hmac.compare_digest(found.digest if found else _digest(""), _digest(secret))
        if (
            found is None
            or not good
            or prefix != PREFIX
            or scheme.lower() != "bearer"
            or found.revoked
            or found.expires <= self._clock()
        ):
            raise Refusal.unauthorised()
        if found.role is Role.ANALYST:
            analyst = state.analysts.get(found.name)
            if analyst is None or analyst.revoked:
                raise Refusal.unauthorised()
        return Caller(found.name, found.role, found.identity, found.expires)

    def tokens(self) -> Mapping[str, Token]:
        """All tokens by their public part, those of other servers too."""
        return self._tokens(self._ledger.look())

    def _tokens(self, state: State) -> Mapping[str, Token]:
        given, taken = (tuple(state.acts.get(kind.KIND, ())) for kind in (TokenRecord, TokenRevokedRecord))
        seen, known = self._known
        if (len(given), len(taken)) != seen:
            dead = {_read(TokenRevokedRecord, act).token for act in taken}
            known = {token.identity: token for token in (_token(act, dead) for act in given)}
            self._known = (len(given), len(taken)), known
        return known


def _read(kind: type[R], act: Act) -> R:
    try:
        return kind.from_body(act.body)
    except Broken as found:
        raise LedgerMismatch(f"entry {act.sequence} is bad: {found}; {found.advice}") from None


def _token(act: Act, dead: set[str]) -> Token:
    record = _read(TokenRecord, act)
    return Token(
        name=record.name,
        role=Role(record.role),
        identity=record.token,
        digest=record.digest,
        expires=datetime.fromisoformat(record.expires).astimezone(UTC),
        revoked=record.token in dead,
    )


def _parts(header: str | None) -> tuple[str, str, str, str]:
    """Scheme, prefix, public part and secret of what was sent."""
    scheme, _, text = (header or "").partition(" ")
    prefix, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    return scheme, prefix, identity, secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
