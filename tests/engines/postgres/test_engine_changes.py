"""What changes while a session is open, and rows that are too large: refused before the payment, or no failure at all.

One row never decides whether a question fails: each test asks with the row and without it.
"""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.engines.postgres.engine import Postgres, postgres
from discreet.errors import BadData, EngineFailed
from tests.helpers.postgres_engine import as_role, execute

SURE = 1000
"""An epsilon at which noise is 0, but for a chance below 1e-100."""
COUNT = "SELECT COUNT(*) AS n FROM t"


def opened(engine: Postgres, source: str = "rows", **columns: Any) -> dp.Session:
    table = dp.table(source, unit="id", max_rows=1, columns=columns)
    return dp.Session(t=table, budget=dp.Pure(10 * SURE), engine=engine)


def nothing_spent(session: dp.Session) -> bool:
    return session.remaining == dp.Pure(10 * SURE)


# --- row-level security -----------------------------------------------------------------------------------------------

HIDDEN = (
    "CREATE TABLE hidden (id bigint)",
    "INSERT INTO hidden SELECT generate_series(1, 9)",
    "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY few ON hidden USING (id < 3)",
    "GRANT SELECT ON hidden TO reader",
    "CREATE VIEW asks_as_reader WITH (security_invoker = true) AS SELECT * FROM hidden",
    "CREATE VIEW of_a_view WITH (security_invoker = true) AS SELECT id + 0 AS id FROM asks_as_reader",
    "CREATE VIEW asks_as_owner AS SELECT * FROM hidden",
    "GRANT SELECT ON asks_as_reader, of_a_view, asks_as_owner TO reader",
)


@pytest.mark.parametrize("view", ["asks_as_reader", "of_a_view"])
def test_a_policy_below_a_view_is_refused_when_it_is_opened(shop: str, view: str) -> None:
    """The view was accepted, and every answer paid for and lost."""
    execute(shop, *HIDDEN)
    with pytest.raises(BadData, match="row-level security"):
        postgres(as_role(shop, "reader")).columns(view)


def test_a_view_whose_owner_sees_all_rows_is_asked(shop: str) -> None:
    execute(shop, *HIDDEN)
    session = opened(postgres(as_role(shop, "reader")), "asks_as_owner")
    assert session.sql(COUNT).release(epsilon=SURE).value == 9


def test_a_policy_that_comes_later_is_refused_before_the_payment(shop: str) -> None:
    execute(shop, "CREATE TABLE rows (id bigint)", "GRANT SELECT ON rows TO reader")
    session = opened(postgres(as_role(shop, "reader")))
    execute(shop, "ALTER TABLE rows ENABLE ROW LEVEL SECURITY")
    with pytest.raises(BadData, match="row-level security"):
        session.sql(COUNT).release(epsilon=1)
    assert nothing_spent(session)


# --- columns that change ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [("'x'",), ()], ids=["with the row", "without it"])
@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE rows ALTER x TYPE text", "ALTER TABLE rows ALTER x TYPE numeric(9, 2)", "ALTER TABLE rows DROP x"],
)
def test_a_column_that_changed_is_refused_before_the_payment(fresh_database: str, change: str, row: Any) -> None:
    """The question was paid for, and failed if one row held what is no number."""
    execute(fresh_database, "CREATE TABLE rows (id bigint, x bigint)", "INSERT INTO rows VALUES (1, 1), (2, 2)")
    session = opened(postgres(fresh_database), x=dp.bounds(0, 9))
    execute(fresh_database, change)
    if row and "text" in change:
        execute(fresh_database, f"INSERT INTO rows VALUES (3, {row[0]})")
    with pytest.raises(BadData, match="nothing was spent"):
        session.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1)
    assert nothing_spent(session)


def test_a_change_between_the_check_and_the_work_fails_whatever_the_rows_are(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(fresh_database, "CREATE TABLE rows (id bigint, x bigint)", "INSERT INTO rows VALUES (1, 1), (2, 2)")
    engine = postgres(fresh_database)
    session = opened(engine, x=dp.bounds(0, 9))
    checked = engine.check

    def check_then_change(*given: Any) -> None:
        checked(*given)
        execute(fresh_database, "ALTER TABLE rows ALTER x TYPE text")

    monkeypatch.setattr(engine, "check", check_then_change)
    with pytest.raises(EngineFailed):  # both rows are numbers: without the comparison this would be answered
        session.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1)


def test_new_rows_and_new_columns_are_no_change(fresh_database: str) -> None:
    execute(fresh_database, "CREATE TABLE rows (id bigint)", "INSERT INTO rows VALUES (1)")
    session = opened(postgres(fresh_database))
    execute(fresh_database, "ALTER TABLE rows ADD more text", "INSERT INTO rows VALUES (2, 'x'), (3, NULL)")
    assert session.sql(COUNT).release(epsilon=SURE).value == 3


# --- long texts -------------------------------------------------------------------------------------------------------

GROWING = [
    "REPLACE(x, 'a', 'bbbbbbbbbbbbbbbbbbbb')",
    "UPPER(REPLACE(REPLACE(x, 'a', 'bbbbbbbbbbbbbbbb'), 'b', 'cccccccccccccccc'))",
    " || ".join(["x"] * 12),
    "LOWER(x)",
]
ROWS = "(1, 'a'), (2, ''), (3, repeat('a', 131072)), (4, NULL)"
LONG = "(5, repeat('a', 131073)), (6, repeat('a', 120000000))"


@pytest.mark.parametrize("rows", [ROWS, f"{ROWS}, {LONG}"], ids=["without the rows", "with them"])
def test_no_text_is_too_long_for_a_function(fresh_database: str, rows: str) -> None:
    """A text of 120 MB made REPLACE ask for more than PostgreSQL gives at once: the answer was paid for and lost."""
    execute(fresh_database, "CREATE TABLE rows (id bigint, x text)", f"INSERT INTO rows VALUES {rows}")
    session = opened(postgres(fresh_database))
    for text in GROWING:
        there = session.sql(f"SELECT COUNT(*) AS n FROM t WHERE LENGTH({text}) >= 0").release(epsilon=SURE)
        assert there.value == 3, text
    keys = opened(postgres(fresh_database), x=dp.keys(["a", "", "b", None]))
    counted = keys.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x").release(epsilon=SURE)
    assert counted["n"] == [1, 1, 0, 1 if rows == ROWS else 3], "a text that is too long is NULL"
