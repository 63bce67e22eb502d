"""Released values as JSON: exact or text, finite or null."""

import json
import math
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.query.answer import serialize


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (Fraction(3), 3),
        (Fraction(1, 2), 0.5),
        (1 << 80, 1 << 80),
        (math.nan, None),
        (-math.inf, None),
        (np.float64("nan"), None),
        (np.int64(7), 7),
        (True, True),
        (None, None),
        ("é", "é"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 1, 2, 3), "2024-02-29T01:02:03"),
    ],
    ids=str,
)
def test_a_value(value: Any, right: Any) -> None:
    found = serialize.plain(value)
    assert found == right
    assert type(found) is type(right)
    assert json.loads(serialize.dump([found])) == [right]


def test_bytes_hold_no_number_that_json_has_not() -> None:
    assert serialize.dump({"a": "é"}) == '{"a":"é"}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        serialize.dump(math.nan)


def test_an_answer_with_dates_says_so() -> None:
    days = pa.table({"who": range(30), "day": [date(2024, 1, 1 + i % 3) for i in range(30)]})
    known = {"day": dp.keys([date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)])}
    session = dp.Session(
        t=dp.table(days, unit="who", columns=known, max_rows=1), budget=dp.Pure(10**6), engine=memory()
    )
    answer = session.sql("SELECT day, COUNT(*) AS n FROM t GROUP BY day").release(epsilon=10**5)
    found = serialize.answer(answer, "0.95")
    assert found["columns"] == ["day", "n"]
    assert found["kinds"] == {"day": "date"}
    assert found["rows"] == [["2024-01-01", 10], ["2024-01-02", 10], ["2024-01-03", 10]]
    assert found["confidence"] == "0.95"
    for bars in ("errors", "errors_together", "intervals", "intervals_together"):
        assert len(found[bars]["n"]) == 3
    assert json.loads(serialize.dump(found)) == found
