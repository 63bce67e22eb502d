"""The description in OpenAPI is complete and true: schemathesis, which tries to break it, finds nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.curator.http import responses
from discreet.curator.http.app import described
from discreet.curator.service.access import ANYBODY, TABLE
from tests.helpers.curator.town import Town
from tests.helpers.extent import AUDIT

# What a question means cannot be said in a schema: 402 and 422 are replies to requests of the right shape.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "402", "403", "404", "409", "422"]
"""
# The others (previews have the body of questions; those of the owner that open files start a process each) are tried in
# `make audit`.
SOME = {
    "owner": ["--phases", "coverage", "--include-path-regex", "retire"],
    "ann": ["--phases", "coverage", "--include-path-regex", "questions|answers"],
}
ALL = ["--max-examples", "20"]


@pytest.mark.slow
def test_every_route_of_the_api_is_described_with_its_errors_and_its_need_of_a_token(town: Town) -> None:
    found = described(town.http.app)  # type: ignore[arg-type]
    described_routes = {(m.upper(), path) for path, methods in found["paths"].items() for m in methods}
    hidden = {("GET", "/"), ("GET", "/web/{name}"), ("GET", "/api/openapi.json")}
    assert described_routes == set(TABLE) - hidden
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            public = TABLE[method.upper(), path] is ANYBODY
            assert ("security" in operation) is not public
            assert operation["description"]
            assert {"401", "403", "404", "422", "429", "500"} <= set(operation["responses"])
    assert town.get("/api/openapi.json", town.ann).json() == found
    assert town.get("/api/openapi.json").status_code == 401


def test_errors_are_described_as_json_and_every_request_that_is_sent_has_a_body(town: Town) -> None:
    for path, methods in described(town.http.app)["paths"].items():  # type: ignore[arg-type]
        for method, operation in methods.items():
            assert ("requestBody" in operation) is (method == "post"), path
            for status in ("401", "403", "422"):
                assert list(operation["responses"][status]["content"]) == ["application/json"], path


@pytest.mark.slow
def test_an_answer_has_the_shape_that_is_described(town: Town) -> None:
    sql = "SELECT city, MIN(day) AS first, COUNT(*) AS n FROM trips GROUP BY ROLLUP (city)"
    sizes = {"table": "people", "column": "pay", "epsilon": 1}
    alone = town.ask(sql).json()
    several = town.post("/api/datasets/town/workload", {"sqls": [sql, sql], "epsilon": 1}, town.ann).json()
    estimate = town.post("/api/datasets/town/bounds", sizes, town.ann).json()
    for reply in (alone, several, estimate):
        responses.AnswerOut.model_validate(reply, strict=True)
        assert set(reply) == set(responses.AnswerOut.model_fields)
    assert set(several["answer"]) == set(responses.AnswerTables.model_fields)
    for told in (alone["answer"], *several["answer"]["answers"], estimate["answer"]):
        assert set(told) == set(responses.AnswerTable.model_fields)
    seen = town.get("/api/datasets/town", town.ann).json()
    responses.SchemaOut.model_validate(seen, strict=True)
    assert set(seen["tables"]["people"]) == set(responses.TableOut.model_fields)
    assert set(seen["tables"]["people"]["columns"][0]) == set(responses.ColumnOut.model_fields)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["owner", "ann"])
def test_schemathesis_finds_nothing(served: tuple[Town, str], role: str, tmp_path: Path) -> None:
    town, url = served
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    (tmp_path / "openapi.json").write_text(json.dumps(described(town.http.app)))  # type: ignore[arg-type]
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        "openapi.json",
        "--url",
        url,
        "--warnings",
        "off",
    ]
    options = ["--header", f"Authorization: Bearer {getattr(town, role)}", "--checks", "all", "--continue-on-failure"]
    some = ALL if AUDIT else SOME[role]
    done = subprocess.run(
        [*command, *options, *some, "--seed", "1", "--no-color"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
