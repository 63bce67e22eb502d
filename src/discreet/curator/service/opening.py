"""Opening a curator: its ledger, and the data sets of its file.

Promise: what the file declares of a data set is registered once; a budget that is in the ledger is changed there, by
an act of the owner, and never by a file.
"""

from __future__ import annotations

from typing import Any

from discreet.curator.engine_process.scratch import sweep
from discreet.curator.service import declarations
from discreet.curator.service.config import Config, ConfiguredDataset
from discreet.curator.service.service import Curator, Point
from discreet.errors import AlreadyProtected, BadParameter
from discreet.ledger.journal import Clock, utc
from discreet.ledger.records import BudgetRecord, PopulationRecord
from discreet.ledger.state import Dataset
from discreet.ledger.store import Ledger, open_ledger
from discreet.privacy.promises.measures import Measure


def open_curator(config: Config, *, create: bool = False, clock: Clock = utc, at: Point = lambda _: None) -> Curator:
    """The curator that a configuration describes: its ledger, with the data sets of the file registered."""
    sweep()
    ledger = open_ledger(config.ledger, key=config.key, head=config.head, create=create, clock=clock, at=at)
    curator = Curator(config, ledger, clock=clock, at=at)
    try:
        for name, configured in sorted(config.datasets.items(), key=lambda pair: pair[1].budget is None):
            _register(curator, name, configured)
    except BaseException:
        curator.close()
        raise
    return curator


def _register(curator: Curator, name: str, configured: ConfiguredDataset) -> None:
    """Bring the ledger up to what the file declares of a data set; a new budget takes an act of the owner.

    A budget that the ledger had before means that the file is out of date: the later act counts.
    """
    people, registered = curator.ledger.populations.get(configured.population), curator.ledger.datasets.get(name)
    if people is not None and configured.budget not in (None, *_budgets(curator.ledger, people.name)):
        raise BadParameter(
            f"datasets.{name}.budget",
            str(configured.budget),
            f"must be what the ledger has, which is {people.budget}: change it there first, with discreet budget",
        )
    same = [declarations.write(tables) for tables in (configured.declared, configured.declared.completed())]
    if registered is not None and (registered.retired or _declared(registered) in same):
        return
    try:
        curator.register(
            name,
            configured.declared,
            configured.population,
            budget=configured.budget if people is None else None,
            protects=configured.protects,
            neighbours=configured.neighbours,
            rule=configured.rule,
            decision=configured.decision,
        )
    except AlreadyProtected:
        registered = curator.ledger.datasets.get(name)
        if registered is None or registered.population != configured.population:  # else another server was quicker
            raise


def _declared(dataset: Dataset) -> dict[str, Any]:
    """What the owner declared of a data set, without what the service noted of it."""
    return declarations.write(declarations.read(dict(dataset.about), dataset.name).without_known_columns())


def _budgets(ledger: Ledger, population: str) -> list[Measure]:
    """All budgets that a population ever had."""
    return [
        kind.read(line.entry).budget
        for kind in (PopulationRecord, BudgetRecord)
        for line in ledger.entries(kind=kind.KIND, population=population, limit=1_000_000)
    ]
