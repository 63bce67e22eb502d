"""Who signs on as whom: people of the ledger, linked to what an OpenID Connect provider calls them.

Promise: a sign-on makes nobody. It gives a short-lived token to a person whom an owner has linked, with the rights
that the person has in the ledger at that time; a link is an entry of the ledger, for one provider and one claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from discreet.curator.error_replies import Refusal, log
from discreet.curator.service.access import Access
from discreet.curator.service.config import SignOnConfig
from discreet.curator.service.identity_provider import LONGEST, IdentityProvider, SignOnRefused
from discreet.curator.service.people import Role, people_of, read_act
from discreet.errors import BadParameter, NotRegistered
from discreet.ledger.record_base import Record
from discreet.ledger.state import State
from discreet.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class SignOnRecord(Record):
    """What a provider calls a person from now on; ``subject`` is None if they may sign on no more."""

    KIND = "access.sign_on"
    name: str
    issuer: str
    claim: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class SignOn:
    """Signing on to one curator, with one provider."""

    ledger: Ledger
    access: Access
    provider: IdentityProvider
    lasts: timedelta

    @classmethod
    def configured(cls, ledger: Ledger, access: Access, config: SignOnConfig) -> SignOn:
        """As curator.toml has it; the secret is read once."""
        provider = IdentityProvider(config.issuer, config.client, config.read_secret(), config.redirect, config.claim)
        return cls(ledger, access, provider, timedelta(hours=config.hours))

    def links(self) -> Mapping[str, str]:
        """Names of people by what the provider calls them."""
        return self._links(self.ledger.look())

    def link(self, name: str, subject: str | None, *, by: str) -> int:
        """Let a person sign on by this name at the provider, in place of an earlier one; None: no more."""
        if subject is not None and (not 0 < len(subject) <= LONGEST or not subject.isprintable()):
            raise BadParameter("subject", subject, f"must be a printable text of 1 to {LONGEST} characters")

        def check(state: State) -> None:
            role_of(state, name)
            if subject is not None and self._links(state).get(subject, name) != name:
                raise BadParameter("subject", subject, "must be new: another person signs on with it")

        record = SignOnRecord(name, self.provider.issuer, self.provider.claim, subject)
        return self.ledger.owner.record(record.kind, record.body(), by=by, check=check).sequence

    def signed_on(self, code: str, verifier: str, nonce: str) -> tuple[str, str]:
        """The name of whoever signed on, and a token for them."""
        try:
            subject = self.provider.subject(code, verifier, nonce)
        except SignOnRefused as refused:
            log.warning("a sign-on was refused: %s", refused)
            raise Refusal(403, "SignOnRefused", "this sign-on is not valid; begin again") from None
        state = self.ledger.look()
        name = self._links(state).get(subject)
        if name is None:
            raise Refusal(
                403,
                "NotLinked",
                f"the provider calls you {subject!r}, and no account here is linked to that: ask the owner of the data",
            )
        return name, self.access.issue_for(name, role_of(state, name), self.lasts)

    def _links(self, state: State) -> dict[str, str]:
        subjects: dict[str, str] = {}
        for act in state.acts.get(SignOnRecord.KIND, ()):
            record = read_act(SignOnRecord, act)
            subjects = {subject: name for subject, name in subjects.items() if name != record.name}
            ours = (record.issuer, record.claim) == (self.provider.issuer, self.provider.claim)
            if ours and record.subject is not None:
                subjects[record.subject] = record.name
        return subjects


def role_of(state: State, name: str) -> Role:
    """What a person is now: an analyst, or somebody else with a name here."""
    analyst, person = state.analysts.get(name), people_of(state).get(name)
    if analyst is not None and not analyst.revoked:
        return Role.ANALYST
    if person is None or person.left:
        raise NotRegistered("there is no such person")
    return person.role
