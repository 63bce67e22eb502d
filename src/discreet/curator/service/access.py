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
from typing import Protocol

from discreet.curator.error_replies import Refusal
from discreet.curator.service.declarations import read_name
from discreet.curator.service.people import (
    OWNER,
    Person,
    PersonLeftRecord,
    PersonRecord,
    Role,
    check_free,
    people_of,
    read_act,
)
from discreet.errors import BadParameter, NotRegistered
from discreet.exact import integer
from discreet.ledger.journal import Clock, utc
from discreet.ledger.owner_acts import check_name
from discreet.ledger.record_base import Record
from discreet.ledger.state import Act, State
from discreet.ledger.store import Ledger

PREFIX = "discreet"
DAYS = 90
"""How many days a token is valid by default."""
ANYBODY: frozenset[Role] | None = None
"""No token is needed: what such a route sends is the same for everyone, and nothing of the data or the ledger."""
OWNERS = frozenset({Role.OWNER})
ANALYSTS = frozenset({Role.ANALYST})
READERS = OWNERS | ANALYSTS | {Role.AUDITOR}
"""Who may read answers: analysts their own, and auditors if an owner allows it."""
STEWARDS = OWNERS | {Role.STEWARD}
AUDITORS = OWNERS | {Role.AUDITOR}
OVERSEERS = OWNERS | {Role.STEWARD, Role.AUDITOR}
ALL = OVERSEERS | ANALYSTS
MONITORS = OWNERS | {Role.MONITOR}

