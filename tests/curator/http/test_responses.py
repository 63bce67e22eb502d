"""Replies are models: every route returns one, and a model changes no value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

from discreet.curator.http import responses, routes_ask, routes_look, routes_owner
from discreet.curator.http.app import create_app
from discreet.curator.service.access import TABLE
from tests.helpers.curator.town import Town

SIGNED = {"/api/answers/{number}/receipt", "/api/answers/{number}/card"}
"""Downloads of signed text, which must not change by a byte."""
NO_JSON = {
    "/api/answers/{number}/parquet",
    "/api/synthetic/{number}/rows",
    "/api/published/{number}/files",
    "/api/health",
}
"""Files; and one whose status says whether all is well."""
WRITTEN_ONCE = {"/api/datasets/{dataset}/preview"} | {
    f"/api/datasets/{{dataset}}/{what}" for what in ("questions", "workload", "plan", "bounds", "profile")
}
"""Replies that are written from their models without another copy."""


@pytest.mark.slow
def test_every_route_returns_its_model(town: Town) -> None:
    routes = {route.path: route for route in create_app(town.curator).routes if isinstance(route, APIRoute)}
    for _, path in TABLE:
        if path.startswith("/api/") and path not in SIGNED | NO_JSON | {"/api/openapi.json"}:
            model = routes[path].response_model
            inner, *_ = get_args(model) or (model,)  # a list of them, or null
            assert inner is str or issubclass(inner, BaseModel), path
            returned = "Response" if path in WRITTEN_ONCE else inner.__name__
            assert returned in routes[path].endpoint.__annotations__["return"], path
    for module in (routes_ask, routes_look, routes_owner):
        assert "JSONResponse" not in Path(str(module.__file__)).read_text()


@pytest.mark.parametrize(
    "row", [[1, 1.0, True, "1", None], [10**30, -0.5, False, "", 0], [2**63, 1e300, True, "é", -(2**70)]]
)
def test_values_keep_their_types(row: list[Any]) -> None:
    stored = {"columns": list("abcde"), "rows": [row], "errors": {}, "confidence": "19/20", "cost": "", "story": []}
    sent = json.loads(responses.read_answer(stored).model_dump_json())
    assert sent["rows"] == [row]
    assert [type(one) for one in sent["rows"][0]] == [type(one) for one in row]


def test_answers_that_an_older_version_stored_are_read() -> None:
    old = {"columns": ["n"], "rows": [[3]], "errors": {"n": [1.5]}, "confidence": "19/20", "cost": "x", "story": []}
    found = responses.read_answer(old)
    assert isinstance(found, responses.AnswerTable)
    assert found.consistent is None
    both = responses.read_answer({"answers": [old, old]})
    assert isinstance(both, responses.AnswerTables)
    assert len(both.answers) == 2
