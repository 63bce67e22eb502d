"""The durable ledger: charges per second with full durability, and how long it takes to check a long one."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import Row, cpu_once, show
from discreet.ledger import Ledger, import_ledger, open_ledger, verify_ledger
from discreet.ledger.charges import charged, priced
from discreet.ledger.entries import read_entry, write_entry, write_event
from discreet.ledger.records import apply_entry
from discreet.ledger.state import State
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx

EVENT = events.DiscreteGaussian(sigma=20)
QUERY = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic"
ASKS = 300


def prepared(location: Path) -> Ledger:
    ledger = open_ledger(location, create=True)
    ledger.owner.protect("town", Approx(1000, "1e-6"))
    ledger.owner.register("visits", "town", marks=["visits"])
    for name in ("ann", "bob"):
        ledger.owner.add_analyst(name)
        ledger.owner.grant(name, "town", Approx(900, "5e-7"))
    return ledger


def ask(ledger: Ledger, key: str) -> None:
    charge = ledger.spend("visits", "ann", EVENT, key=key, query=QUERY, parameters={"epsilon": "0.3"})
    ledger.store_answer(charge, b"[]", accuracy="within 40")


def asks_per_second(folder: Path, threads: int) -> float:
    """Charge, store, next; wall time, since what is measured is mostly the disk."""
    with prepared(folder / f"asks{threads}") as ledger, ThreadPoolExecutor(threads) as clients:
        start = time.perf_counter()
        list(clients.map(lambda i: ask(ledger, f"k{i}"), range(ASKS)))
        return ASKS / (time.perf_counter() - start)


def long_ledger(location: Path, entries: int) -> None:
    """A ledger with so many entries, written without waiting for the disk each time."""
    with prepared(location.with_name("short")) as ledger:
        lines = list(ledger.export())
    state = State()
    for line in lines:
        apply_entry(state, read_entry(line))
    _, price = priced(state, "visits", "ann", EVENT)
    while state.sequence < entries:
        analyst = ("ann", "bob")[state.sequence % 2]
        record = charged(
            state, "visits", analyst, price, key=f"k{state.sequence}", asked="", query=QUERY, parameters={},
            event=write_event(EVENT),
        )  # fmt: skip
        entry = write_entry(
            sequence=state.sequence + 1,
            previous=state.hash,
            ledger=state.ledger,
            kind=record.kind,
            by=analyst,
            time="2026-11-15T12:00:00+00:00",
            body=record.body(),
        )
        apply_entry(state, entry)
        lines.append(entry.text)
    import_ledger(lines, location)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = []
        for threads in (1, 8):
            rate = asks_per_second(folder, threads)
            task = f"charge and store, {threads} {'client' if threads == 1 else 'clients'}"
            rows.append(Row(task, f"{rate:.0f}/s", "asked", "50/s", rate / 50, 1))
        long_ledger(folder / "long", 10_000)
        assert verify_ledger(folder / "long").good
        seconds = cpu_once(lambda: verify_ledger(folder / "long"))
        rows.append(Row("check 10,000 entries", f"{seconds:.2f} s", "asked", "1 s", 1 / seconds, 1))
    show("Ledger (SQLite, full durability)", rows)


if __name__ == "__main__":
    main()
