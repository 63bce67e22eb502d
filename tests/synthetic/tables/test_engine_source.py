"""Marginals by an engine: as plain loops count them, moved by one unit no further than stated, in few passes."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory import engine as memory_engine
from discreet.engines.memory.engine import Memory, memory, unit_weight
from discreet.errors import BadParameter, EngineFailed
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import Schema, bounds, keys, resolve, table
from discreet.query.plan.work import Cells, Exact, GroupingSets, Weights
from discreet.synthetic.columns import bins, categories, days, whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import MarginalSource
from discreet.synthetic.tables.engine_source import EngineSource, batches, cells_of, cover, works

SCALE = 1 << 20
COLUMNS = {"sex": keys(["f", "m"]), "age": bounds(0, 3)}
SMALL = Domain({"sex": categories(["f", "m"]), "age": whole(0, 3, nullable=False)})
CLIQUES = [(), (0,), (1,), (0, 1)]


class OneByOne:
    """An engine without grouping sets: it is asked for one work after the other."""

    def __init__(self) -> None:
        self._engine = memory()
        self.name = "one by one"
        self.columns, self.run = self._engine.columns, self._engine.run


def schemas(rows: Any, *, max_rows: int = 2, engine: Any = None) -> dict[str, Schema]:
    given = table(rows, unit="id", columns=COLUMNS, max_rows=max_rows)
    return {"t": resolve("t", given, (engine or memory()).columns(given.source))}


def source(rows: Any, *, engine: Any = None, max_rows: int = 2, **options: Any) -> EngineSource:
    engine = engine or memory()
    return EngineSource(engine, schemas(rows, max_rows=max_rows, engine=engine), "t", SMALL, **options)


def arrow(rows: list[tuple[Any, Any, Any]]) -> pa.Table:
    ids, sexes, ages = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = {"id": pa.int64(), "sex": pa.string(), "age": pa.int64()}
    return pa.table({n: pa.array(v, kinds[n]) for n, v in zip(kinds, (ids, sexes, ages), strict=True)})


ROWS = [(1, "f", 0), (1, "f", 1), (1, None, 1), (2, "m", 9), (2, "x", 1), (None, "f", 1), (3, "m", None), (4, "m", -5)]


def by_hand(rows: list[tuple[Any, Any, Any]], cap: int) -> Counter[tuple[int, int]]:
    """Weighted rows by code, as the proof has it."""
    codes = {"f": 0, "m": 1, None: 2}
    counted = [(u, codes[s], min(max(a, 0), 3)) for u, s, a in rows if u is not None and s in codes and a is not None]
    many = Counter(u for u, _, _ in counted)
    found: Counter[tuple[int, int]] = Counter()
    for u, s, a in counted:
        found[s, a] += SCALE if many[u] <= cap else SCALE * cap // many[u]
    return found


@pytest.mark.parametrize("engine", ["memory", "duckdb", "one by one"])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_marginals_are_those_of_plain_loops(engine: str, cap: int) -> None:
    engines: dict[str, Any] = {"memory": memory, "duckdb": duckdb, "one by one": OneByOne}
    got = source(arrow(ROWS), engine=engines[engine](), max_rows=cap)
    nothing, sex, age, both = got.marginals(CLIQUES)
    right = by_hand(ROWS, cap)
    assert {place: int(n) for place, n in np.ndenumerate(both) if n} == dict(right)
    assert (nothing.tolist(), sex.tolist(), age.tolist()) == (
        sum(right.values()), both.sum(axis=1).tolist(), both.sum(axis=0).tolist(),
    )  # fmt: skip
    assert isinstance(got, MarginalSource)
    assert (got.scale, got.max_rows) == (SCALE, cap)


def moved(engine: Any, relation: Neighbours, cap: int) -> tuple[Fraction, Fraction]:
    """The furthest that any marginal moves, as a share of what is stated, over all small tables."""
    people = [list(rows) for n in range(4) for rows in product((("f", 0), ("m", 1)), repeat=n)]
    l1 = l2 = Fraction(0)

    def tables(mine: list[Any], others: list[Any]) -> list[Any]:
        got = source(arrow([(1, *row) for row in mine] + [(2, *row) for row in others]), engine=engine, max_rows=cap,
                     neighbours=relation)  # fmt: skip
        return [got.moves(()), *got.marginals(CLIQUES)]

    for others in ([], [("f", 0), ("f", 0), ("m", 1)]):
        counted = [tables(mine, others) for mine in people]
        pairs = combinations(counted, 2) if relation is Neighbours.CHANGE_ONE else ((counted[0], b) for b in counted)
        for (claim, *a), (_, *b) in pairs:
            for x, y in zip(a, b, strict=True):
                off = np.abs(x - y).ravel().astype(object)
                l1, l2 = (
                    max(l1, Fraction(int(off.sum()), claim.l1)),
                    max(l2, Fraction(int(off @ off), claim.l2_squared)),
                )
    return l1, l2


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE])
@pytest.mark.parametrize("cap", [1, 2])
def test_one_unit_moves_marginals_as_far_as_stated_and_no_further(relation: Neighbours, cap: int) -> None:
    l1, l2 = moved(memory(), relation, cap)
    assert l1 == l2 == 1


def test_a_cap_on_each_cell_in_place_of_the_unit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_cell(weights: Weights, sizes: Sequence[int]) -> int:
        return unit_weight(weights, [max(sizes)])

    monkeypatch.setattr(memory_engine, "unit_weight", by_cell)
    assert moved(memory(), Neighbours.ADD_REMOVE, 1)[0] > 1


@pytest.mark.slow
def test_a_domain_of_every_kind_of_column() -> None:
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "town": ["A", None, "Z"],
            "cost": [0.5, 99.0, float("nan")],
            "seen": pa.array([0, 40, None], pa.int32()).cast(pa.date32()),
            "at": pa.array([0, 86_400_000_000 * 3, None], pa.timestamp("us")),
            "level": [7, 8, 9],
            "well": [True, None, False],
        }
    )
    domain = Domain(
        {
            "town": categories(["A", "B"], other="B"),
            "cost": bins([0, 1, 50, 100]),
            "seen": days("1970-01-01", "1970-02-28", step=30),
            "at": days("1970-01-01", "1970-01-03"),
            "level": categories([9, 7, 8], nullable=False),
            "well": categories([True, False]),
        }
    )
    columns = {"town": keys(["A", "B"]), "cost": bounds(0, 100), "level": keys([7, 8, 9])}
    for engine in (memory(), duckdb(threads=1)):
        given = table(rows, unit="id", columns=columns)
        got = EngineSource(engine, {"t": resolve("t", given, engine.columns(rows))}, "t", domain)
        (cells,) = got.marginals([tuple(range(6))])
        assert {place for place, n in np.ndenumerate(cells) if n} == {
            (0, 0, 0, 0, 1, 0), (2, 2, 1, 2, 2, 2), (1, 3, 2, 3, 0, 1),
        }  # fmt: skip


def test_few_sets_cover_many_marginals() -> None:
    domain = Domain({f"c{i}": whole(0, 63, nullable=False) for i in range(6)})
    pairs = list(combinations(range(6), 2))
    found = cover(domain, [*pairs, (0,), ()])
    assert all(any(set(pair) <= set(one) for one in found) for pair in pairs)
    assert len(found) < len(pairs)
    assert all(domain.size(one) <= 1 << 20 for one in found)
    assert cover(domain, [()]) == [()]
    wide = Domain({f"c{i}": whole(0, 2047, nullable=False) for i in range(4)})
    assert sorted(cover(wide, list(combinations(range(4), 2)))) == list(combinations(range(4), 2))  # 2^22 cells each
    assert [len(some) for some in batches(wide, list(combinations(range(4), 2)))] == [2, 2, 2]


class Counting(Memory):
    """Counts how often it is asked."""

    asked: list[GroupingSets] = []  # noqa: RUF012 - the engine is frozen

    def grouping_sets(self, work: GroupingSets, schemas: Any) -> tuple[Cells, ...]:
        self.asked.append(work)
        return Memory.grouping_sets(self, work, schemas)


def test_what_is_kept_is_not_read_again() -> None:
    Counting.asked.clear()
    kept = source(arrow(ROWS), engine=Counting(), keep=True)
    first = kept.marginals([()])
    again = kept.marginals([(0, 1), (0,)])
    assert len(Counting.asked) == 1
    assert first[0] == again[0].sum()
    source(arrow(ROWS), engine=Counting()).marginals(CLIQUES)
    assert [work.sets for work in Counting.asked[1:]] == [((0, 1),)]  # all of them from one group-by


def test_bad_sources_are_refused_before_anything_is_read() -> None:
    public = {"t": resolve("t", table(arrow(ROWS), public=True), memory().columns(arrow(ROWS)))}
    with pytest.raises(BadParameter, match="must be private"):
        EngineSource(memory(), public, "t", SMALL)
    known = schemas(arrow(ROWS))
    with pytest.raises(BadParameter, match="must not be the unit"):
        EngineSource(memory(), known, "t", Domain({"id": whole(0, 3)}))
    with pytest.raises(BadParameter, match="must hold the categories"):
        EngineSource(memory(), known, "t", Domain({"age": categories(["a"])}))


def test_an_engine_that_sends_something_else_fails() -> None:
    class Wrong(OneByOne):
        def __init__(self, found: tuple[Exact, ...]) -> None:
            super().__init__()
            self.run = lambda *_: found

    with pytest.raises(EngineFailed):
        source(arrow(ROWS), engine=Wrong(())).marginals([(0,)])
    strange = Exact((("strange",),), (np.array([1]),))
    with pytest.raises(EngineFailed):
        source(arrow(ROWS), engine=Wrong((strange,))).marginals([(0,)])
    (work,) = works(GroupingSets(**{f: getattr(source(arrow(ROWS))._work, f)
                                    for f in ("source", "unit", "keys", "weights")}, sets=((0,),)))  # fmt: skip
    assert cells_of(work, Exact((("m",), ("(NULL)",)), (np.array([4, 5]),))).places.tolist() == [1, 2]
