"""Synthetic rows and streams of a session: one charge, paid before the data is read, and by everything that can pay."""

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import (
    BadParameter,
    BadQuestion,
    EngineFailed,
    MissingExtra,
    NotATheorem,
    OverBudget,
    ReceiptRefused,
)
from discreet.ledger import open_ledger, verify_ledger
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets
from discreet.session.counts_program import CountsJob, counts_program
from discreet.session.price import Price
from discreet.session.program import run

COLUMNS = {"clinic": dp.keys(["North", "South"]), "age": dp.bounds(0, 99), "town": dp.unknown_keys()}


def people(n: int = 3000) -> pa.Table:
    draw = np.random.default_rng(7)
    south = draw.random(n) < 0.3
    return pa.table(
        {
            "id": draw.integers(0, n // 2, n),
            "clinic": np.where(south, "South", "North"),
            "age": np.where(south, 70, 30) + draw.integers(-20, 20, n),
            "smoker": draw.random(n) < 0.25,
            "town": draw.choice(["Ashby", "Birch"], n),
        }
    )


PEOPLE = people()


class Watched:
    """The memory engine, which counts its looks and may fail."""

    def __init__(self, fails: int = 0) -> None:
        self.looks, self.fails, self.name = 0, fails, "watched"

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        return memory().run(works, schemas)

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        self.looks += 1
        if self.looks <= self.fails:
            raise EngineFailed
        return memory().grouping_sets(work, schemas)


def session(budget: Any = None, rows: pa.Table = PEOPLE, **options: Any) -> dp.Session:
    given = dp.table(rows, unit="id", columns=COLUMNS, max_rows=2)
    if budget is None:  # what is left is then easily said
        budget, options = dp.Approx(4, "1e-6"), {"rule": dp.Rule.BASIC} | options
    return dp.Session(people=given, budget=budget, **options)


@pytest.mark.slow
def test_synthetic_rows_of_a_session() -> None:
    s = session()
    made = s.synthesize("people", epsilon=2, rows=500, workload="all 2-way", quick=True)
    rows = made.to_arrow()
    assert (rows.num_rows, rows.column_names) == (500, ["clinic", "age", "smoker"])
    assert s.remaining == dp.Approx(2, Fraction(1, 2 * 10**6))
    assert made.receipt is not None
    assert made.receipt.used
    assert made.promise.epsilon <= 2  # type: ignore[union-attr]
    assert made.receipt.price == dp.Approx(2, Fraction(1, 2 * 10**6))
    assert 2000 < made.total < 3200  # of units with more than two rows, two count
    assert set(made.sql("SELECT DISTINCT clinic FROM synthetic").column(0).to_pylist()) <= {"North", "South", None}
    assert all(0 <= a <= 99 for a in rows.column("age").to_pylist() if a is not None)


def test_much_budget_reproduces_the_bounded_marginals() -> None:
    rows = pa.table({"id": [1, 2, 3, 4, 5, 5, 5, 5], "clinic": ["North", "South", "South", None, *["North"] * 4]})
    made = dp.Session(people=dp.table(rows, unit="id", columns={"clinic": COLUMNS["clinic"]}, max_rows=2),
                      budget=dp.ZCDP(10**8)).synthesize("people", rho=10**7)  # fmt: skip
    assert made.marginal("clinic") == pytest.approx([3, 2, 1], abs=0.02)  # unit 5 counts as two rows


def test_tables_of_a_session_are_one_charge_and_agree() -> None:
    s = session()
    found = s.tabulate("people", [("clinic", "smoker"), ("smoker",), ("clinic",)], epsilon=2)
    assert s.remaining == dp.Approx(2, Fraction(1, 2 * 10**6))
    assert found.receipt is not None
    assert found.receipt.used
    assert found.plan.name == "residuals"
    table = found.table(0)
    assert table.column_names == ["clinic", "smoker", "count", "error"]
    assert table.column("clinic").to_pylist()[::3] == ["North", "South", None]
    assert np.allclose(found[0].reshape(3, 3).sum(axis=0), found[1])
    assert np.allclose(found[0].reshape(3, 3).sum(axis=1), found[2])
    exact = session(dp.ZCDP(10**9)).tabulate("people", [("smoker",)], rho=10**8)
    assert np.abs(found[1] - exact[0]).max() < 200
    for bad in ({"workload": [("nowhere",)]}, {"workload": "all 9-way"}, {"workload": [("clinic",)], "plan": "magic"}):
        with pytest.raises(BadParameter):
            s.tabulate("people", epsilon=1, **bad)
    assert s.remaining == dp.Approx(2, Fraction(1, 2 * 10**6))


def test_tables_that_could_not_be_read_are_asked_for_again() -> None:
    s = session(engine=(engine := Watched(fails=1)))
    with pytest.raises(EngineFailed) as failed:
        s.tabulate("people", [("clinic", "smoker"), ("clinic",)], epsilon=2)
    left = s.remaining
    assert failed.value.again is not None
    assert failed.value.again().receipt.used
    assert (s.remaining, engine.looks) == (left, 2)


def test_a_ledger_keeps_the_tables(tmp_path: Path) -> None:
    s = session(ledger=tmp_path / "ledger.db")
    found = s.tabulate("people", [("clinic",)], epsilon=1)
    assert json.loads(found.to_json())["tabulated"]["columns"] == [["clinic"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "rule", "price"),
    [
        (dp.ZCDP("0.5"), None, {"rho": "0.25"}),
        (dp.Approx(2, "1e-6"), dp.Rule.ZCDP, {"epsilon": 1}),
        (dp.Approx(2, "1e-6"), None, {"epsilon": 1, "delta": "1e-7"}),
    ],
)
def test_every_kind_of_budget_pays_once(budget: Any, rule: Any, price: dict[str, Any]) -> None:
    s = session(budget, rule=rule)
    before = s.remaining
    made = s.synthesize("people", columns=["clinic", "smoker"], **price)
    assert s.remaining != before
    assert made.receipt is not None
    spent = made.run.spending.charged
    charged = made.receipt.what
    if isinstance(charged, dp.events.ZCDP):
        assert spent.rho <= charged.rho
    else:
        assert charged == dp.Approx(1, "1e-7")


@pytest.mark.slow
def test_nothing_is_read_before_it_is_paid_and_nothing_is_paid_twice() -> None:
    engine = Watched(fails=2)
    s = session(engine=engine)
    with pytest.raises(OverBudget):
        s.synthesize("people", epsilon=5)
    assert engine.looks == 0
    with pytest.raises(EngineFailed) as failed:
        s.synthesize("people", epsilon=1, columns=["clinic"], rows=10)
    paid = s.remaining
    assert paid == dp.Approx(3, Fraction(3, 4 * 10**6))
    assert failed.value.again is not None
    with pytest.raises(EngineFailed) as once_more:
        failed.value.again()
    assert once_more.value.again is not None
    assert len(once_more.value.again()) == 10
    assert s.remaining == paid


@pytest.mark.slow
def test_cancelling_keeps_what_was_paid() -> None:
    s = session()
    made = s.synthesize("people", epsilon=1, cancel=lambda: True, rows=20)
    assert not made.run.complete
    assert len(made) == 20
    assert s.remaining == dp.Approx(3, Fraction(3, 4 * 10**6))  # one charge, before anything was read; no refunds


BAD: list[tuple[dict[str, Any], str]] = [
    ({"table": "nobody"}, "must be one of people"),
    ({"columns": ["nothing"]}, "must be a column of people"),
    ({"columns": ["town"]}, "session.suggest_keys"),
    ({"columns": ["id"]}, "not its unit"),
    ({"columns": "clinic"}, "list of names"),
    ({"workload": []}, "at least one query"),
    ({"workload": "all 9-way"}, "all k-way"),
    ({"workload": [("clinic", "nothing")]}, "must be a column of the domain"),
    ({"rows": 0}, "rows"),
    ({"rows": 10**12}, "at most"),
    ({"memory": 1}, "must be at least"),
    ({"model_cells": 1}, "one number for each value"),
    ({"delta": 0}, "delta"),
    ({"epsilon": None}, "epsilon"),
    ({"epsilon": None, "rho": 1}, "rho"),
    ({"epsilon": "1e-12"}, "must be larger"),
    ({"impossible": ["clinic ="]}, "cannot be read"),
    ({"impossible": ["TRUE"]}, "leave something possible"),
    ({"public": {"clinic": [1]}}, "one finite number for each code"),
    ({"domain": {"age": dp.synthetic.bins([0, 1 << 20])}, "columns": ["age", "nothing"]}, "must be a column"),
    ({"domain": {"clinic": dp.synthetic.whole(0, 3)}}, "number with public bounds"),
    (
        {"domain": {"clinic": [f"c{i}" for i in range(5000)], "age": range(5000)}, "workload": [("clinic", "age")]},
        "coarsen",
    ),
]


@pytest.mark.parametrize(("change", "words"), BAD, ids=[str(change)[:60] for change, _ in BAD])
def test_bad_input_is_refused_with_nothing_read_and_nothing_spent(change: dict[str, Any], words: str) -> None:
    engine = Watched()
    s = session(engine=engine)
    before = s.remaining
    with pytest.raises((BadParameter, BadQuestion, dp.errors.BadData), match=words):
        s.synthesize(**{"table": "people", "epsilon": 1, **change})
    assert (engine.looks, s.remaining) == (0, before)


def test_a_pure_budget_cannot_pay_for_gaussian_noise() -> None:
    s = session(dp.Pure(4))
    for ask in (s.synthesize, s.pmw):
        with pytest.raises(BadParameter, match="need Gaussian noise"):
            ask("people", epsilon=1)
    assert s.remaining == dp.Pure(4)


@pytest.mark.slow
def test_a_ledger_keeps_the_charge_and_the_rows(tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, file)
    place = tmp_path / "budget.db"
    try:
        s = dp.Session(people=dp.table(file, unit="id", columns=COLUMNS), budget=dp.Approx(4, "1e-6"), ledger=place,
                       rule=dp.Rule.BASIC)  # fmt: skip
    except MissingExtra:
        pytest.skip("ledgers need an extra")
    made = s.synthesize("people", epsilon=1, rows=50, columns=["clinic", "smoker"])
    assert s.remaining == dp.Approx(3, Fraction(3, 4 * 10**6))
    with open_ledger(place) as ledger:
        (line,) = ledger.entries(kind="charge")
        charge = ledger.charge(line.entry.sequence)
    assert charge.answer is not None
    stored = json.loads(charge.answer)["synthetic"]
    assert (stored["rows"], stored["columns"], stored["spent"]) == (50, ["clinic", "smoker"], str(made.promise))
    assert pq.read_table(pa.BufferReader(b64decode(stored["parquet"]))).num_rows == 50
    assert verify_ledger(place).good


# --- skewed columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lognormal", "pareto", "zeros", "uniform"])
def test_the_mean_of_a_skewed_column_is_kept(kind: str) -> None:
    """Noise is small (a third of a row), so this is about bins; those of equal width were 4 to 60 times off."""
    draw = np.random.default_rng(11)
    n = 10_000
    values = {
        "lognormal": np.minimum(draw.lognormal(3, 1, n), 10_000),
        "pareto": np.minimum((draw.pareto(2, n) + 1) * 10, 10_000),
        "zeros": np.where(draw.random(n) < 0.8, 0, draw.integers(1, 500, n)),
        "uniform": draw.uniform(0, 10_000, n),
    }[kind]
    table = pa.table({"id": np.arange(n), "amount": values, "odd": np.arange(n) % 2 == 1})
    s = dp.Session(t=dp.table(table, unit="id", max_rows=1, columns={"amount": dp.bounds(0, 10_000)}),
                   budget=dp.ZCDP(100))  # fmt: skip
    made = np.asarray(s.synthesize("t", rho=50, rows=n, workload="all 2-way").to_arrow().column("amount").drop_null())
    assert made.mean() == pytest.approx(values.mean(), rel=0.05)
    levels = [0.1, 0.5, 0.9]
    assert np.quantile(made, levels) == pytest.approx(np.quantile(values, levels), rel=0.1, abs=0.5)


def test_what_was_measured_stays_measured_if_the_engine_fails_at_the_second_look() -> None:
    class Later(Watched):
        def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
            self.looks += 1
            if self.looks in (2, 3):
                raise EngineFailed
            return memory().grouping_sets(work, schemas)

    s = dp.Session(people=dp.table(PEOPLE, unit="id", columns={"age": dp.bounds(0, 500)}, max_rows=2),
                   budget=dp.ZCDP(4), engine=Later())  # fmt: skip
    with pytest.raises(EngineFailed) as failed:
        s.synthesize("people", rho=1, rows=10)
    left = s.remaining
    assert failed.value.again is not None
    with pytest.raises(EngineFailed) as once_more:
        failed.value.again()
    assert once_more.value.again is not None
    made = once_more.value.again()
    assert (len(made), s.remaining, left) == (10, left, dp.ZCDP(3))
    assert made.receipt is not None
    told = [words for words, _ in made.run.spending.events]
    assert told.count("measured (age), to choose its bins") == 1  # the noise that was drawn is that of the rows
    assert made.run.spending.charged.rho <= 1


# --- a stream ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [dp.Approx(4, "1e-6"), dp.ZCDP(4, "1e-6")], ids=["either", "approximate zCDP"])
def test_a_stream_whose_first_look_fails_is_asked_for_again_under_the_same_payment(budget: Any) -> None:
    """Nothing was drawn, so other questions may come first, and it is opened when it begins."""
    s = session(budget, engine=Watched(fails=2))
    price = {"epsilon": 1, "delta": "1e-7"} if isinstance(budget, dp.Approx) else {"rho": 1}
    with pytest.raises(EngineFailed) as failed:
        s.pmw("people", columns=["clinic"], hard=2, **price)
    paid = s.remaining
    assert failed.value.again is not None
    with pytest.raises(EngineFailed) as once_more:
        failed.value.again()
    assert once_more.value.again is not None
    s.sql("SELECT COUNT(*) FROM people").release(**price)  # nothing is open
    before = s.remaining
    stream = once_more.value.again()
    assert s.remaining == before != paid
    with pytest.raises(ReceiptRefused):  # a second one would answer for the same payment
        once_more.value.again()
    if isinstance(budget, dp.ZCDP):
        with pytest.raises(NotATheorem, match="still open"):
            s.sql("SELECT COUNT(*) FROM people").release(**price)
    stream.close()
    s.sql("SELECT COUNT(*) FROM people").release(**price)


@pytest.mark.slow
def test_a_stream_of_questions_is_one_charge() -> None:
    engine = Watched()
    s = session(engine=engine)
    with s.pmw("people", epsilon=2, columns=["clinic", "smoker"], hard=3) as stream:
        left = s.remaining
        first = stream.ask("SELECT COUNT(*) FROM people WHERE clinic = 'South'")
        for where in ("smoker", "clinic = 'North' AND NOT smoker", "clinic IS NULL", "smoker"):
            stream.ask(where)
        assert s.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.1").value > 0  # between its questions
    assert left == dp.Approx(2, Fraction(1, 2 * 10**6))
    assert engine.looks == 1  # the whole table of these columns, once
    assert first.value > 0
    assert stream.promise.epsilon <= 2  # type: ignore[union-attr]
    assert stream.receipt is not None
    assert "untested" in stream.ask("smoker").story[0]


@pytest.mark.parametrize(
    ("budget", "numbers"),
    [(dp.Pure("1/2"), {"epsilon": "1/2"}), (dp.Approx(1, "1e-7"), {"epsilon": 1, "delta": "1e-7"})],
)
def test_a_stream_takes_a_promise_as_its_budget(budget: Any, numbers: dict[str, Any]) -> None:
    one, other = session(), session()
    one.pmw("people", columns=["clinic"], budget=budget)
    other.pmw("people", columns=["clinic"], **numbers)
    assert one.remaining == other.remaining != dp.Approx(4, "1e-6")


def test_a_stream_measures_in_rows() -> None:
    s = session(dp.ZCDP(10**9))
    stream = s.pmw("people", rho=10**8, columns=["clinic"], threshold=3)
    assert stream.threshold == 3
    counted = s.synthesize("people", rho=10**7, columns=["clinic"]).marginal("clinic")
    found = stream.ask("clinic = 'South'")
    assert found.value == pytest.approx(counted[1], abs=4)


@pytest.mark.slow
def test_approximate_zcdp_lets_nothing_interleave(tmp_path: Path) -> None:
    s = session(dp.ZCDP(1, "1e-6"))
    stream = s.pmw("people", rho="0.1", columns=["clinic"])
    with pytest.raises(NotATheorem):
        s.sql("SELECT COUNT(*) AS n FROM people").release(rho="0.01")
    stream.close()
    assert s.sql("SELECT COUNT(*) AS n FROM people").release(rho="0.01").value > 0
    file = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, file)
    kept = dp.Session(people=dp.table(file, unit="id", columns=COLUMNS), budget=dp.ZCDP(1, "1e-6"),
                      ledger=tmp_path / "budget.db")  # fmt: skip
    before = kept.remaining
    with pytest.raises(NotATheorem, match="interleave"):
        kept.pmw("people", rho="0.1", columns=["clinic"])
    assert kept.remaining == before


