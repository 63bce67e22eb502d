"""A function of each row: whatever it does, a result in the declared range comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable.core.domains import OneOf, Rows, Whole
from tests.helpers.stability import claim_of, refute
from tests.stable.cases import INF, NAN


def inverse(row: Any) -> Any:
    return 100 / row


def test_numbers_are_clamped_rounded_and_never_missing() -> None:
    mapped = stable.map(inverse, bounds=(-10, 50), missing=7)
    assert mapped([4, 1, -2, -100, 0, None, NAN, INF, 8, 40]) == [25, 50, -10, -1, 7, 7, 7, 0, 12, 2]
    assert mapped.output_domain == Rows(Whole(-10, 50))
    assert mapped.story() == ("took inverse of each row, clamped to [-10, 50]",)


def test_the_callers_own_value_comes_out() -> None:
    """True equals 1: a function's own 1 must not show which of both it gave."""
    mapped = stable.map(lambda row: row, values=[1, "a"], otherwise="a")
    results = mapped([True, 1.0, 1, "b", None, [1]])
    assert results == [1, 1, 1, "a", "a", "a"]
    assert {type(result) for result in results} == {int, str}
    assert mapped.output_domain == Rows(OneOf((1, "a")))
    assert mapped.story() == ("took <lambda> of each row, one of 2 public values",)


def test_a_function_without_a_name() -> None:
    class Double:
        def __call__(self, row: Any) -> Any:
            return 2 * row

    assert stable.map(Double(), bounds=(0, 9)).story() == ("took a function of each row, clamped to [0, 9]",)
    assert stable.map(Double(), bounds=(0, 9))([2, 5]) == [4, 9]


def codes_by_first_appearance(rows: list[Any]) -> list[Any]:
    codes: dict[Any, int] = {}
    return [codes.setdefault(row, len(codes)) for row in sorted(rows)]


def test_a_function_that_looks_at_other_rows_is_refuted() -> None:  # C12 of the attack catalogue
    assert refute(claim_of(stable.map(int, bounds=(0, 9)), codes_by_first_appearance), ["a", "b", "c"], most=3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.map(5, bounds=(0, 1)), "f is 5"),  # type: ignore[arg-type]
        (lambda: stable.map(len), "bounds"),
        (lambda: stable.map(len, bounds=(0, 1), values=["a"]), "bounds"),
        (lambda: stable.map(len, values=["a"], otherwise="b"), "otherwise"),
        (lambda: stable.map(len, values=["a"]), "otherwise"),
        (lambda: stable.map(len, values=["a", "a"], otherwise="a"), "all different"),
        (lambda: stable.map(len, bounds=(0, 1), missing=2), "between low and high"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
