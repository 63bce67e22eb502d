"""The text for databases that we cannot run: nothing but functions that their manuals have, no float is ever summed,
all quoting is undone by a parser of that dialect, and what cannot be exact is refused by name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import sqlglot
import sqlglot.expressions as exp

from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.experimental.dialects import DATABRICKS, MARIADB, MYSQL
from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.engines.experimental.trial_run import PROBES, origin, works
from discreet.engines.sql.dialects import SPARK, Dialect, Sort
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.errors import Unsupported
from discreet.query.front.sql.parse import question
from discreet.query.plan.expressions import Call
from discreet.query.plan.primitives import PRIMITIVES
from tests.helpers.cases import answered, priced_question, texts
from tests.helpers.shop import schemas
from tests.helpers.works import EXPERIMENTAL, PARSERS, refusal

COMMON = "abs cast coalesce count dense_rank floor max min nullif row_number sqrt sum "
# Words before a bracket that are no functions.
WORDS = {"all", "and", "as", "by", "case", "distinct", "else", "from", "in", "interval", "join", "like", "not", "on",
         "or", "over", "select", "then", "union", "using", "when", "where"}  # fmt: skip
DOCUMENTED = {
    "bigquery": COMMON
    + "bignumeric char_length date_add date_diff datetime_add datetime_diff datetime_trunc div ends_with extract "
    "format_date format_datetime ltrim md5 mod regexp_extract replace right round rtrim sign safe_offset split "
    "starts_with strpos substr to_hex translate trim",
    "snowflake": COMMON
    + "contains dateadd datediff date_trunc day dayofweekiso dayofyear decimal endswith hour length ltrim md5 minute "
    "mod month number quarter regexp_like replace right rtrim second sign split_part startswith substring "
    "timestamp_ntz to_char to_date to_timestamp_ntz translate trim trunc year",
    "databricks": COMMON
    + "contains date_add date_format date_trunc datediff day dayofyear decimal dense_rank endswith hour length md5 "
    "make_dt_interval minute month quarter regexp_extract regexp_replace replace right second shiftright sign "
    "split_part startswith substring timestampdiff translate trim weekday year",
    "mysql": COMMON
    + "char_length concat convert date date_add date_format date_sub datediff datetime day dayofmonth dayofyear "
    "decimal hour left locate md5 minute month quarter regexp_substr replace right second sign substring "
    "substring_index timestampdiff trim weekday year",
    "sqlserver": COMMON
    + "charindex convert count_big datalength dateadd datediff datediff_big datepart datetime2 datetrunc decimal "
    "hashbytes left len ltrim nvarchar replace right rtrim sign substring translate try_cast try_convert varchar",
}
DOCUMENTED["mariadb"] = DOCUMENTED["mysql"]


@cache
def emitted(name: str) -> tuple[str, ...]:
    """What the database is asked for all case files, and in the trial run."""
    dialect = WAREHOUSES[name].dialect
    fields, found = {table: schema.fields for table, schema in schemas().items()}, []
    for case in answered().values():
        try:
            found += texts(priced_question(question(case.ask, fields), schemas()), dialect)
        except Unsupported:
            continue
    stored = Origin(dialect.identifier("t"), origin(dialect).stored)
    return (*found, *(emit(work, dialect, {"t": stored}).sql for _, work in works(dialect, stored)))


def strange_functions(sql: str, name: str) -> set[str]:
    """Functions of a text that are not in the list."""
    escapes = WAREHOUSES[name].dialect.text("'") == "'\\''"
    bare = re.sub(r"'(?:[^'\\]|\\.)*'" if escapes else r"'(?:[^']|'')*'", "''", sql)
    called = {word.lower() for word in re.findall(r"\b([A-Za-z_][A-Za-z0-9_]*)\s*\(", bare)}
    return called - WORDS - set(DOCUMENTED[name].split()) - set(re.findall(r"\b(\w+) AS \(", bare))


def float_sums(sql: str, name: str) -> list[str]:
    """Sums of something that was made a float inside them."""
    (tree,) = sqlglot.parse(sql, dialect=PARSERS.get(name, name))
    assert isinstance(tree, exp.Query)
    floats = (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE)
    return [one.sql() for one in tree.find_all(exp.Sum) for kind in one.find_all(exp.DataType) if kind.this in floats]


@pytest.mark.slow
@pytest.mark.parametrize("name", WAREHOUSES)
def test_only_functions_that_the_manual_has(name: str) -> None:
    assert len(emitted(name)) > 60
    assert not set().union(*(strange_functions(sql, name) for sql in emitted(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", WAREHOUSES)
def test_no_float_is_summed_and_every_text_is_one_select(name: str) -> None:
    for sql in emitted(name)[::3]:  # its parser is slow
        assert not float_sums(sql, name)


@pytest.mark.parametrize("name", WAREHOUSES)
def test_a_planted_mistake_is_found(name: str) -> None:
    """The checks above can fail."""
    assert strange_functions("SELECT 1 FROM t ORDER BY hash(u)", name) == {"hash"}
    assert strange_functions("SELECT 'hash(u)', list_sum (x) FROM t", name) == {"list_sum"}
    real = WAREHOUSES[name].dialect.types[Sort.REAL]
    assert float_sums(f"SELECT sum(CAST(x AS {real})) AS n FROM t", name)
    assert not float_sums(f"SELECT sum(x), CAST(y AS {real}) FROM t", name)


@pytest.mark.slow
def test_two_dialects_say_what_another_says() -> None:
    for ours, other in zip(emitted("mariadb"), emitted("mysql"), strict=True):
        assert ours == other.replace("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
    assert MARIADB.types == MYSQL.types
    assert (DATABRICKS.templates, DATABRICKS.types) == (SPARK.templates, SPARK.types)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_the_probes_try_every_primitive() -> None:
    def functions(call: Any) -> set[str]:
        return {call.function}.union(*map(functions, call.arguments)) if isinstance(call, Call) else set()

    assert set().union(*map(functions, PROBES)) | {"read_decimal"} == PRIMITIVES


@pytest.mark.parametrize("dialect", EXPERIMENTAL, ids=lambda d: d.name)
def test_what_is_not_refused_is_written(dialect: Dialect) -> None:
    refused = [refusal(dialect, probe) for probe in PROBES]
    assert len([why for why in refused if why]) == (
        13 if dialect is SQLSERVER else 0 if dialect.name == "databricks" else 3
    )
