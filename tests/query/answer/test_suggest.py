"""Suggested bounds: classes by sign and power of two against bit lengths, and the outermost that surely hold a row."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import BadParameter, NoEstimate
from discreet.query.answer.suggest import (
    POWERS,
    SIGNED_POWERS,
    Suggestion,
    by_size,
    find_column,
    power_of_two,
    suggested,
)
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column


def test_a_class_is_the_sign_and_the_length_in_bits() -> None:
    expression = power_of_two(Column("x"))
    ends = {sign * ((1 << k) + more) for k in range(POWERS + 1) for more in (-1, 0, 1) for sign in (1, -1)}
    for x in ends:
        length = min(abs(x).bit_length(), POWERS + 1)
        assert evaluate(expression, {"x": x}) == (length if x > 0 else -length), x
    assert evaluate(expression, {"x": None}) is None
    assert len(SIGNED_POWERS) == 2 * POWERS + 3


def test_classes_between_any_starts() -> None:
    expression = by_size(Column("x"), [-5, 0, 7], [10, 20, 30, 40])
    assert [evaluate(expression, {"x": x}) for x in (-6, -5, -1, 0, 6, 7, 99)] == [10, 20, 20, 30, 30, 40, 40]


class Counts(dict[str, list[int]]):
    """Noisy counts with one error bar for all."""

    def errors(self, *_: Any, **__: Any) -> dict[str, list[float]]:
        return {"n": [5.0] * len(self["n"])}


def test_only_what_is_above_its_error_bar_counts() -> None:
    answer: Any = Counts(power=[-3, -1, 0, 2, 9], n=[4, 6, 100, 50, 5])
    found = suggested("t.x", Fraction(1, 2), answer)
    assert [found.low, found.high] == [-1, 2]  # -2^1 and 2^2 cells of a half
    assert str(found) == "dp.bounds(-1, 2)"
    with pytest.raises(NoEstimate):
        suggested("t.x", Fraction(1), Counts(power=[1, 2], n=[5, -3]))  # type: ignore[arg-type]


def test_zeros_alone_are_one_step_wide() -> None:
    found = suggested("t.x", Fraction(1, 4), Counts(power=[0], n=[90]))  # type: ignore[arg-type]
    assert found == Suggestion("t.x", Fraction(0), Fraction(1, 4))
    assert str(found) == "dp.bounds(0, 0.25)"


def test_a_column_is_named_by_its_table_where_two_have_it() -> None:
    schemas: Any = {"a": SimpleNamespace(fields={"x": 1, "y": 1}), "b": SimpleNamespace(fields={"x": 1})}
    assert find_column("y", schemas) == ("a", "y")
    assert find_column("b.x", schemas) == ("b", "x")
    for bad in ("x", "c.x", "b.y", "z"):
        with pytest.raises(BadParameter, match=r"table\.column"):
            find_column(bad, schemas)
