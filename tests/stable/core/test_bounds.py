"""Public bounds: what they allow one number to move, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.stable.core.bounds import Bounds, as_bounds


@pytest.mark.parametrize(
    ("low", "high", "largest", "width", "missing"),
    [(-2, 5, 5, 7, 0), (-9, 5, 9, 14, 0), (2, 5, 5, 3, 2), (-5, -2, 5, 3, -2), (4, 4, 4, 0, 4),
     (0, 2**70, 2**70, 2**70, 0)],
)  # fmt: skip
def test_what_one_number_moves(low: int, high: int, largest: int, width: int, missing: int) -> None:
    bounds = as_bounds((low, high))
    assert (bounds.largest, bounds.width, bounds.missing) == (largest, width, missing)
    inside = range(low, min(high, low + 20) + 1)
    assert max(abs(x) for x in (*inside, high)) == bounds.largest
    assert max(abs(x - y) for x in (*inside, high) for y in (*inside, high)) == bounds.width


def test_missing_may_be_any_number_between_the_bounds() -> None:
    assert as_bounds([0, 9], 9) == Bounds(low=0, high=9, missing=9)
    assert str(as_bounds((0, 9))) == "[0, 9]"


@pytest.mark.parametrize(
    ("bounds", "missing", "message"),
    [
        (None, None, "two integers"),
        ((1, 2, 3), None, "two integers"),
        ({0, 1}, None, "two integers"),
        ("01", None, "two integers"),
        ((0.0, 5), None, "low is 0.0, but it must be an integer"),
        ((0, float("inf")), None, "high is inf, but it must be an integer"),
        ((False, 5), None, "must be an integer"),
        ((5, 3), None, "must be at most high, which is 3"),
        ((0, 3), 4, "between low and high, 0 and 3"),
        ((0, 3), -1, "between low and high, 0 and 3"),
        ((0, 3), 1.5, "missing is 1.5, but it must be an integer"),
    ],
)
def test_what_is_refused(bounds: Any, missing: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        as_bounds(bounds, missing)
