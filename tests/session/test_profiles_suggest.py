"""Estimates of a session's units are paid for like any question, from the same budget."""

import pytest

import discreet as dp
from discreet.errors import (
    BadParameter,
)
from tests.helpers.visits import VISITS

pytestmark = pytest.mark.usefixtures("fixed_noise")


def test_bounds_are_suggested_for_a_price() -> None:
    s = dp.Session(visits=dp.table(VISITS, unit="patient_id"), budget=dp.Pure(20))
    found = s.suggest_bounds("cost", epsilon=10)
    assert (int(found.low), int(found.high)) == (0, 128)
    assert s.remaining == dp.Pure(10)
    wider = s.with_columns(visits={"cost": found.declared})
    wider.sql("SELECT AVG(cost) AS a FROM visits").release(epsilon=5)
    assert s.remaining == dp.Pure(5), "one budget"
    assert s.suggest_max_rows("visits", epsilon=5) in range(1, 5)
    with pytest.raises(BadParameter, match="column"):
        s.suggest_bounds("clinic", epsilon=1)


def test_a_cap_that_all_but_a_hundredth_keep() -> None:
    """2,000 units of two rows. The numbers of units beyond have noise of 1.5 together, and 20 may be beyond: a false
    alarm takes 13 deviations. A quantile among 1,000 values was 20 to 700 here.
    """
    rows = {"id": [i // 2 for i in range(4000)], "first": [i % 2 == 0 for i in range(4000)]}
    s = dp.Session(visits=dp.table(rows, unit="id", max_rows=5), budget=dp.Pure(100))
    assert s.suggest_max_rows("visits", epsilon=5, level="0.99") == 2
    assert s.suggest_max_rows("visits", epsilon=5, level="0.99", where="first") == 1
    left = s.remaining
    for wrong in ({"level": 0}, {"level": 1}, {"most": 1}):
        with pytest.raises(dp.errors.BadParameter):
            s.suggest_max_rows("visits", epsilon=5, **wrong)  # type: ignore[arg-type]
    assert s.remaining == left
