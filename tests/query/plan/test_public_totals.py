"""What can be declared as a public total, and what cannot."""

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.query.plan.public_totals import public_totals


def test_mappings_frames_and_single_numbers_say_the_same() -> None:
    frame = {"state": ["A", "B"], "count": [3, 4]}
    assert public_totals({"A": 3, "B": 4}, ["state"]) == public_totals(frame, ["state"])
    assert public_totals(pa.table(frame), ["state"]) == public_totals({("A",): 3, ("B",): 4}, ["state"])
    assert public_totals(7).counts == (7,)
    assert public_totals(7).name == "all rows"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({"A": -1}, ["state"]), "at least 0"),
        (({"A": 1.5}, ["state"]), "integer"),
        (({"A": 1 << 51}, ["state"]), "2\\^50"),
        (({"state": ["A", "A"], "count": [1, 2]}, ["state"]), "once"),
        (({"state": ["A"], "count": [1]}, ["county"]), "integer"),
        (([3], ["state"]), "map keys"),
        (({}, ["state"]), "at least one"),
        ((3, "state"), "list of names"),
    ],
)
def test_refused_declarations(arguments: Any, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        public_totals(*arguments)


def test_totals_of_the_data_need_a_reason() -> None:
    with pytest.raises(BadParameter, match="why"):
        public_totals(3, from_data=" ")


def test_a_table_takes_totals_of_listed_keys_alone() -> None:
    states = {"state": dp.keys(["A", "B"])}
    given = public_totals({"A": 3, "B": 4}, ["state"])
    assert dp.table([], unit="id", columns=states, public_totals=[given]).public_totals == (given,)
    with pytest.raises(BadParameter, match=r"dp\.keys or a level"):
        dp.table([], unit="id", public_totals=[given])
    with pytest.raises(BadParameter, match=r"dp\.public_totals"):
        dp.table([], unit="id", public_totals=[{"A": 3}])  # type: ignore[list-item]
    with pytest.raises(BadParameter, match="public"):
        dp.table([], public=True, columns=states, public_totals=[given])
