"""Membership inference from released counts: nearly certain without noise, within the bound with it."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from discreet.checking import attacks
from discreet.checking.attacks.membership import _power
from discreet.errors import BadParameter

mpl.use("Agg")


def test_the_share_of_members_above_the_threshold() -> None:
    """By hand: the threshold is the score that at most so many others exceed."""
    outside = np.arange(100.0)
    assert _power((np.array([94.5, 95.5, 96.0, 200.0]), outside), 0.05) == 0.75
    assert _power((np.full(10, 50.0), outside), 0.05) == 0.0
    assert _power((outside, outside), 0.05) <= 0.05  # no better than chance on the same scores


@pytest.mark.parametrize("bad", [{"people": 1}, {"attributes": 0}, {"trials": 19}, {"delta": 1}, {"epsilon": -1}])
def test_bad_parameters(bad: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        attacks.membership(**bad)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_membership(delta: object) -> None:
    table = attacks.membership(trials=300, delta=delta)  # type: ignore[arg-type]
    assert table.row("exact").success > 0.8  # about 0.99
    protected = table.row("noise")
    assert protected.bound is not None
    assert protected.success <= protected.bound + 0.2  # the threshold is estimated too
    table.plot()
