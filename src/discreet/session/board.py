"""A dashboard over a table that grows: one question, answered day by day, at one price for the whole horizon.

Promise: all that a dashboard ever releases, over its whole horizon, costs its price, whatever rows anybody has on
whichever days; it is paid before the first day is read. Each day is read once, in order; what is released of it does
not change afterwards. Proof: ../continual/by_day.md.

Late and corrected rows: a day's rows are those that the table holds when the day is read. Rows that arrive later, and
corrections of days that were read, are not counted.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from threading import Lock
from typing import Any, NoReturn, Protocol

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level
from discreet.arrays import Floats
from discreet.continual.attendance import Attendance
from discreet.continual.by_day import ByDay, by_day, read_day
from discreet.continual.counter import Method, read_method
from discreet.continual.release import Stream
from discreet.continual.table_streams import TablePlan, plan_table
from discreet.errors import BadData, BadParameter, BadQuestion, EngineFailed, NotATheorem, StaleState
from discreet.exact import Number, integer, significant
from discreet.messages import message
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.progress import Progress
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.serialize import plain
from discreet.query.engine import SumsByUnit
from discreet.query.estimate.prepare import Prepared
from discreet.query.key_selection import checked
from discreet.query.lower.bounding import limit_note
from discreet.query.plan.work import Exact, UnitSums, Work
from discreet.query.run import Released, before_payment
from discreet.session.backend import Backend
from discreet.session.payment import BudgetStore
from discreet.session.price import Price
from discreet.session.query import Query, check_whole, ledger_text, query_of

VERSION = 1
MOST = 1 << 22
"""Numbers that a dashboard keeps: days of the horizon, times statistics, times groups."""


class BoardRecord(Protocol):
    """Who keeps a dashboard: in memory, or in a ledger."""

    def pay(self, price: Event | Measure) -> None:
        """Pay for the whole horizon, unless that was done."""

    def latest(self) -> bytes | None:
        """The state that was kept last, if there is one."""

    def advance(self, position: int, state: bytes, step: str) -> None:
        """Keep the state of the next day, or raise StaleState."""


class MemoryBoard:
    """Keeps a dashboard for as long as this process lives."""

    def __init__(self, budget_store: BudgetStore) -> None:
        self._budget_store = budget_store
        self._paid = False
        self._position = 0

    def pay(self, price: Event | Measure) -> None:
        """Pay once."""
        if not self._paid:
            self._budget_store.spend(price).redeem(price)
            self._paid = True

    def latest(self) -> bytes | None:
        """Nothing: it is not opened twice."""
        return None

    def advance(self, position: int, state: bytes, step: str) -> None:
        """Positions only grow."""
        if position != self._position + 1:
            raise StaleState(f"{self._position} days were answered already")
        self._position = position


@dataclass(frozen=True, slots=True)
class BoardPreview:
    """What a dashboard costs, and its error bars: of one day, and of the total after all days."""

    cost: str
    horizon: int
    days: int
    day_errors: dict[str, float]
    total_errors: dict[str, float]
    confidence: float
    counted: str
    method: str

    def __str__(self) -> str:
        lines = [f"costs {self.cost} for {self.horizon} days"]
        for name, error in self.day_errors.items():
            day, total = significant(error, 4), significant(self.total_errors[name], 4)
            lines.append(
                f"{name}: ± {day} for the last day, ± {total} for the total after all days ({self.confidence:.0%})"
            )
        return "\n".join([*lines, self.counted, self.method])


@dataclass(frozen=True, slots=True)
class BoardDay:
    """A released day: its own numbers, the totals up to it, and sums over the last days. Reading it costs nothing."""

    board: Board
    position: int
    """1 for the first day that was read."""

    @property
    def day(self) -> date:
        """Which day it is."""
        return self.board.days[self.position - 1]

    @property
    def today(self) -> TableAnswer:
        """Of this day alone."""
        return self.window(1)

    @property
    def total(self) -> TableAnswer:
        """Of all days that were read, up to this one."""
        return self.window(self.position)

    def window(self, width: int) -> TableAnswer:
        """Of the last ``width`` days that were read. All windows agree: they are differences of the same totals."""
        return self.board.answer(self.position, width)

    def as_dict(self, width: int, confidence: Number) -> dict[str, Any]:
        """The sums of the last days, for JSON."""
        answer = self.window(width)
        return {
            "day": self.day.isoformat(),
            "position": self.position,
            "width": width,
            "columns": list(answer.columns),
            "rows": [[plain(row[name]) for name in answer.columns] for row in answer.rows],
            "errors": {name: [plain(e) for e in bars] for name, bars in answer.errors(confidence).items()},
        }

    def __repr__(self) -> str:
        return f"{self.day.isoformat()}, day {self.position} of {self.board.horizon}\n{self.today}"


class Board:
    """Made by ``session.continual(...)``. ``preview`` is free; the first ``advance`` pays for the whole horizon."""

    def __init__(
        self,
        backend: Backend,
        daily: ByDay,
        plan: TablePlan,
        price: Pure | ZCDP | Approx,
        record: BoardRecord,
        *,
        progress: bool | None = None,
    ) -> None:
        self._backend = backend
        self._asked = daily
        self._plan = plan
        self._price = price
        self._record = record
        self._progress = progress
        self._lock = Lock()
        self._unsure = False
        self._streams: list[Stream] = plan.start()
        self._days: list[date] = []
        self._sums: list[list[Floats]] = [[] for _ in plan.streams]
        self._attendance = Attendance(plan.days) if plan.capped else None
        saved = record.latest()
        if saved is not None:
            self._load(saved)

    @property
    def horizon(self) -> int:
        """How many days were paid for."""
        return self._plan.horizon

    @property
    def days(self) -> tuple[date, ...]:
        """The days that were released."""
        return tuple(self._days)

    @property
    def price(self) -> Pure | ZCDP | Approx:
        """What the whole horizon costs."""
        return self._price

    def __repr__(self) -> str:
        last = self._days[-1].isoformat() if self._days else "none yet"
        return f"Board(last day: {last}; {len(self._days)} of {self.horizon} days; price {self._price})"

    def preview(self, confidence: Number = CONFIDENCE, rows: int = 1000) -> BoardPreview:
        """Cost and error bars, from public metadata alone; ``rows``: in a group of how many, where that matters."""
        plan, level = self._plan, confidence_level(confidence)

        def errors(width: int) -> dict[str, float]:
            return {
                name: recipe.error_if(
                    lambda s, values: plan.estimate(plan.noised(s), values, plan.horizon, width),
                    float(rows),
                    float(1 - level),
                )
                for name, recipe in zip(plan.part.names, plan.part.recipes, strict=True)
            }

        return BoardPreview(
            str(self._price), plan.horizon, plan.days, errors(1), errors(plan.horizon), float(level), self._counted(),
            plan.story(),
        )  # fmt: skip

    # --- going on ---------------------------------------------------------------------------------------------------

    def advance(self, day: str | date) -> BoardDay:
        """Read the rows of this day, release it, and keep it. Days are read once and in order; some may be left out.

        The first one pays for all. If the engine fails, nothing was drawn, and the same day can be read again.
        """
        with self._lock:
            today = read_day(day)
            self._check(today)
            todo = self._plan.todo(self._backend.prepare(self._asked.on(today)))
            works = [job.work for job in todo]
            engine, schemas = self._backend.engine, self._backend.schemas
            before_payment(engine, works, schemas)
            self._record.pay(self._price)
            with Progress(self._progress) as progress:
                progress.step("reading the day")
                exact: Sequence[Exact | UnitSums]
                if isinstance(engine, SumsByUnit) and self._plan.in_arrays(todo):
                    exact = engine.by_unit([work for work in works if isinstance(work, Work)], schemas)
                else:
                    exact = list(checked(engine.run(works, schemas)))
            if len(exact) != len(works):
                raise EngineFailed
            values = self._plan.values(list(zip(todo, exact, strict=True)), self._attendance)
            self._release(today, values)
            return BoardDay(self, len(self._days))

    def _check(self, today: date) -> None:
        """All that can be refused before the table is read."""
        if self._unsure:
            raise StaleState("the last day may not have been kept; open this dashboard again")
        self._asked.check(today)
        if self._days and today <= self._days[-1]:
            why = "was released already" if today in self._days else "lies before the last day that was released"
            raise BadParameter(
                "day",
                today.isoformat(),
                f"must come after {self._days[-1].isoformat()}: it {why}, and days are read once",
            )
        for stream in self._streams:
            stream.check(1)

    def _release(self, today: date, values: Sequence[Any]) -> None:
        self._unsure = True  # until it is kept, what was drawn is nowhere but here, and nobody may see it
        sums = [
            [*before, stream.push(line)[0]]
            for stream, line, before in zip(self._streams, values, self._sums, strict=True)
        ]
        days = [*self._days, today]
        self._record.advance(len(days), self._state(days, sums), today.isoformat())
        self._days, self._sums, self._unsure = days, sums, False

    # --- looking ----------------------------------------------------------------------------------------------------

    def on(self, day: str | date) -> BoardDay:
        """A day that was released. Free."""
        wanted = read_day(day)
        if wanted not in self._days:
            raise BadParameter("day", wanted.isoformat(), "must be a day that was released")
        return BoardDay(self, self._days.index(wanted) + 1)

    def history(self) -> tuple[BoardDay, ...]:
        """All days that were released. Free."""
        return tuple(BoardDay(self, position) for position in range(1, len(self._days) + 1))

    def answer(self, position: int, width: int) -> TableAnswer:
        """The sums over the last ``width`` days up to the one at this position."""
        t, size = integer(position, "position", at_least=1), integer(width, "width", at_least=1)
        if t > len(self._days):
            raise BadParameter("position", position, f"must be at most {len(self._days)}, the days that were released")
        if size > t:
            raise BadParameter("width", width, f"must be at most {t}, the days that were released until then")
        sums = [now[t - 1] - now[t - 1 - size] if size < t else now[t - 1] for now in self._sums]
        plan = self._plan
        first, last = self._days[t - size].isoformat(), self._days[t - 1].isoformat()
        return TableAnswer(
            outcome=self._asked.question.outcome,
            released=(Released(plan.part, plan.groups, plan.estimates(sums, t, size)),),
            event=plan.event,
            cost=str(self._price),
            story=(
                self._counted(),
                plan.story(),
                f"{first} to {last}, day {t} of {self.horizon}" if size > 1 else f"{last}, day {t} of {self.horizon}",
            ),
        )

    def _counted(self) -> str:
        limit = limit_note(self._plan.part.caps, grouped=bool(self._plan.part.keys))
        return f"{limit} {message('daily_limit', days=self._plan.days, horizon=self.horizon)}"

    # --- state ------------------------------------------------------------------------------------------------------

    def _state(self, days: Sequence[date], sums: Sequence[Sequence[Floats]]) -> bytes:
        body = {
            "version": VERSION,
            # the hash of a state is in the ledger for all to see: without a salt one could try who was counted
            "salt": secrets.token_hex(32),
            "plan": self._plan.fingerprint(),
            "units": self._plan.unit_kind,
            "days": [day.isoformat() for day in days],
            "streams": [stream.state() for stream in self._streams],
            "sums": [[line.tolist() for line in lines] for lines in sums],
            "attendance": None if self._attendance is None else self._attendance.state(),
        }
        return json.dumps(body, separators=(",", ":")).encode()

    def _load(self, saved: bytes) -> None:
        body = json.loads(saved)
        if body.get("version") != VERSION:
            raise BadData("the state of this dashboard was written by another version")
        if body["plan"] != self._plan.fingerprint():
            raise BadParameter(
                "question", "another one", "must be that of the dashboard, with the same bounds, keys and caps"
            )
        before, now = body.get("units", self._plan.unit_kind), self._plan.unit_kind
        if before != now:  # whoever used up their days under one name would begin anew under the other
            raise BadParameter("unit", now, f"must be stored as {before}, as on the days before")
        self._days = [date.fromisoformat(day) for day in body["days"]]
        self._sums = [[np.array(line) for line in sums] for sums in body["sums"]]
        for stream, state in zip(self._streams, body["streams"], strict=True):
            stream.load(state)
        if self._attendance is not None:
            self._attendance.load(body["attendance"])

    def __reduce__(self) -> NoReturn:
        raise NotATheorem(
            "a dashboard can be neither copied nor pickled: two copies would answer twice for one payment"
        )


def check_fixed(question: Prepared) -> None:
    """Refuses a dashboard with something open: all days must have the same contribution bound and value bounds."""
    if question.asked.caps.auto:
        raise BadParameter(
            "max_rows", "auto", "must be a number for a dashboard, the same on all days: give session.continual(..., "
            "max_rows=...), the number of rows of one unit that count on one day; "
            'session.suggest_max_rows(table, epsilon=..., where="day = DATE \'2026-11-14\'") estimates it',
        )  # fmt: skip
    if any(measure.open for part in question.parts for measure in part.measures):
        raise BadQuestion(
            "a dashboard needs public bounds of its values, the same on all days", message("declare_its_bounds")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardTerms:
    """All but the query that decides a dashboard."""

    by: str
    horizon: int
    days: int | None
    price: Price
    method: str = Method.BEST.value
    """What gets noise, as in ``session.continual``."""
    max_rows: int | None = None
    """Rows of one unit that count on one day; the table's own bound if left out."""

    def texts(self, neighbours: Neighbours) -> dict[str, Any]:
        """As a ledger keeps them."""
        method = read_method(self.method)
        given = {"method": None if method is Method.BEST else method.value, "max_rows": self.max_rows}
        written = {"by": self.by, "horizon": self.horizon, "days": self.days, "neighbours": neighbours.name}
        return self.price.texts() | written | {name: value for name, value in given.items() if value is not None}


