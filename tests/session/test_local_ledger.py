"""A session whose budget is in a ledger: opened again, raced for, killed; refused where it would protect others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import AlreadyProtected, BadParameter, DiscreetError, EngineFailed, OverBudget, ReceiptRefused
from discreet.ledger import open_ledger, verify_ledger
from discreet.query.plan.schema import Table
from discreet.query.plan.work import AnyWork, Exact
from discreet.session.local_ledger import _once, _ProtectedTable
from tests.helpers.ledger_workers import context, start

COUNT = "SELECT COUNT(*) AS n FROM visits"
TOTAL = "SELECT SUM(cost) AS s FROM visits"
CLINICS = dp.keys(["North", "South"])
WHOLE = dp.Pure(1)


def rows(people: int = 50) -> pa.Table:
    return pa.table(
        {
            "patient": [i // 2 for i in range(2 * people)],
            "clinic": [("North", "South")[i % 2] for i in range(2 * people)],
            "cost": [i % 100 for i in range(2 * people)],
        }
    )


def visits(source: Any) -> Table:
    return dp.table(source, unit="patient", columns={"cost": dp.bounds(0, 100), "clinic": CLINICS}, max_rows=2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(rows(), path)
    return path


def opened(folder: Path, source: Any, **said: Any) -> dp.Session:
    return dp.Session(visits=visits(source), **({"budget": WHOLE, "ledger": folder / "kept.ledger"} | said))


# --- the same budget again ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("whole", [dp.Pure(1), dp.Approx(1, "1e-6"), dp.ZCDP(1, "1e-6")])
def test_a_budget_outlives_its_session(tmp_path: Path, file: Path, whole: Any) -> None:
    price: Any = {"rho": "0.25"} if isinstance(whole, dp.ZCDP) else {"epsilon": "0.25"}
    remembered = opened(tmp_path, file, budget=whole)
    forgetful = dp.Session(visits=visits(file), budget=whole)
    for session in (remembered, forgetful):
        session.sql(COUNT).release(**price)
    assert remembered.remaining == forgetful.remaining  # a ledger changes where it is counted, not how
    again = opened(tmp_path, file, budget=whole)
    assert (again.budget, again.remaining) == (whole, remembered.remaining)
    again["visits"].group_by("clinic").agg(n=dp.agg.count()).release(**price)
    assert remembered.remaining == again.remaining  # both look at one ledger
    for _ in range(2):
        remembered.sql(COUNT).release(**price)
    with pytest.raises(OverBudget):
        again.sql(COUNT).release(**price)
    assert not again.sql(COUNT).preview(**price).affordable


@pytest.mark.slow
def test_what_the_ledger_knows_may_be_left_out(tmp_path: Path, file: Path) -> None:
    said = {"budget": dp.Approx(1, "1e-6"), "rule": dp.Rule.ZCDP, "neighbours": dp.Neighbours.CHANGE_ONE}
    first = opened(tmp_path, file, **said)
    again = opened(tmp_path, file, budget=None)
    assert again.budget == dp.Approx(1, "1e-6")
    asked = [session.sql(COUNT).quote(epsilon="0.1") for session in (first, again)]
    assert asked[0].plan.price == asked[1].plan.price


@pytest.mark.slow
def test_everything_that_is_paid_is_paid_from_the_ledger(tmp_path: Path, file: Path) -> None:
    session = opened(tmp_path, file, budget=dp.Pure(40))
    session.suggest_bounds("cost", epsilon=10)
    session.suggest_max_rows("visits", epsilon=10)
    session.workload([COUNT, TOTAL]).release(epsilon=10)
    session.with_columns(visits={"cost": dp.bounds(0, 10)}).sql(COUNT).release(epsilon=10)
    assert opened(tmp_path, file, budget=None).remaining == dp.Pure(0)
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        charges = [line.entry for line in ledger.entries(kind="charge")]
        assert not ledger.unanswered()
        together = json.loads(ledger.charge(charges[2].sequence).answer or b"")
    assert charges[0].body["query"] == "suggest_bounds(visits.cost)"
    assert charges[2].body["query"] == f"{COUNT}; {TOTAL}"
    assert [one["columns"] for one in together["answers"]] == [["n"], ["s"]]
    assert charges[3].body["query"] == COUNT


@pytest.mark.slow
def test_an_answer_is_stored_as_it_was_given(tmp_path: Path, file: Path) -> None:
    answer = opened(tmp_path, file).sql(COUNT).release(epsilon="0.5", confidence="0.9")
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        (line,) = ledger.entries(kind="charge")
        stored = json.loads(ledger.charge(line.entry.sequence).answer or b"")
    assert stored["rows"] == [[answer.value]]
    assert stored["errors"]["n"] == answer.errors("0.9")["n"]
    assert line.entry.body["event"]
    assert verify_ledger(tmp_path / "kept.ledger", head=tmp_path / "kept.ledger.head").good


@pytest.mark.slow
def test_tables_beside_the_one_that_is_known_share_its_budget(tmp_path: Path, file: Path) -> None:
    opened(tmp_path, file).sql(COUNT).release(epsilon="0.5")
    patients = dp.table({"id": list(range(50)), "age": [40] * 50}, unit="id", columns={"age": dp.bounds(0, 120)})
    clinics = dp.table({"clinic": ["North"], "region": ["hills"]}, public=True)
    both = opened(tmp_path, file, patients=patients, clinics=clinics)
    both.sql("SELECT AVG(age) AS a FROM patients").release(epsilon="0.25")
    assert opened(tmp_path, file).remaining == dp.Pure("0.25")
    alone = dp.Session(patients=patients, ledger=tmp_path / "kept.ledger")
    assert alone.remaining == dp.Pure("0.25")


@pytest.mark.slow
def test_newer_data_in_the_same_place_go_on(tmp_path: Path, file: Path) -> None:
    opened(tmp_path, file).sql(COUNT).release(epsilon="0.5")
    file.unlink()
    pq.write_table(rows(70), file)
    assert opened(tmp_path, file).remaining == dp.Pure("0.5")
    assert opened(tmp_path, rows()).remaining == dp.Pure("0.5")  # the same file, read into memory first


def test_what_failed_after_it_was_paid_is_not_charged_twice(tmp_path: Path) -> None:
    engine = Fails()
    session = opened(tmp_path, rows(), engine=engine)
    with pytest.raises(EngineFailed) as failed:
        session.sql(COUNT).release(epsilon="0.5")
    assert session.remaining == dp.Pure("0.5")
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        assert len(ledger.unanswered()) == 1
        engine.fails = False
        assert failed.value.again is not None
        failed.value.again()
        assert not ledger.unanswered()
    assert session.remaining == dp.Pure("0.5")
    with pytest.raises(ReceiptRefused):
        failed.value.again()


# --- refused --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"budget": dp.Pure(2)}, "the ledger has epsilon 1 for 'visits'; discreet budget changes it"),
        ({"budget": dp.Approx(1, "1e-9")}, "must be left out"),
        ({"neighbours": dp.Neighbours.CHANGE_ONE}, "neighbours"),
        ({"rule": dp.Rule.ZCDP}, "rule"),
        ({"visits": "clinic"}, "must be 'patient': the budget in the ledger protects that"),
        ({"visits": "other"}, "for other people use another ledger"),
        ({"tables": {"v": 0}}, "'v' holds the same data as 'visits'.*; call the table here as the ledger does: visits"),
        ({"tables": {"v": 1}}, "must hold a table that this ledger has \\(visits\\)"),
        ({"budget_store": dp.Filter(dp.Pure(1))}, "the ledger keeps the budget"),
        ({"ledger": "postgresql://somewhere/ledger"}, "must be a file"),
        ({"ledger": 7}, "must be a file"),
        ({"ledger": "."}, "must be a ledger, or a new file"),
        ({"ledger": __file__}, "must be a ledger, or a new file"),
        ({"ledger": "nowhere/kept.ledger"}, "must be in a folder that is there"),
    ],
)
def test_another_budget_unit_relation_or_table_is_refused(
    tmp_path: Path, file: Path, said: dict[str, Any], words: str
) -> None:
    opened(tmp_path, file, budget=dp.Pure(1))
    before = (tmp_path / "kept.ledger.head").read_bytes()
    other = tmp_path / "other.parquet"
    pq.write_table(rows(60), other)
    given: dict[str, Any] = {"budget": None, "ledger": tmp_path / "kept.ledger", "visits": visits(file)} | said
    if given["visits"] == "clinic":
        given["visits"] = dp.table(file, unit="clinic", columns={"cost": dp.bounds(0, 100)})
    if given["visits"] == "other":
        given["visits"] = visits(other)
    if "tables" in given:
        given["tables"] = {"v": visits((file, rows())[given["tables"]["v"]])}
        del given["visits"]
    with pytest.raises((BadParameter, AlreadyProtected), match=words):
        dp.Session(**given)
    assert (tmp_path / "kept.ledger.head").read_bytes() == before  # nothing was written


@pytest.mark.slow
def test_a_new_ledger_needs_a_budget_and_somebody_to_protect(tmp_path: Path, file: Path) -> None:
    with pytest.raises(BadParameter, match="must be given once for a new ledger"):
        opened(tmp_path, file, budget=None)
    with pytest.raises(BadParameter, match="all tables are public"):
        dp.Session(visits=dp.table(file, public=True), budget=WHOLE, ledger=tmp_path / "kept.ledger")
    with pytest.raises(BadParameter, match="column"):
        dp.Session(visits=dp.table(file, unit="nobody"), budget=WHOLE, ledger=tmp_path / "kept.ledger")
    with pytest.raises(BadParameter, match=r"must be dp\.Pure"):
        dp.Session(visits=visits(file))
    assert not (tmp_path / "kept.ledger").exists()


def test_the_ledger_of_a_curator_is_refused(tmp_path: Path, file: Path) -> None:
    with open_ledger(tmp_path / "kept.ledger", create=True) as ledger:
        ledger.owner.protect("town", WHOLE)
        ledger.owner.register("visits", "town", marks=[], about={"tables": {}})
    with pytest.raises(BadParameter, match=r"ask the curator, with dp\.connect"):
        opened(tmp_path, file)


@pytest.mark.slow
def test_one_that_ended_while_it_was_opened_goes_on(tmp_path: Path, file: Path) -> None:
    with open_ledger(tmp_path / "kept.ledger", create=True) as ledger:
        ledger.owner.protect("visits", WHOLE, unit="patient")
    opened(tmp_path, file).sql(COUNT).release(epsilon="0.5")
    assert opened(tmp_path, file).remaining == dp.Pure("0.5")


@pytest.mark.slow
def test_an_edited_ledger_pays_for_nothing(tmp_path: Path, file: Path) -> None:
    opened(tmp_path, file).sql(COUNT).release(epsilon="0.5")
    copy = {path: path.read_bytes() for path in tmp_path.glob("kept.ledger*") if not path.name.endswith(".head")}
    opened(tmp_path, file).sql(COUNT).release(epsilon="0.25")
    for path, content in copy.items():  # a backup is put back
        path.write_bytes(content)
    with pytest.raises(DiscreetError, match="rolled back"):
        opened(tmp_path, file).sql(COUNT).release(epsilon="0.25")


# --- processes ------------------------------------------------------------------------------------------------------


def ask_often(folder: Path, barrier: Any, results: Any) -> None:
    barrier.wait()
    session = opened(folder, folder / "visits.parquet", budget=dp.Pure(1))
    answers = []
    for _ in range(12):
        try:
            answers.append(int(session.sql(COUNT).release(epsilon="0.1").value))
        except OverBudget:
            break
    results.put(answers)


@pytest.mark.slow
def test_two_processes_never_spend_more_than_there_is(tmp_path: Path, file: Path) -> None:
    """Both begin with no ledger, make it at once, and want 24 answers; there is budget for 10."""
    barrier, results = context().Barrier(2), context().Queue()
    processes = [start(ask_often, tmp_path, barrier, results) for _ in range(2)]
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert sum(map(len, found)) == 10
    assert opened(tmp_path, file).remaining == dp.Pure(0)
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        assert len(ledger.entries(kind="charge")) == 10
        assert list(ledger.populations) == ["visits"]
    assert verify_ledger(tmp_path / "kept.ledger", head=tmp_path / "kept.ledger.head").good


class Fails:
    """The memory engine; it fails, or the process dies, when data are read."""

    name = "memory"

    def __init__(self, fatal: bool = False) -> None:
        self.fails = True
        self.fatal = fatal

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Any]) -> tuple[Exact, ...]:
        if self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fails:
            raise EngineFailed
        return memory().run(works, schemas)


def die_reading(folder: Path) -> None:
    opened(folder, rows(), engine=Fails(fatal=True)).sql(COUNT).release(epsilon="0.5")


@pytest.mark.slow
def test_kill_nine_between_the_charge_and_the_answer(tmp_path: Path) -> None:
    """At the first touch of the data the charge is on the disk; the answer is lost, the charge is not."""
    process = start(die_reading, tmp_path)
    process.join(timeout=120)
    assert process.exitcode == -signal.SIGKILL
    session = opened(tmp_path, rows())
    assert session.remaining == dp.Pure("0.5")
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        assert [entry.body["query"] for entry in ledger.unanswered()] == [COUNT]
    session.sql(COUNT).release(epsilon="0.5")
    with pytest.raises(OverBudget):
        session.sql(COUNT).release(epsilon="0.1")


# --- what is installed ----------------------------------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules["sqlalchemy"] = None
import discreet as dp
table = dp.table({"who": [1, 2]}, unit="who")
dp.Session(visits=table, budget=dp.Pure(1)).sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
assert not [name for name in sys.modules if name.startswith("discreet.curator")]
try:
    dp.Session(visits=table, budget=dp.Pure(1), ledger=sys.argv[1])
except ImportError as missing:
    print(missing)
"""


