"""Lowered relations: each row belongs to one unit alone; only what is used is read; the rest is refused."""

import re
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory import engine as memory
from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.lower.lower import UNIT, LoweredQuestion, lower_question, lower_relation
from discreet.query.lower.prune import names
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns, walk
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    How,
    Join,
    Key,
    Measure,
    Outcome,
    PerUnit,
    Project,
    Question,
    Relation,
    Scan,
    UnionAll,
)
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.schema import Caps, Stored, StoredKind, bounds, resolve, table
from discreet.query.plan.types import LARGEST, Date, Number, Real, Timestamp
from tests.helpers import plans
from tests.helpers.plans import STORED, TABLES, catalog, data, relation, without

MANY = settings(max_examples=100, deadline=None)
SEEDS = st.integers(0, 1 << 64)
CATALOG = catalog()
PEOPLE = [1, 2, 3, 2**62 + 1, 2**62 + 2]


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(a if isinstance(a, (Call, Column, Literal)) else Literal(a) for a in arguments))


def col(name: str) -> Column:
    return Column(name)


def ask(source: Relation, *measures: Measure, keys: tuple[Key, ...] = ()) -> LoweredQuestion:
    asked = measures or (Measure("n", Aggregate.COUNT),)
    question = Question(source, keys, asked, Outcome(()), (tuple(k.name for k in keys),))
    return lower_question(question, CATALOG)


def rows(node: Relation, tables: plans.Data) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(sorted(row.items(), key=lambda item: item[0])) for row in memory.relation(node, catalog(tables))
    )


def of_unit(found: Counter[tuple[Any, ...]], unit: Any) -> Counter[tuple[Any, ...]]:
    return Counter({row: n for row, n in found.items() if dict(row).get(UNIT) == unit})


# --- the promise ----------------------------------------------------------------------------------------------------


@given(SEEDS)
@MANY
def test_a_unit_that_leaves_takes_its_own_rows_and_changes_no_other(seed: int) -> None:
    """E1, E2, E6 of the attacks, over random plans and tables: what is bounded per unit is all that a unit touches."""
    dice = Random(seed)
    asked, tables, unit = relation(dice, dice.randint(0, 4)), data(dice), dice.choice(PEOPLE)
    lowered = lower_relation(asked, CATALOG)
    before, after = rows(lowered.relation, tables), rows(lowered.relation, without(tables, unit))
    if lowered.private:
        assert after == before - of_unit(before, unit)
        assert not of_unit(after, unit)
    else:
        assert after == before


@given(SEEDS)
@MANY
def test_what_is_claimed_of_columns_is_true_of_all_rows(seed: int) -> None:
    dice = Random(seed)
    asked, tables = relation(dice, dice.randint(0, 4)), data(dice)
    lowered = lower_relation(asked, CATALOG)
    assert sorted(names(lowered.relation)) == sorted([*lowered.fields, *([UNIT] if lowered.private else [])])
    for row in memory.relation(lowered.relation, catalog(tables)):
        for name, field in lowered.fields.items():
            assert _is_claimed(field, row[name]), name
            if field.is_unit and row[UNIT] is not None:
                assert row[name] == min(max(row[UNIT], -LARGEST), LARGEST)


def _is_claimed(field: TypedColumn, value: Any) -> bool:
    if value is None:
        return field.nullable
    match field.kind:
        case Number(low=low, high=high):
            return type(value) is int and low <= value <= high
        case Date(low=low, high=high) | Timestamp(low=low, high=high):
            return bool(low <= value <= high)
        case _:
            return True


@given(SEEDS)
@MANY
def test_lowered_relations_hold_primitives_only_and_compare_units(seed: int) -> None:
    dice = Random(seed)
    lowered = lower_relation(relation(dice, dice.randint(0, 4)), CATALOG)
    for node in _nodes(lowered.relation):
        for expression in _expressions(node):
            for part in walk(expression):
                assert not isinstance(part, Call) or part.function in PRIMITIVES
        if isinstance(node, Join):
            left, right = names(node.left), names(node.right)
            assert not set(left) & set(right)
            carried = [name for side in (left, right) for name in side if name in (UNIT, f"{UNIT}_right")]
            if len(carried) == 2:
                assert (UNIT, f"{UNIT}_right") in node.on


