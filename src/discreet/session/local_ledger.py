"""A session's budget in a ledger on this machine: ``dp.Session(..., ledger=...)`` and ``discreet ask --ledger``.

Promise: the budget belongs to the people in the session's tables. It is opened once; whoever opens the file later, in
any number of processes, spends what is left of it, durably, before data are read. A session that would protect other
people, another unit or other neighbours, or has another budget in mind, is refused, and nothing is written.
"""

from __future__ import annotations

import os
import secrets
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines import data_paths
from discreet.engines.sources import DatabaseTable, Files, Format, open_source
from discreet.errors import AlreadyProtected, BadData, BadParameter, LedgerUnavailable
from discreet.ledger.entries import canonical, digest
from discreet.ledger.owner_acts import check_name
from discreet.ledger.state import Population
from discreet.ledger.storage.connections import is_address
from discreet.ledger.store import Ledger, open_ledger
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import Table
from discreet.session.ledger_budget import LedgerBoard, LedgerBudget

ANALYST = "local"
_NO_TYPES = (
    "{name}: this ledger was opened by a version that guessed the types of CSV columns from their values. All columns "
    "of {place} are text now: declare those that are numbers or dates (dp.bounds, --bounds); `discreet init` with the "
    "file lists them. What was spent stays spent. This is said once."
)
_SQLITE = b"SQLite format 3\x00"


class LocalLedger:
    """A ledger that is open for one session: it pays each question and stores each answer.

    >>> import tempfile
    >>> from discreet.privacy.promises.measures import Approx
    >>> from discreet.session.session import Session
    >>> from discreet.query.plan.schema import table
    >>> visits, ledger = table({"patient": [1, 2, 2]}, unit="patient"), Path(tempfile.mkdtemp(), "budget.db")
    >>> session = Session(visits=visits, budget=Approx(1, "1e-6"), ledger=ledger)
    >>> answer = session.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="0.25")
    >>> Session(visits=visits, ledger=ledger).remaining
    Approx(epsilon='3/4', delta='1/2000000')
    """

    def __init__(self, ledger: Ledger, dataset: str, population: Population, folder: Path) -> None:
        self.population = population
        self._folder = folder
        self._ledger = ledger
        self._dataset = dataset
        weakref.finalize(self, ledger.close)

    @property
    def budget(self) -> Measure:
        """What all answers together keep."""
        return self.population.budget

    @property
    def rule(self) -> Rule | None:
        """How it is counted."""
        return self.population.rule

    @property
    def neighbours(self) -> Neighbours:
        """What it protects."""
        return self.population.neighbours

    def budget_store(self, question: str) -> LedgerBudget:
        """What pays for a question, once."""
        key = secrets.token_hex(16)
        return LedgerBudget(self._ledger, self._dataset, ANALYST, key=key, query=question.strip(), parameters={})

    def board(self, name: str | None, query: str, parameters: dict[str, Any]) -> LedgerBoard:
        """What keeps a dashboard, in a folder beside the ledger; without a name it is known by what it asks."""
        given = digest(canonical([query.strip(), parameters]))[:16] if name is None else check_name(name, "name")
        return LedgerBoard(
            self._ledger, self._dataset, ANALYST, name=given, query=query.strip(), parameters=parameters,
            folder=self._folder,
        )  # fmt: skip

    def store_bytes(self, budget_store: LedgerBudget, answer: bytes) -> None:
        """Store an answer, as JSON, before it is shown."""
        if budget_store.charge is None:  # nothing is answered before it is paid
            raise LedgerUnavailable("there is no charge for this answer, so it may not be shown")
        self._ledger.store_answer(budget_store.charge, answer)


@dataclass(frozen=True, slots=True)
class OpeningTerms:
    """What a session declares of its budget; None: as the ledger has it."""

    budget: Measure | None
    neighbours: Neighbours | None
    rule: Rule | None


