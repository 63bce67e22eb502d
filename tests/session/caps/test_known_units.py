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