def _nodes(node: Relation) -> list[Relation]:
    match node:
        case Scan():
            return [node]
        case Join(left=left, right=right):
            return [node, *_nodes(left), *_nodes(right)]
        case UnionAll(parts=parts):
            return [node, *(n for part in parts for n in _nodes(part))]
        case Filter(source=source) | Project(source=source) | PerUnit(source=source):
            return [node, *_nodes(source)]


def _expressions(node: Relation) -> list[Expression]:
    match node:
        case Filter(predicate=predicate):
            return [predicate]
        case Project(columns=columns):
            return [e for _, e in columns]
        case PerUnit(keys=keys, measures=measures):
            assert all(m.where is None for m in measures)
            return [*(e for _, e in keys), *(a for m in measures for a in m.arguments)]
        case _:
            return []


# --- chosen plans ---------------------------------------------------------------------------------------------------


def test_a_simple_question_reads_only_what_it_uses() -> None:
    found = ask(Filter(Scan("visits"), call("gt", col("cost"), 3)), keys=(Key("clinic", col("clinic")),))
    read = Project(
        Scan("visits"),
        (
            ("clinic", call("read_text", col("clinic"))),
            ("cost", call("read_real", col("cost"), -27, -(2**27), 10 * 2**27)),
            (UNIT, col("pid")),
        ),
    )
    assert found.source == Filter(read, call("gt", col("cost"), 3 * 2**27))
    assert found.keys[0].typed.keys == ("N", "S")
    assert found.caps == Caps(max_rows=5)
    assert found.tables == ("visits",)
    assert ask(Scan("visits")).source == Project(Scan("visits"), ((UNIT, col("pid")),))


def test_a_foreign_key_finds_the_unit_two_tables_away() -> None:
    tables = data(Random(0))
    tables |= {
        "orders": {"oid": [1, 2], "cust": [7, 8], "total": [None, None]},
        "items": {"iid": ["a", "b", "c"], "order_id": [1, 2, 9], "price": [1, 2, 3]},
        "parts": {"item": ["a", "a", "b", "c", None], "weight": [1, 2, 3, 4, 5]},
    }
    found = lower_relation(Project(Scan("parts"), (("w", col("weight")),)), CATALOG)
    assert rows(found.relation, tables) == Counter(
        [((UNIT, 7), ("w", 1)), ((UNIT, 7), ("w", 2)), ((UNIT, 8), ("w", 3))]
    )
    assert not any(field.is_unit for field in lower_relation(Scan("parts"), CATALOG).fields.values())


def test_a_foreign_key_to_the_unit_itself_needs_no_join() -> None:
    found = lower_relation(Project(Scan("notes"), (("stars", col("stars")),)), CATALOG)
    assert found.relation == Project(
        Scan("notes"), (("stars", call("read_integer", col("stars"), 1, 5)), (UNIT, col("who")))
    )
    assert lower_relation(Scan("notes"), CATALOG).fields["who"].is_unit
    asked = Join(Scan("notes"), Scan("people"), (("who", "id"),))
    assert lower_relation(asked, CATALOG).fields["who"].is_unit
    tables = data(Random(0)) | {"notes": {"who": [1], "stars": [3]}, "people": {"id": [], "age": [], "city": []}}
    alone = lower_relation(Join(Scan("notes"), Scan("people"), (("who", "id"),), How.LEFT), CATALOG)
    assert sum(rows(alone.relation, tables).values()) == 1


def test_a_join_along_the_foreign_key_looks_once() -> None:
    on = (("order_id", "oid"),)
    for asked in (
        Join(Scan("items"), Scan("orders"), on),
        Join(Scan("items"), Scan("orders"), on, How.LEFT),
        Join(Scan("orders"), Scan("items"), (("oid", "order_id"),)),
    ):
        found = lower_relation(asked, CATALOG)
        assert sum(isinstance(node, Join) for node in _nodes(found.relation)) == 1
        assert found.private
        assert found.caps == Caps(max_rows=7)
        assert found.fields["cust"].is_unit
    filtered = Join(Filter(Scan("items"), call("gt", col("price"), 1)), Scan("orders"), on)
    tables = data(Random(5))
    assert len(list(rows(lower_relation(filtered, CATALOG).relation, tables))) <= len(tables["items"]["iid"])


