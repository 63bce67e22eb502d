"""Groups are the combinations that exist, of declared key sets and of public rows; totals agree with them."""

from collections import Counter
from itertools import product
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory.engine import memory
from discreet.errors import BadQuestion
from discreet.query.lower.key_tuples import existing, how_many, tuple_test
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Column
from discreet.query.plan.key_sets import KeySet

PLACES = [("A", "a1"), ("A", "a2"), ("B", "b1"), ("C", "c1")]
GEO = dp.hierarchy("geo", ["state", "county"], table=PLACES)
ROWS: dict[str, list[Any]] = {
    "id": list(range(8)),
    "state": ["A", "A", "A", "B", "B", None, "C", "A"],
    "county": ["a1", "a2", "b1", "b1", "a1", "a1", None, "a1"],
    "sex": ["f", "m", "f", "m", "f", "m", "f", "m"],
}
KEPT = [i for i in range(8) if (ROWS["state"][i], ROWS["county"][i]) in PLACES]


def session(engine: Any = None) -> dp.Session:
    people = dp.table(ROWS, unit="id", columns={"sex": dp.keys(["f", "m"])}, max_rows=1, key_sets=[GEO])
    places = dp.table({"state": [s for s, _ in PLACES], "county": [c for _, c in PLACES]}, public=True)
    raw = {name: ROWS[name] for name in ("id", "county")}
    return dp.Session(
        people=people, places=places, raw=dp.table(raw, unit="id", max_rows=1), budget=dp.Pure(10**12), engine=engine
    )


def answer(text: str, engine: Any = None) -> dict[tuple[Any, ...], int]:
    found = session(engine).sql(text).release(epsilon=10**7).to_arrow().to_pylist()
    keys = [name for name in found[0] if name not in ("n", "n_error")]
    return {tuple(row[name] for name in keys): round(row["n"]) for row in found}


def by_hand(*names: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(ROWS[name][i] for name in names) for i in KEPT)


@pytest.mark.parametrize("engine", [duckdb, memory])
def test_groups_are_the_tuples_that_exist(engine: Any) -> None:
    found = answer("SELECT state, county, COUNT(*) AS n FROM people GROUP BY state, county", engine())
    assert found == {place: by_hand("state", "county")[place] for place in PLACES}
    crossed = answer("SELECT county, sex, state, COUNT(*) AS n FROM people GROUP BY county, sex, state", engine())
    assert set(crossed) == {(c, x, s) for (s, c), x in product(PLACES, "fm")}


@pytest.mark.parametrize("engine", [duckdb, memory])
def test_totals_count_the_rows_of_their_groups(engine: Any) -> None:
    found = answer("SELECT state, county, COUNT(*) AS n FROM people GROUP BY ROLLUP (state, county)", engine())
    states = by_hand("state")
    assert found[None, None] == len(KEPT)
    assert {s: found[s, None] for s in "ABC"} == {s: states[s,] for s in "ABC"}
    assert len(found) == len(PLACES) + 3 + 1
    cube = answer("SELECT state, county, COUNT(*) AS n FROM people GROUP BY CUBE (state, county)", engine())
    assert sum(cube[None, c] for _, c in PLACES) == len(KEPT)


def test_conditions_narrow_the_tuples() -> None:
    found = answer("SELECT state, county, COUNT(*) AS n FROM people WHERE state = 'A' GROUP BY state, county")
    assert set(found) == {("A", "a1"), ("A", "a2")}
    with pytest.raises(BadQuestion, match="no combination of keys"):
        answer("SELECT state, county, COUNT(*) AS n FROM people WHERE state = 'A' AND county = 'b1' GROUP BY 1, 2")


def test_rows_of_a_public_table_say_what_exists() -> None:
    joined = "raw JOIN places AS p ON raw.county = p.county"
    found = answer(f"SELECT p.state, p.county, COUNT(*) AS n FROM {joined} GROUP BY p.state, p.county")
    assert set(found) == set(PLACES)
    linked = answer(f"SELECT p.state, raw.county, COUNT(*) AS n FROM {joined} GROUP BY ROLLUP (p.state, raw.county)")
    assert len(linked) == len(PLACES) + 3 + 1


FINE = {name: ROWS[name] for name in ("id", "county", "sex")}
ALL = "SELECT state, county, COUNT(*) AS n FROM people GROUP BY ROLLUP (state, county)"
SETS = "SELECT nation, state, COUNT(*) AS n FROM people WHERE county <> 'a2' GROUP BY GROUPING SETS ((nation), (state))"


