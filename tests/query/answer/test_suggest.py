"""Suggested bounds: classes by sign and power of two against bit lengths, and the outermost that surely hold a row."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import BadParameter, NoEstimate
from discreet.query.answer.suggest import Suggestion, find_column, suggested


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