def open_local_ledger(
    location: str | os.PathLike[str],
    tables: Mapping[str, Table],
    engine: str,
    *,
    budget: Measure | None,
    neighbours: Neighbours | None,
    rule: Rule | None,
) -> LocalLedger:
    """Open the ledger of a session, and the budget of its people if there is none yet.

    Of the data only marks are read, by which the same files can be known again. None: as the ledger has it.
    """
    path, wanted = _checked(location), OpeningTerms(budget, neighbours, rule)
    private = {name: _ProtectedTable.of(table, engine) for name, table in tables.items() if not table.public}
    if not private:
        raise BadParameter(
            "ledger", str(path), "must be left out: all tables are public, so there is no unit to protect"
        )
    if wanted.budget is None and not path.exists():
        raise BadParameter("budget", None, "must be given once for a new ledger: what all answers together may cost")
    ledger = open_ledger(path, create=True)
    try:
        population = _people(ledger, private)
        if population is None:
            population = _opened(ledger, private, wanted)
        _check(population, wanted)
        for name, data in private.items():
            _check_table(ledger, name, data)
        for name, data in private.items():
            registered = ledger.datasets.get(name)
            noted = False
            if data.csv and registered is not None and "csv" not in registered.about:
                warnings.warn(_NO_TYPES.format(name=name, place=data.place), stacklevel=2)
                noted = registered.marks <= set(map(ledger.owner.hidden, data.marks))  # no mark is lost
            if registered is None or noted or (data.marks and not registered.marks):
                ledger.owner.register(name, population.name, marks=data.marks, about=data.about)
        _grant(ledger, population.name)
        boards = path.with_name(f"{path.name}.boards")
        return LocalLedger(ledger, next(iter(private)), ledger.populations[population.name], boards)
    except BaseException:
        ledger.close()
        raise


def _checked(location: object) -> Path:
    if not isinstance(location, (str, os.PathLike)) or is_address(os.fspath(location)):
        raise BadParameter("ledger", location, "must be a file: a ledger in PostgreSQL is for the servers of a curator")
    path = Path(location)
    if not path.absolute().parent.is_dir():
        raise BadParameter("ledger", str(path), "must be in a folder that is there: make it first")
    if path.is_dir() or not _may_be_one(path):
        raise BadParameter("ledger", str(path), "must be a ledger, or a new file")
    return path