def finer(engine: Any, *, other: str | None = None, **columns: Any) -> dp.Session:
    three = dp.hierarchy("geo", ["nation", "state", "county"], table=[("N", *place) for place in PLACES], other=other)
    rows = {**FINE, "county": ["a1", "a2", "zz", "b1", "a1", "yy", None, "a1"], **columns}
    people = dp.table(rows, unit="id", columns={"sex": dp.keys(["f"], other="x")}, max_rows=1, key_sets=[three])
    return dp.Session(people=people, budget=dp.ZCDP(10**12), engine=engine)


def counted(opened: dp.Session, text: str) -> dict[tuple[Any, ...], int]:
    rows = opened.sql(text).release(rho=10**7).to_arrow().to_pylist()
    return {tuple(v for name, v in row.items() if name not in ("n", "n_error")): round(row["n"]) for row in rows}


@pytest.mark.parametrize("engine", [duckdb, memory])
def test_upper_levels_follow_from_the_finest(engine: Any) -> None:
    opened = finer(engine())
    fine = {("A", "a1"): 3, ("A", "a2"): 1, ("B", "b1"): 1, ("C", "c1"): 0}
    assert counted(opened, ALL) == fine | {("A", None): 4, ("B", None): 1, ("C", None): 0, (None, None): 5}
    assert counted(opened, SETS) == {("N", None): 4, (None, "A"): 3, (None, "B"): 1, (None, "C"): 0}
    assert opened.tabulate("people", dp.synthetic.publication(["state"]), rho=10**7).count(0).tolist() == [4, 1, 0]


@pytest.mark.parametrize("engine", [duckdb, memory])
def test_rows_outside_the_list_have_a_place_of_their_own(engine: Any) -> None:
    """Whatever upper levels are stored: they follow from the finest one, which is NULL once."""
    for columns in ({}, {"state": ["B", "Q", *"ABCABC"]}):
        opened = finer(engine(), other="else", **columns)
        found = counted(opened, ALL)
        assert found["else", "else"] == found["else", None] == 2
        assert found["A", None] == 4
        assert found[None, None] == 7
        made = opened.tabulate("people", dp.synthetic.publication(["state"]), rho=10**7)
        assert made.count(0).tolist() == [4, 1, 0, 2]
        assert counted(opened, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex") == {("f",): 4, ("x",): 4}


def test_derived_levels_and_the_other_key_keep_the_price() -> None:
    """Exactly, on neighbours of small tables."""
    assert dp.check(finer(None, other="else").sql(ALL)).ok


def test_a_single_level_is_as_before() -> None:
    found = answer("SELECT county, COUNT(*) AS n FROM people GROUP BY county")
    assert found == {(c,): ROWS["county"].count(c) for _, c in PLACES}


def test_no_unit_reaches_further_than_is_paid_for() -> None:
    """Exactly, on neighbours of small tables, with rows whose combination does not exist among them."""
    for text in (
        "SELECT state, county, COUNT(*) AS n FROM people GROUP BY state, county",
        "SELECT state, county, COUNT(*) AS n FROM people GROUP BY ROLLUP (state, county)",
    ):
        assert dp.check(session().sql(text)).ok


@pytest.mark.parametrize("columns", [("k", "n"), ("n", "k"), ("k", "n", "m")])
def test_the_test_of_a_row_is_membership(columns: tuple[str, ...]) -> None:
    rows = [("x", 1, 0), ("x", None, 1), (None, 2, 0), ("y", 1, 1), ("y", 2, 0)]
    key_set = KeySet(("k", "n", "m"), tuple(rows)).only(columns)
    run = program(tuple_test(key_set, {name: Column(name) for name in columns}))
    for values in product(("x", "y", "z", None), (1, 2, 3, None), (0, 1, None)):
        row = dict(zip(("k", "n", "m"), values, strict=True))
        assert (run(row) is True) == (tuple(row[name] for name in columns) in key_set.rows)


def test_existing_against_filtering_the_product() -> None:
    sets = [KeySet(("a", "b"), ((0, 0), (0, 1), (1, 1))), KeySet(("b", "c"), ((0, 1), (1, 0), (1, 1)))]
    keys: dict[str, tuple[Any, ...] | None] = {"c": (0, 1), "a": (0, 1), "d": ("p", "q"), "b": (1, 0)}
    found = existing(keys, sets)
    assert found is not None
    by_filter = {
        group
        for group in product(*(values or () for values in keys.values()))
        if all(tuple(group[list(keys).index(n)] for n in one.columns) in one.rows for one in sets)
    }
    assert set(found) == by_filter
    assert len(found) == len(by_filter) <= how_many(keys, sets)
    assert existing({"a": (0, 1), "d": ("p",)}, sets) is None


def test_too_many_tuples_for_one_query_are_sent_elsewhere() -> None:
    wide = KeySet(("a", "b"), tuple((i, i) for i in range(6_000)))
    with pytest.raises(BadQuestion, match="publication"):
        tuple_test(wide, {"a": Column("a"), "b": Column("b")})
