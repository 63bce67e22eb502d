"""Rows under public keys: the same groups whatever the data hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, RowMetric
from discreet.stable.core.domains import Groups, Whole
from tests.helpers.stability import Claim, refute
from tests.stable.cases import LETTERS, Sulks


def test_rows_go_to_the_key_that_they_equal_or_to_none() -> None:
    rows = ["a", "c", None, ["a"], Sulks(), 1, True, "a", 1.0]
    assert stable.group_by(["b", "a", 1])(rows) == {"b": [], "a": ["a", "a"], 1: [1, True, 1.0]}


@pytest.mark.parametrize("by", ["k", lambda row: row["k"]])
def test_where_a_row_holds_its_key(by: Any) -> None:
    rows: list[Any] = [{"k": "a", "x": 1}, {"x": 2}, {"k": "b"}, 7]
    assert stable.group_by(["a"], by=by)(rows) == {"a": [{"k": "a", "x": 1}]}


@pytest.mark.parametrize(
    ("before", "behind"), [(ADD_REMOVE, ADD_REMOVE), (CHANGE, EDIT), (EDIT, EDIT), (IN_PLACE, EDIT)]
)
def test_a_changed_row_may_change_its_group(before: RowMetric, behind: RowMetric) -> None:
    grouped = stable.group_by(["a", "b"], neighbours=before)
    assert grouped.output_metric == behind
    assert grouped.stability(4) == 4


def test_the_kind_of_row_is_known_behind_it() -> None:
    chain = stable.clip(0, 3) >> stable.group_by([0, 1], by=None)
    assert chain.output_domain == Groups((0, 1), Whole(0, 3))
    assert chain.story()[1] == "grouped by the row under 2 public keys"


def test_keys_from_the_data_are_refuted() -> None:
    """The planted bug: a group appears with its first row, so a person's key is shown."""
    grouped = stable.group_by(["a", "b"])

    def keys_from_the_data(rows: list[Any]) -> dict[Any, list[Any]]:
        return {key: held for key, held in grouped(rows).items() if held}

    claim = Claim(
        keys_from_the_data, grouped.stability, grouped.input_metric, grouped.output_metric, grouped.output_domain
    )
    assert "not in its domain" in str(refute(claim, LETTERS[:3], most=1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.group_by([]), "at least one"),
        (lambda: stable.group_by("ab"), "list of public values"),
        (lambda: stable.group_by([1, True]), "all different"),
        (lambda: stable.group_by([float("nan")]), "looked up"),
        (lambda: stable.group_by(["a"], by=1.5), "must be a name"),  # type: ignore[arg-type]
        (lambda: stable.group_by(["a"]) >> stable.group_by(["b"]), "takes rows, not groups"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