def test_caps_are_the_largest_that_is_declared() -> None:
    joined = Join(Join(Scan("visits"), Scan("people"), (("pid", "id"),)), Scan("cities"), (("city", "city"),))
    assert lower_relation(joined, CATALOG).caps == Caps(max_rows=10, max_groups=3)
    assert lower_relation(Scan("cities"), CATALOG).caps is None


def test_names_that_meet_twice_are_numbered() -> None:
    found = lower_relation(Join(Scan("visits"), Scan("visits"), (("pid", "pid"),)), CATALOG)
    assert "pid_2" in found.fields
    assert found.fields["pid_2"].is_unit
    twice = Join(Join(Scan("visits"), Scan("visits"), (("pid", "pid"),)), Scan("visits"), (("pid_2", "pid"),))
    assert "pid_3" in lower_relation(twice, CATALOG).fields


def test_per_unit_average_is_exact_to_a_millionth_of_a_step() -> None:
    tables = data(Random(0)) | {
        "people": {"id": [1, 1, 1, 2, 2, 3], "age": [1, 2, 2, 10, None, None], "city": [None] * 6}
    }
    asked = PerUnit(Scan("people"), (("id", col("id")),), (Measure("m", Aggregate.AVG, (col("age"),)),))
    found = lower_relation(asked, CATALOG)
    kind = found.fields["m"].kind
    assert kind == Number(Fraction(1, 1 << 20), 0, 99 << 20)
    values = {dict(row)["id"]: dict(row)["m"] for row in rows(found.relation, tables)}
    assert values == {1: 5 * 2**20 // 3, 2: 10 * 2**20, 3: None}


@pytest.mark.parametrize("most", [99, 2**30, 2**61])
def test_an_average_stays_in_its_claim_even_where_sums_saturate(most: int) -> None:
    x = call("coalesce", call("clamp", col("id"), -7, most), 0)
    asked = PerUnit(
        Scan("people"), (("id", col("id")),), (Measure("m", Aggregate.AVG, (x,), call("gt", col("age"), 3)),)
    )
    found = lower_relation(asked, CATALOG)
    assert found.fields["m"].nullable, "no row may pass the filter"
    assert isinstance(found.relation, Project)
    (expression,) = (e for name, e in found.relation.columns if name == "m")
    total, many = sorted(columns(expression), reverse=True)
    for a, b in product((-LARGEST, -1, 0, 1, most, LARGEST - 1, LARGEST, None), (0, 1, 2, 3, 2**42, 2**62)):
        for part in walk(expression):
            value = evaluate(part, {total: a, many: b})
            assert value is None or abs(value) < 1 << 63
        assert _is_claimed(found.fields["m"], evaluate(expression, {total: a, many: b}))


def test_a_filter_of_a_measure_per_unit_counts_what_it_says() -> None:
    tables = data(Random(0)) | {"people": {"id": [1, 1, 1, 2], "age": [1, 50, 70, 2], "city": [None] * 4}}
    old = call("gt", col("age"), 40)
    asked = PerUnit(
        Scan("people"),
        (("id", col("id")),),
        (
            Measure("n", Aggregate.COUNT, (), old),
            Measure("s", Aggregate.SUM, (col("age"),), old),
            Measure("d", Aggregate.COUNT_DISTINCT, (col("age"),)),
        ),
    )
    found = {dict(r)["id"]: dict(r) for r in rows(lower_relation(asked, CATALOG).relation, tables)}
    assert [found[1][x] for x in "nsd"] == [2, 120, 3]
    assert [found[2][x] for x in "nsd"] == [0, None, 1]


def test_union_brings_kinds_together() -> None:
    first = Project(Scan("people"), (("x", col("age")), ("who", col("id"))))
    second = Project(Scan("orders"), (("y", col("total")), ("cust", col("cust"))))
    found = lower_relation(UnionAll((first, second)), CATALOG)
    assert list(found.fields) == ["x", "who"]
    assert found.fields["who"].is_unit
    assert found.fields["x"].kind == Number(Fraction(1, 100), -LARGEST, LARGEST)
    laundered = Project(Scan("orders"), (("y", col("total")), ("cust", call("add", col("cust"), 0))))
    assert not lower_relation(UnionAll((first, laundered)), CATALOG).fields["who"].is_unit


# --- keys and ranges that conditions prove --------------------------------------------------------------------------


MONTH = call("date_trunc", "month", col("day"))


@pytest.mark.parametrize(
    ("condition", "key", "keys"),
    [
        (call("in", col("clinic"), "S", "X"), col("clinic"), ("S",)),
        (call("ne", col("clinic"), "S"), col("clinic"), ("N",)),
        (call("like", col("clinic"), "N%"), col("clinic"), ("N",)),
        (call("or", call("eq", col("clinic"), "S"), call("eq", col("clinic"), "N")), col("clinic"), ("N", "S")),
        (call("eq", call("month", col("day")), 2), call("month", col("day")), (2,)),
        (call("in", call("upper", col("clinic")), "A", "N"), call("upper", col("clinic")), ("N",)),
        (call("lt", col("day"), "2024-02-15"), call("month", col("day")), (1, 2)),
        (call("lt", col("day"), "2024-02-15"), MONTH, (date(2024, 1, 1), date(2024, 2, 1))),
        (call("eq", call("year", col("day")), 2024), call("year", col("day")), (2024,)),
        (col("urgent"), col("urgent"), (True,)),
        (call("not", call("is_null", col("clinic"))), col("clinic"), ("N", "S")),
    ],
)  # fmt: skip
def test_where_lists_keys(condition: Expression, key: Expression, keys: tuple[Any, ...]) -> None:
    found = ask(Filter(Scan("visits"), condition), keys=(Key("k", key),))
    assert found.keys[0].typed.keys == keys


def test_where_bounds_what_nobody_declared() -> None:
    schema = resolve(
        "logs",
        table(None, unit="who"),
        {"who": Stored(StoredKind.TEXT), "at": Stored(StoredKind.TIMESTAMP), "n": Stored(StoredKind.INTEGER)},
    )
    inside = call(
        "and", call("ge", col("at"), "2024-01-01"), call("lt", col("at"), "2024-03-01"), call("ge", col("n"), 0),
        call("lt", col("n"), Fraction(21, 2)),
    )  # fmt: skip
    question = Question(
        Filter(Scan("logs"), inside),
        (Key("month", call("date_trunc", "month", col("at"))),),
        (Measure("s", Aggregate.SUM, (col("n"),)),),
        Outcome(()),
        (("month",),),
    )
    found = lower_question(question, {"logs": schema})
    assert found.keys[0].typed.keys == (datetime(2024, 1, 1), datetime(2024, 2, 1))
    assert found.measures[0].arguments[0].kind == Number(Fraction(1), 0, 10)
    by_year = Filter(Scan("logs"), call("eq", call("year", col("at")), 2023))
    assert lower_relation(by_year, {"logs": schema}).fields["at"].kind == Timestamp(
        datetime(2023, 1, 1), datetime(2023, 12, 31, 23, 59, 59, 999999)
    )


def test_keys_of_a_public_table() -> None:
    joined = Join(Scan("people"), Scan("cities"), (("city", "city"),))
    found = ask(joined, keys=(Key("country", col("country")), Key("city", col("city"))))
    assert [key.typed.keys_from for key in found.keys] == [("cities", "country"), ("cities", "city")]
    left = ask(Join(Scan("people"), Scan("cities"), (("city", "city"),), How.LEFT), keys=(Key("city", col("city")),))
    assert left.keys[0].typed.keys_from is None
    listed = ask(Filter(joined, call("in", col("country"), "X", "Z")), keys=(Key("country", col("country")),))
    assert listed.keys[0].typed.keys == ("X", "Z")


# --- measures -------------------------------------------------------------------------------------------------------


def test_count_distinct_of_the_unit_counts_units() -> None:
    assert ask(Scan("visits"), Measure("u", Aggregate.COUNT_DISTINCT, (col("pid"),))).measures[0].measure.aggregate is (
        Aggregate.COUNT_UNITS
    )
    renamed = Project(Scan("visits"), (("x", col("pid")),))
    assert ask(renamed, Measure("u", Aggregate.COUNT_UNITS, (col("x"),))).measures[0].arguments == ()
    launder = ask(Scan("visits"), Measure("u", Aggregate.COUNT_DISTINCT, (call("mod", col("pid"), 9),)))
    assert launder.measures[0].measure.aggregate is Aggregate.COUNT_DISTINCT


def test_where_on_the_unit_is_legal() -> None:
    """E9: a question about all but one person is a question like any other."""
    found = ask(Filter(Scan("visits"), call("ne", col("pid"), 7)))
    assert isinstance(found.source, Filter)


def test_counting_a_raw_float_counts_what_is_a_number() -> None:
    (measure,) = ask(Scan("visits"), Measure("n", Aggregate.COUNT, (col("raw"),))).measures
    assert measure.arguments[0].lowered == call("read_real", col("raw"), 0, 0, 0)
    clamped = ask(Scan("visits"), Measure("s", Aggregate.SUM, (call("clamp", col("raw"), 0, 1),)))
    assert clamped.measures[0].arguments[0].kind == Number(Fraction(1, 1 << 30), 0, 1 << 30)
    assert clamped.measures[0].arguments[0].nullable


def test_truth_can_be_summed_and_averaged() -> None:
    found = ask(Scan("visits"), Measure("a", Aggregate.AVG, (col("urgent"),)))
    assert found.measures[0].arguments[0].kind == Number(Fraction(1), 0, 1)


# --- refusals -------------------------------------------------------------------------------------------------------

VISITS, HUMANS, CITIES = Scan("visits"), Scan("people"), Scan("cities")
MODULO = Project(VISITS, (("pid", call("mod", col("pid"), 1)), ("clinic", col("clinic"))))
CONSTANT = Project(VISITS, (("pid", Literal(1)),))
FILLED = Project(VISITS, (("pid", call("coalesce", col("pid"), 0)),))
CLINICS = Project(VISITS, (("x", col("clinic")),))
CAST = Project(VISITS, (("pid", call("cast_integer", col("pid"))),))
EXTENDED = Join(VISITS, HUMANS, (("pid", "id"),), How.LEFT)
TEXT_UNIT = resolve(
    "letters", table(None, unit="who"), {"who": Stored(StoredKind.TEXT), "n": Stored(StoredKind.INTEGER)}
)
LOOPS = {
    "a": resolve("a", table(None, unit="x -> b.y"), {"x": Stored(StoredKind.INTEGER)}),
    "b": resolve("b", table(None, unit="y -> a.x"), {"y": Stored(StoredKind.INTEGER)}),
    "c": resolve("c", table(None, unit="x -> d.y"), {"x": Stored(StoredKind.INTEGER)}),
    "d": resolve("d", table(None, public=True), {"y": Stored(StoredKind.INTEGER)}),
    "e": resolve("e", table(None, unit="x -> people.city"), {"x": Stored(StoredKind.INTEGER)}),
    "f": resolve("f", table(None, unit="x -> visits.nothing"), {"x": Stored(StoredKind.INTEGER)}),
}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Scan("visit"), "did you mean visits"),
        (Filter(VISITS, col("cost")), "true or false"),
        (Filter(VISITS, Literal(None)), "true or false"),
        (Filter(VISITS, call("gt", col("kost"), 1)), "did you mean cost"),
        (Filter(VISITS, call("gt", col("raw"), 1)), "CLAMP(raw, low, high)"),
        (Project(VISITS, (("x", col("cost")), ("x", col("day")))), "two columns x"),
        (Project(VISITS, (("__Unit", col("cost")),)), "kept for the unit"),
        (Project(VISITS, (("x", Literal(None)),)), "always NULL"),
        (Project(CITIES, ()), "needs a column"),
        # E2: people joined with other people
        (Join(VISITS, HUMANS, (("clinic", "city"),)), "different people"),
        (Join(VISITS, VISITS, (("clinic", "clinic"),)), "different people"),
        # E6: the unit, laundered
        (Join(MODULO, HUMANS, (("pid", "id"),)), "different people"),
        (Join(CONSTANT, HUMANS, (("pid", "id"),)), "different people"),
        (Join(FILLED, HUMANS, (("pid", "id"),)), "different people"),
        (Join(CAST, HUMANS, (("pid", "id"),)), "different people"),
        (Join(EXTENDED, HUMANS, (("id", "id"),)), "different people"),
        (PerUnit(MODULO, (("pid", col("pid")),), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(VISITS, (("x", col("clinic")),), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(VISITS, (), (Measure("n", Aggregate.COUNT),)), "something else than the unit"),
        (PerUnit(CITIES, (("city", col("city")),), (Measure("n", Aggregate.COUNT),)), "public"),
        (PerUnit(VISITS, (("pid", col("pid")), ("r", col("raw"))), ()), "floats"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.VARIANCE, (col("cost"),)),)), "VARIANCE per"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.COUNT_UNITS),)), "COUNT_UNITS per unit"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.SUM),)), "one argument"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.SUM, (col("raw"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.MIN, (col("raw"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("v", Aggregate.AVG, (col("pid"),)),)), "CLAMP"),
        (PerUnit(VISITS, (("pid", col("pid")),), (Measure("pid", Aggregate.COUNT),)), "two columns"),
        (Join(CITIES, VISITS, (("city", "clinic"),), How.LEFT), "LEFT JOIN from a public"),
        (Join(VISITS, CITIES, ()), "without equal columns"),
        (Join(VISITS, CITIES, (("clinic", "town"),)), "no column town"),
        (Join(VISITS, CITIES, (("cost", "size"),)), "another step"),
        (Join(VISITS, CITIES, (("raw", "size"),)), "floats"),
        (Join(VISITS, CITIES, (("clinic", "size"),)), "CAST"),
        (Join(VISITS, Scan("letters"), (("pid", "who"),)), "CAST"),
        (UnionAll((CLINICS, Project(CITIES, (("x", col("city")),)))), "private and public"),
        (UnionAll((HUMANS, VISITS)), "same number of columns"),
        (UnionAll((CLINICS, Project(VISITS, (("x", col("pid")),)))), "mix"),
        (UnionAll((Project(VISITS, (("x", col("raw")),)), Project(VISITS, (("x", col("cost")),)))), "CLAMP"),
        (UnionAll((CLINICS, Project(Scan("letters"), (("x", col("who")),)))), "different kinds"),
        (UnionAll(()), "parts"),
        (Scan("a"), "circle"),
        (Scan("c"), "public and names nobody"),
        (Scan("e"), "another type"),
        (Scan("f"), "no column nothing"),
    ],
)  # fmt: skip
def test_relations_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, {**CATALOG, **LOOPS, "letters": TEXT_UNIT})


