"""OpenID Connect: the addresses and keys of a provider, and whom its ID tokens name.

Promise: an ID token counts only if a key that the provider publishes signed it, by an algorithm in ``ALGORITHMS``; if
it is from this provider, for this client alone, not expired, and for the nonce of the browser that began. A code needs
the verifier of that browser (PKCE). Only https is spoken, except within this machine; no redirect is followed; replies
are bounded in size and time.
Assumes: whoever runs the provider is trusted to say who signed on, and the channel to it is TLS.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.parse import quote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from discreet.errors import BadParameter, ServiceBusy

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Public keys only: no token is signed with a secret that this service knows, and none is unsigned."""
LEEWAY = 60
"""Seconds by which two clocks may differ."""
LONGEST = 200
"""Characters of what names a person."""
_SECONDS = 10.0
_LARGEST = 1 << 20
_KEPT = 3600.0
"""Seconds for which the provider's addresses are kept. Its keys are read for every sign-on, so they may change."""
_TOGETHER = 8
"""Sign-ons that one server process checks at the same time."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SignOnRefused(Exception):
    """A sign-on that proves nothing; the reason is for the log, and holds nothing of the token."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow none: a secret may go to the address in the configuration, and to no other."""
        return


@dataclass
class IdentityProvider:
    """One provider, for one client. Any number of threads may use it."""

    issuer: str
    client: str
    secret: str | None = field(repr=False)
    redirect: str
    """Where browsers come back to; the provider knows it."""
    claim: str = "sub"
    """The claim that names a person: "sub", or "email" if the provider has verified it."""
    _described_at: tuple[float, Mapping[str, str]] | None = field(default=None, init=False, repr=False)
    _places: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(_TOGETHER), init=False, repr=False)

    def authorization(self) -> dict[str, str]:
        """Where a browser goes to sign on, and with which parameters beside its own secrets."""
        scope = "openid email" if self.claim == "email" else "openid"
        return {
            "address": self._addresses()["authorization_endpoint"],
            "client": self.client,
            "redirect": self.redirect,
            "scope": scope,
        }

    def subject(self, code: str, verifier: str, nonce: str) -> str:
        """Whom the provider names for a code; SignOnRefused if it names nobody, or cannot be asked."""
        if not self._places.acquire(timeout=_SECONDS):
            raise ServiceBusy("other people are signing on; try again")
        try:
            addresses = self._addresses()
            id_token = self._exchanged(addresses["token_endpoint"], code, verifier).get("id_token")
            if not isinstance(id_token, str):
                raise SignOnRefused("the provider sent no ID token")
            return self._verified(id_token, nonce, _fetched(addresses["jwks_uri"]))
        finally:
            self._places.release()

    def _verified(self, id_token: str, nonce: str, keys: Any) -> str:
        """The person that an ID token names, if it proves it."""
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY,
            iss={"essential": True, "value": self.issuer},
            sub={"essential": True},
            aud={"essential": True, "value": self.client},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims
            registry.validate(claims)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as wrong:
            raise SignOnRefused(f"the ID token is refused: {type(wrong).__name__}") from None
        others = claims["aud"] not in (self.client, [self.client])
        if others or claims.get("azp", self.client) != self.client:
            raise SignOnRefused("the ID token is for others as well")
        if self.claim == "email" and claims.get("email_verified") is not True:
            raise SignOnRefused("the provider has not verified the e-mail address")
        subject = claims.get(self.claim)
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST or not subject.isprintable():
            raise SignOnRefused(f"the ID token has no usable {self.claim}")
        return subject

    def _exchanged(self, address: str, code: str, verifier: str) -> Mapping[str, Any]:
        """What the provider gives for a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "code_verifier": verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if self.secret is None:
            form["client_id"] = self.client
        else:
            pair = f"{quote_plus(self.client)}:{quote_plus(self.secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return _fetched(address, urlencode(form).encode(), headers)

    def _addresses(self) -> Mapping[str, str]:
        kept = self._described_at
        if kept is not None and time.monotonic() - kept[0] < _KEPT:
            return kept[1]
        described = _fetched(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if described.get("issuer") != self.issuer:
            raise SignOnRefused("the provider describes itself as another issuer")
        addresses = {name: described.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        for name, address in addresses.items():
            if not isinstance(address, str) or not is_safe(address):
                raise SignOnRefused(f"the provider's {name} is not an https address")
        self._described_at = time.monotonic(), {name: str(address) for name, address in addresses.items()}
        return self._described_at[1]


def check_address(address: str, name: str) -> str:
    """An address that secrets may travel to: https, or this machine."""
    if not is_safe(address):
        raise BadParameter(name, address, "must be an https address (http only within this machine)")
    return address


def is_safe(address: str) -> bool:
    """Whether nobody between here and there can read or change what is sent.

    >>> is_safe("https://login.example"), is_safe("http://login.example"), is_safe("http://127.0.0.1:5000/x")
    (True, False, True)
    """
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        return False


def _fetched(address: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """A JSON object from the provider."""
    request = urllib.request.Request(  # noqa: S310 - is_safe has looked at it
        address, body, {"accept": "application/json", **(headers or {})}
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=_SECONDS) as reply:
            text = reply.read(_LARGEST + 1)
        content = json.loads(text) if len(text) <= _LARGEST else None
    except (OSError, HTTPException, ValueError, RecursionError) as wrong:
        _unreachable(wrong)
    if not isinstance(content, dict):
        raise SignOnRefused("the provider sent no JSON object")
    return content


def _unreachable(wrong: Exception) -> NoReturn:
    status = f" {wrong.code}" if isinstance(wrong, urllib.error.HTTPError) else ""
    if isinstance(wrong, urllib.error.HTTPError):
        wrong.close()
    raise SignOnRefused(f"the provider could not be asked, or refused: {type(wrong).__name__}{status}") from None
