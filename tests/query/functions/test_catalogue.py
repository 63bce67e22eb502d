"""Every function in every interface: SQL, verbs, typing, SQL text, documentation, the oracle, every dialect."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.memory.row import evaluate as oracle
from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK, Dialect, Sort
from discreet.engines.sql.primitives import write
from discreet.engines.sql.scope import Piece, Scope
from discreet.errors import BadQuestion, Unsupported
from discreet.query.answer.postprocess import evaluate as released
from discreet.query.front.sql import functions as sql_functions
from discreet.query.front.sql.parse import question
from discreet.query.front.unparse import as_sql
from discreet.query.functions import aggregates
from discreet.query.functions.catalogue import FUNCTIONS, READINGS
from discreet.query.functions.curves import ACCURACY
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.types import Date, Number, Timestamp
from discreet.query.resolve.unresolved import Apply, Said
from discreet.query.typing.infer import Typed, typed
from tests.helpers.examples import COLUMNS, FIELDS, call_in, examples, over_columns, read
from tests.helpers.surface import value as any_value
from tools import functions as written

ALL = sorted(FUNCTIONS)
TABLES = {"t": tuple(COLUMNS)}
every_function = pytest.mark.parametrize("name", ALL)
"""The verbs that are not written from a record."""


def plain(x: Typed, cells: Any) -> Any:
    return cells * x.kind.step if isinstance(x.kind, Number) and cells is not None else cells


def exact(value: Any) -> Any:
    return Fraction(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


# --- the records ------------------------------------------------------------------------------------------------------


def test_what_is_written_from_the_records_is_up_to_date() -> None:
    assert written.METHODS.read_text() == written.methods(), "run python -m tools.functions"
    assert written.PAGE.read_text() == written.page(written.PAGE.read_text()), "run python -m tools.functions"


def test_no_name_is_given_twice_or_refused_as_well() -> None:
    names = [name for one in FUNCTIONS.values() for name in one.names]
    names += [*READINGS, *aggregates.NAMES, *sql_functions._KNOWN]
    assert len(names) == len(set(names))


@every_function
def test_a_record_is_complete(name: str) -> None:
    one = FUNCTIONS[name]
    assert one.doc.endswith(".")
    assert "|" not in one.doc
    assert one.usage
    for text, _ in examples(name):
        given = len(call_in(read(text), name).arguments)
        assert one.arguments[0] <= given <= (one.arguments[1] or given)


# --- one example, every interface -------------------------------------------------------------------------------------


@every_function
def test_typing_and_both_evaluators_give_the_value_of_the_example(name: str) -> None:
    for text, value in examples(name):
        x = typed(read(text), {})
        assert plain(x, evaluate(x.lowered, {})) == exact(value), text


@every_function
def test_released_values_give_the_value_of_the_example_or_are_refused_by_name(name: str) -> None:
    for text, value in examples(name):
        if FUNCTIONS[name].meaning is not None:
            found = released(read(text), {})
            assert exact(found) == exact(value), text
            assert isinstance(found, bool) == isinstance(value, bool)
        else:
            with pytest.raises(Unsupported, match=f"{name.upper()} of a released value"):
                question(f"SELECT {text} AS x, COUNT(*) AS n FROM t", TABLES)


@every_function
def test_text_of_sql_returns(name: str) -> None:
    for call in over_columns(name):
        plan = question(f"SELECT COUNT({_text(call)}) AS n FROM t", TABLES)
        assert any(isinstance(p, Call) and p.function == name for p in walk(plan.measures[0].arguments[0]))
        assert question(as_sql(plan, TABLES), TABLES) == plan


def _text(call: Expression) -> str:
    from discreet.query.front.unparse_expressions import expressed

    return expressed(call, {name: name for name in COLUMNS})


@pytest.mark.parametrize("word", sorted(READINGS))
def test_every_reading_makes_functions_that_there_are(word: str) -> None:
    many = READINGS[word].arguments[0]
    given: tuple[Said, ...] = (Literal("day"), Literal(Fraction(1)), Literal("%Y"))[:many]
    if word == "to_char":
        given = (Literal(date.max), Literal("YYYY"))
    if word == "time_bucket":
        given = (Literal("1 day"), Literal(date.max))
    if "json" in word:
        given = (Literal("{}"), Literal("$.key"))
    made = sql_functions.function(word, given)
    assert isinstance(made, Apply)
    assert made.function in FUNCTIONS


@every_function
def test_it_is_documented(name: str) -> None:
    assert written._code(FUNCTIONS[name].usage) in written.PAGE.read_text()


APPROXIMATE = {"power", "sqrt", "ln", "log10", "log2", "exp"}
"""Rows have an integer of a public step, released values a float."""


def _room(x: Typed) -> Fraction:
    assert isinstance(x.kind, Number)
    return ACCURACY * (x.kind.ends[1] - x.kind.ends[0]) + x.kind.step


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_function
def test_rows_mean_what_the_record_says(name: str) -> None:
    """Lowered, by two evaluators that share no code, and by the meaning on plain values."""
    dice = Random(name)
    for call in over_columns(name):
        x = typed(call, FIELDS, keyed=False)
        assert {p.function for p in walk(x.lowered) if isinstance(p, Call)} <= PRIMITIVES
        for _ in range(40 if name in APPROXIMATE else 300):
            row = {c: None if dice.random() < 0.1 else any_value(kind, dice) for c, kind in COLUMNS.items()}
            found = oracle(x.lowered, row)
            assert found == evaluate(x.lowered, row)
            assert found is not None or x.nullable
            if FUNCTIONS[name].meaning is not None and name not in {"div", *APPROXIMATE}:
                assert plain(x, found) == exact(released(call, row)), (call, row)
            if name in APPROXIMATE:  # within the accuracy of the range, and NULL where the float is
                near = released(call, row)
                assert (found is None) == (near is None), (call, row)
                assert found is None or abs(plain(x, found) - Fraction(near)) <= _room(x), (call, row)
            if found is not None and isinstance(x.kind, Number | Date | Timestamp):
                assert x.kind.low <= found <= x.kind.high


# --- dialects ---------------------------------------------------------------------------------------------------------

DIALECTS = (DUCKDB, POSTGRES, SPARK, *(warehouse.dialect for warehouse in WAREHOUSES.values()))
_PARTS = {"regexp_extract", "regexp_replace"}
REFUSED = {
    **dict.fromkeys(("bigquery", "snowflake", "mysql", "mariadb"), _PARTS),
    "sqlserver": {"split_part", "right", "replace", "lpad", "regexp_matches", "least", "greatest", "cast_decimal"}
    | _PARTS
    | {"cast_time"},
}  # the last of text alone
"""What a dialect has no text for, at least in one example: SQL Server has no order of text, and no _ in LIKE; regular
expressions that say where they match were held against plain Python on three engines only."""
SORTS = {"number": Sort.INTEGER, "text": Sort.TEXT, "flag": Sort.BOOLEAN, "day": Sort.DATE, "moment": Sort.TIMESTAMP}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
def test_every_dialect_has_a_text_or_refuses_by_name(dialect: Dialect) -> None:
    refused = set()
    for name in ALL:
        for call in over_columns(name):
            scope = Scope(dialect, {column: Piece(f'"{column}"', sort, 1000) for column, sort in SORTS.items()})
            try:
                assert write(typed(call, FIELDS, keyed=False).lowered, scope).sql
            except Unsupported as error:
                assert dialect.name in str(error)  # noqa: PT017
                refused.add(name)
    assert refused == REFUSED.get(dialect.name, set())


# --- refusals ---------------------------------------------------------------------------------------------------------


@every_function
def test_null_and_a_wrong_number_of_arguments_are_refused_by_typing(name: str) -> None:
    fewest, most = FUNCTIONS[name].arguments
    for wrong in [n for n in (fewest - 1, None if most is None else most + 1) if n is not None]:
        with pytest.raises(BadQuestion, match="arguments, not"):
            typed(Call(name, (Column("number"),) * wrong), FIELDS)