@pytest.mark.parametrize(
    ("source", "measure", "keys", "words"),
    [
        (CITIES, None, (), "public"),
        (VISITS, None, (Key("pid", col("pid")),), "a group for each unit"),
        (VISITS, None, (Key("r", col("raw")),), "floats"),
        (VISITS, None, (Key("x", Literal(None)),), "group key"),
        (Filter(VISITS, call("eq", col("clinic"), "X")), None, (Key("clinic", col("clinic")),), "leaves no key"),
        (VISITS, None, (Key("n", col("clinic")),), "two columns n"),
        (VISITS, Measure("s", Aggregate.SUM, (col("pid"),)), (), "SUM of pid needs bounds"),
        (VISITS, Measure("s", Aggregate.SUM, (col("raw"),)), (), "SUM of raw needs bounds"),
        (VISITS, Measure("s", Aggregate.AVG, (call("add", col("pid"), 1),)), (), "AVG of pid needs bounds"),
        (VISITS, Measure("s", Aggregate.SUM, (col("clinic"),)), (), "SUM of text"),
        (VISITS, Measure("s", Aggregate.SUM), (), "SUM takes 1"),
        (VISITS, Measure("s", Aggregate.COVARIANCE, (col("cost"),)), (), "COVARIANCE takes 2"),
        (VISITS, Measure("s", Aggregate.COUNT, (col("cost"), col("day"))), (), "at most one"),
        (VISITS, Measure("s", Aggregate.COUNT, (Literal(None),)), (), "NULL"),
        (VISITS, Measure("s", Aggregate.COUNT, (), col("cost")), (), "FILTER"),
        (VISITS, Measure("s", Aggregate.COUNT_DISTINCT, (col("raw"),)), (), "exact values"),
        (VISITS, Measure("s", Aggregate.COUNT_DISTINCT, (col("day"), col("clinic"))), (), "several columns"),
        (VISITS, Measure("s", Aggregate.COUNT_UNITS, (call("mod", col("pid"), 2),)), (), "not of a function of it"),
        (VISITS, Measure("s", Aggregate.QUANTILE, (col("cost"),)), (), "level"),
        (VISITS, Measure("s", Aggregate.QUANTILE, (col("cost"),), level=Fraction(3, 2)), (), "level"),
        (EXTENDED, Measure("s", Aggregate.COUNT_UNITS, (col("id"),)), (), "not of a function of it"),
    ],
)
def test_questions_refused_by_name(
    source: Relation, measure: Measure | None, keys: tuple[Key, ...], words: str
) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        ask(source, *([] if measure is None else [measure]), keys=keys)


