"""``discreet budget``: where the budgets stand, what a household is promised; or change a budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.locations import Reason, given_amount, open_ledger_of
from discreet.commands.operate.remote import TokenFile, is_address, show_budget
from discreet.commands.output import AsJson, fail_plainly, gauge
from discreet.curator.amounts import write_amount
from discreet.errors import BadParameter
from discreet.exact import significant

LedgerOrAddress = Annotated[
    str, typer.Argument(help="the curator.toml, a ledger of ask --ledger, or https://... of a curator")
]
_WIDE = 100
"""Columns of a terminal that has room for long bars."""


@fail_plainly
def budget_command(
    config: LedgerOrAddress,
    population: Annotated[str, typer.Argument(help="whose budget; to change it, with --epsilon or --rho")] = "",
    *,
    epsilon: Annotated[str, typer.Option(help="the new budget")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon or rho")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    reason: Reason = "",
    household: Annotated[int, typer.Option(help="what a household of so many is promised", show_default=False)] = 0,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Where the budgets stand; or change one. What was spent stays spent."""
    from discreet.curator.service.service import budgets

    if is_address(config):
        show_budget(config, token_file, as_json)
        return
    changed = given_amount(epsilon, delta, rho, "budget")
    if changed is not None and not population:
        raise BadParameter("population", None, "must be named, to change its budget")
    with open_ledger_of(Path(config)) as ledger:
        if population and population not in ledger.populations:
            raise BadParameter("population", population, f"must be one of {', '.join(ledger.populations)}")
        if changed is not None:
            ledger.owner.set_budget(population, changed, reason=reason)
        standings = [standing for standing in budgets(ledger) if not population or standing["population"] == population]
        for household_of in standings if household else []:
            group = ledger.household(household_of["population"], household)
            amounts = {"charged": group.charged, "promised": group.promised}
            written = {name: None if amount is None else write_amount(amount) for name, amount in amounts.items()}
            household_of["household"] = {"people": household, **written}
    if as_json:
        typer.echo(json.dumps(standings))
    else:
        _print(standings)


def _print(standings: Sequence[dict[str, Any]]) -> None:
    console = Console()
    table = Table("people", "who", "budget", "spent", "", "left", box=None)
    for row in (row for standing in standings for row in (standing, *standing["analysts"])):
        left = row["remaining_epsilon"]
        table.add_row(
            escape(row["population"]),
            "all" if row["analyst"] is None else escape(row["analyst"]),
            escape(row["budget"]["text"]),
            gauge(row["share"], 20 if console.width >= _WIDE else 8),
            f"{row['share']:.1%}",
            escape(row["remaining"]["text"] if left is None else f"epsilon {significant(left, 4)}"),
        )
    console.print(table)
    for people in standings:
        if len(people["accounts"]) > 1:
            by_sum, by_zcdp = (escape(left["text"]) for left in people["accounts"])
            console.print(
                f"{escape(people['population'])}: all together have {by_sum} left by adding up, or {by_zcdp} by zCDP; "
                "a query needs room in one of them",
                style="dim", highlight=False,
            )  # fmt: skip
    console.print(
        "spent: by all, or by the analyst alone, as a part of the budget in the row; where delta is counted too, the "
        "larger part. left: what one more query may cost, by the analyst's own cap and by the budget of all",
        style="dim", highlight=False,
    )  # fmt: skip
    for people in standings:
        if "household" in people:
            charged, promised = (
                "no bound is known" if people["household"][name] is None else people["household"][name]["text"]
                for name in ("charged", "promised")
            )
            console.print(
                f"a household of {people['household']['people']} in {escape(people['population'])} is promised: "
                f"{escape(promised)}; charged so far: {escape(charged)}",
                highlight=False,
            )
