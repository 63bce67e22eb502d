"""Every command has ``--json`` and prints one JSON text; or it stands in a list, with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from discreet.commands.app import app
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from tests.commands.operate.test_upkeep import ASKED
from tests.helpers.commands import run

WITHOUT = {
    "demo": "a picture for people, on made-up data",
    "serve": 'runs until it is stopped; its log is JSON with log = "json"',
    "receipt registry": "prints JSON and nothing else",
    "ledger export": "prints lines of JSON, for a copy elsewhere",
}
VISITS = ("--unit", "person", "--max-rows", 1)
REFUSED = {"ledger acknowledge"}
"""There is no mismatch to acknowledge: an error is JSON on standard error."""
REQUESTS = "need a request: tests/commands/operate/test_budget_requests.py runs it with --json"
ELSEWHERE = {"publish": "tests/commands/make/test_publish.py runs it with --json",
             "history": "needs a server: tests/commands/operate/test_remote.py runs it with --json",
             "person sign-on": "needs a provider: tests/commands/operate/test_people.py runs it with --json",
             **dict.fromkeys(("request send", "request grant", "request refuse"), REQUESTS)}  # fmt: skip
DELTA = ("--delta", "1e-9")
COUNT = "SELECT COUNT(*) AS n FROM visits"
BOARD = (COUNT, *VISITS, "--by", "day", "--horizon", 5, "--epsilon", 1)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """All commands with their names."""
    for name in group.list_commands(None):
        found = group.get_command(None, name)
        if hasattr(found, "commands"):
            yield from commands(found, (*path, name))
        else:
            yield " ".join((*path, name)), found


@pytest.mark.slow
def test_every_command_prints_json(visits: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    days = tmp_path / "days.csv"
    days.write_text("person,day\n" + "".join(f"{i},2026-11-0{1 + i % 3}\n" for i in range(30)))
    board = (*BOARD, "--budget", 2, "--delta", "1e-6", "--ledger", tmp_path / "board.db", "--table", "visits",
             "--bounds", "day=2026-11-01..2026-11-30")  # fmt: skip
    curator = open_curator(read_config(config))
    curator.ledger.owner.add_analyst("zoe")
    curator.ledger.owner.grant("zoe", "other")
    zoe = curator.access.who("Bearer " + curator.access.issue("zoe", Role.ANALYST))
    charge = curator.ask(zoe, "other", ASKED)
    (tmp_path / "receipt").write_text(str(charge.proof))
    key = curator.ledger.public_key
    curator.close()
    config.write_text(config.read_text().replace('data = "data"', 'data = "data"\nwitness = "witness"', 1))
    ledger = config.parent / "curator.ledger"
    why = ("--reason", "a test of commands")
    learnt = ("--model", "regression", "--features", "code", "--target", "cost", "--bounds", "cost=0:100")
    runs: dict[str, tuple[Any, ...]] = {
        "sample": (tmp_path / "hospital",),
        "check": ("tests.commands.test_check:fine", "--rows", 1),
        "audit": ("tests.commands.test_check:noisy", "0", "1", "--samples", 500),
        "ask": (visits, COUNT, *VISITS, "--epsilon", 1),
        "preview": (visits, COUNT, *VISITS, "--epsilon", 1),
        "synthesize": (visits, tmp_path / "rows.parquet", *VISITS, "--epsilon", 1, "--keys", "code=0,1,2", *DELTA),
        "learn": (visits, tmp_path / "model.json", *VISITS, *learnt, "--bounds", "code=0:2", "--epsilon", 1, *DELTA),
        "profile": (visits, "--unit", "person", "--epsilon", 1),
        "init": (visits, "--unit", "person", "--output", tmp_path / "new.toml"),
        "prepare": (visits, tmp_path / "copy.duckdb", "--unit", "person"),
        "budget": (config,),
        "audit-log": (config,),
        "continual preview": (days, *board),
        "continual advance": (days, *board, "--day", "2026-11-01"),
        "continual show": (days, *board),
        "analyst add": (config, "ann"),
        "analyst grant": (config, "ann", "town", "--epsilon", 1, "--delta", "1e-19"),
        "analyst list": (config,),
        "token issue": (config, "ann"),
        "token rotate": (config, "ann"),
        "token list": (config,),
        "token revoke": (config, "ann", "--all"),
        "analyst revoke": (config, "ann"),
        "person add": (config, "bea", "--role", "steward"),
        "person change": (config, "bea", "--role", "auditor"),
        "person list": (config,),
        "person revoke": (config, "bea"),
        "request list": (config,),
        "key rotate": (config, *why),
        "ledger show": (config,),
        "ledger verify": (config,),
        "ledger acknowledge": (config, *why),
        "ledger write-off": (config, "town", "--epsilon", "0.1", *why),
        "ledger migrate": (config,),
        "ledger prune-answers": (config, "--days", 1),
        "ledger move-here": (config, *why),
        "ledger accept-witness": (config, *why),
        "receipt verify": (tmp_path / "receipt", "--key", key),
        "ledger backup": (config, tmp_path / "backup"),
        "ledger restore": (tmp_path / "backup", config),
    }
    found = dict(commands(typer.main.get_command(app)))
    assert set(found) == {*runs, *WITHOUT, *ELSEWHERE}
    offered = {name for name, command in found.items() if any("--json" in one.opts for one in command.params)}
    assert offered == {*runs, *ELSEWHERE}
    wrong = []
    for name, arguments in runs.items():
        if name == "ledger restore":
            for path in (ledger, *ledger.parent.glob("curator.ledger-*")):
                path.unlink(missing_ok=True)
        done = run(*name.split(), *arguments, "--json")
        if not is_json(done.stderr if name in REFUSED else done.stdout) or done.exit_code != (name in REFUSED):
            wrong.append((name, done.exit_code, done.stdout[-200:], done.stderr[-600:]))
    assert not wrong, wrong


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False