@pytest.mark.slow
def test_only_a_ledger_needs_what_ledgers_need(tmp_path: Path) -> None:
    path = tmp_path / "kept.ledger"
    done = subprocess.run([sys.executable, "-c", WITHOUT, path], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == 'durable ledgers: an optional part is missing (extra "server"); pip install "fastapi>=0.115" '
        '"joserfc>=1.0.3" "prometheus-client>=0.21" "sqlalchemy>=2.0" "uvicorn>=0.34"'
    )
    assert not path.exists()


@pytest.mark.slow
def test_a_ledger_of_a_version_that_guessed_types_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("patient,clinic,cost\n1,North,5\n2,South,7\n")
    with monkeypatch.context() as older:  # what the last version wrote down
        older.setattr(_ProtectedTable, "about", property(lambda self: {"file": self.place, "unit": self.unit}))
        opened(tmp_path, file).sql(COUNT).release(epsilon="0.25")
    with pytest.warns(UserWarning, match="discreet init"):
        again = opened(tmp_path, file, budget=None)
    assert again.remaining == dp.Pure("0.75")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(tmp_path, file, budget=None)
    other = tmp_path / "new"
    other.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(other, file)
        opened(other, file, budget=None)


def test_an_act_that_another_process_was_quicker_with_is_done() -> None:
    """Refused because it was done already: fine. Refused for another reason: said."""

    def refused() -> None:
        raise AlreadyProtected("town")

    _once(lambda: None, lambda: False)
    _once(refused, lambda: True)
    with pytest.raises(AlreadyProtected):
        _once(refused, lambda: False)
