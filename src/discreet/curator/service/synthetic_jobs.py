"""Synthetic rows as jobs: paid for when they begin, watched, cancelled, and stored like any answer.

Promise: a job is known by the number of its charge. It begins with the payment; what cannot be asked is refused before
it. When it ends, what is stored is what is handed out, once and for all: the rows, a report, what was spent; or the
one constant failure. A cancelled job stores the rows of what was measured by then. The same key is the same job.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.error_replies import Refusal, log, reply, where
from discreet.curator.service.access import Caller
from discreet.curator.service.open_datasets import OpenDataset
from discreet.curator.service.service import Curator, read_answer
from discreet.errors import BadParameter, EngineFailed, ServiceBusy
from discreet.ledger.charges import Charge
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.serialize import dump
from discreet.session.ledger_budget import AlreadyCharged, RetryBudget
from discreet.session.price import Price
from discreet.session.synthetic import synthetic_rows
from discreet.synthetic.result import STORED

TOGETHER = 2
"""Jobs that one server process works on at the same time."""
MEMORY = 1 << 30
"""Bytes that one job may need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticQuestion:
    """Rows of one table, and a price."""

    table: str
    price: Price
    rows: int
    columns: tuple[str, ...] | None = None
    workload: str | None = None
    quick: bool = False

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return f"synthesize({self.table})"

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        described = {"rows": self.rows, "columns": None if self.columns is None else list(self.columns)}
        return self.price.texts() | {"synthetic": described | {"workload": self.workload, "quick": self.quick}}


@dataclass(slots=True)
class Job:
    """One that is being worked on."""

    dataset: str
    analyst: str
    number: int | None = None
    doing: str = "reading the data"
    cancelled: bool = False
    refused: BaseException | None = None
    begun: threading.Event = field(default_factory=threading.Event)


class Announced(RetryBudget):
    """A budget that reports when it was charged."""

    def announce(self, paid: Callable[[int], None]) -> Announced:
        """Call this with the number of the charge."""
        self._paid = paid
        return self

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay durably, then say so."""
        receipt = super().spend(what)
        if self.charge is not None:
            self._paid(self.charge.sequence)
        return receipt


class SyntheticJobs:
    """The jobs of one server process."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._jobs: dict[int, Job] = {}
        self._free = threading.BoundedSemaphore(TOGETHER)

    def start(self, caller: Caller, name: str, question: SyntheticQuestion, key: str | None = None) -> Charge:
        """Begin, and return as soon as it is paid: the charge has the number of the job."""
        registered, _ = self._curator.dataset(caller, name)
        opened = self._curator.open(registered)
        schema = opened.session.schemas.get(question.table)
        wide = len(question.columns or (() if schema is None else schema.fields)) or 1
        if question.rows * wide > STORED:
            raise BadParameter("rows", question.rows, f"must be at most {STORED // wide:,} for {wide} columns")
        if not self._free.acquire(blocking=False):
            raise ServiceBusy("other synthetic rows are being made; nothing was spent, ask again later")
        job = Job(name, caller.name)
        budget = Announced(
            self._curator.ledger, name, caller.name, key=key or secrets.token_hex(16), query=question.query,
            parameters=question.parameters,
        ).announce(lambda number: self._paid(job, number))  # fmt: skip
        threading.Thread(target=self._work, args=(job, opened, question, budget), daemon=True).start()
        job.begun.wait()
        if isinstance(job.refused, AlreadyCharged):
            return job.refused.charge
        if job.refused is not None:
            raise job.refused
        return self._curator.ledger.charge(job.number or 0)

    def cancel(self, caller: Caller, number: int) -> None:
        """Stop after the round that is under way. Nothing is given back."""
        self.charge(caller, number)
        job = self._jobs.get(number)
        if job is not None:
            job.cancelled = True

    def charge(self, caller: Caller, number: int) -> Charge:
        """The charge of a job: one's own; the owner sees all."""
        charge = self._curator.answer(caller, number)
        if "synthetic" not in charge.record.parameters:
            raise Refusal.nothing_here()
        return charge

    def state(self, caller: Caller, number: int) -> dict[str, Any]:
        """How it stands: running, done, failed or lost; and what came of it."""
        charge, job = self.charge(caller, number), self._jobs.get(number)
        shown: dict[str, Any] = {"number": number, "state": "running", "doing": "", "result": None}
        if charge.pending:
            return shown | ({"doing": job.doing} if job is not None else {"state": "lost"})
        stored = read_answer(charge)
        if "synthetic" not in stored:
            return shown | {"state": "failed"}
        result = {name: value for name, value in stored["synthetic"].items() if name != "parquet"}
        return shown | {"state": "done", "result": result}

    def rows(self, caller: Caller, number: int) -> str:
        """The rows of a job that is done, as Parquet in base64."""
        charge = self.charge(caller, number)
        stored = {} if charge.pending else read_answer(charge).get("synthetic", {})
        if not stored.get("parquet"):
            raise Refusal.nothing_here()
        return str(stored["parquet"])

    # --- in a thread of its own -------------------------------------------------------------------------------------

    def _paid(self, job: Job, number: int) -> None:
        job.number = number
        self._jobs[number] = job
        job.begun.set()

    def _work(self, job: Job, opened: OpenDataset, question: SyntheticQuestion, budget: Announced) -> None:
        began = time.monotonic()
        try:
            stored = self._made(job, opened, question, budget, began)
            self._curator.grid_of(job.dataset).hold(began)
            if budget.charge is not None:
                self._curator.ledger.store_answer(budget.charge, stored)
        except BaseException as error:  # before the payment, or the ledger is gone
            job.refused = error
            if budget.charge is not None:
                log.error("after a payment: %s", where(error) if isinstance(error, Exception) else type(error).__name__)
        finally:
            self._free.release()
            if job.number is not None:
                self._jobs.pop(job.number, None)
            job.begun.set()

    def _made(
        self, job: Job, opened: OpenDataset, question: SyntheticQuestion, budget: Announced, began: float
    ) -> bytes:
        """What will be stored; after the payment every failure is one and the same."""
        held = ExitStack()

        def cancel() -> bool:
            if job.doing == "reading the data":  # it is read: let others have the engine, on a line of the grid
                held.close()
                self._curator.grid_of(job.dataset).hold(began)
                job.doing = "measuring and fitting"
            return job.cancelled

        with held:
            held.enter_context(opened.engine.reserved(job.analyst))
            try:
                options: dict[str, Any] = {
                    "workload": question.workload,
                    "rows": question.rows,
                    "quick": question.quick,
                }
                options |= {"memory": MEMORY, "cancel": cancel, "progress": False}
                backend = opened.backend.serving(budget)
                return synthetic_rows(
                    backend, question.table, question.price, question.columns, None, options
                ).to_json()
            except AlreadyCharged:
                raise
            except Exception as error:
                if budget.charge is None:
                    raise
                if not isinstance(error, EngineFailed):
                    log.error("after a payment: %s", where(error))
                return dump(reply(EngineFailed())[1])
