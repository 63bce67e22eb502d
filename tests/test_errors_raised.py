"""Each class of errors is raised by an example; the page of errors shows when, and the message.

``python -m tests.test_errors_raised`` writes the examples of docs/reference/errors.md anew.
"""

from __future__ import annotations

import copy
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import discreet as dp
from discreet import errors
from discreet.checking import check
from discreet.continual import MemoryRecord
from discreet.curator.client.transport import Transport
from discreet.curator.limits import Limits
from discreet.curator.planning import Planning
from discreet.errors import DiscreetError
from discreet.ledger import Ledger, open_ledger, verify_receipt
from discreet.noise.blocks import Blocks
from discreet.noise.laplace import LaplaceLaw
from discreet.privacy.accountants.basic import price_basic
from discreet.randomness import Bits
from discreet.randomness.health import start_up
from discreet.randomness.source import for_release
from tests.helpers.tapes import Tape

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "errors.md"
TITLE = "## An example of each"
ROOTS = {"DiscreetError", "LedgerError"}
"""They are caught, and never raised themselves."""
NOISE = dp.laplace(sensitivity=1, epsilon="0.1").event


def session() -> dp.Session:
    rows = {"id": [1, 2, 3], "clinic": ["a", "b", "a"], "cost": [1.0, 2.0, None]}
    return dp.Session(visits=dp.table(rows, unit="id"), budget=dp.Pure(1))


def ledger(folder: Path, **options: Any) -> Ledger:
    made = open_ledger(str(folder / "budget.db"), create=True, **options)
    made.owner.protect("patients", dp.Pure(1), unit="one patient")
    made.owner.register("visits", "patients", marks=["visits.parquet"], about={})
    made.owner.add_analyst("ann")
    made.owner.grant("ann", "patients", dp.Pure(1))
    return made


class Flip:
    event = dp.events.Pure(1)

    def read(self, value: int) -> int:
        return value

    def draw(self, value: int, bits: Bits) -> int:
        while not bits.below(2):
            value = 1 - value
        return value


def receipt_twice(_: Path) -> object:
    mechanism = dp.laplace(sensitivity=1, epsilon=1)
    receipt = dp.Filter(dp.Pure(1)).spend(mechanism.event)
    mechanism.release(1, receipt)
    return mechanism.release(1, receipt)


def stale(_: Path) -> object:
    record = MemoryRecord()
    record.advance(3, b"state", after=0)
    record.advance(2, b"state", after=0)
    return record


