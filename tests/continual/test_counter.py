"""The counter: answers with bars, grids for reals, the best method; and refusals before anything is touched."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from discreet.continual.counter import Method, choose, counter
from discreet.continual.strategies import Appearances
from discreet.errors import BadData, BadParameter, NotATheorem, ReceiptRefused
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Pure
from discreet.privacy.promises.receipt import Receipt


def test_an_answer_has_its_bar_and_its_story() -> None:
    visits = counter(horizon=365, budget=ZCDP("0.1"))
    answer = visits.push(100)
    assert isinstance(answer.value, float)
    assert answer.error_at(0.95) == visits.accuracy(1).error_at(0.95)
    assert "step 1" in answer.explain()
    assert answer.event == visits.event


def test_reals_are_rounded_to_cells_and_the_bar_allows_for_it() -> None:
    money = counter(horizon=10, budget=ZCDP(10**8), cell="1/100", sensitivity="0.5")
    total = money.push_many([0.25, 1.004, 2])[-1]
    assert total == pytest.approx(3.25, abs=money.accuracy(3).error_at("0.999999999"))
    assert money.accuracy(3).error_at(0.5) >= 0.015
    with pytest.raises(BadData):
        counter(horizon=10, budget=ZCDP(1)).push(0.5)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_counter_is_not_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem, match="neither copied nor pickled"):
            copied(counter(horizon=5, budget=ZCDP(1)))


def test_pushing_past_the_horizon_is_refused_before_the_value_is_looked_at() -> None:
    stream = counter(horizon=2, budget=ZCDP(1))
    stream.push_many([1, 2])
    with pytest.raises(NotATheorem) as refused:
        stream.push(987654321)
    assert "987654321" not in str(refused.value)
    with pytest.raises(NotATheorem):
        counter(horizon=2, budget=ZCDP(1)).push_many([1, 2, 3])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "7", None, True, [1], 0.5])
def test_bad_values_change_nothing(value: Any) -> None:
    stream = counter(horizon=5, budget=ZCDP(1))
    with pytest.raises(BadData):
        stream.push(value)
    with pytest.raises(BadData):
        stream.push_many([1, value])
    assert stream.position == 0
    assert len(stream.push_many([])) == 0


def test_huge_values_saturate_and_do_not_fail() -> None:
    stream = counter(horizon=4096, budget=ZCDP(1))
    assert np.isfinite(stream.push_many([10**30, -(10**30), 2**63])).all()


@pytest.mark.parametrize(
    "given",
    [
        {"horizon": 0}, {"horizon": 1.5}, {"horizon": "a year"}, {"horizon": 1 << 41},
        {"budget": ZCDP(0)}, {"budget": 1},
        {"budget": ZCDP(1, "1e-9")}, {"budget": GDP(1)}, {"sensitivity": 0}, {"steps": 0}, {"separation": 0},
        {"method": "best of all"}, {"method": "square_root", "budget": Pure(1)}, {"cell": 0},
        {"horizon": None, "method": "tree"}, {"method": "binned", "horizon": 1 << 21},
        {"method": "square_root", "horizon": 1 << 17}, {"sensitivity": 10**12},
    ],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        counter(**{"horizon": 10, "budget": ZCDP(1), **given})
    with pytest.raises(BadParameter):
        counter(horizon=3, budget=ZCDP(1)).accuracy(4)


def test_a_receipt_pays_for_the_whole_stream_once() -> None:
    spending = Filter(ZCDP(1))
    stream = counter(horizon=10, budget=ZCDP("1/2"))
    receipt = spending.spend(stream.event)
    stream.pay(receipt)
    stream.push(1)
    with pytest.raises(BadParameter):
        stream.pay(spending.spend(stream.event))
    other = counter(horizon=10, budget=ZCDP("1/2"))
    with pytest.raises(ReceiptRefused):
        other.pay(receipt)
    with pytest.raises(ReceiptRefused):
        other.pay(Receipt(events.ZCDP("1/3"), number=1))
    receipt.end()
    with pytest.raises(NotATheorem):
        stream.push(1)


@pytest.mark.slow
def test_the_best_method_follows_from_public_parameters() -> None:
    def named(horizon: int, budget: Any) -> str:
        return type(choose(horizon, budget, Method.BEST, Appearances())).__name__

    assert named(365, ZCDP(1)) == "Toeplitz"
    assert named(100_000, ZCDP(1)) == "Binned"
    assert named(365, Pure(1)) == "Values"  # √365 is below what nine levels cost
    assert named(4000, Pure(1)) == "Tree"
    assert named(1 << 21, ZCDP(1)) == "Tree"
