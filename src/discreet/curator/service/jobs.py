"""Jobs that take longer than a reply: paid for when they begin, watched, cancelled, and stored like any answer.

Promise: a job is known by the number of its charge. It begins with the payment; what cannot be asked is refused before
it. When it ends, what is stored is what is handed out, once and for all: a file, a report, what was spent; or the
one constant failure. A cancelled job stores what was measured by then. The same key is the same job.
"""

from __future__ import annotations

import secrets
import threading
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from discreet.curator.error_replies import Refusal, log, reply, where
from discreet.curator.service.access import Caller
from discreet.curator.service.library import read_answer
from discreet.curator.service.open_datasets import OpenDataset
from discreet.curator.service.service import Curator
from discreet.errors import EngineFailed, ServiceBusy
from discreet.ledger.charges import Charge
from discreet.query.answer.serialize import dump
from discreet.session.backend import Backend
from discreet.session.ledger_budget import AlreadyCharged, RetryBudget

TOGETHER = 2
"""Jobs that one server process works on at the same time."""
PARQUET = "parquet"
"""How synthetic rows are stored."""
FILE = "file"
"""The part of what is stored that is handed out by itself: in base64."""


class JobQuestion(Protocol):
    """What a job is asked for: its kind names what is stored of it."""

    @property
    def kind(self) -> str:
        """Under which name a ledger keeps the parameters and the result."""

    @property
    def query(self) -> str:
        """What is written into the ledger."""

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""

    def check(self, backend: Backend) -> None:
        """Refuse what is too large, before anything is paid."""

    def make(self, backend: Backend, cancel: Callable[[], bool]) -> bytes:
        """Pay, and make what will be stored."""


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


class Jobs:
    """The jobs of one server process."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._jobs: dict[int, Job] = {}
        self._free = threading.BoundedSemaphore(TOGETHER)

    def start(self, caller: Caller, name: str, question: JobQuestion, key: str | None = None) -> Charge:
        """Begin, and return as soon as it is paid: the charge has the number of the job."""
        registered, _ = self._curator.dataset(caller, name)
        opened = self._curator.open(registered)
        question.check(opened.backend)
        if not self._free.acquire(blocking=False):
            raise ServiceBusy("other jobs are being worked on; nothing was spent, ask again later")
        job = Job(name, caller.name)
        budget = RetryBudget(
            self._curator.ledger, name, caller.name, key=key or secrets.token_hex(16), query=question.query,
            parameters=question.parameters,
        )  # fmt: skip
        budget.paid = lambda number: self._paid(job, number)
        threading.Thread(target=self._work, args=(job, opened, question, budget), daemon=True).start()
        job.begun.wait()
        if isinstance(job.refused, AlreadyCharged):
            return job.refused.charge
        if job.refused is not None:
            raise job.refused
        return self._curator.ledger.charge(job.number or 0)

    def cancel(self, caller: Caller, number: int, kind: str) -> None:
        """Stop after the round that is under way. Nothing is given back."""
        self.charge(caller, number, kind)
        job = self._jobs.get(number)
        if job is not None:
            job.cancelled = True

    def charge(self, caller: Caller, number: int, kind: str) -> Charge:
        """The charge of a job: one's own; the owner sees all."""
        charge = self._curator.answer(caller, number)
        if kind not in charge.record.parameters:
            raise Refusal.nothing_here()
        return charge

    def state(self, caller: Caller, number: int, kind: str) -> dict[str, Any]:
        """How it stands: running, done, failed or lost; and what came of it."""
        charge, job = self.charge(caller, number, kind), self._jobs.get(number)
        shown: dict[str, Any] = {"number": number, "state": "running", "doing": "", "result": None}
        if charge.pending:
            return shown | ({"doing": job.doing} if job is not None else {"state": "lost"})
        stored = read_answer(charge)
        if kind not in stored:
            return shown | {"state": "failed"}
        result = {name: value for name, value in stored[kind].items() if name not in (FILE, PARQUET)}
        return shown | {"state": "done", "result": result}

    def file(self, caller: Caller, number: int, kind: str) -> bytes:
        """The file of a job that is done."""
        charge = self.charge(caller, number, kind)
        stored = {} if charge.pending else read_answer(charge).get(kind, {})
        content = stored.get(FILE) or stored.get(PARQUET)
        if not content:
            raise Refusal.nothing_here()
        return b64decode(content)

    # --- in a thread of its own -------------------------------------------------------------------------------------

    def _paid(self, job: Job, number: int) -> None:
        job.number = number
        self._jobs[number] = job
        job.begun.set()

    def _work(self, job: Job, opened: OpenDataset, question: JobQuestion, budget: RetryBudget) -> None:
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

    def _made(self, job: Job, opened: OpenDataset, question: JobQuestion, budget: RetryBudget, began: float) -> bytes:
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
                return question.make(opened.backend.serving(budget), cancel)
            except AlreadyCharged:
                raise
            except Exception as error:
                if budget.charge is None:
                    raise
                if not isinstance(error, EngineFailed):
                    log.error("after a payment: %s", where(error))
                return dump(reply(EngineFailed())[1])
