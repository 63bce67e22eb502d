"""The command line, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from discreet.commands.app import app

SQL = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY clinic"
OPTIONS = ("--unit", "person", "--bounds", "cost=0:100", "--keys", "clinic=North,South")


def run(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"}, **options)
