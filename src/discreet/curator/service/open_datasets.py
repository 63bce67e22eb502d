"""Data sets that can be asked: their tables behind an engine of their own, and the plans of their questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.curator.engine_process.process import Isolated
from discreet.curator.error_replies import log
from discreet.curator.service import declarations
from discreet.curator.service.config import Config
from discreet.errors import BadData, DiscreetError
from discreet.ledger.state import Dataset, Population
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Approx
from discreet.session.session import Query, Session


@dataclass(frozen=True, slots=True)
class Room:
    """A data set that can be asked: its tables behind an engine of their own."""

    about: Mapping[str, Any]
    session: Session
    engine: Isolated
    plans: Plans


class Plans:
    """The last plans of each analyst, so that a preview that moves with ε need not read its SQL again.

    Nobody gains time by what another has asked: plans are kept for each analyst apart.
    """

    def __init__(self, most: int = 500) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Query] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Query | None:
        """The plan, if it is kept."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: tuple[str, str], query: Query) -> None:
        """Keep a plan; the oldest one goes."""
        with self._lock:
            self._kept[key] = query
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class Rooms:
    """The data sets that are open. Any number of threads may use it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._open: dict[str, Room] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all engines."""
        for room in self._open.values():
            room.engine.close()

    def get(self, known: Dataset, people: Callable[[], Population]) -> Room:
        """A data set, opened: once, until the owner describes it anew."""
        room = self._open.get(known.name)
        if room is not None and room.about == known.about:
            return room
        with self._lock:
            room = self._open.get(known.name)
            if room is None or room.about != known.about:
                if room is not None:
                    room.engine.close()
                room = self._open[known.name] = self._opened(known, people())
            return room

    def put(self, name: str, room: Room) -> None:
        """A data set that was opened already; the one before it is closed."""
        with self._lock:
            before, self._open[name] = self._open.get(name), room
        if before is not None:
            before.engine.close()

    def opened(self, dataset: declarations.Dataset, people: Population) -> Room:
        """The tables behind an engine of their own, if their declaration fits their columns."""
        engine = Isolated(self._config.limits)
        rule = Rule.ZCDP if people.rule is None and isinstance(people.budget, Approx) else people.rule
        try:
            tables = {name: one.at(self._config.data) for name, one in dataset.tables.items()}
            session = Session(
                tables,
                budget=people.budget,
                engine=engine,
                neighbours=people.neighbours,
                rule=rule,
            )
        except BaseException:
            engine.close()
            raise
        return Room(declarations.written(dataset), session, engine, Plans())

    def _opened(self, known: Dataset, people: Population) -> Room:
        try:
            return self.opened(declarations.read(dict(known.about), known.name), people)
        except DiscreetError as error:
            log.error("%s cannot be opened: %s", known.name, error)
            raise BadData("the data set cannot be opened now; the owner's log says why") from None
