"""The experimental dialects: every text and every name is one literal or one name."""

from __future__ import annotations

import pytest
import sqlglot
import sqlglot.expressions as exp
from hypothesis import given, settings

from discreet.engines.experimental.dialects import BIGQUERY, MARIADB, MYSQL
from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.engines.sql.dialects import Dialect
from discreet.errors import Unsupported
from tests.helpers.mariadb import MariaDB
from tests.helpers.works import ANY_TEXT, EXPERIMENTAL, PARSERS


def test_mariadb_reads_back_every_text_as_it_was(mariadb: MariaDB) -> None:
    with mariadb.connect() as connection, connection.cursor() as cursor:
        for mode in ("", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"):
            cursor.execute(f"SET SESSION sql_mode = '{mode}'")
            for text in ("'", "\\", "\\'", "a\\", "';--", '"', "\0", "\n", "é", "👍", "%s", "\\n"):
                cursor.execute(f"SELECT {MARIADB.text(text)}")
                assert cursor.fetchone() == (text,)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", EXPERIMENTAL, ids=lambda d: d.name)
@settings(max_examples=60, deadline=None)
@given(ANY_TEXT)
def test_a_text_is_one_literal(dialect: Dialect, text: str) -> None:
    sql = dialect.text(text)
    (found,) = sqlglot.parse_one(f"SELECT {sql}", dialect=PARSERS.get(dialect.name, dialect.name)).expressions
    kinds = {type(node) for node in found.walk()}
    plain = {exp.Literal, exp.National, exp.HexString, exp.Cast, exp.Convert, exp.DataType, exp.CharacterSet, exp.Var,
             exp.Paren, exp.Add, exp.Identifier, exp.CastToStrType, exp.Anonymous}  # fmt: skip
    assert kinds <= plain
    if dialect not in (MYSQL, MARIADB, SQLSERVER):
        assert isinstance(found, exp.Literal)
    if dialect in (MYSQL, MARIADB):
        assert "\\" not in sql  # a setting of the server decides what it would mean
    if dialect is BIGQUERY:
        assert "\n" not in sql  # its short literals end with the line


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(ANY_TEXT.filter(lambda text: text and "\0" not in text))
def test_a_name_is_one_name(name: str) -> None:
    for dialect in EXPERIMENTAL:
        try:
            sql = dialect.identifier(name)
        except Unsupported:
            assert not dialect.any_name
            continue
        (column,) = sqlglot.parse_one(f"SELECT 1 AS {sql}", dialect=PARSERS.get(dialect.name, dialect.name)).expressions
        assert column.alias == name