def test_grouping_sets_name_keys_of_the_question() -> None:
    count = (Measure("n", Aggregate.COUNT),)
    for sets in ((), (("x",),), (("clinic", "clinic"),)):
        with pytest.raises(BadQuestion, match="grouping set"):
            lower_question(Question(VISITS, (Key("clinic", col("clinic")),), count, Outcome(()), sets), CATALOG)


def test_what_is_too_large_is_refused_at_once() -> None:
    deep: Relation = VISITS
    for _ in range(60):
        deep = Filter(deep, Literal(True))
    shared: Relation = VISITS
    for _ in range(40):
        shared = Join(shared, shared, (("pid", "pid"),))
    longer: Relation = Project(VISITS, (("x", col("clinic")),))
    for _ in range(40):
        longer = Project(longer, (("x", call("concat", col("x"), col("x"))),))
    for asked in (deep, shared, UnionAll((VISITS,) * 2000)):
        with pytest.raises(BadQuestion, match="too many parts"):
            lower_relation(asked, CATALOG)
    with pytest.raises(BadQuestion, match="CONCAT"):
        lower_relation(longer, CATALOG)


def test_a_stored_column_with_the_name_of_the_carried_unit_cannot_replace_it() -> None:
    stored = {
        "who": Stored(StoredKind.INTEGER),
        "__unit": Stored(StoredKind.INTEGER),
        "__UNIT": Stored(StoredKind.TEXT),
    }
    tricky = resolve("tricky", table(None, unit="who"), stored)
    found = lower_relation(Scan("tricky"), {"tricky": tricky})
    assert list(found.fields) == ["who"]
    with pytest.raises(BadQuestion, match="no column __unit"):
        lower_relation(Filter(Scan("tricky"), call("eq", col("__unit"), 1)), {"tricky": tricky})


def test_floats_without_bounds_pass_through_as_they_are() -> None:
    found = lower_relation(Project(VISITS, (("r", col("raw")),)), CATALOG)
    assert isinstance(found.fields["r"].kind, Real)
    assert found.relation == Project(Scan("visits"), (("r", call("read_float", col("raw"))), (UNIT, col("pid"))))


def test_refusals_say_unsupported_where_a_construct_is_meant() -> None:
    with pytest.raises(Unsupported):
        lower_relation(Join(VISITS, HUMANS, (("clinic", "city"),)), CATALOG)
    assert STORED.keys() == TABLES.keys()
    assert bounds(0, 1).low == 0
