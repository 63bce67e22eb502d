"""One question is paid once, before the data is read, and stays paid."""

from collections.abc import Sequence
from typing import Any

import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import (
    EngineFailed,
    OverBudget,
    ReceiptRefused,
)
from discreet.privacy.budgets.filters import Filter
from discreet.query.plan.work import AnyWork, Exact
from discreet.session.payment import Payment
from tests.helpers.visits import session


class Watched:
    """The memory engine, which counts its runs and may fail."""

    def __init__(self, fails: bool = False) -> None:
        self.runs = 0
        self.fails = fails

    @property
    def name(self) -> str:
        return "watched"

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Any) -> tuple[Exact, ...]:
        self.runs += 1
        if self.fails:
            raise EngineFailed
        return memory().run(works, schemas)


@pytest.mark.slow
def test_data_is_touched_once_and_only_after_paying() -> None:
    engine = Watched()
    s = session(engine=engine, budget=dp.Pure(1))
    asked = s.sql("SELECT COUNT(*) AS n, AVG(cost) AS a FROM visits")
    asked.preview(epsilon="0.5")
    asked.explain(epsilon="0.5")
    with pytest.raises(OverBudget):
        asked.release(epsilon=2)
    assert engine.runs == 0
    answer = asked.release(epsilon="0.5")
    assert engine.runs == 1
    assert [answer["n"], answer["n"]] == [answer["n"], answer["n"]]  # a value, not a plan
    assert engine.runs == 1


def test_a_failing_engine_keeps_the_charge_and_says_nothing() -> None:
    s = session(engine=Watched(fails=True), budget=dp.Pure(1))
    with pytest.raises(EngineFailed, match=r"^the engine could not finish; what was spent stays spent"):
        s.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="0.25")
    assert s.remaining == dp.Pure("3/4")


@pytest.mark.slow
def test_what_is_paid_and_failed_can_be_asked_again_for_one_answer() -> None:
    engine = Watched(fails=True)
    s = session(engine=engine, budget=dp.Pure(1))
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="0.25")
    first = caught.value.again
    assert first is not None
    with pytest.raises(EngineFailed) as caught:
        first()
    again = caught.value.again
    assert again is not None
    engine.fails = False
    assert isinstance(again().value, int)
    assert s.remaining == dp.Pure("3/4")
    with pytest.raises(ReceiptRefused, match="one payment is good for one release"):
        again()
    assert s.remaining == dp.Pure("3/4")


def test_a_payment_is_made_once_and_a_refused_one_is_not_made() -> None:
    budget = Filter(dp.Pure(1))
    payment = Payment(budget)
    with pytest.raises(OverBudget):
        payment(dp.Pure(2))
    assert payment.receipt is None
    assert budget.remaining == dp.Pure(1)
    first = payment(dp.Pure("1/4"))
    assert payment(dp.Pure("1/4")) is first
    assert payment(dp.Pure(2)) is first, "it is paid: nothing is asked of the budget again"
    assert budget.remaining == dp.Pure("3/4")
