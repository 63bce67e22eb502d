"""Owners, stewards and auditors by command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def test_people_come_change_and_leave(config: Path) -> None:
    token = run("person", "add", config, "bea", "--role", "steward", "--population", "town", "--json")
    assert json.loads(token.stdout)["token"].startswith("discreet_")
    refused = run("person", "add", config, "eve", "--role", "analyst")
    assert refused.exit_code == 1
    assert "owner, steward, auditor" in refused.stderr
    assert run("person", "change", config, "bea", "--role", "auditor", "--reads-answers").exit_code == 0
    (bea,) = json.loads(run("person", "list", config, "--json").stdout)
    assert (bea["role"], bea["populations"], bea["reads_answers"]) == ("auditor", None, True)
    assert "auditor" in run("person", "list", config).stdout
    assert json.loads(run("token", config, "bea", "--json").stdout)["still_valid"]
    assert run("person", "revoke", config, "bea").exit_code == 0
    assert run("token", config, "bea").exit_code == 1


def test_people_are_linked_to_a_provider(config: Path) -> None:
    assert "must be a section" in run("person", "sign-on", config, "ann", "ann@example.org").stderr
    section = '[sign_on]\nissuer = "https://login.example"\nclient = "us"\nredirect = "https://curator.example/"\n'
    config.write_text(section + config.read_text())
    run("person", "add", config, "bea", "--role", "auditor")
    assert run("person", "sign-on", config, "bea", "bea@example.org").stdout == "bea signs on as bea@example.org\n"
    assert json.loads(run("person", "sign-on", config, "bea", "--json").stdout)["sequence"] > 1
    assert run("person", "sign-on", config, "eve", "eve@example.org").exit_code == 1
