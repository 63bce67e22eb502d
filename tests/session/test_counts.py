"""Caps and bounds of synthetic rows and streams that nobody declared: bought out of their own price, chosen, told."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter, EngineFailed, NoProfile, OverBudget
from discreet.ledger import open_ledger
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets
from discreet.session.counts import cap_for_counts

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


def test_a_tenth_of_the_price_buys_a_profile_that_a_cap_is_chosen_from() -> None:
    s = session()
    made = s.synthesize("visits", rho=10, rows=500, workload="all 2-way")
    assert s.remaining == dp.ZCDP(90)
    assert made.receipt is not None
    assert made.receipt.price == dp.ZCDP(9)
    assert any("a cap of" in note for note in made.notes)
    assert any("rho 1 of it was spent on a profile" in note for note in made.notes)
    assert made.explain().startswith(made.notes[0])
    assert s.profile("visits").sizes.units() == pytest.approx(1000, rel=0.1)
    again = s.synthesize("visits", rho=10, rows=10, workload="all 1-way")  # what was bought is known
    assert s.remaining == dp.ZCDP(80)
    assert not any("spent on a profile" in note for note in again.notes)


def test_a_profile_that_was_bought_is_used() -> None:
    s = session()
    s.profile("visits", rho=10)
    made = s.synthesize("visits", rho=10, rows=10, columns=["clinic"])
    assert (s.remaining, made.receipt.price) == (dp.ZCDP(80), dp.ZCDP(10))  # type: ignore[union-attr]


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


def test_values_that_were_bought_in_vain_are_refused_before_anything_is_spent() -> None:
    s = session(COLUMNS | {"cost": dp.bounds("auto")}, budget=dp.ZCDP(100))
    s.profile("visits", rho="1e-9", columns=["cost"])
    left = s.remaining
    with pytest.raises(NoProfile, match="if one showed nothing"):
        s.synthesize("visits", rho=10)
    assert s.remaining == left
    assert len(s.synthesize("visits", rho=10, rows=5, columns=["clinic"])) == 5  # it is not asked for here


def test_a_service_sells_profiles_by_itself() -> None:
    class Store:
        remaining = dp.ZCDP(100)

        def fits(self, what: object) -> bool:
            return True

    with pytest.raises(NoProfile, match="there is no profile to choose"):
        session().serving(Store()).synthesize("visits", rho=1)  # type: ignore[arg-type]


def test_a_ledger_has_what_was_bought(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    for left in (dp.ZCDP(90), dp.ZCDP(80)):
        s = session(ledger=place)
        s.synthesize("visits", rho=10, rows=5, workload="all 1-way")
        assert s.remaining == left
    with open_ledger(place) as ledger:
        told = [ledger.charge(line.entry.sequence).record.query for line in ledger.entries(kind="charge")]
    assert [text.partition("(")[0] for text in told] == ["profile", "synthesize", "synthesize"]


def test_the_cap_is_between_noise_and_cut() -> None:
    s = session()
    s.profile("visits", rho=50)
    sizes = s.profile("visits").sizes
    caps = [cap_for_counts(sizes, rho, [30, 3]) for rho in (Fraction(1, 10**6), Fraction(1), Fraction(10**4))]
    assert 1 < caps[0] <= 4  # nobody has less than three rows: a lower cap has no less noise for what is left
    assert caps[0] <= caps[1] <= 4
    assert caps[2] >= 32


def test_all_payments_are_checked_together_before_the_profile_is_bought() -> None:
    """The first payment of all may take all of δ, but of two the second may not: this price was refused when its tenth
    was spent.
    """
    own = session(budget=dp.Approx(1, "1e-6"))
    for ask in (own.synthesize, own.pmw):
        with pytest.raises(OverBudget):
            ask("visits", 1, delta="1e-6", columns=["clinic"])
    assert own.remaining == own.budget


def test_an_engine_that_fails_on_the_profile_is_asked_again_for_no_more_than_the_price() -> None:
    engine = Counted()
    run, left = engine.run, [None]

    def failing(*given: Any) -> Any:
        if left:
            left.pop()
            raise EngineFailed
        return run(*given)

    engine.run = failing  # type: ignore[assignment, method-assign]
    own = session(engine=engine)
    with pytest.raises(EngineFailed) as failed:
        own.synthesize("visits", rho=10, rows=10, columns=["clinic"], workload="all 1-way")
    assert own.remaining == dp.ZCDP(99)
    assert failed.value.again is not None
    assert "rho 1 of it was spent on a profile" in failed.value.again().notes[-1]
    assert own.remaining == dp.ZCDP(90)
    left.append(None)
    with pytest.raises(EngineFailed) as failed:
        own.profile("visits", rho=1)
    assert failed.value.again is not None
    found = failed.value.again()
    assert own.profile("visits") is found, "it was paid, so it is kept"


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
