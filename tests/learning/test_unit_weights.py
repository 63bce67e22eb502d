"""All rows of one person share a weight of 1: no person moves a sum further than one full row."""

from itertools import product

import numpy as np
import pytest

from discreet.errors import BadData
from discreet.learning.unit_weights import SHARES, unit_weights


def test_weights_of_a_unit_add_up_to_at_most_the_scale() -> None:
    """Every assignment of five rows to three units or to nobody."""
    for units in product(["a", "b", 3, None], repeat=5):
        weights = unit_weights(list(units), 5)
        for unit in set(units):
            own = [w for w, u in zip(weights.values, units, strict=True) if u == unit]
            assert sum(own) == (0 if unit is None else SHARES // len(own) * len(own))
            assert sum(own) <= weights.scale


def test_rows_of_others_keep_their_weight() -> None:
    before = unit_weights(["a", "b", "b"], 3).values
    after = unit_weights(["c", "a", "b", "b", "c"], 5).values
    assert before.tolist() == after[1:4].tolist()


def test_ids_are_those_of_units_everywhere() -> None:
    """7 and 7.0 are one person, NaN and fractions nobody."""
    assert unit_weights([7, 7.0, float("nan"), 0.5], 4).values.tolist() == [SHARES / 2, SHARES / 2, 0, 0]
    assert unit_weights(np.array([7, 7, 8]), 3).values.tolist() == [SHARES / 2, SHARES / 2, SHARES]


def test_a_person_with_more_rows_than_shares_counts_nothing() -> None:
    assert unit_weights(np.zeros(SHARES + 1, dtype=int), SHARES + 1).values.sum() == 0
    assert unit_weights(np.zeros(SHARES, dtype=int), SHARES).values.sum() == SHARES


@pytest.mark.parametrize("units", [["a"], np.array([["a"], ["b"]])])
def test_a_list_of_another_length_is_refused(units: object) -> None:
    with pytest.raises(BadData, match="person of each row"):
        unit_weights(units, 2)


@pytest.mark.parametrize("others", [[], ["a"]])
def test_a_unit_that_is_a_list_names_nobody_whatever_the_others_are(others: list[str]) -> None:
    units = [["a"], ["b"], *others]
    assert unit_weights(units, len(units)).values.tolist() == [0.0, 0.0, *(SHARES for _ in others)]