TABLE: Mapping[tuple[str, str], frozenset[Role] | None] = {
    ("GET", "/"): ANYBODY,
    ("GET", "/web/{name}"): ANYBODY,
    ("GET", "/healthz"): ANYBODY,
    ("GET", "/readyz"): ANYBODY,
    ("GET", "/metrics"): MONITORS,
    ("GET", "/api/health"): ANYBODY,
    ("GET", "/api/key"): ANYBODY,
    ("GET", "/api/sign-on"): ANYBODY,
    ("POST", "/api/sign-on"): ANYBODY,
    ("GET", "/api/learn/attacker"): ANYBODY,
    ("GET", "/api/learn/composition"): ANYBODY,
    ("GET", "/api/learn/noise"): ANYBODY,
    ("GET", "/api/openapi.json"): ALL,
    ("GET", "/api/me"): ALL,
    ("GET", "/api/datasets"): ALL,
    ("GET", "/api/datasets/{dataset}"): ALL,
    ("POST", "/api/datasets/{dataset}/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/derived"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/questions"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/workload"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/workload/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/plan"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/plan/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/bounds"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/synthetic"): ANALYSTS,
    ("GET", "/api/synthetic/{number}"): READERS,
    ("POST", "/api/synthetic/{number}/cancel"): OWNERS | ANALYSTS,
    ("GET", "/api/synthetic/{number}/rows"): READERS,
    ("POST", "/api/datasets/{dataset}/publication/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/publication"): ANALYSTS,
    ("GET", "/api/published/{number}"): READERS,
    ("GET", "/api/published/{number}/files"): READERS,
    ("POST", "/api/datasets/{dataset}/profile"): ANALYSTS,
    ("GET", "/api/jobs/{number}"): READERS,
    ("POST", "/api/jobs/{number}/cancel"): OWNERS | ANALYSTS,
    ("GET", "/api/datasets/{dataset}/boards"): OWNERS | ANALYSTS,
    ("GET", "/api/datasets/{dataset}/boards/{board}"): OWNERS | ANALYSTS,
    ("POST", "/api/datasets/{dataset}/boards/{board}"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/boards/{board}/preview"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/boards/{board}/advance"): ANALYSTS,
    ("GET", "/api/datasets/{dataset}/answers"): READERS,
    ("GET", "/api/answers"): ALL,
    ("GET", "/api/answers/{number}"): READERS,
    ("GET", "/api/answers/{number}/receipt"): ALL,
    ("GET", "/api/answers/{number}/card"): READERS,
    ("GET", "/api/answers/{number}/parquet"): READERS,
    ("POST", "/api/papers/verify"): ALL,
    ("GET", "/api/budget"): ALL,
    ("GET", "/api/ledger"): ALL,
    ("GET", "/api/ledger/head"): ALL,
    ("GET", "/api/requests"): ALL,
    ("POST", "/api/requests"): ANALYSTS,
    ("POST", "/api/requests/{request}/grant"): STEWARDS,
    ("POST", "/api/requests/{request}/refuse"): STEWARDS,
    ("GET", "/api/schedules"): ALL,
    ("POST", "/api/datasets/{dataset}/schedules"): ANALYSTS,
    ("POST", "/api/datasets/{dataset}/schedules/preview"): ANALYSTS,
    ("POST", "/api/schedules/{schedule}/end"): OWNERS | ANALYSTS,
    ("GET", "/api/people"): OWNERS,
    ("POST", "/api/people"): OWNERS,
    ("POST", "/api/people/{person}/role"): OWNERS,
    ("POST", "/api/people/{person}/tokens"): OWNERS,
    ("POST", "/api/people/{person}/revoke"): OWNERS,
    ("POST", "/api/people/{person}/sign-on"): OWNERS,
    ("GET", "/api/audit"): AUDITORS,
    ("GET", "/api/ledger/verify"): AUDITORS,
    ("POST", "/api/ledger/acknowledge"): OWNERS,
    ("GET", "/api/sources"): OWNERS,
    ("POST", "/api/sources/columns"): OWNERS,
    ("POST", "/api/datasets"): OWNERS,
    ("POST", "/api/datasets/{dataset}/retire"): OWNERS,
    ("POST", "/api/populations/{population}/budget"): OWNERS,
    ("GET", "/api/populations/{population}/household"): OWNERS,
    ("GET", "/api/analysts"): OVERSEERS,
    ("POST", "/api/analysts"): OWNERS,
    ("POST", "/api/analysts/{analyst}/grant"): STEWARDS,
    ("POST", "/api/analysts/{analyst}/tokens"): OWNERS,
    ("POST", "/api/analysts/{analyst}/revoke"): OWNERS,
    ("POST", "/api/tokens/{token}/revoke"): OWNERS,
}
"""Which roles may use which route. A route that is not here is refused to everybody."""
WHOLE = frozenset(
    {
        ("GET", "/metrics"),
        ("GET", "/api/people"),
        ("POST", "/api/people"),
        ("POST", "/api/people/{person}/role"),
        ("POST", "/api/people/{person}/tokens"),
        ("POST", "/api/people/{person}/revoke"),
        ("POST", "/api/people/{person}/sign-on"),
        ("GET", "/api/audit"),
        ("GET", "/api/ledger/verify"),
        ("POST", "/api/ledger/acknowledge"),
        ("GET", "/api/sources"),
        ("POST", "/api/sources/columns"),
        ("POST", "/api/datasets"),
        ("POST", "/api/analysts"),
        ("POST", "/api/analysts/{analyst}/tokens"),
        ("POST", "/api/analysts/{analyst}/revoke"),
        ("POST", "/api/tokens/{token}/revoke"),
    }
)
"""The routes that concern the whole service: refused to whoever oversees some of its people only."""
PAID = frozenset(
    {
        ("POST", "/api/datasets/{dataset}/questions"),
        ("POST", "/api/datasets/{dataset}/workload"),
        ("POST", "/api/datasets/{dataset}/plan"),
        ("POST", "/api/datasets/{dataset}/bounds"),
        ("POST", "/api/datasets/{dataset}/synthetic"),
        ("POST", "/api/datasets/{dataset}/publication"),
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
    populations: frozenset[str] | None = None
    """Whom somebody who is no analyst oversees; None for the whole service."""
    reads_answers: bool = False
    """Whether an auditor may read answers."""

    @property
    def owner(self) -> bool:
        """Whether this is an owner of the whole service."""
        return self.role is Role.OWNER and self.populations is None

    @property
    def oversees_all(self) -> bool:
        """Whether they see what is spent by everybody."""
        return self.role in OVERSEERS and self.populations is None

    def oversees(self, population: str) -> bool:
        """Whether they see what everybody spends of this budget."""
        return self.role in OVERSEERS and (self.populations is None or population in self.populations)

    def reads(self, population: str) -> bool:
        """Whether they read everybody's answers about these people."""
        return self.oversees(population) and (self.role is Role.OWNER or self.reads_answers)


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

    @property
    def populations(self) -> frozenset[str] | None:
        """Whom they oversee; None for the whole service."""
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
    if caller.role not in roles or (caller.populations is not None and (method, path) in WHOLE):
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
        self._persons: tuple[tuple[int, int], Mapping[str, Person]] = ((-1, -1), {})
        """The same of people."""
        self.tokens()

    def issue(self, name: str, role: Role, *, days: int = DAYS, by: str = OWNER) -> str:
        """A new token. It is shown here, once: only its hash is kept."""
        if integer(days, "days", at_least=1) > 3660:
            raise BadParameter("days", days, "must be at most ten years")
        if role is Role.ANALYST:
            analyst = self._ledger.analysts.get(name)
            if analyst is None:
                raise BadParameter("analyst", name, "must be added first")
            if analyst.revoked:
                raise BadParameter("analyst", name, "must not be revoked, which is permanent: add a new name")
        elif role is not Role.MONITOR and name != OWNER:
            person = people_of(self._ledger.look()).get(name)
            if person is None or person.left or person.role is not role:
                raise BadParameter("name", name, f"must be added first, as {role.value}")
        return self.issue_for(name, role, timedelta(days=days), by=by)

    def issue_for(self, name: str, role: Role, lasts: timedelta, *, by: str | None = None) -> str:
        """A token of any length, for somebody who is known to have this role; else it is good for nothing."""
        identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        expires = self._clock() + lasts
        record = TokenRecord(
            token=identity,
            name=check_name(name, "name"),
            role=role.value,
            digest=_digest(secret),
            expires=expires.isoformat(timespec="seconds"),
        )
        self._ledger.owner.record(record.kind, record.body(), by=name if by is None else by)
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
        token = self._known[1].get(identity)
        return hmac.compare_digest(token.digest if token else _digest(""), _digest(secret)) and token is not None

    def who(self, header: str | None) -> Caller:
        """Who sent this Authorization header; refuses with the same message whatever is wrong with it."""
        scheme, prefix, identity, secret = _parts(header)
        state = self._ledger.look()
        token = self._tokens(state).get(identity)
        good = hmac.compare_digest(token.digest if token else _digest(""), _digest(secret))
        if (
            token is None
            or not good
            or prefix != PREFIX
            or scheme.lower() != "bearer"
            or token.revoked
            or token.expires <= self._clock()
        ):
            raise Refusal.unauthorised()
        return self.caller(state, token.name, token.role, token.identity, token.expires)

    def caller(self, state: State, name: str, role: Role, token: str, expires: datetime) -> Caller:
        """Somebody with the rights that they have now; refused if they have none any more."""
        if role is Role.ANALYST:
            analyst = state.analysts.get(name)
            if analyst is None or analyst.revoked:
                raise Refusal.unauthorised()
        elif role is not Role.MONITOR and name != OWNER:
            person = self._people(state).get(name)
            if person is None or person.left:
                raise Refusal.unauthorised()
            return Caller(name, person.role, token, expires, person.populations, person.reads_answers)
        return Caller(name, role, token, expires)

    def _people(self, state: State) -> Mapping[str, Person]:
        many = len(state.acts.get(PersonRecord.KIND, ())), len(state.acts.get(PersonLeftRecord.KIND, ()))
        before, people = self._persons
        if many != before:
            people = people_of(state)
            self._persons = many, people
        return people

    def check_free(self, name: str) -> None:
        """Refuse a name that somebody has or had."""
        check_free(self._ledger.look(), name)

    def tokens(self) -> Mapping[str, Token]:
        """All tokens by their public part, those of other servers too."""
        return self._tokens(self._ledger.look())

    def _tokens(self, state: State) -> Mapping[str, Token]:
        given, taken = (tuple(state.acts.get(kind.KIND, ())) for kind in (TokenRecord, TokenRevokedRecord))
        seen, tokens = self._known
        if (len(given), len(taken)) != seen:
            dead = {read_act(TokenRevokedRecord, act).token for act in taken}
            tokens = {token.identity: token for token in (_token(act, dead) for act in given)}
            self._known = (len(given), len(taken)), tokens
        return tokens


def _token(act: Act, dead: set[str]) -> Token:
    record = read_act(TokenRecord, act)
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