def plan_board(
    backend: Backend, query: Query, wanted: BoardTerms, *, name: str | None = None, record: BoardRecord | None = None
) -> Board:
    """A dashboard, with all that is fixed before its first day. No data is touched, nothing is spent.

    ``record`` keeps it; without one the session's ledger does, under its ``name``, or else the memory.
    """
    check_whole([query])
    if query.plan.outcome.asked_at is not None:
        raise BadQuestion("a dashboard asks the same on all its days: write the date itself, DATE '2025-01-31'")
    if query.prepared.beside:
        raise BadQuestion("a dashboard is one query: ask the parts as dashboards of their own")
    if record is None and backend.ledger is not None:
        record = backend.ledger.board(name, ledger_text([query]), wanted.texts(backend.terms.neighbours))
    backend = backend.with_max_rows(query.prepared.asked.tables, wanted.max_rows)
    query = query_of(backend, query.plan)
    check_fixed(query.prepared)
    daily = by_day(query.plan, wanted.by, backend.schemas)
    budget, charged = backend.terms.stream(wanted.price)
    first, second = (backend.prepare(daily.on(day)) for day in daily.any_two)
    plan = plan_table(
        first, budget, backend.terms.neighbours, horizon=wanted.horizon, days=wanted.days, method=wanted.method
    )
    plan.todo(second)  # refuses what changes with the day
    if plan.horizon * len(plan.daily) * len(plan.groups) > MOST:
        raise BadParameter("horizon", wanted.horizon, f"must be smaller: days times groups may be {MOST:,} at most")
    return Board(backend, daily, plan, charged, record or MemoryBoard(backend.budget_store), progress=backend.progress)
