"""``discreet synthesize``: a file in, a file of synthetic rows out, at one price.

Promise: as for ``discreet ask``: with ``--ledger`` the charge is durable before the file is read, without it the price
is the whole budget and nothing is remembered. The file that is written is new; nothing is written over. Ctrl-C keeps
what was paid for: the model so far, and its rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from discreet.commands.ask import Bounds, Budget, File, Keys, LedgerFile, Name, Rows, Unit, open_session
from discreet.commands.output import AsJson, fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.errors import BadParameter
from discreet.messages import Interface
from discreet.privacy.promises.measures import Approx
from discreet.synthetic.result import Synthetic

RowsFile = Annotated[Path, typer.Argument(help="the file to write: .parquet or .csv")]
RowsEpsilon = Annotated[str, typer.Option(help="what the rows may cost")]
Delta = Annotated[str, typer.Option(help="the delta of the cost; of the budget, if there is one")]
Count = Annotated[int, typer.Option("--rows", help="how many; about as many as count, if left out")]
Workload = Annotated[str, typer.Option(help='which counts shall be right, such as "all 2-way"; by default, all 3-way')]
SomeColumns = Annotated[
    str, typer.Option(help="some columns, between commas; by default all with bounds or keys, and truth")
]
Quick = Annotated[bool, typer.Option("--quick", help="half the time for slightly more error")]


@fail_plainly
def synthesize_command(
    file: File,
    out: RowsFile,
    *,
    unit: Unit,
    epsilon: RowsEpsilon,
    delta: Delta = "",
    max_rows: Rows = "",
    rows: Count = 0,
    workload: Workload = "",
    columns: SomeColumns = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    ledger: LedgerFile = None,
    budget: Budget = "",
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Write synthetic rows that look like a file: private, with real types, for any tool."""
    if out.exists() or out.suffix.lower() not in (".parquet", ".csv"):
        raise BadParameter("out", str(out), "must be a new file that ends in .parquet or .csv")
    if not out.absolute().parent.is_dir():
        raise BadParameter("out", str(out), "must be in a folder that is there")
    if rows < 0:
        raise BadParameter("rows", rows, "must be at least 1")
    if not delta and (ledger is None or budget):
        raise BadParameter("delta", None, "must be given, such as 1e-9: Gaussian noise is never purely private")
    options = TableOptions(file, unit, table_name, bound, key, [], max_rows)
    whole = Approx(budget or epsilon, delta) if budget or ledger is None else None
    session = open_session(options, whole, ledger, "", delta)
    made = session.synthesize(
        options.table_name,
        epsilon=epsilon,
        columns=[name.strip() for name in columns.split(",")] if columns else None,
        workload=workload or None,
        rows=rows or None,
        quick=quick,
    )
    made.write(out)
    _print(made, out, str(session.remaining), as_json, remembered=ledger is not None)


def _print(made: Synthetic, out: Path, remaining: str, as_json: bool, *, remembered: bool) -> None:
    report = made.report()
    if as_json:
        shown = {
            "file": str(out),
            "rows": len(made),
            "columns": list(made.domain.columns),
            "spent": str(made.promise),
            "remaining": remaining,
            "complete": made.run.complete,
            "notes": [note.as_json(Interface.COMMAND) for note in made.notes],
            "report": [{"columns": q.columns, "distance": q.distance, "noise": q.noise} for q in report],
            "remembered": remembered,
        }
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    console = Console()
    printed = Printed("measured", "model from it", "noise alone", box=None)
    for q in report[:10]:
        printed.add_row(" x ".join(q.columns), f"{q.distance:.3f}", f"{q.noise:.3f}")
    console.print(printed)
    for note in made.notes:
        console.print(f"[dim]{escape(note.text(Interface.COMMAND))}[/]", highlight=False)
    end = "" if made.run.complete else "; stopped before its end, and charged in full"
    console.print(f"wrote {len(made):,} rows to {out}{end}", highlight=False)
    console.print(
        f"[dim]L1 distances as shares of all rows; spent {made.promise}; left: {remaining}[/]", highlight=False
    )
    if not remembered:
        console.print("[dim]nothing was remembered: --ledger FILE keeps a budget between queries[/]")
