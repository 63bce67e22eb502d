"""Questions to a curator by command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import run
from tests.helpers.curator.town import COUNT, Town, charges

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _token(served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", served[0].ann)


def test_ask_preview_budget_and_history(served: tuple[Town, str]) -> None:
    town, url = served
    before = charges(town)
    seen = json.loads(run("preview", url, COUNT, "--dataset", "town", "--epsilon", "100", "--json").stdout)
    assert seen["affordable"]
    assert charges(town) == before
    asked = run("ask", url, COUNT, "--dataset", "town", "--epsilon", "100", "--key", "cli", "--json")
    assert asked.exit_code == 0, asked.stderr
    said = json.loads(asked.stdout)
    assert said["rows"] == [["Aton", 40], ["Bury", 40], ["Cold", 40]]
    again = run("ask", url, COUNT, "--dataset", "town", "--epsilon", "100", "--key", "cli")
    assert "Aton" in again.stdout
    assert not said["paid_before"]
    assert "nothing was spent now" in again.stdout
    assert charges(town) == before + 1
    (standing,) = json.loads(run("budget", url, "--json").stdout)
    assert standing["population"] == "town"
    assert "town" in run("budget", url).stdout
    assert json.loads(run("history", url, "--json").stdout)[-1]["query"] == COUNT
    shown = run("history", url).stdout
    assert "COUNT" in shown
    assert "epsilon 100" in shown


def test_the_token_comes_from_a_file_that_only_its_owner_reads(
    served: tuple[Town, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, url = served
    monkeypatch.delenv("DISCREET_TOKEN")
    assert "DISCREET_TOKEN" in run("budget", url).stderr
    file = tmp_path / "token"
    file.write_text(f"{town.ann}\n")
    file.chmod(0o644)
    assert "chmod 600" in run("budget", url, "--token-file", file).stderr
    file.chmod(0o600)
    assert run("budget", url, "--token-file", file).exit_code == 0


def test_a_token_is_not_sent_in_the_clear() -> None:
    for command in (("budget",), ("history",), ("ask", COUNT)):
        name, *more = command
        done = run(name, "http://curator.example", *more, *(("--epsilon", "1") if more else ()))
        assert done.exit_code == 1
        assert "https" in done.stderr


def test_a_file_still_needs_its_unit(visits: Path) -> None:
    done = run("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1")
    assert done.exit_code == 1
    assert "unit" in done.stderr