def _may_be_one(path: Path) -> bool:
    """Whether this is a file of SQLite, or will be: files of other kinds are not touched."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) in (b"", _SQLITE)
    except OSError:  # not there; or it cannot be read, which is reported when it is opened
        return True


# --- what is in the tables --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ProtectedTable:
    """One private table: whose rows they are, where they lie, and how they can be known again."""

    unit: str
    place: str
    marks: tuple[str, ...]
    csv: bool
    """Whether its columns have no types, and are read as text."""

    @classmethod
    def of(cls, table: Table, engine: str) -> _ProtectedTable:
        unit = str(table.unit) if table.through is None else f"{table.unit} -> {'.'.join(table.through)}"
        place, marks, csv = _where(table.source, engine)
        return cls(unit, place, tuple(marks), csv)

    @property
    def about(self) -> dict[str, str]:
        return {"file": self.place, "unit": self.unit} | ({"csv": "text"} if self.csv else {})


def _where(source: object, engine: str) -> tuple[str, Sequence[str], bool]:
    """Where data lie, in words, their marks (frames in memory have none), and whether they are CSV."""
    if isinstance(source, DatabaseTable):
        return f"{source.path}::{source.table}", [f"table {source}"], False
    listed = isinstance(source, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in source)
    if isinstance(source, (str, os.PathLike)) or listed:
        place = str(source)
        try:
            opened = open_source(source)
        except BadData:  # a table that a server knows by this name
            return place, [f"table {engine} {place}"], False
        if isinstance(opened, Files):
            return place, data_paths.marks(tuple(map(Path, opened.paths))), opened.format is Format.CSV
        return place, [f"table {opened}"], False
    if type(source).__module__.startswith("discreet."):  # a table of a server, by name
        return str(source), [f"table {engine} {source}"], False
    return f"a {type(source).__name__} in memory", [], False


# --- the people -------------------------------------------------------------------------------------------------------


def _people(ledger: Ledger, private: Mapping[str, _ProtectedTable]) -> Population | None:
    """The people whom the ledger has these tables for; None if it has nobody."""
    datasets, populations = ledger.datasets, ledger.populations
    names = {datasets[name].population for name in private if name in datasets}
    first = next(iter(private))
    if not names and first in populations and all(dataset.population != first for dataset in datasets.values()):
        names = {first}  # opened, and then ended before its tables were written down
    if len(names) > 1:
        raise BadParameter(
            "ledger", ", ".join(private), f"must be tables of one budget: in the ledger they are under {len(names)}"
        )
    if names:
        return populations[names.pop()]
    for name, data in private.items():
        try:
            ledger.owner.check_unprotected(name, first, marks=data.marks)
        except AlreadyProtected as same:
            as_named = ", ".join(datasets)
            raise AlreadyProtected(f"{same}; call the table here as the ledger does: {as_named}") from None
    if populations:
        raise BadParameter(
            "tables",
            ", ".join(private),
            f"must hold a table that this ledger has ({', '.join(datasets or populations)}): tables beside it share "
            "its budget; for other people use another ledger",
        )
    return None


def _opened(ledger: Ledger, private: Mapping[str, _ProtectedTable], wanted: OpeningTerms) -> Population:
    if wanted.budget is None:
        raise BadParameter("budget", None, "must be given once for a new ledger: what all answers together may cost")
    first, budget = next(iter(private)), wanted.budget
    words = (
        next(iter(private.values())).unit
        if len(private) == 1
        else "; ".join(f"{n}: {d.unit}" for n, d in private.items())
    )
    relation = wanted.neighbours or Neighbours.ADD_REMOVE
    _once(
        lambda: ledger.owner.protect(first, budget, unit=words, neighbours=relation, rule=wanted.rule),
        lambda: first in ledger.populations,
    )
    return ledger.populations[first]


def _check(population: Population, wanted: OpeningTerms) -> None:
    """A session has in mind what the ledger promises these people."""
    if wanted.budget not in (None, population.budget):
        raise BadParameter(
            "budget",
            str(wanted.budget),
            f"must be left out: the ledger has {population.budget} for {population.name!r}; discreet budget changes it",
        )
    if wanted.neighbours not in (None, population.neighbours):
        raise BadParameter(
            "neighbours",
            wanted.neighbours,
            f"must be left out: the budget in the ledger is for {population.neighbours}",
        )
    if wanted.rule not in (None, population.rule):
        raise BadParameter(
            "rule", wanted.rule, f"must be left out: the budget in the ledger is counted by {population.rule}"
        )


def _check_table(ledger: Ledger, name: str, data: _ProtectedTable) -> None:
    """A table has the unit and the data that the ledger knows it by, if it does."""
    registered = ledger.datasets.get(name)
    if registered is not None:
        unit = registered.about.get("unit")
        if unit is None:
            raise BadParameter("ledger", name, "must be no ledger of a curator: ask the curator, with dp.connect")
        if unit != data.unit:
            raise BadParameter("unit", data.unit, f"must be {unit!r}: the budget in the ledger protects that")
        if not ledger.owner.recognises(name, data.marks):
            raise BadParameter(
                name,
                data.place,
                f"must be the data that the ledger has, {registered.about.get('file')}: put newer data about the same "
                "people in its place; for other people use another ledger",
            )


def _grant(ledger: Ledger, population: str) -> None:
    owner = ledger.owner
    if ANALYST not in ledger.analysts:
        _once(lambda: owner.add_analyst(ANALYST), lambda: ANALYST in ledger.analysts)
    if population not in ledger.analysts[ANALYST].caps:
        owner.grant(ANALYST, population)


def _once(act: Callable[[], Any], done: Callable[[], bool]) -> None:
    """An act of the owner, unless another process was quicker."""
    try:
        act()
    except (AlreadyProtected, BadParameter):
        if not done():
            raise
