"""A function that was never really run must not be called ok, by ``check`` or by ``audit``."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.checking.exact.calling import takes
from discreet.errors import BadParameter
from discreet.randomness import Bits

PAIRS = [([1, 2, 10], [1, 2])]


def noiseless(rows: list[int]) -> int:
    return sum(rows)


def noiseless_of_bits(rows: list[int], bits: Bits) -> int:
    return sum(rows)


def broken(rows: list[int], bits: Bits) -> int:
    raise TypeError("never shown")


def broken_half(rows: list[int], bits: Bits) -> int:
    if len(rows) == 3:
        raise TypeError
    return 0


def test_a_function_of_data_alone_is_refused_by_check_with_a_hint() -> None:
    with pytest.raises(BadParameter, match=r"must take \(data, bits\).*dp\.audit"):
        dp.check(noiseless, pairs=PAIRS, claim=dp.Pure(1))


def test_a_noiseless_function_of_bits_is_refuted() -> None:
    assert not dp.check(noiseless_of_bits, pairs=PAIRS, claim=dp.Pure(1)).ok


def test_a_function_that_always_raises_is_refused_by_check_and_audit() -> None:
    with pytest.raises(BadParameter, match="raised TypeError on every input") as caught:
        dp.check(broken, pairs=PAIRS, claim=dp.Pure(1))
    assert "never shown" not in str(caught.value)
    with pytest.raises(BadParameter, match="raised TypeError on every input"):
        dp.audit(broken, pair=PAIRS[0], claim=dp.Pure(1), samples=1000)


def test_a_function_that_raises_for_one_person_is_refuted() -> None:
    assert not dp.check(broken_half, pairs=PAIRS, claim=dp.Pure(1)).ok


def test_audit_calls_a_function_of_data_and_one_of_data_and_bits() -> None:
    assert dp.audit(noiseless, pair=PAIRS[0], claim=dp.Pure(1), samples=1000).refuted
    assert dp.audit(noiseless_of_bits, pair=PAIRS[0], claim=dp.Pure(1), samples=1000).refuted
    with pytest.raises(BadParameter, match=r"must take \(data\), or \(data, bits\)"):
        dp.audit(lambda: 1, pair=PAIRS[0], claim=dp.Pure(1), samples=1000)


@pytest.mark.parametrize(
    ("function", "counts"),
    [
        (noiseless, {1}),
        (noiseless_of_bits, {2}),
        (lambda *a: 0, {0, 1, 2}),
        (lambda a, b=1: 0, {1, 2}),
        (print, {1, 2}),
    ],
)
def test_how_many_arguments_a_function_takes(function: Any, counts: set[int]) -> None:
    assert {n for n in (0, 1, 2) if takes(function, n)} >= counts
