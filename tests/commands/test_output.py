"""Refusals and internal errors: one line, or one JSON document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from discreet.commands.output import with_options
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from tests.helpers.commands import run
from tests.helpers.curator.land import CANARY, write_town


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests of this file: what is refused changes nothing."""
    path = write_town(tmp_path_factory.mktemp("town") / "town", epsilon="10")
    open_curator(read_config(path), create=True).close()
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("receipt", "verify", "nowhere", "--key", "00"),
        ("ledger", "verify", "{config}", "--receipt", "nowhere"),
        ("ledger", "export", "{config}", "{config}"),
        ("ledger", "show", "nowhere"),
        ("serve", "nowhere"),
        ("ask", "nowhere.csv", "SELECT COUNT(*) FROM nowhere", "--unit", "x", "--epsilon", "1"),
        ("analyst", "add", "{config}", "owner"),
        ("analyst", "revoke", "{config}", "nobody"),
        ("token", "{config}", "nobody"),
        ("init", "nowhere.csv", "--output", "nowhere.toml"),
    ],
)
def test_a_wrong_file_or_name_is_one_line_too_and_json_with_json(config: Path, arguments: tuple[str, ...]) -> None:
    given = [one.format(config=config) for one in arguments]
    done = run(*given)
    assert done.exit_code == 1
    assert done.stderr.startswith("refused ")
    assert done.stderr.count("\n") == 1
    if arguments[:2] != ("ledger", "export") and arguments[0] != "serve":
        shown = json.loads(run(*given, "--json").stderr)
        assert set(shown["error"]) == {"kind", "code", "message", "hint", "fields"}


@pytest.mark.slow
def test_an_internal_error_shows_no_value(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("discreet.commands.ask._print_answer", fail)
    done = run("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1")
    assert done.exit_code == 1
    assert "RuntimeError at fail" in done.stderr
    assert CANARY not in done.output


@dataclass(frozen=True)
class Shared:
    """What two commands take."""

    file: Annotated[str, typer.Argument()]
    often: Annotated[int, typer.Option("--times")] = 2
    words: Annotated[list[str], typer.Option("--word")] = field(default_factory=list)


def test_the_fields_of_a_dataclass_are_options_of_each_command_that_takes_it() -> None:
    app, seen = typer.Typer(), list[object]()

    @app.command("first")
    @with_options(Shared)
    def first(options: Shared) -> None:
        seen.append(options)

    @app.command("second")
    @with_options(Shared)
    def second(options: Shared, *, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        seen.append((options, loud))

    runner = CliRunner()
    assert runner.invoke(app, ["first", "x"]).exit_code == 0
    assert runner.invoke(app, ["second", "y", "--times", "3", "--word", "a", "--word", "b", "--loud"]).exit_code == 0
    assert seen == [Shared("x"), (Shared("y", 3, ["a", "b"]), True)]
    assert runner.invoke(app, ["first"]).exit_code == 2, "what has no default must be given"
