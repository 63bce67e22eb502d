"""What is shown is short, and cannot steer a terminal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import synthetic
from discreet.privacy.promises import events
from discreet.shown import visible

KEYS = [f"key {i}" for i in range(5000)]
DOMAIN = synthetic.Domain({"x": range(90), "y": range(30), "z": range(8), "w": range(5)})
ROWS = pa.table({"x": [1, 2], "y": [3, 4], "z": [5, 6], "w": [1, 2]})
LONG: dict[str, Any] = {
    "plan": lambda: synthetic.plans(DOMAIN, "all 3-way")[0],
    "answers": lambda: synthetic.answer(ROWS, "all 2-way", domain=DOMAIN, max_rows=1, rho=1),
    "weights": lambda: synthetic.mwem(ROWS, ["x < 3"], domain=DOMAIN, max_rows=1, rho=1, rounds=1),
    "domain": lambda: synthetic.Domain({f"column {i}": range(50) for i in range(60)}),
    "declared": lambda: dp.keys(KEYS),
    "table": lambda: dp.table({"id": [1], "k": ["a"]}, unit="id", columns={"k": dp.keys(KEYS)}),
    "categorical": lambda: dp.learning.Categorical(KEYS),
    "chain": lambda: dp.stable.count_by(KEYS),
    "groups": lambda: dp.stable.group_by(KEYS),
    "composition": lambda: dp.compose([events.Pure("1/9")] * 3000),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_what_is_shown_fits_on_a_few_lines(make: Any) -> None:
    """A plan for marginals was 15,000 characters, a list of keys as long as the list."""
    assert len(repr(make())) < 2000


def test_control_characters_are_replaced_one_by_one() -> None:
    assert visible("a\x1b[2J\u202eb\x9b\r\tc\n") == "a\ufffd[2J\ufffdb\ufffd\ufffd\tc\n"
