"""Lists whose order is public: places, not rows, are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable import ADD_REMOVE, CHANGE, IN_PLACE, Moves
from discreet.stable.core.domains import Rows, Vector
from tests.helpers.stability import Claim, attained, claim_of, refute
from tests.stable.cases import NAN, NUMBERS, Sulks


@pytest.mark.parametrize("d", [1, 2])
def test_the_stability_of_a_vector_is_attained(d: int) -> None:
    vector = stable.as_vector(3, bounds=(-2, 4))
    assert attained(claim_of(vector), NUMBERS[:6], most=3, d=d) == vector.stability(d)


def test_no_more_places_change_than_there_are() -> None:
    assert stable.as_vector(2, bounds=(0, 3)).stability(5) == Moves(l1=6, l2_squared=18, linf=3)
    assert stable.as_vector(2, bounds=(0, 3)).stability(0) == Moves(l1=0, l2_squared=0, linf=0)


def test_the_first_rows() -> None:
    assert stable.first(2)([5, 6, 7]) == [5, 6]
    assert stable.first(4, fill="none")([5]) == [5, "none", "none", "none"]
    assert stable.first(3).input_metric == stable.first(3).output_metric == IN_PLACE
    assert stable.first(3).output_domain == Rows(size=3)
    assert stable.first(3).stability(2) == 2


def test_a_vector_of_clamped_numbers() -> None:
    vector = stable.as_vector(6, bounds=(-2, 4), missing=1)
    assert vector([9, -9, None, NAN, Sulks()]) == [4, -2, 1, 1, 1, 1]
    assert vector([0] * 9) == [0] * 6
    assert vector.output_domain == Vector(6)
    assert (stable.first(3) >> stable.as_vector(2, bounds=(0, 1))).story() == (
        "took the first 3 rows",
        "took 2 values, clamped to [0, 1]",
    )


def test_the_first_rows_of_a_bag_are_refuted() -> None:
    """The same function is stable where order is public, and the check finds that it is not elsewhere."""
    assert refute(claim_of(stable.first(2)), [0, 1, 2], most=3) is None
    as_bag = Claim(stable.first(2), lambda d: d, CHANGE, CHANGE, Rows(size=2))
    assert "order" in str(refute(as_bag, [0, 1, 2], most=3))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.first(0), "at least 1"),
        (lambda: stable.as_vector(0, bounds=(0, 1)), "at least 1"),
        (lambda: stable.as_vector(3, bounds=(0, 0.5)), "must be an integer"),  # type: ignore[arg-type]
        (lambda: stable.clip(0, 1) >> stable.first(3), "neighbours=IN_PLACE"),
        (lambda: stable.clip(0, 1, neighbours=CHANGE) >> stable.as_vector(3, bounds=(0, 1)), "neighbours=IN_PLACE"),
        (lambda: stable.first(3).after(Rows(), ADD_REMOVE), "neighbours=IN_PLACE"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
