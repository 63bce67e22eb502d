"""Data sets that can be asked: their tables behind an engine of their own, and the plans of their questions."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.curator.engine_process.file_facts import FileFacts, file_facts
from discreet.curator.engine_process.process import Isolated
from discreet.curator.error_replies import log
from discreet.curator.service import declarations
from discreet.curator.service.config import Config
from discreet.errors import BadData, DiscreetError
from discreet.ledger.state import Dataset, Population
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.query.plan.schema import EACH_ROW, Table
from discreet.session.backend import Backend
from discreet.session.copies import usual_works
from discreet.session.query import Query
from discreet.session.session import Session, backend_of

Originals = tuple[tuple[object, FileFacts | None], ...]

QUICK = 0.005
"""Seconds that a preview may have taken before, to be made in the loop of a server."""


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """A data set that can be asked: its tables behind an engine of their own."""

    about: Mapping[str, Any]
    session: Session
    engine: Isolated
    plans: Plans
    originals: Originals = ()
    """The files of which it has prepared copies, as they were then."""
    on_files: bool = True
    """Whether its tables are files of this machine."""

    @property
    def backend(self) -> Backend:
        """The same as queries and programs need it."""
        return backend_of(self.session)

    def current(self) -> bool:
        """Whether the files of its copies have not changed since."""
        return all(file_facts(source) == facts for source, facts in self.originals)

    def data_version(self, hidden: Callable[[str], str]) -> str | None:
        """Which data these are: the owner's word, else what the files look like from outside; None if neither tells.

        ``hidden`` hides a text by a key of the service: the size of a file tells how many rows it has.
        """
        if "version" in self.about:
            return str(self.about["version"])
        copied = [source for source, _ in self.originals]
        tables = [schema.table for schema in self.session.schemas.values()]
        sources = [*copied, *(table.source for table in tables if table.public or not copied)]
        facts = [file_facts(source) if self.on_files else None for source in sources]
        if any(fact is None or any("::" in path for path, *_ in fact.identity) for fact in facts):
            return None  # a table of a database: its file may stay as it is while rows come
        return f"files {hidden(repr(facts))[:16]}"


def unit_column(unit: str | None) -> str:
    """The column of a table that names the unit, or leads to it.

    >>> unit_column("visit_id -> visits.patient_id")
    'visit_id'
    """
    return (unit or "").partition("->")[0].strip()


@dataclass(frozen=True, slots=True)
class MadePreview:
    """A preview, and what tells whether its answer is there already."""

    shown: list[dict[str, Any]]
    plan: str
    """The hash of the plan."""
    price: Event | Measure


class Plans:
    """The last plans of each analyst, so that a preview that moves with ε need not read its SQL again; and the last
    previews, which are the same as long as nothing is written into the ledger.

    Nobody gains time by what another has asked: plans and previews are kept for each analyst apart. No answer is kept.
    """

    def __init__(self, most: int = 500) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Query] = OrderedDict()
        self._quick: set[tuple[str, str]] = set()
        self._shown: OrderedDict[Hashable, tuple[object, MadePreview]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Query | None:
        """The plan, if it is kept."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: tuple[str, str], query: Query) -> None:
        """Keep a plan; the oldest one goes."""
        with self._lock:
            self._kept[key] = query
            self._quick.discard(key)
            if len(self._kept) > self._most:
                self._quick.discard(self._kept.popitem(last=False)[0])

    def shown(self, key: Hashable, seen: object) -> MadePreview | None:
        """A preview that was made when the ledger had what it has now. To be looked at only."""
        shown = self._shown.get(key)
        return None if shown is None or shown[0] != seen else shown[1]

    def show(self, key: Hashable, seen: object, preview: MadePreview) -> None:
        """Keep a preview; the oldest one goes."""
        with self._lock:
            self._shown[key] = (seen, preview)
            if len(self._shown) > self._most:
                self._shown.popitem(last=False)

    def note(self, key: tuple[str, str], seconds: float) -> None:
        """Remember that a preview of a plan took so long."""
        if seconds < QUICK and key not in self._quick:
            with self._lock:
                if key in self._kept:
                    self._quick.add(key)

    def quick(self, key: tuple[str, str]) -> bool:
        """Whether a preview of a plan took but a moment before."""
        return key in self._quick


