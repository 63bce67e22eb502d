"""``discreet profile``: a private profile of a file.

Promise: paid like any question, before the file is read; a ledger keeps what was released.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from discreet.commands.ask import (
    Bounds,
    Budget,
    Delta,
    Epsilon,
    File,
    Keys,
    LedgerFile,
    Name,
    RuleName,
    Unit,
    Unknown,
    open_session,
    promise,
)
from discreet.commands.output import AsJson, fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.errors import BadParameter
from discreet.query.plan.schema import AUTO
from discreet.query.profile.profile import Profile

OnlyColumns = Annotated[list[str], typer.Option("--column", help="only these columns; fewer are less noisy")]


@fail_plainly
def profile_command(
    file: File,
    *,
    unit: Unit,
    epsilon: Epsilon = "",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    unknown: Unknown = [],  # noqa: B006
    column: OnlyColumns = [],  # noqa: B006
    ledger: LedgerFile = None,
    budget: Budget = "",
    rule: RuleName = "",
    as_json: AsJson = False,
) -> None:
    """A private profile of a file: rows per person, groups, keys and values, with confidence intervals."""
    options = TableOptions(file, unit, table_name, bound, key, unknown, AUTO)
    if not epsilon:
        raise BadParameter("epsilon", None, "must be given: what the profile may cost")
    whole = promise(budget or ("" if ledger else epsilon), delta)
    session = open_session(options, whole, ledger, rule, delta)
    with Console(stderr=True).status("paying, reading, adding noise"):
        profile = session.profile(options.table_name, epsilon, columns=column or None)
    if as_json:
        typer.echo(json.dumps(as_dict(profile) | {"remaining": str(session.remaining)}, ensure_ascii=False))
        return
    typer.echo(str(profile))
    typer.echo(f"left: {session.remaining}")


def as_dict(profile: Profile) -> dict[str, object]:
    """For JSON: each class with its noisy number of units, and the error bar of each."""
    return {
        "table": profile.table,
        "cost": profile.cost,
        "histograms": [
            {
                "about": histogram.about.value,
                "column": histogram.column,
                "error": histogram.error([1.0], 0.05),
                "confidence": "0.95",
                "classes": [[histogram.label(i), count] for i, count in enumerate(histogram.counts)],
            }
            for histogram in profile.histograms
        ],
    }
