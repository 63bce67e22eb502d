"""Public keys: a list, not empty, of values that a row can be compared with."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.stable.core.keys import check_keys
from tests.stable.cases import NAN, Sulks


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        (["b", "a"], ("b", "a")),
        (("a",), ("a",)),
        (range(3), (0, 1, 2)),
        ([None, False, 1, "1", (1, "x"), datetime.date(2020, 1, 1)],
         (None, False, 1, "1", (1, "x"), datetime.date(2020, 1, 1))),
    ],
)  # fmt: skip
def test_the_keys_keep_their_order(given: Any, keys: tuple[Any, ...]) -> None:
    assert check_keys(given) == keys


def test_keys_from_an_array_are_python_objects() -> None:
    keys = check_keys(np.array([3, 1]))  # type: ignore[arg-type]
    assert keys == (3, 1)
    assert {type(key) for key in keys} == {int}


@pytest.mark.parametrize("given", [[], (), "ab", {"a"}, {"a": 1}, None, 5, np.array([]), np.array(5), iter(["a"])])
def test_what_is_no_list_of_keys(given: Any) -> None:
    with pytest.raises(BadParameter, match=r"^values is .* at least one$"):
        check_keys(given, "values")


@pytest.mark.parametrize(
    "given", [["a", "a"], [1, True], [0, 0.0, 1], [Fraction(1, 2), Decimal("0.5")], [(1,), (1.0,)]]
)
def test_keys_that_are_equal_in_python_are_refused(given: list[Any]) -> None:
    with pytest.raises(BadParameter, match="all different"):
        check_keys(given)


@pytest.mark.parametrize(
    "key", [NAN, ("a", NAN), ((NAN,),), frozenset({NAN}), Decimal("nan"), [1], {}, (Sulks(),), np.float64("nan")]
)
def test_a_key_that_no_row_can_equal_is_refused(key: Any) -> None:
    """A row holds another NaN object than the list of keys; such a key would be found by its place in memory alone."""
    with pytest.raises(BadParameter, match="looked up"):
        check_keys(["a", key])
