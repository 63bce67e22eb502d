"""The statement of many sets, and the refusal of rows that nobody asked for."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK
from discreet.engines.sql.grouping_sets import arrow_places, emit_sets, places_of, read_sets
from discreet.engines.sql.relations import Origin
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Scan
from discreet.query.plan.schema import Stored, StoredKind
from discreet.query.plan.work import Form, GroupingSets, Weights, WorkKey

WORK = GroupingSets(
    source=Scan("t"),
    unit="id",
    keys=(WorkKey("a", Column("a"), ("x", "y")), WorkKey("b", Column("b"), (0, 1, 2))),
    sets=((0,), (0, 1)),
    weights=Weights(form=Form.ROWS, cap=2, scale=1000),
)
STORED = {"id": Stored(StoredKind.INTEGER), "a": Stored(StoredKind.TEXT), "b": Stored(StoredKind.INTEGER)}


def integers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda d: d.name)
def test_the_rows_are_bounded_once(dialect: object) -> None:
    statement = emit_sets(WORK, dialect, {"t": Origin("t", STORED)})  # type: ignore[arg-type]
    assert statement.sql.count("FROM t ") == 1
    assert "GROUP BY GROUPING SETS ((k0, h), (k0, k1, h))" in statement.sql
    assert [name for name, _ in statement.keys] == ["k0", "k1"]


def test_rows_are_sorted_into_their_sets() -> None:
    one, both = read_sets(WORK, [integers(1, 0, 1), integers(-1, 2, 0)], integers(7, 8, 9))
    assert (one.places.tolist(), one.counts.tolist()) == ([1], [7])
    assert (both.places.tolist(), both.counts.tolist()) == ([2, 3], [8, 9])


@pytest.mark.parametrize(
    ("keys", "counts"),
    [
        (([-1], [0]), [1]),  # a set that was not asked for
        (([0, 0], [-1, -1]), [1, 1]),  # a group twice
        (([0], [-1]), [-1]),  # less than nobody
        (([0], [-1]), [0.5]),
    ],
)
def test_what_nobody_asked_for_is_refused(keys: tuple[list[int], list[int]], counts: list[float]) -> None:
    with pytest.raises((TypeError, ValueError)):
        read_sets(WORK, [integers(*one) for one in keys], np.array(counts))


def test_a_value_that_is_not_listed_is_refused() -> None:
    with pytest.raises(KeyError):
        places_of(["z"], ("x", "y"))
    with pytest.raises(KeyError):
        arrow_places(pa.chunked_array([["z", "x"]]), ("x", "y"))


def test_places_of_arrow_columns() -> None:
    coded = pa.chunked_array([pa.array(["y", None, "x"]).dictionary_encode()])
    assert arrow_places(coded, ("x", "y")).tolist() == [1, -1, 0]
    assert arrow_places(pa.chunked_array([], type=pa.string()), ("x", "y")).tolist() == []
