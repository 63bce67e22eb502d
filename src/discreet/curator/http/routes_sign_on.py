"""Signing on with an OpenID Connect provider.

The page makes state, nonce and verifier, and keeps them in its tab; the provider sends the browser back to the page,
which checks the state and hands the code over here. No cookie is set, and nothing is kept between the two requests.
"""

from __future__ import annotations

from fastapi import FastAPI, Request

from discreet.curator.error_replies import Refusal, log
from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import caller_of
from discreet.curator.http.routes_people import PersonName
from discreet.curator.service.identity_provider import SignOnRefused
from discreet.curator.service.service import Curator
from discreet.curator.service.sign_on import SignOn


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""

    def configured() -> SignOn:
        if curator.sign_on is None:
            raise Refusal(404, "NoSignOn", "people have tokens here: no provider is configured")
        return curator.sign_on

    @app.get("/api/sign-on")
    def begin() -> responses.SignOnOut:
        """Where a browser goes to sign on; nowhere if people have tokens only."""
        if curator.sign_on is None:
            return responses.SignOnOut(provider=None)
        try:
            return responses.SignOnOut(provider=responses.SignOnProvider(**curator.sign_on.provider.authorization()))
        except SignOnRefused as refused:
            log.warning("sign-on does not work: %s", refused)
            raise Refusal(503, "NoSignOn", "the provider cannot be reached; try again, or use a token") from None

    @app.post("/api/sign-on", status_code=201)
    def end(body: requests.SignOnIn) -> responses.Issued:
        """A token for whoever signed on, if an owner has linked them."""
        name, token = configured().signed_on(body.code, body.verifier, body.nonce)
        return responses.Issued(name=name, token=token)

    @app.post("/api/people/{person}/sign-on")
    def link(request: Request, person: PersonName, body: requests.SignOnLinkIn) -> responses.Done:
        """Let a person or analyst sign on by what the provider calls them; null: no more."""
        return responses.Done(sequence=configured().link(person, body.subject, by=caller_of(request).name))
