"""Requests for budget by command line, from both sides."""

from __future__ import annotations

import json

import pytest

from tests.helpers.commands import run
from tests.helpers.curator.town import Town, on_a_socket

pytestmark = pytest.mark.slow


def test_a_request_is_sent_listed_granted_and_refused(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", new_town.ann)
    config = new_town.folder / "curator.toml"
    with on_a_socket(new_town) as url:
        send = ("request", "send", url, "town", "--reason", "a report", "--delta", "1e-19")
        first = json.loads(run(*send, "--epsilon", "1/2", "--json").stdout)["request"]
        assert "waits" in run(*send, "--epsilon", "1/4").stdout
        third = json.loads(run(*send, "--epsilon", "1/8", "--json").stdout)["request"]
        assert run("request", "send", url, "town", "--reason", "none").exit_code == 1
    listed = json.loads(run("request", "list", config, "--json").stdout)
    assert [one["state"] for one in listed] == ["open"] * 3
    assert "a report" in run("request", "list", config).stdout
    refused = run("request", "refuse", config, listed[1]["request"], "--reason", "enough", "--json")
    assert json.loads(refused.stdout)["state"] == "refused"
    assert "ann may ask about town" in run("request", "grant", config, third).stdout
    assert json.loads(run("request", "grant", config, first, "--json").stdout)["granted"]
    assert run("request", "refuse", config, first, "--reason", "late").exit_code == 1
    listed = json.loads(run("request", "list", config, "--json").stdout)
    assert [one["state"] for one in listed] == ["granted", "refused", "granted"]
