"""Signing on over HTTP and in a browser, with a whole provider on this machine."""

from __future__ import annotations

import base64
import hashlib
import http.client
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from discreet.curator.service.config import SignOnConfig
from discreet.curator.service.sign_on import SignOn
from tests.helpers.browser import Browser
from tests.helpers.curator.provider import NONCE, VERIFIER, real_provider
from tests.helpers.curator.town import COUNT, Town, charges, on_a_socket

pytestmark = pytest.mark.slow
REDIRECT = "http://localhost/"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_provider(tmp_path_factory.mktemp("provider"), "ann@example.org", "eve@example.org") as address:
        yield address


def signs_on(town: Town, issuer: str, redirect: str = REDIRECT) -> None:
    """From now on people of the town sign on with this provider."""
    secret = town.folder / "secret"
    secret.write_text("between us")
    secret.chmod(0o600)
    config = SignOnConfig(issuer=issuer, client="town", secret=str(secret), redirect=redirect, hours=2)
    town.curator.sign_on = SignOn.configured(town.curator.ledger, town.curator.access, config)


def code_for(issuer: str, subject: str, nonce: str = NONCE, verifier: str = VERIFIER) -> str:
    """What a browser gets when somebody has signed on at the provider's page."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    query = {
        "response_type": "code", "client_id": "town", "redirect_uri": REDIRECT, "scope": "openid", "state": "s",
        "nonce": nonce, "code_challenge": challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    line = http.client.HTTPConnection(urlsplit(issuer).netloc)
    line.request(
        "POST", f"/oauth2/authorize?{urlencode(query)}", urlencode({"sub": subject}),
        {"content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    reply = line.getresponse()
    reply.read()
    line.close()
    return parse_qs(urlsplit(reply.headers["location"]).query)["code"][0]


def signed_on(town: Town, code: str, nonce: str = NONCE, verifier: str = VERIFIER) -> tuple[int, dict[str, str]]:
    reply = town.post("/api/sign-on", {"code": code, "verifier": verifier, "nonce": nonce})
    return reply.status_code, reply.json()


def test_without_a_provider_people_have_tokens(new_town: Town) -> None:
    assert new_town.get("/api/sign-on").json() == {"provider": None}
    assert signed_on(new_town, "code")[0] == 404
    assert new_town.post("/api/people/ann/sign-on", {"subject": "x"}, new_town.owner).status_code == 404


def test_whoever_is_linked_gets_a_short_token_and_asks(new_town: Town, issuer: str) -> None:
    signs_on(new_town, issuer)
    assert new_town.get("/api/sign-on").json()["provider"]["address"] == f"{issuer}/oauth2/authorize"
    linked = {"subject": "ann@example.org"}
    assert new_town.post("/api/people/ann/sign-on", linked, new_town.ann).status_code == 403
    assert new_town.post("/api/people/ann/sign-on", linked, new_town.owner).status_code == 200
    status, issued = signed_on(new_town, code_for(issuer, "ann@example.org"))
    assert (status, issued["name"]) == (201, "ann")
    assert new_town.get("/api/me", issued["token"]).json()["role"] == "analyst"
    assert new_town.ask(COUNT, issued["token"]).status_code == 200
    assert new_town.get("/api/me", new_town.ann).status_code == 200  # tokens stay for programs
    new_town.clock.now += timedelta(hours=3)
    assert new_town.get("/api/me", issued["token"]).status_code == 401


def test_signing_on_makes_nobody(new_town: Town, issuer: str) -> None:
    signs_on(new_town, issuer)
    before = new_town.curator.ledger.look().sequence
    status, body = signed_on(new_town, code_for(issuer, "eve@example.org"))
    assert (status, body["error"]["kind"]) == (403, "NotLinked")  # type: ignore[index]
    assert "eve@example.org" in str(body)
    assert new_town.curator.ledger.look().sequence == before
    assert new_town.post("/api/people/eve/sign-on", {"subject": "eve"}, new_town.owner).status_code == 404
    assert new_town.post("/api/people/ann/sign-on", {"subject": "same"}, new_town.owner).status_code == 200
    assert new_town.post("/api/people/bob/sign-on", {"subject": "same"}, new_town.owner).status_code == 422


def test_a_code_is_good_once_and_for_one_nonce(new_town: Town, issuer: str) -> None:
    signs_on(new_town, issuer)
    new_town.post("/api/people/ann/sign-on", {"subject": "ann@example.org"}, new_town.owner)
    code = code_for(issuer, "ann@example.org")
    assert signed_on(new_town, code)[0] == 201
    for wrong in (
        signed_on(new_town, code),
        signed_on(new_town, "0" * 40),
        signed_on(new_town, code_for(issuer, "ann@example.org"), nonce="m" * 43),
    ):
        assert wrong[0] == 403
        assert wrong[1]["error"]["kind"] == "SignOnRefused"  # type: ignore[index]
    assert charges(new_town) == 0


def test_who_left_or_is_not_linked_any_more_signs_on_no_more(new_town: Town, issuer: str) -> None:
    signs_on(new_town, issuer)
    new_town.post("/api/people", {"name": "bea", "role": "auditor"}, new_town.owner)
    linked = {"subject": "ann@example.org"}
    new_town.post("/api/people/bea/sign-on", linked, new_town.owner)
    token = signed_on(new_town, code_for(issuer, "ann@example.org"))[1]["token"]
    assert new_town.get("/api/me", token).json()["role"] == "auditor"
    new_town.post("/api/people/bea/sign-on", {"subject": None}, new_town.owner)
    assert signed_on(new_town, code_for(issuer, "ann@example.org"))[0] == 403
    new_town.post("/api/people/bea/sign-on", linked, new_town.owner)
    new_town.post("/api/people/bea/revoke", {"reason": "left"}, new_town.owner)
    assert new_town.get("/api/me", token).status_code == 401
    assert signed_on(new_town, code_for(issuer, "ann@example.org"))[0] == 404


def test_the_page_signs_on(new_town: Town, issuer: str, browser: Browser) -> None:
    new_town.curator.ledger.owner.add_analyst("carol")
    with on_a_socket(new_town) as url:
        signs_on(new_town, issuer, f"{url}/")
        new_town.post("/api/people/carol/sign-on", {"subject": "ann@example.org"}, new_town.owner)
        browser.open(f"{url}/#signin")
        browser.click(".signin .provider")
        browser.wait(lambda driver: driver.current_url.startswith(issuer), "the provider's page does not come")
        browser.write("input[name=sub]", "ann@example.org")
        browser.click("button")
        assert "carol" in browser.find("#bar .who").text
        assert "code=" not in browser.driver.current_url
        browser.open(f"{url}/?code=stolen&state=guessed#signin")
        browser.driver.refresh()
        assert "carol" in browser.find("#bar .who").text  # a code that this tab did not ask for changes nothing
