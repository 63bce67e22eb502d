"""Lowered relations: each row belongs to one unit alone; only what is used is read; the rest is refused."""

import re
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory import engine as memory
from discreet.errors import BadQuestion
from discreet.query.lower.lower import UNIT, lower_question, lower_relation
from discreet.query.lower.prune import names
from discreet.query.plan.expressions import Call, Expression, Literal, walk
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
)
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.schema import Stored, StoredKind, resolve, table
from discreet.query.plan.types import LARGEST, Number, Timestamp
from tests.helpers.lowering import CATALOG, CITIES, HUMANS, VISITS, ask, call, col, is_claimed, nodes_of, rows
from tests.helpers.plans import catalog, data, relation, without

MANY = settings(max_examples=100, deadline=None)
SEEDS = st.integers(0, 1 << 64)
PEOPLE = [1, 2, 3, 2**62 + 1, 2**62 + 2]


def of_unit(found: Counter[tuple[Any, ...]], unit: Any) -> Counter[tuple[Any, ...]]:
    return Counter({row: n for row, n in found.items() if dict(row).get(UNIT) == unit})


# --- the promise ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
@given(SEEDS)
@MANY
def test_what_is_claimed_of_columns_is_true_of_all_rows(seed: int) -> None:
    dice = Random(seed)
    asked, tables = relation(dice, dice.randint(0, 4)), data(dice)
    lowered = lower_relation(asked, CATALOG)
    assert sorted(names(lowered.relation)) == sorted([*lowered.fields, *([UNIT] if lowered.private else [])])
    for row in memory.relation(lowered.relation, catalog(tables)):
        for name, field in lowered.fields.items():
            assert is_claimed(field, row[name]), name
            if field.is_unit and row[UNIT] is not None:
                assert row[name] == min(max(row[UNIT], -LARGEST), LARGEST)


@pytest.mark.slow
@given(SEEDS)
@MANY
def test_lowered_relations_hold_primitives_only_and_compare_units(seed: int) -> None:
    dice = Random(seed)
    lowered = lower_relation(relation(dice, dice.randint(0, 4)), CATALOG)
    for node in nodes_of(lowered.relation):
        for expression in _expressions(node):
            for part in walk(expression):
                assert not isinstance(part, Call) or part.function in PRIMITIVES
        if isinstance(node, Join):
            left, right = names(node.left), names(node.right)
            assert not set(left) & set(right)
            carried = [name for side in (left, right) for name in side if name in (UNIT, f"{UNIT}_right")]
            if len(carried) == 2:
                assert (UNIT, f"{UNIT}_right") in node.on


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


@pytest.mark.parametrize(
    ("source", "measure", "keys", "words"),
    [
        (CITIES, None, (), "public"),
        (VISITS, None, (Key("pid", col("pid")),), "a group for each unit"),
        (VISITS, None, (Key("r", col("raw")),), "floats"),
        (VISITS, None, (Key("x", Literal(None)),), "group key"),
        (Filter(VISITS, call("eq", col("clinic"), "X")), None, (Key("clinic", col("clinic")),), "leaves no key"),
        (VISITS, None, (Key("n", col("clinic")),), "two columns n"),
        (VISITS, Measure("s", Aggregate.SUM, (col("clinic"),)), (), "SUM of text"),
        (VISITS, Measure("s", Aggregate.SUM), (), "SUM takes 1"),
        (VISITS, Measure("s", Aggregate.COVARIANCE, (col("cost"),)), (), "COVARIANCE takes 2"),
        (VISITS, Measure("s", Aggregate.COUNT, (col("cost"), col("day"))), (), "at most one"),
        (VISITS, Measure("s", Aggregate.COUNT, (Literal(None),)), (), "NULL"),
        (VISITS, Measure("s", Aggregate.COUNT, (), col("day")), (), "FILTER"),
        (VISITS, Measure("s", Aggregate.COUNT_DISTINCT, (col("raw"),)), (), "exact values"),
        (VISITS, Measure("s", Aggregate.COUNT_DISTINCT, (col("day"), col("clinic"))), (), "several columns"),
        (VISITS, Measure("s", Aggregate.COUNT_UNITS, (call("mod", col("pid"), 2),)), (), "not of a function of it"),
        (VISITS, Measure("s", Aggregate.QUANTILE, (col("cost"),)), (), "level"),
        (VISITS, Measure("s", Aggregate.QUANTILE, (col("cost"),), level=Fraction(3, 2)), (), "level"),
        (
            Join(VISITS, HUMANS, (("pid", "id"),), How.LEFT),
            Measure("s", Aggregate.COUNT_UNITS, (col("id"),)),
            (),
            "not of a function of it",
        ),
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
