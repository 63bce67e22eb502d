"""``discreet learn``: a file in, a model of one of its columns out, at one price.

Promise: as for ``discreet ask``: with ``--ledger`` the charge is durable before the file is read, without it the price
is the whole budget and nothing is remembered. The model is a new file of released numbers; nothing is written over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.commands.ask import Bounds, Budget, DeclaredRows, File, Keys, LedgerFile, Name, Unit, open_session
from discreet.commands.output import AsJson, fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.errors import BadParameter
from discreet.exact import significant
from discreet.learning.model_json import TableModel, to_json
from discreet.learning.models.histogram_tree import HistogramTree
from discreet.learning.models.linear import LinearRegression
from discreet.learning.models.naive_bayes import CategoricalNB
from discreet.privacy.promises.measures import Approx

MODELS: dict[str, Any] = {"regression": LinearRegression, "bayes": CategoricalNB, "tree": HistogramTree}

ModelFile = Annotated[Path, typer.Argument(help="the file to write: .json")]
Kind = Annotated[str, typer.Option("--model", help="regression, bayes or tree")]
Features = Annotated[str, typer.Option(help="the columns to learn from, between commas")]
PredictedColumn = Annotated[str, typer.Option(help="the column to predict")]
ModelEpsilon = Annotated[str, typer.Option(help="what the model may cost")]
Delta = Annotated[str, typer.Option(help="the delta of the cost; of the budget, if there is one")]


@fail_plainly
def learn_command(
    file: File,
    out: ModelFile,
    *,
    model: Kind,
    features: Features,
    target: PredictedColumn,
    unit: Unit,
    max_rows: DeclaredRows,
    epsilon: ModelEpsilon,
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    ledger: LedgerFile = None,
    budget: Budget = "",
    as_json: AsJson = False,
) -> None:
    """Write a private model of one column: dp.learning.from_json reads it, and it predicts."""
    if out.exists() or out.suffix.lower() != ".json" or not out.absolute().parent.is_dir():
        raise BadParameter("out", str(out), "must be a new file that ends in .json, in a folder that is there")
    if model not in MODELS:
        raise BadParameter("model", model, f"must be one of {', '.join(MODELS)}")
    if not delta and (ledger is None or budget):
        raise BadParameter("delta", None, "must be given, such as 1e-9: the noise of a model is Gaussian")
    options = TableOptions(file, unit, table_name, bound, key, [], str(max_rows))
    whole = Approx(budget or epsilon, delta) if budget or ledger is None else None
    session = open_session(options, whole, ledger, "", delta)
    names = [name.strip() for name in features.split(",")]
    fitted: TableModel = session.learn(
        MODELS[model], options.table_name, features=names, target=target, epsilon=epsilon
    )
    out.write_text(to_json(fitted))
    facts = describe(fitted, names, target)
    if as_json:
        shown = {"file": str(out), "model": model, "about": facts, "remaining": str(session.remaining)}
        typer.echo(json.dumps(shown | {"remembered": ledger is not None}, ensure_ascii=False))
        return
    console = Console()
    for line in facts:
        console.print(line, highlight=False, markup=False)
    console.print(f"wrote {out}", highlight=False)
    console.print(f"[dim]spent epsilon {epsilon}; left: {session.remaining}[/]", highlight=False)
    if ledger is None:
        console.print("[dim]nothing was remembered: --ledger FILE keeps a budget between queries[/]")


def describe(model: TableModel, names: list[str], target: str) -> list[str]:
    """A few lines about what was learned: released numbers alone."""
    if isinstance(model, LinearRegression):
        slopes = zip(names, model.coef_.tolist(), model.coef_error_.tolist(), strict=True)
        lines = [f"{name}: {significant(slope, 4)} ± {significant(error, 2)}" for name, slope, error in slopes]
        return [
            *lines,
            f"{target} is about {significant(model.residual_std_, 3)} off a prediction",
            _rows(model.n_rows_),
        ]
    counts = zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True)
    lines = [f"{label}: about {count:,.0f} rows" for label, count in counts]
    return [*lines, *(model.describe(names).splitlines() if isinstance(model, HistogramTree) else [])]


def _rows(count: float) -> str:
    return f"from about {count:,.0f} rows"
