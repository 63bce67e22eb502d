"""Private categories: counted per unit, chosen by content, paid, and moved by one unit as stated."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.privacy.accountants.basic import price_basic
from discreet.synthetic.private_domain import _counted, private_categories

VALUES = ["a", "b", "c"]


def counts(pairs: list[tuple[int, str]], many: int) -> Counter[str]:
    """Values get their codes in the order in which they appear, as Arrow gives them."""
    values = list(dict.fromkeys(v for _, v in pairs))
    owner = np.array([u for u, _ in pairs], dtype=np.int64)
    code = np.array([values.index(v) for _, v in pairs], dtype=np.int64)
    return Counter(_counted(owner, code, values, many)) if pairs else Counter()


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 2])
def test_one_unit_moves_at_most_so_many_counts_by_one(many: int) -> None:
    """All tables of two units and up to four rows: with and without the first unit."""
    rows = list(product((1, 2), VALUES))
    for n in range(5):
        for table in product(rows, repeat=n):
            full, less = counts(list(table), many), counts([r for r in table if r[0] == 2], many)
            moved = {v: full[v] - less[v] for v in VALUES}
            assert set(moved.values()) <= {0, 1}
            assert sum(moved.values()) <= many


def test_common_values_are_named_and_rare_ones_are_not() -> None:
    table: dict[str, list[Any]] = {"id": list(range(900)), "x": [7] * 500 + [9] * 398 + [11, None]}
    for unit in (None, "id"):
        answer = private_categories(table, "x", unit=unit, epsilon=1, delta="1e-9")
        assert answer.value == (7, 9)
        assert price_basic(answer.event).epsilon <= 1
    alone = {"id": [1] * 900, "x": table["x"]}  # one unit cannot make a category common
    assert private_categories(alone, "x", unit="id", epsilon=1, delta="1e-9").value == ()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"column": "y"}, BadParameter),
        ({"column": "x", "keys_per_unit": 2}, BadParameter),
        ({"column": "x", "unit": "who"}, BadParameter),
        ({"column": "z"}, BadData),
    ],
)
def test_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        private_categories({"x": ["a"], "z": [0.5]}, epsilon=1, delta="1e-9", **options)
