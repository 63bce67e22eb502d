"""What an ID token proves, and everything that proves nothing."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from joserfc.jwk import OctKey

from discreet.curator.service.identity_provider import IdentityProvider, SignOnRefused, check_address
from discreet.errors import BadParameter
from tests.helpers.curator.provider import NONCE, OTHER_KEY, VERIFIER, Provider, provider_running

REDIRECT = "https://curator.example/"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with provider_running() as running:
        yield running


def client(provider: Provider, claim: str = "sub", *, public: bool = False) -> IdentityProvider:
    return IdentityProvider(provider.issuer, "us", None if public else "s:cret", REDIRECT, claim)


def test_a_good_token_names_its_person(provider: Provider) -> None:
    assert client(provider).subject("code", VERIFIER, NONCE) == "ann's"
    (form,) = provider.forms
    assert form["code_verifier"] == [VERIFIER]
    assert form["redirect_uri"] == [REDIRECT]
    assert "client_secret" not in form
    assert provider.headers[0]["authorization"] == "Basic " + base64.b64encode(b"us:s%3Acret").decode()
    provider.claims = {"email": "ann@example.org", "email_verified": True}
    assert client(provider, "email", public=True).subject("code", VERIFIER, NONCE) == "ann@example.org"
    assert provider.forms[1]["client_id"] == ["us"]
    assert client(provider, "email").authorization()["scope"] == "openid email"


def changed(**claims: Any) -> Callable[[Provider], None]:
    return lambda provider: provider.claims.update(claims)


def forged(provider: Provider) -> None:
    provider.key = OTHER_KEY


def signed_with_our_secret(provider: Provider) -> None:
    provider.key, provider.header = OctKey.import_key("s" * 64), {"alg": "HS256"}


def unsigned(provider: Provider) -> None:
    header, claims = (base64.urlsafe_b64encode(text).rstrip(b"=") for text in (b'{"alg":"none"}', b'{"sub":"ann"}'))
    provider.replies["/token"] = 200, {"id_token": b".".join([header, claims, b""]).decode()}


def replied(path: str, status: int, content: Any) -> Callable[[Provider], None]:
    return lambda provider: provider.replies.update({path: (status, content)})


@pytest.mark.parametrize(
    "spoil",
    [
        forged,
        signed_with_our_secret,
        unsigned,
        changed(exp=int(time.time()) - 3600),
        changed(exp=None),
        changed(iat=None),
        changed(iat=int(time.time()) + 3600),
        changed(nbf=int(time.time()) + 3600),
        changed(aud="others"),
        changed(aud=["us", "others"]),
        changed(aud=None),
        changed(azp="others"),
        changed(iss="https://evil.example"),
        changed(iss=None),
        changed(nonce="m" * 43),
        changed(nonce=None),
        changed(sub=None),
        changed(sub=7),
        changed(sub=""),
        changed(sub="a\nb"),
        changed(sub="a" * 201),
        replied("/token", 400, {"error": "invalid_grant"}),
        replied("/token", 200, {"access_token": "x"}),
        replied("/token", 200, {"id_token": "a.b.c"}),
        replied("/token", 200, ["a"]),
        replied("/token", 200, b"{" * 100_000),
        replied("/token", 200, b'"' + b"x" * (2 << 20) + b'"'),
        replied("/token", 302, "/keys"),
        replied("/keys", 200, {"keys": []}),
        replied("/keys", 200, {}),
        replied("/keys", 500, {}),
        replied("/.well-known/openid-configuration", 200, {"issuer": "https://evil.example"}),
    ],
)
def test_a_token_that_proves_nothing_is_refused(provider: Provider, spoil: Callable[[Provider], None]) -> None:
    spoil(provider)
    with pytest.raises(SignOnRefused) as refused:
        client(provider).subject("code", VERIFIER, NONCE)
    assert "eyJ" not in str(refused.value)  # nothing of a token


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_nobody_verified_is_nobodys(provider: Provider, verified: object) -> None:
    provider.claims = {"email": "ann@example.org", "email_verified": verified}
    with pytest.raises(SignOnRefused):
        client(provider, "email").subject("code", VERIFIER, NONCE)


def test_secrets_travel_over_tls_alone(provider: Provider) -> None:
    places = dict.fromkeys(("authorization_endpoint", "jwks_uri"), f"{provider.issuer}/x")
    described = {"issuer": provider.issuer, "token_endpoint": "http://login.example/token", **places}
    provider.replies["/.well-known/openid-configuration"] = 200, described
    with pytest.raises(SignOnRefused, match="token_endpoint"):
        client(provider).subject("code", VERIFIER, NONCE)
    assert not provider.forms
    for address in ("http://login.example", "ftp://login.example", "https://", "", "https://[::1"):
        with pytest.raises(BadParameter):
            check_address(address, "issuer")


def test_a_provider_that_is_away_lets_nobody_in() -> None:
    with pytest.raises(SignOnRefused, match="URLError"):
        IdentityProvider("http://127.0.0.1:9", "us", None, REDIRECT).subject("code", VERIFIER, NONCE)