class OpenDatasets:
    """The data sets that are open. Any number of threads may use it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._open: dict[str, OpenDataset] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all engines."""
        for opened in self._open.values():
            opened.engine.close()

    def engines(self) -> dict[str, Isolated]:
        """The engines of all data sets that are open, by their names."""
        with self._lock:
            return {name: opened.engine for name, opened in self._open.items()}

    def is_open(self, name: str) -> bool:
        """Whether somebody has asked about a data set of this name."""
        return name in self._open

    def left_out(self) -> dict[str, tuple[str, ...]]:
        """The columns that came after a data set was registered, by its name."""
        with self._lock:
            left_out = {name: opened.engine.left_out() for name, opened in self._open.items()}
        return {name: columns for name, columns in left_out.items() if columns}

    def get(self, dataset: Dataset, people: Callable[[], Population]) -> OpenDataset:
        """A data set, opened: once, until the owner describes it anew."""
        opened = self.opened(dataset)
        if opened is not None:
            return opened
        with self._lock:
            opened = self._open.get(dataset.name)
            if opened is None or opened.about != dataset.about or not opened.current():
                if opened is not None:
                    opened.engine.close()
                opened = self._open[dataset.name] = self._opened(dataset, people())
            return opened

    def opened(self, dataset: Dataset) -> OpenDataset | None:
        """A data set if it is open, as the owner describes it now."""
        opened = self._open.get(dataset.name)
        return opened if opened is not None and opened.about == dataset.about and opened.current() else None

    def put(self, name: str, opened: OpenDataset) -> None:
        """A data set that was opened already; the one before it is closed."""
        with self._lock:
            before, self._open[name] = self._open.get(name), opened
        if before is not None:
            before.engine.close()

    def make(self, dataset: declarations.Dataset, people: Population, name: str = "") -> OpenDataset:
        """The tables behind an engine of their own, if their declaration fits their columns."""
        engine = Isolated(self._config.limits, processes=self._config.engines, remote=dataset.engine())
        try:
            tables = {table: declared.at(self._config.data) for table, declared in dataset.tables.items()}
            configured = self._config.datasets.get(name)
            originals: Originals = ()
            allowed = {table: declared.known_columns for table, declared in dataset.tables.items()}
            _allow(engine, tables, allowed)
            session = _session(tables, people, engine)
            if configured is not None and configured.prepared and dataset.engine() is None:
                tables, originals = self._copied(name, session, engine)
                _allow(engine, tables, allowed)
                session = _session(tables, people, engine)
        except BaseException:
            engine.close()
            raise
        on_files = dataset.engine() is None
        return OpenDataset(declarations.write(dataset), session, engine, Plans(), originals, on_files)

    def _copied(self, name: str, session: Session, engine: Isolated) -> tuple[dict[str, Table], Originals]:
        """The tables with prepared copies for sources, and the files that were copied."""
        copied, originals = {}, []
        for table, schema in session.schemas.items():
            own = copied[table] = schema.table
            if own.public:
                continue
            originals.append((own.source, file_facts(own.source)))
            unit = None if own.unit in (None, EACH_ROW) else unit_column(str(own.unit))
            digest = hashlib.sha256(f"{name}\n{table}".encode()).hexdigest()[:12]
            works = usual_works(session.sql, table, schema)
            copy = engine.prepare(own.source, self._config.copies, f"copy_{digest}", unit, works)
            copied[table] = replace(own, source=copy)
        return copied, tuple(originals)

    def _opened(self, dataset: Dataset, people: Population) -> OpenDataset:
        try:
            return self.make(declarations.read(dict(dataset.about), dataset.name), people, dataset.name)
        except DiscreetError as error:
            log.error("%s cannot be opened: %s", dataset.name, error)
            raise BadData("the data set cannot be opened now; the owner's log says why") from None


def _allow(engine: Isolated, tables: Mapping[str, Table], allowed: Mapping[str, tuple[str, ...] | None]) -> None:
    """Let nobody ask about columns that came after the owner registered a table."""
    for name, table in tables.items():
        names = allowed[name]
        if names is not None:
            engine.allow(table.source, names)


def _session(tables: Mapping[str, Table], people: Population, engine: Isolated) -> Session:
    return Session(tables, budget=people.budget, engine=engine, neighbours=people.neighbours, rule=people.rule)