def busy(folder: Path) -> object:
    with ledger(folder, patience=0.2) as made, sqlite3.connect(folder / "budget.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        return made.spend("visits", "ann", NOISE, key="k", query="q")


def rolled_back(folder: Path) -> object:
    with ledger(folder):
        pass
    shutil.copy(folder / "budget.db", folder / "copy.db")
    with open_ledger(str(folder / "budget.db")) as made:
        made.spend("visits", "ann", NOISE, key="k", query="q")
    shutil.copy(folder / "copy.db", folder / "budget.db")
    with open_ledger(str(folder / "budget.db")) as made:
        return made.spend("visits", "ann", NOISE, key="k2", query="q")


def another_key(folder: Path) -> object:
    with ledger(folder):
        pass
    (folder / "budget.db.key").chmod(0o644)
    return open_ledger(str(folder / "budget.db"))


def key_twice(folder: Path) -> object:
    with ledger(folder) as made:
        made.spend("visits", "ann", NOISE, key="k", query="SELECT COUNT(*) AS n FROM visits")
        return made.spend("visits", "ann", NOISE, key="k", query="SELECT 1 AS n")


def unknown_data(folder: Path) -> object:
    with ledger(folder) as made:
        return made.spend("orders", "ann", NOISE, key="k", query="q")


def protected_twice(folder: Path) -> object:
    with ledger(folder) as made:
        made.owner.protect("staff", dp.Pure(1), unit="one employee")
        return made.owner.register("copy", "staff", marks=["visits.parquet"], about={})


def crowded(_: Path) -> object:
    planning = Planning(Limits(patience=Fraction(1, 100)))
    with planning.place("ann"), planning.place("bob"), planning.place("cat"):
        return None


def odd_reply(_: Path) -> object:
    with patch.object(Transport, "_sent", lambda *_: (200, b"[" * 100_000)):
        return Transport("http://curator.example", "token").get("/api/me")


def engine_away(_: Path) -> object:
    query = session().sql("SELECT COUNT(*) AS n FROM visits")
    with patch.object(type(query.backend.engine), "_run", lambda *_: 1 / 0):
        return query.release(epsilon=1)


def beyond(_: Path) -> object:
    """A source that says "beyond" for ever."""
    sampler = Blocks(LaplaceLaw(Fraction(1 << 54)))
    with patch.object(Blocks, "_indices", lambda self, cell, bits: np.full(len(cell), self._beyond)):
        return sampler.sample(4, Tape(then=0xFF))


def no_extra(folder: Path) -> object:
    answer = session().sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
    with patch.dict(sys.modules, {"openpyxl": None}):
        answer.write(folder / "answer.xlsx")
    return answer


EXAMPLES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "BadParameter": ("`dp.laplace(sensitivity=1, epsilon=-1)`", lambda _: dp.laplace(sensitivity=1, epsilon=-1)),
    "BadData": ('`dp.table("nowhere.parquet", ...)`', lambda _: dp.Session(
        visits=dp.table("nowhere.parquet", unit="id"), budget=dp.Pure(1))),
    "BadQuestion": ("`SELECT ... FROM visits GRUOP BY clinic`", lambda _: session().sql(
        "SELECT COUNT(*) AS n FROM visits GRUOP BY clinic")),
    "Unsupported": ("`SELECT * FROM visits`", lambda _: session().sql("SELECT * FROM visits")),
    "EngineUnreachable": ("a PostgreSQL server that is down", lambda _: dp.engines.postgres(
        "host=127.0.0.1 port=1 dbname=x connect_timeout=1").columns(dp.engines.postgres_table("t", schema="public"))),
    "ServiceBusy": ("a third preview at once", crowded),
    "EngineFailed": ("a full disk after the charge", engine_away),
    "NoEstimate": ("`suggest_bounds` of a column without values", lambda _: dp.Session(
        v=dp.table({"id": [1], "x": [float("nan")]}, unit="id"), budget=dp.Pure(1),
    ).suggest_bounds("x", epsilon="0.01")),
    "NoPrice": ("Gaussian noise in a pure budget's accountant", lambda _: price_basic(dp.events.Gaussian(sigma=1))),
    "NotATheorem": ("`copy.deepcopy(session)`", lambda _: copy.deepcopy(session())),
    "NoLaw": ("`dp.check` of a mechanism that may draw for ever", lambda _: check(Flip(), pairs=[(0, 1)])),
    "OverBudget": ("`release(epsilon=2)` of a budget of 1", lambda _: session().sql(
        "SELECT COUNT(*) AS n FROM visits").release(epsilon=2)),
    "ReceiptRefused": ("a second release for one receipt", receipt_twice),
    "StaleState": ("a stream that goes on from an old state", stale),
    "CuratorRefused": ("a reply of something that is no curator", odd_reply),
    "BadSignature": ('`verify_receipt("no receipt", key)`', lambda _: verify_receipt("no receipt", "00" * 32)),
    "LedgerBusy": ("another process holds the ledger", busy),
    "LedgerUnavailable": ('`open_ledger("nowhere.db")`', lambda folder: open_ledger(str(folder / "nowhere.db"))),
    "LedgerUnsafe": ("a key file that others can read", another_key),
    "LedgerMismatch": ("an old copy of the ledger in its place", rolled_back),
    "KeyReused": ("one key for two queries", key_twice),
    "NotRegistered": ("a data set that is not registered", unknown_data),
    "AlreadyProtected": ("the same file under a second budget", protected_twice),
    "UnsafeRandomness": ("a source that can be replayed", lambda _: for_release(Tape(then=0))),
    "UnhealthySource": ("a source whose bytes are all 0", lambda _: start_up(Tape(then=0), samples=1 << 16)),
    "BeyondRange": ("a draw beyond 64 bits", beyond),
    "MissingExtra": ('`answer.write("answer.xlsx")` without the extra `formats`', no_extra),
}  # fmt: skip


def message_of(name: str) -> str:
    """What the example of a class says, without what differs from one machine or run to another."""
    with tempfile.TemporaryDirectory() as folder, pytest.raises(DiscreetError) as raised:
        EXAMPLES[name][1](Path(folder))
    assert type(raised.value).__name__ == name
    return str(raised.value).replace(folder + "/", "").replace("|", "\\|")


def rows() -> list[str]:
    return [f"| `{name}` | {when} | {message_of(name)} |" for name, (when, _) in EXAMPLES.items()]


def test_every_class_has_an_example() -> None:
    classes = {
        name for name, what in vars(errors).items() if isinstance(what, type) and issubclass(what, DiscreetError)
    }
    assert classes - ROOTS == EXAMPLES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_raised_and_the_page_has_its_message(name: str) -> None:
    assert f"| `{name}` | {EXAMPLES[name][0]} | {message_of(name)} |" in PAGE.read_text("utf-8")


if __name__ == "__main__":
    before, *_ = PAGE.read_text("utf-8").split(f"\n{TITLE}\n")
    table = ["| error | when | what it says |", "|---|---|---|", *rows(), ""]
    PAGE.write_text("\n".join([before.rstrip("\n"), "", TITLE, *table]), "utf-8")
