"""curator.toml: where the ledger and the data are, what is declared of the data, and what the service allows.

    [server]    data = "data"  ledger = "curator.ledger"  quantum = 0.25  host = "127.0.0.1"  port = 8750
    [limits]    requests_per_second, burst, under_way, body, patience, groups, tables, deadline, memory
    [datasets.hospital]         budget = {epsilon = "2", delta = "1e-9"}  protects = "one patient"
    [datasets.hospital.tables.visits]   as in declarations.py

Promise: what is read is exact (0.1 is one tenth) and complete; what is not understood is refused with its place in the
file. Paths are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.curator.limits import Limits
from discreet.curator.service import declarations
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours

PORT = 8750


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredDataset:
    """A data set of the file: its declaration, and the budget of the people in it."""

    dataset: declarations.Dataset
    population: str
    protects: str
    neighbours: Neighbours
    rule: Rule | None
    budget: Measure | None
    """None: another data set of the same population has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything in curator.toml."""

    data: Path
    ledger: str | Path
    key: Path | None = None
    head: Path | None = None
    host: str = "127.0.0.1"
    port: int = PORT
    processes: int = 1
    quantum: Fraction = Fraction(1, 4)
    limits: Limits
    datasets: Mapping[str, ConfiguredDataset]


def read_config(path: Path) -> Config:
    """What a curator.toml says."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadParameter(
            "config", str(path), "must be a file that can be read; write one with discreet init"
        ) from None
    try:
        said = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as wrong:
        raise BadParameter("config", str(path), f"must be TOML: {wrong}") from None
    return config_of(said, path.parent)


def config_of(said: Mapping[str, Any], folder: Path) -> Config:
    """The configuration that a parsed file holds; paths are relative to ``folder``."""
    said = declarations.section(dict(said), "config", {"server", "limits", "datasets"})
    server = declarations.section(
        said.get("server", {}),
        "server",
        {"data", "ledger", "key", "head", "host", "port", "processes", "quantum"},
    )
    ledger = _text(server, "ledger", "curator.ledger")
    quantum = number(server.get("quantum", Fraction(1, 4)), "server.quantum")
    if not Fraction(1, 100) <= quantum <= 60:
        raise BadParameter("server.quantum", quantum, "must be between 0.01 and 60 seconds")
    return Config(
        data=folder / _text(server, "data", "data"),
        ledger=ledger if "://" in ledger else folder / ledger,
        key=_path(server, "key", folder),
        head=_path(server, "head", folder),
        host=_text(server, "host", "127.0.0.1"),
        port=_whole(server, "port", PORT, 65535),
        processes=_whole(server, "processes", 1, 64),
        quantum=quantum,
        limits=_limits(said.get("limits", {})),
        datasets=_datasets(said.get("datasets", {})),
    )


def _datasets(said: Any) -> dict[str, ConfiguredDataset]:
    found = {
        declarations.read_name(name, "datasets"): _dataset(name, one)
        for name, one in declarations.section(said, "datasets", None).items()
    }
    funded = {one.population for one in found.values() if one.budget is not None}
    for name, one in found.items():
        if one.population not in funded:
            raise BadParameter(
                f"datasets.{name}.budget", None, f"must be given once for the people of {one.population!r}"
            )
    return found


def _dataset(name: str, said: Any) -> ConfiguredDataset:
    place = f"datasets.{name}"
    said = declarations.section(said, place, {"tables", "population", "protects", "neighbours", "rule", "budget"})
    budget = said.get("budget")
    return ConfiguredDataset(
        dataset=declarations.read({"tables": said.get("tables", {})}, place),
        population=declarations.read_name(said.get("population", name), f"{place}.population"),
        protects=_text(said, "protects", "one person", place),
        neighbours=declarations.read_neighbours(said.get("neighbours", "add_remove"), f"{place}.neighbours"),
        rule=declarations.read_rule(said.get("rule"), f"{place}.rule"),
        budget=None if budget is None else declarations.read_promise(budget, f"{place}.budget"),
    )


def _limits(said: Any) -> Limits:
    known = [field.name for field in fields(Limits)]
    try:
        return Limits(**declarations.section(said, "limits", known))
    except BadParameter as wrong:
        if wrong.name.startswith("limits"):
            raise
        raise BadParameter(f"limits.{wrong.name}", said.get(wrong.name), wrong.must) from None


def _text(said: Mapping[str, Any], name: str, default: str, place: str = "server") -> str:
    value = said.get(name, default)
    if not isinstance(value, str) or not value:
        raise BadParameter(f"{place}.{name}", value, "must be a text")
    return value


def _path(said: Mapping[str, Any], name: str, folder: Path) -> Path | None:
    return folder / _text(said, name, "") if name in said else None


def _whole(said: Mapping[str, Any], name: str, default: int, most: int) -> int:
    value = said.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise BadParameter(f"server.{name}", value, f"must be a whole number up to {most}")
    return value
