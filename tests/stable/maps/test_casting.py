"""Rows as whole numbers, text or truth values: every row has one, and bad parameters are refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable.core.domains import OneOf, Rows, Text, Whole
from tests.stable.cases import NASTY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (7, 7), (-7, -7), (True, 1), (2.5, 2), (3.5, 4), (Fraction(7, 2), 4), (Decimal("2.5"), 2), (2**70, 2**70),
        (np.int8(-3), -3), (np.float32(1.5), 2),
        ("12", 12), (" -3 ", -3), ("2.5", 2), ("3.5", 4), ("1e3", 1000), ("1/3", 0), ("+4", 4), (np.str_("5"), 5),
        ("", 9), ("x", 9), ("0x10", 9), ("nan", 9), ("inf", 9), ("1e999999", 9), ("1/0", 9), ("9" * 5000, 9),
        (None, 9), (float("nan"), 9), (float("inf"), 9), (b"12", 9), ([12], 9), (1j, 9),
    ],
)  # fmt: skip
def test_to_a_whole_number(row: Any, expected: int) -> None:
    [result] = stable.cast(int, otherwise=9)([row])
    assert type(result) is int
    assert result == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [("a", "a"), ("", ""), (np.str_("a"), "a"), (7, "7"), (np.int16(-7), "-7"), (True, "True"),
     (np.bool_(False), "False"),
     (None, "-"), (0.5, "-"), (b"a", "-"), (["a"], "-")],
)  # fmt: skip
def test_to_text(row: Any, expected: str) -> None:
    [result] = stable.cast(str, otherwise="-")([row])
    assert type(result) is str
    assert result == expected


def test_an_integer_too_long_to_write_out_is_otherwise() -> None:
    assert stable.cast(str, otherwise="-")([10**5000, 5]) == ["-", "5"]


@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize(
    ("row", "expected"),
    [(True, True), (np.bool_(False), False), (1, True), (0, False), (1.0, True), (-0.0, False), (Fraction(1), True),
     ("Yes", True), (" TRUE ", True), ("1", True), ("no", False), ("False", False), ("0", False),
     (2, None), ("maybe", None), ("", None), (None, None), (float("nan"), None), ([1], None)],
)  # fmt: skip
def test_to_a_truth_value(row: Any, expected: bool | None, otherwise: bool) -> None:
    [result] = stable.cast(bool, otherwise=otherwise)([row])
    assert result is (otherwise if expected is None else expected)


def test_no_row_is_lost_and_the_kind_is_known_behind_it() -> None:
    for to, kind in ((int, Whole()), (str, Text()), (bool, OneOf((False, True)))):
        tested = stable.cast(to)
        assert len(tested(NASTY)) == len(NASTY)
        assert tested.output_domain == Rows(kind)
        assert tested.stability(3) == 3
    assert stable.cast(int, otherwise=4).story() == ("cast to int, or 4",)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.cast(float), "int, str or bool"),  # type: ignore[arg-type]
        (lambda: stable.cast("int"), "int, str or bool"),  # type: ignore[arg-type]
        (lambda: stable.cast(int, otherwise="x"), "otherwise"),
        (lambda: stable.cast(int, otherwise=True), "otherwise"),
        (lambda: stable.cast(str, otherwise=0), "otherwise"),
        (lambda: stable.cast(bool, otherwise=0), "must be a bool"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