@pytest.mark.parametrize(
    "change",
    [
        {"hard": 0},
        {"questions": 0},
        {"threshold": 0},
        {"columns": ["town"]},
        {"epsilon": "1e-12"},
        {"table": "x"},
        {"budget": dp.Pure(1)},
    ],
)
def test_a_bad_stream_costs_nothing(change: dict[str, Any]) -> None:
    engine = Watched()
    s = session(engine=engine)
    with pytest.raises(BadParameter):
        s.pmw(**{"table": "people", "epsilon": 1, **change})
    assert (engine.looks, s.remaining) == (0, dp.Approx(4, "1e-6"))


# --- keys that nobody listed ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_keys_are_released_first_and_paid_for() -> None:
    s = session()
    found = s.suggest_keys("people.town", epsilon=1)
    assert found.keys == ("Ashby", "Birch")
    assert s.remaining == dp.Approx(3, Fraction(3, 4 * 10**6))
    made = s.with_columns(people={"town": found}).synthesize("people", epsilon=1, columns=["town"], rows=5)
    assert set(made.to_arrow().column("town").to_pylist()) <= {"Ashby", "Birch", None}
    assert s.remaining.epsilon == 2
    with pytest.raises(BadParameter, match="unknown_keys"):
        s.suggest_keys("people.clinic", epsilon=1)


