"""Caps and bounds of synthetic rows and streams that nobody declared: bought out of their own price, chosen, told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter, EngineFailed, OverBudget, ReceiptRefused
from discreet.ledger import open_ledger
from discreet.privacy.budgets.filters import Filter
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets
from discreet.session.session import session_of

COLUMNS = {"clinic": dp.keys(["North", "South"]), "cost": dp.bounds(0, 1000)}


def visits(n: int = 4000) -> pa.Table:
    """Every patient has three visits, a few have 40."""
    many = np.where(np.arange(n // 4) % 100 == 0, 40, 3)
    patient = np.repeat(np.arange(n // 4), many)
    draw = np.random.default_rng(5)
    return pa.table(
        {
            "patient": patient,
            "clinic": np.where(patient % 3 == 0, "South", "North"),
            "cost": draw.integers(0, 200, len(patient)),
        }
    )


VISITS = visits()


class Counted:
    """The memory engine, which counts its looks."""

    name = "counted"

    def __init__(self) -> None:
        self.looks = 0

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        self.looks += 1
        return memory().run(works, schemas)

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        self.looks += 1
        return memory().grouping_sets(work, schemas)


def session(columns: Any = None, budget: Any = None, **options: Any) -> dp.Session:
    given = dp.table(VISITS, unit="patient", max_rows="auto", columns=columns or COLUMNS)
    return dp.Session(visits=given, budget=budget or dp.ZCDP(100), **options)


def test_a_tenth_of_the_price_is_a_profile_that_a_cap_is_chosen_from() -> None:
    s = session()
    made = s.synthesize("visits", rho=10, rows=500, workload="all 2-way")
    assert s.remaining == dp.ZCDP(90)
    assert made.receipt is not None
    assert (made.receipt.price, made.receipt.number) == (dp.ZCDP(10), 1), "one charge for both steps"
    assert [note.code for note in made.notes] == ["table_rows_scaled", "profile_cost"]
    assert made.notes[1].fields == {"amounts": ("rho 1",)}
    assert made.explain().startswith(str(made.notes[0]))


def test_rows_are_compared_with_as_many_as_they_were_made_of() -> None:
    """The model is off by 0.004 (noise of 4 rows in each of three cells): 0.05 is a false alarm of 12 deviations. With
    a cap that is chosen for the price of the comparison, it would be a tenth of all rows.
    """
    s = session()
    made = s.synthesize("visits", rho=2, rows=10, workload="all 2-way")
    assert made.max_rows is not None
    assert made.max_rows <= 4
    assert s.compare(made, "visits", [("clinic",)], rho=50).value[0] <= 0.05


def test_a_stream_and_a_tree_choose_too() -> None:
    s = session()
    with s.pmw("visits", rho=10, columns=["clinic"]) as stream:
        assert stream.ask("clinic = 'South'").value > 0
    assert s.remaining == dp.ZCDP(90)
    s.learn(dp.learning.HistogramTree, "visits", features=["cost"], target="clinic", rho=10)
    assert s.remaining == dp.ZCDP(80)


def test_bounds_are_chosen_too() -> None:
    s = session(COLUMNS | {"cost": dp.bounds("auto")})
    made = s.synthesize("visits", rho=20, rows=2000, workload="all 1-way")
    cost = np.asarray(made.to_arrow().column("cost").drop_null())
    assert s.remaining == dp.ZCDP(80)
    assert cost.mean() == pytest.approx(100, rel=0.15)
    assert cost.max() <= 300


def test_what_is_refused_is_refused_before_a_profile_is_bought() -> None:
    engine = Counted()
    s = session(engine=engine)
    bad: tuple[dict[str, Any], ...] = (
        {"workload": "all 9-way"},
        {"rows": 0},
        {"columns": ["nobody"]},
        {"memory": 1},
        {"rho": "1e-40"},
    )
    for wrong in bad:
        with pytest.raises(BadParameter):
            s.synthesize(**{"table": "visits", "rho": 1, **wrong})
    with pytest.raises(BadParameter):
        s.pmw("visits", rho=1, hard=0)
    with pytest.raises(OverBudget):
        s.synthesize("visits", rho=101)
    assert (engine.looks, s.remaining) == (0, dp.ZCDP(100))


def test_a_service_chooses_like_a_session() -> None:
    s, store = session(), Filter(dp.ZCDP(100))
    found = session_of(s._backend.serving(store)).synthesize("visits", rho=1, rows=5, columns=["clinic"])
    assert len(found) == 5
    assert (s.remaining, store.remaining) == (dp.ZCDP(100), dp.ZCDP(99))


def test_a_ledger_has_one_charge_for_both_steps(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    for left in (dp.ZCDP(90), dp.ZCDP(80)):
        s = session(ledger=place)
        s.synthesize("visits", rho=10, rows=5, workload="all 1-way")
        assert s.remaining == left
    with open_ledger(place) as ledger:
        told = [ledger.charge(line.entry.sequence).record.query for line in ledger.entries(kind="charge")]
    assert [text.partition("(")[0] for text in told] == ["synthesize", "synthesize"]


def test_a_price_that_takes_all_of_delta_is_one_charge() -> None:
    """As the first payment of all it may; it was two payments, and refused."""
    for name in ("synthesize", "pmw"):
        own = session(budget=dp.Approx(1, "1e-6"))
        getattr(own, name)("visits", 1, delta="1e-6", columns=["clinic"])
        with pytest.raises(OverBudget):
            own.synthesize("visits", "0.1", columns=["clinic"], rows=5)


class Fails:
    """The engine of a session, which fails at its how-many-th look, once."""

    def __init__(self, engine: Counted, at: int) -> None:
        self.left = [None] * at
        run, sets = engine.run, engine.grouping_sets
        engine.run = self.failing(run)  # type: ignore[method-assign]
        engine.grouping_sets = self.failing(sets)  # type: ignore[method-assign]

    def failing(self, look: Any) -> Any:
        def looks(*given: Any) -> Any:
            if self.left:
                self.left.pop()
                if not self.left:
                    raise EngineFailed
            return look(*given)

        return looks


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("how", ["synthesize", "tabulate", "pmw"])
@pytest.mark.parametrize("budget", [dp.ZCDP(100), dp.Approx(100, "1e-6")])
def test_whichever_step_fails_goes_on_under_the_same_payment(at: int, how: str, budget: Any) -> None:
    """Look 1 is the profile, 2 the first counts; there may be a third. No look of a step that is done is made again."""
    engine = Counted()
    own = session(engine=engine, budget=budget)
    fails = Fails(engine, at)
    price = {"rho": 10} if isinstance(budget, dp.ZCDP) else {"epsilon": 10}
    more: dict[str, Any] = {} if how == "pmw" else {"workload": "all 1-way"}
    more |= {"rows": 10} if how == "synthesize" else {}
    error = None
    try:
        made = getattr(own, how)("visits", columns=["clinic"], **price, **more)
    except EngineFailed as failed:
        error = failed
    if error is not None:
        left = own.remaining
        assert left != own.budget
        assert engine.looks == at - 1
        assert error.again is not None
        made = error.again()
        assert own.remaining == left
        with pytest.raises(ReceiptRefused):
            error.again()
    assert (error is None) == bool(fails.left)
    assert (error is None) <= (at == 3)
    assert made.receipt.used


def test_a_stream_whose_first_look_failed_is_opened_under_the_same_payment() -> None:
    engine = Counted()
    look, left = engine.grouping_sets, [None]

    def failing(*given: Any) -> Any:
        if left:
            left.pop()
            raise EngineFailed
        return look(*given)

    engine.grouping_sets = failing  # type: ignore[assignment, method-assign]
    own = dp.Session(visits=dp.table(VISITS, unit="patient", max_rows=3, columns=COLUMNS), budget=dp.ZCDP(100),
                     engine=engine)  # fmt: skip
    with pytest.raises(EngineFailed) as failed:
        own.pmw("visits", rho=10, columns=["clinic"], hard=2, questions=10)
    assert failed.value.again is not None
    assert failed.value.again().receipt.used
    assert own.remaining == dp.ZCDP(90)
