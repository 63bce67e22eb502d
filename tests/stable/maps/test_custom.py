"""A map of one's own: chained like the others, total, and held to its claim by the check."""

from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.stable import Moves, cap_rows, custom, map


def parities(rows: list[Any]) -> list[int]:
    return [sum(x % 2 == p for x in rows) for p in (0, 1)]


def test_it_is_chained_before_noise_and_behind_other_maps() -> None:
    release = map(lambda x: x, bounds=(0, 5)) >> custom(len, stability=1) >> dp.laplace(epsilon=1)
    assert release.cost(distance=1) == dp.Pure(1)
    assert isinstance(release([1, 2, 3]).value, int)
    both = custom(parities, stability=Moves(l1=1, l2_squared=1, linf=1), size=2) >> dp.laplace(epsilon=1)
    assert len(both([1, 2, 3]).value) == 2
    per_unit = cap_rows(2, unit="id") >> custom(len, stability=1) >> dp.laplace(epsilon=1)
    assert per_unit.cost(distance=1) == dp.Pure(1)


def test_the_check_refutes_a_claim_that_is_too_small() -> None:
    assert dp.check(custom(lambda rows: 2 * len(rows), stability=2), values=[0, 1], rows=2).ok
    assert not dp.check(custom(lambda rows: 2 * len(rows), stability=1), values=[0, 1], rows=2).ok


@pytest.mark.parametrize("broken", [lambda rows: 1 // 0, lambda rows: "many", lambda rows: 0.5, lambda rows: None])
def test_whatever_it_does_an_answer_comes_out(broken: Any) -> None:
    assert custom(broken, stability=1)([1, 2]) == 0
    assert custom(broken, stability=Moves(l1=1, l2_squared=1, linf=1), size=2)([1, 2]) == [0, 0]


def test_it_cannot_change_the_rows_of_others() -> None:
    rows = [3, 1, 2]
    custom(lambda given: given.sort() or 0, stability=1)(rows)
    assert rows == [3, 1, 2]


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadParameter, match="function"):
        custom("len", stability=1)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="Moves"):
        custom(len, stability=1, size=2)
    with pytest.raises(BadParameter, match="stability"):
        custom(len, stability=-1)
