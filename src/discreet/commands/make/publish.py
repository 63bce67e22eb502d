"""``discreet publish``: tables that add up, from a file that says what to publish, into a new folder.

Promise: as for ``discreet synthesize``: with ``--ledger`` the charge is durable before the data is read, without it the
price is the whole budget and nothing is remembered. All that can be refused is refused before. Nothing is written over.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.commands.ask import LedgerFile
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx
from discreet.query.answer.export import check_ending
from discreet.query.plan.key_sets import Hierarchy, hierarchy
from discreet.query.plan.public_totals import COUNT, PublicTotals, public_totals
from discreet.query.plan.schema import Declared, Table, table
from discreet.session.session import Session
from discreet.synthetic.hierarchical.nested import NestedPublication, NestedTables, nested
from discreet.synthetic.hierarchical.plan import Publication, publication
from discreet.synthetic.hierarchical.released import PublishedTables

Plan = Annotated[Path, typer.Argument(help="a .toml file: the data, its columns and places, and the tables")]
Folder = Annotated[Path, typer.Argument(help="the folder to write, which is new")]
_NAMES = {"source", "table", "unit", "max_rows", "epsilon", "delta", "tables", "weights", "split", "rows", "format",
          "places", "columns", "public_totals", "households"}  # fmt: skip
_HOUSEHOLDS = {"source", "table", "unit", "tables", "weights", "split", "columns", "public_totals", "size", "share"}
_INVARIANTS = (
    "must be left out: a count that is published without noise has no differential privacy guarantee; declare totals "
    "that are public knowledge with [[public_totals]]"
)


@fail_plainly
def publish_command(plan: Plan, out: Folder, *, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """Publish tables over a hierarchy: integers that add up, each with its error, and a release card."""
    if out.exists() or not out.absolute().parent.is_dir():
        raise BadParameter("out", str(out), "must be a new folder, in a folder that is there")
    written = _read(plan)
    ending = written.get("format", "csv")
    if ending not in ("csv", "parquet", "xlsx"):
        raise BadParameter("format", ending, "must be csv, parquet or xlsx")
    check_ending(ending)
    places = _places(plan.parent, _section(written, "places"))
    homes = _section(written, "households")
    name, declared = _table(plan.parent, written, places, written)
    tables, wanted = {name: declared}, _publication(written)
    workload: Publication | NestedPublication = wanted
    if homes:
        outer, declared = _table(plan.parent, homes, places, {"unit": written.get("unit"), "max_rows": 1} | homes)
        tables[outer] = declared
        share = str(homes.get("share", "1/2"))
        workload = nested(wanted, _publication(homes), table=outer, size=_needed(homes, "size"), share=share)
    price = Approx(str(_needed(written, "epsilon")), str(_needed(written, "delta")))
    session = Session(tables, budget=price if ledger is None else None, ledger=ledger)
    made: PublishedTables | NestedTables = session.tabulate(name, workload, price.epsilon, delta=price.delta)
    out.mkdir()
    files = [*made.write(out, ending), *_write_rows(made, out, wanted.rows)]
    card = made.card()
    (out / "card.json").write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps({"files": files, "card": card, "remaining": str(session.remaining)}, ensure_ascii=False))
        return
    console = Console()
    console.print(made.explain(), highlight=False, markup=False)
    console.print(f"wrote {len(files)} files and card.json to {out}; left: {session.remaining}", highlight=False)
    if ledger is None:
        console.print("[dim]nothing was remembered: --ledger FILE keeps a budget between releases[/]")


def _table(
    folder: Path, given: Mapping[str, Any], places: list[Hierarchy], unit: Mapping[str, Any]
) -> tuple[str, Table]:
    """The name of a private table, and its declaration."""
    source = str(folder / _needed(given, "source"))
    declared = table(
        source,
        unit=_needed(unit, "unit"),
        columns={name: _column(name, data) for name, data in _section(given, "columns").items()},
        max_rows=unit.get("max_rows"),
        key_sets=places,
        public_totals=_totals(folder, given.get("public_totals", []), places),
    )
    return given.get("table") or Path(source).stem, declared


def _publication(given: Mapping[str, Any]) -> Publication:
    return publication(
        _needed(given, "tables"),
        weights=given.get("weights"),
        split=given.get("split"),
        rows=bool(given.get("rows")),
    )


def _write_rows(made: PublishedTables | NestedTables, out: Path, wanted: bool) -> list[str]:
    """Rows behind the tables; always where persons live in households."""
    import pyarrow.parquet as pq

    rows = {}
    if isinstance(made, NestedTables):
        rows["households"], rows["persons"] = made.rows()
    elif wanted:
        rows["rows"] = made.rows()
    for name, listed in rows.items():
        pq.write_table(listed, out / f"{name}.parquet")
    return [f"{name}.parquet" for name in rows]


def _read(plan: Path) -> dict[str, Any]:
    try:
        written = tomllib.loads(plan.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadParameter("plan", str(plan), "must be a TOML file that can be read") from None
    if "invariants" in written:
        raise BadParameter("invariants", written["invariants"], _INVARIANTS)
    for section, allowed in ((written, _NAMES), (_section(written, "households"), _HOUSEHOLDS)):
        for name in section:
            if name not in allowed:
                raise BadParameter("plan", name, f"must have only {', '.join(sorted(allowed))}")
    return written


def _needed(section: Mapping[str, Any], name: str) -> Any:
    if name not in section:
        raise BadParameter(name, None, "must be given in the plan")
    return section[name]


def _section(written: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = written.get(name, {})
    if not isinstance(section, dict):
        raise BadParameter(name, section, f"must be a section: [{name}]")
    return section


def _column(name: str, data: Any) -> Declared:
    from discreet.curator.service.declarations import ColumnSection
    from discreet.curator.service.sections import read_section

    return read_section(ColumnSection, data, f"columns.{name}").declared()


def _places(folder: Path, given: Mapping[str, Any]) -> list[Hierarchy]:
    """The hierarchy, from a public file. All columns of a CSV are text, so that codes keep their zeros."""
    if not given:
        return []
    levels = _needed(given, "levels")
    places = _public_file(folder / _needed(given, "file"), "places", levels, text=levels)
    return [hierarchy(given.get("name", "places"), levels, table=places, other=given.get("other"))]


def _totals(folder: Path, given: Any, places: list[Hierarchy]) -> list[PublicTotals]:
    """Public totals, from rows in the plan or from a public file with a column ``count``."""
    from discreet.curator.service.declarations import TotalsSection
    from discreet.curator.service.sections import read_section

    levels = [name for hierarchy in places for name in hierarchy.levels]
    totals = []
    for i, section in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(section, dict) and "file" in section:
            names = [*_needed(section, "columns"), COUNT]
            text = [name for name in names if name in levels]
            counts = _public_file(folder / section["file"], "public_totals", names, text=text)
            totals.append(public_totals(counts, names[:-1], from_data=section.get("from_data")))
        else:
            totals.append(read_section(TotalsSection, section, f"public_totals[{i}]").declared())
    return totals


def _public_file(file: Path, name: str, columns: list[str], *, text: list[str]) -> Any:
    """Some columns of a CSV or Parquet file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    try:
        if file.suffix == ".parquet":
            return pq.read_table(file, columns=columns)
        kinds = dict.fromkeys(text, pa.string())
        options = pyarrow.csv.ConvertOptions(column_types=kinds, include_columns=columns)
        return pyarrow.csv.read_csv(file, convert_options=options)
    except (OSError, pa.ArrowException, KeyError):
        must = f"must be a CSV or Parquet file with the columns {', '.join(columns)}"
        raise BadParameter(name, str(file), must) from None
