"""Every form of bounding x cells x keys, on tables made to break it: the numbers of the oracle, exactly."""

from collections.abc import Callable, Iterator

import pytest

from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.work import AnyWork, DistinctWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines import forms
from tests.contracts.engines.lab import ORACLE, READ, UNIT, Lab, agree, every_engine, f
from tests.helpers import tables

TABLES = {
    "crowd": tables.crowd(),
    "one owner": tables.one_owner(),
    "nobody": tables.nobody(),
    "empty": tables.empty(tables.crowd(1)),
}
WIDE = tables.wide()
EVERY = {
    **{f"known: {name}": (forms.known, name) for name in forms.KNOWN},
    **{f"unknown: {name}": (forms.unknown, name) for name in forms.UNKNOWN},
    **{f"split: {name}": (forms.split, name) for name in forms.KNOWN},
    **{f"picked: {name}": (forms.picked, name) for name in ("no key", "text with NULL", "text and integers")},
    **{f"totals: {name}": (forms.totals, name) for name in forms.KNOWN | forms.UNKNOWN},
    **{f"distinct: {name}": (forms.distinct, name) for name in forms.KNOWN | forms.UNKNOWN},
}
Works = tuple[Callable[[str], Iterator[AnyWork]], str]


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("works", EVERY.values(), ids=EVERY)
def test_a_form_agrees_with_the_oracle(lab: Lab, works: Works, table: str) -> None:
    make, name = works
    found = list(make(name))
    if table != "crowd" and lab.skips(f"{make.__name__}: {name}, {table}"):
        pytest.skip("a sample of these on this engine; all in `make audit`")
    if table != "crowd":
        found = found[:: max(1, len(found) // 6)]
    agree(lab, found, {"t": TABLES[table]})


@pytest.mark.slow
@every_engine
def test_sums_beyond_64_bits_are_exact(lab: Lab) -> None:
    weights = Weights(form=Form.ROWS, cap=65536, scale=1 << 40)
    cells = (RowSum(Literal(1 << 62)), RowSum(Literal(-(1 << 62))), RowSum(Literal(1)))
    work = Work(source=forms.source(), unit=UNIT, keys=(), cells=cells, weights=weights)
    (found,) = lab.run([work], {"t": TABLES["crowd"]})
    rows = sum(unit is not None for unit in TABLES["crowd"].column("u").to_pylist())
    assert found == {(): (rows << 102, -(rows << 102), rows << 40)}


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("keys", ["no key", "text with NULL"])
def test_sums_of_numbers_of_any_size_are_exact(lab: Lab, keys: str) -> None:
    sizes = [sign * ((1 << bits) - 1) - 1 for bits in (1, 21, 22, 23, 43, 44, 45, 61) for sign in (1, -1)]
    cells = tuple(RowSum(Literal(size)) for size in sizes)
    weights = Weights(form=Form.L1, cap=3, scale=720, per_group=2)
    works = [
        Work(source=forms.source(), unit=UNIT, keys=forms.KNOWN[keys], cells=cells, weights=weights, split=split)
        for split in (None, forms.SPLITS[0])
    ]
    assert lab.run(works, {"t": TABLES["crowd"]}) == ORACLE.run(works, {"t": TABLES["crowd"]})


@pytest.mark.slow
@every_engine
def test_units_are_compared_as_they_are(lab: Lab) -> None:
    # '7', '07', ' 7' and '7 ' are four units; composed and decomposed letters are two; NULL is none
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    names = ["7", "07", " 7", "7 ", "\u00e9", "e\u0301", "a", "A", "", None, None, "7"]
    table = tables.events([(1, name, "a", 0, 1, None, None, None) for name in names])
    work = Work(source=forms.source("name"), unit=UNIT, keys=(), cells=(UnitSum(), RowSum(Literal(1))), weights=weights)
    assert lab.run([work], {"t": table}) == [{(): (8, 9)}]  # the two rows of one unit weigh 0 each, and 1 together


@every_engine
def test_a_unit_with_too_many_rows_counts_as_its_cap(lab: Lab) -> None:
    """Each of its rows would weigh 0: 40 rows, and 3 * 8 steps of weight for all of them."""
    rows = [(1, "one", "a" if i % 4 else "b", i % 3, -5 + i % 2, None, None, None) for i in range(40)]
    tables_ = {"t": tables.events([*rows, (2, "two", "a", 0, 7, None, None, None)])}
    weights = Weights(form=Form.ROWS, cap=3, scale=8)
    cells = (RowSum(Literal(1)), RowSum(Column("x")))
    key, split = WorkKey("g", Column("g"), ("a", "b")), WorkKey("s", f("mod", Column("k"), 3), None)
    works: list[AnyWork] = [
        Work(source=forms.source(), unit=UNIT, keys=keys, cells=cells, weights=weights, split=one)
        for keys in ((), (key,)) for one in (None, split)
    ]  # fmt: skip
    found = lab.run(works, tables_)
    assert found == ORACLE.run(works, tables_)
    assert found[0] == {(): (24 + 8, -24 * 180 // 40 + 56)}
    assert found[2][("str", "a"),] == (24 * 30 // 40 + 8, -(24 * 130 // 40) + 56)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("unit", ["i", "tiny", "unsigned", "t", "s", "coded"])
def test_a_unit_may_be_any_stored_integer_or_text(lab: Lab, unit: str) -> None:
    # units are never read, which would clamp them: two people could become one
    source = Project(Scan("t"), ((UNIT, Column(unit)), ("id", READ["id"]), ("j", READ["j"]), ("s2", READ["s"])))
    keys = {
        "no key": (),
        "text": (WorkKey("s2", Column("s2"), None),),
        "listed": (WorkKey("j", Column("j"), (0, 1, 7)),),
    }
    found: list[AnyWork] = [
        Work(source=source, unit=UNIT, keys=some, cells=(forms.ONE,), weights=weights, most_keys=most, salt="s")
        for some in keys.values()
        for weights in forms.BOUNDING[::3]
        for most in (None, 1)
    ]
    found.append(DistinctWork(source=source, unit=UNIT, keys=(), value=Column("j"), cap=1, salt="s"))
    agree(lab, found, {"t": WIDE})


def test_the_works_are_many_and_not_all_empty() -> None:
    found = [work for make, name in EVERY.values() for work in make(name)]
    assert len(found) > 600
    answers = ORACLE.run(found[::15], {"t": TABLES["crowd"]})
    assert sum(bool(answer) for answer in answers) > 0.9 * len(answers)
    assert any(max(map(abs, numbers), default=0) >= 1 << 63 for answer in answers for numbers in answer.values())
