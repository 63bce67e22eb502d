"""Processes that ask one ledger, race each other and get killed. Also run for longer, by hand or from bench.

Every worker notes what it delivered in a log outside of the ledger, one line per answer, just after its last step. The
history is then checked against the ledger: ``check_history``.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, LedgerError, OverBudget
from discreet.ledger import Ledger
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import Place
from tests.helpers.processes import until

POINTS = ("planned", "appended", "committed", "head", "noise", "stored", "before send")
PRICE = events.Pure("1/1000")


def context() -> ForkServerContext:
    """Processes that start quickly: they are forked from one that has imported everything, and runs no threads."""
    result = multiprocessing.get_context("forkserver")
    result.set_forkserver_preload(["tests.helpers.ledger_workers"])
    return result


@dataclass(frozen=True, slots=True)
class Job:
    """One worker: where it asks, how it is called, where it notes its answers, and where it dies."""

    place: Place
    name: str
    log: str
    asks: int
    die_at: str | None
    """A point, or None: the test kills it."""
    die_after: int


def work(job: Job) -> None:
    """Ask, note, ask again; kill -9 oneself at the chosen moment."""
    passed: Counter[str] = Counter()

    def at(point: str) -> None:
        passed[point] += 1
        if point == job.die_at and passed[point] > job.die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    log = os.open(job.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with job.place.open(at=at) as ledger:
        for i in range(job.asks):
            try:
                deliver(ledger, f"{job.name} {i}", log, at)
            except LedgerError:  # the server of the database may have been killed: the next question goes on
                continue


def deliver(ledger: Ledger, key: str, log: int, at: Callable[[str], None]) -> None:
    charge = ledger.spend("visits", "ann", PRICE, key=key, query="q")
    if charge.fresh:
        answer = os.urandom(8).hex().encode()  # stands for the noise: no two are alike
        at("noise")
        charge = ledger.store_answer(charge, answer)
        at("before send")
    if charge.answer is not None:
        os.write(log, f"{key}\t{charge.sequence}\t{charge.answer.decode()}\n".encode())


def kill_in_rounds(
    place: Place, folder: Path, rounds: int, seed: int, *, disturb: Callable[[], None] | None = None
) -> int:
    """Rounds of two workers, each killed: at a chosen point, or wherever it happens to be. How many answers came."""
    with place.open(create=True) as ledger:
        ledger.owner.protect("town", Pure(1000))
        ledger.owner.register("visits", "town", marks=["visits"])
        ledger.owner.add_analyst("ann")
        ledger.owner.grant("ann", "town")
    chosen = random.Random(seed)
    log = folder / "answers.log"
    log.touch()
    spent = 0
    for number in range(rounds):
        jobs = []
        for worker in range(2):
            point = chosen.choice((*POINTS, None))
            jobs.append(Job(place, f"{number} {worker}", str(log), 12, point, chosen.randrange(6)))
        processes = [start(work, job) for job in jobs]
        if disturb is not None:
            await_growth(log, size(log) + 1, processes)
            disturb()
        for job, process in zip(jobs, processes, strict=True):
            if job.die_at is None:  # at any instant: after some more answers, wherever it is then
                await_growth(log, size(log) + 30 * chosen.randrange(8), [process])
                process.kill()
            process.join()
        now = check_history(place, log)
        assert now >= spent, "charges went back"
        spent = now
    report = place.verify(cards=True)
    assert report.good, str(report)
    return len(log.read_text().splitlines())


def size(log: Path) -> int:
    return log.stat().st_size


def await_growth(log: Path, wanted: int, processes: list[ForkServerProcess]) -> None:
    """Wait until so many bytes were noted, or all have ended."""
    until(lambda: size(log) >= wanted or not any(p.is_alive() for p in processes), what="under load")


def check_history(place: Place, log: Path) -> int:
    """Each delivered answer has exactly one charge, made before, with that very answer. How many charges there are."""
    with place.open() as ledger:
        assert ledger.trouble is None, ledger.trouble
        lines = ledger.entries(kind="charge", limit=-1)
        by_key = {line.entry.body["key"]: line for line in lines}
        assert len(by_key) == len(lines), "a key was charged twice"
        assert ledger.standing("town").charged == Pure(PRICE.epsilon * len(lines))
        delivered: dict[str, str] = {}
        for line in log.read_text().splitlines():
            key, sequence, answer = line.split("\t")
            assert delivered.setdefault(key, answer) == answer, "two answers for one charge"
            assert by_key[key].entry.sequence == int(sequence), "an answer without its charge"
            assert by_key[key].answered, "an answer left before it was stored"
        for key in list(delivered)[-20:]:
            stored = ledger.charge(by_key[key].entry.sequence).answer
            assert stored == delivered[key].encode()
        return len(lines)


# --- races --------------------------------------------------------------------------------------------------------


def race(place: Place, barrier: Any, results: Any, name: str, *, threads: int = 16, asks: int = 2) -> None:
    """Many clients of one server process ask for the same budget at once."""
    answered: list[str] = []
    with place.open(patience=60) as ledger:

        def client(number: int) -> None:
            for i in range(asks):
                key = f"{name} {number} {i}"
                try:
                    charge = ledger.spend("visits", "ann", Pure("0.1"), key=key, query="q")
                    ledger.store_answer(charge, key.encode())
                    answered.append(key)
                except OverBudget:
                    pass

        clients = [threading.Thread(target=client, args=(i,)) for i in range(threads)]
        barrier.wait()
        for one in clients:
            one.start()
        for one in clients:
            one.join()
    results.put(answered)


def start(target: Callable[..., Any], *arguments: Any) -> ForkServerProcess:
    process = context().Process(target=target, args=arguments)
    process.start()
    return process


def outcome(results: Any, call: Callable[[], Any]) -> None:
    """Send what a call did to the test: its value, or the error's name and words."""
    try:
        results.put(("done", call()))
    except DiscreetError as refusal:
        results.put((type(refusal).__name__, str(refusal)))