def test_the_column_may_be_called_anything() -> None:
    rows = {"u": range(300), "home town": ["Ashby"] * 300}
    own = dp.Session(
        people=dp.table(rows, unit="u", columns={"home town": dp.unknown_keys()}, max_rows=1),
        budget=dp.Approx(10, "1e-3"),
    )
    assert own.suggest_keys("people.home town", epsilon=5).keys == ("Ashby",)


def test_how_far_the_model_is_off_is_paid_for_and_has_a_bar(tmp_path: Path) -> None:
    s = session(ledger=tmp_path / "budget.db")
    made = s.synthesize("people", epsilon=1, columns=["clinic", "smoker"], rows=50)
    left = s.remaining
    off = s.compare(made, "people", [("clinic", "smoker"), ("smoker",)], epsilon="0.5")
    assert off.value.shape == (2,)
    assert (off.value >= 0).all()
    assert off.error_at("0.5") < off.error_at("0.95")
    assert off.receipt is not None
    assert off.receipt.used
    assert s.remaining != left
    for wrong in ([], ["clinic"], "clinic", [()], [("clinic", "nobody")]):
        left = s.remaining
        with pytest.raises(BadParameter):
            s.compare(made, "people", wrong, epsilon="0.1")
        assert s.remaining == left
    with pytest.raises(BadParameter, match="made"):
        s.compare(made.to_arrow(), "people", [("clinic",)], epsilon="0.1")
    with pytest.raises(OverBudget):
        s.compare(made, "people", [("clinic",)], epsilon=100)
    assert verify_ledger(tmp_path / "budget.db").good


def test_the_first_look_pays_and_later_ones_do_not() -> None:
    s, looks = session(), list[Any]()

    def work(source: Any, _: Any) -> None:
        assert (source.receipt, s.remaining) == (None, s.budget)
        source.marginals([()])
        paid = s.remaining
        source.marginals([(0,)])
        assert s.remaining == paid != s.budget
        assert source.receipt.used
        looks.append(source)

    job = CountsJob("rows", "rows", "", work)
    program = counts_program(s._backend, job, "people", Price(1), columns=["clinic"])
    run(program, s._backend)
    (source,), counted = looks, program.answer.source
    assert (source.scale, source.moves(()), source.domain) == (counted.scale, counted.moves(()), counted.domain)
