"""A session: what is charged, what is refused, and with which state."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.helpers.curator.town import COUNT, Town, charges

pytestmark = pytest.mark.slow
PRICED = f"/* epsilon=100, fresh=on */ {COUNT}"


def test_without_a_price_the_preview_comes_and_nothing_is_charged(
    client: psycopg.Connection[Any], served: tuple[Town, str]
) -> None:
    before, notices = charges(served[0]), list[str]()
    client.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    cursor = client.execute(COUNT)
    assert [column.name for column in cursor.description or ()][:2] == ["column", "error"]
    assert cursor.fetchall()[0][0] == "n"
    client.execute("EXPLAIN " + PRICED)
    assert charges(served[0]) == before
    assert any("nothing was charged" in notice for notice in notices)


def test_a_price_is_a_comment_or_a_setting(client: psycopg.Connection[Any], served: tuple[Town, str]) -> None:
    before = charges(served[0])
    cursor = client.execute(PRICED)
    assert [column.name for column in cursor.description or ()] == ["city", "n", "n_error"]
    assert [(city, round(n)) for city, n, _ in cursor] == [("Aton", 40), ("Bury", 40), ("Cold", 40)]
    client.execute("SET discreet.epsilon = '100'")
    one = client.execute("SELECT COUNT(*) AS n FROM people WHERE city = %s", ["Aton"]).fetchone()
    assert one is not None
    assert round(one[0]) == 40
    client.execute("RESET discreet.epsilon")
    client.execute(COUNT)
    assert charges(served[0]) == before + 2


def test_the_same_key_is_charged_once(client: psycopg.Connection[Any], served: tuple[Town, str]) -> None:
    before = charges(served[0])
    text = f"/* epsilon=1, key='once', fresh=on */ {COUNT}"
    assert client.execute(text).fetchall() == client.execute(text).fetchall()
    assert charges(served[0]) == before + 1


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"{PRICED}; {PRICED}", "42000"), ("SELECT x FROM nowhere", "42000"), ("COPY people TO STDOUT", "0A000"),
        ("LISTEN a", "0A000"), ("DELETE FROM people", "0A000"), ("EXPLAIN ANALYZE SELECT 1 FROM people", "0A000"),
        (f"/* epsilon=-1 */ {COUNT}", "22023"), (f"/* epsilon=0.1 more */ {COUNT}", "22023"),
        ("SET discreet.price = 3", "22023"), ("FETCH ALL FROM nothing", "42000"), ("SELECT 'open", "42000"),
        (f"/* epsilon=100000000 */ {COUNT}", "53400"),
    ],
)  # fmt: skip
def test_what_is_refused_has_a_state_and_costs_nothing(
    client: psycopg.Connection[Any], served: tuple[Town, str], text: str, state: str
) -> None:
    before = charges(served[0])
    with pytest.raises(psycopg.Error) as refused:
        client.execute(text, prepare=False)
    assert refused.value.sqlstate == state
    assert charges(served[0]) == before
    with pytest.raises(psycopg.Error, match="ROLLBACK"):
        client.execute("SELECT 1")
    client.rollback()
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_price_of_a_transaction_ends_with_it(client: psycopg.Connection[Any], served: tuple[Town, str]) -> None:
    client.autocommit = True
    before = charges(served[0])
    client.execute("SET discreet.fresh = on")
    for begin, end in (
        ("SET LOCAL discreet.epsilon = '100'", "COMMIT"),
        ("SET discreet.epsilon = '100'", "ROLLBACK"),
        ("SAVEPOINT a; SET discreet.epsilon = '100'; ROLLBACK TO SAVEPOINT a", "COMMIT"),
        ("SET discreet.epsilon = '100'", 'COMMIT; RESET "discreet.epsilon"'),
        ("SET discreet.epsilon = '100'", "COMMIT; RESET ALL"),
    ):
        client.execute(f"BEGIN; {begin}")
        client.execute(end)
        client.execute(COUNT)
        assert charges(served[0]) == before, begin
    client.execute("BEGIN; SET discreet.epsilon = '100'; SET discreet.fresh = on; COMMIT")
    client.execute(COUNT)
    assert charges(served[0]) == before + 1


def test_an_answer_that_is_there_is_free_unless_it_is_to_be_fresh(
    client: psycopg.Connection[Any], served: tuple[Town, str]
) -> None:
    notices = list[str]()
    client.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    first = client.execute(PRICED).fetchall()
    before = charges(served[0])
    client.execute("SET discreet.epsilon = '7'")
    assert client.execute(COUNT.lower()).fetchall() == first
    assert charges(served[0]) == before
    assert any("Nothing was charged: answered at" in notice for notice in notices)
    client.execute("SET discreet.fresh = on")
    client.execute(COUNT)
    assert charges(served[0]) == before + 1
    with pytest.raises(psycopg.Error, match="must be on or off"):
        client.execute(f"/* fresh=maybe */ {COUNT}")
    client.rollback()
    assert charges(served[0]) == before + 1


def test_two_prices_of_one_statement_are_refused(client: psycopg.Connection[Any], served: tuple[Town, str]) -> None:
    before = charges(served[0])
    for text in (f"/* epsilon=1 */ {COUNT} /* epsilon=100 */", f"/* epsilon=1, epsilon=100 */ {COUNT}"):
        with pytest.raises(psycopg.Error, match="must be the same as epsilon=1"):
            client.execute(text)
        client.rollback()
    assert charges(served[0]) == before


def test_rows_of_a_cursor_are_paid_and_kept(client: psycopg.Connection[Any], served: tuple[Town, str]) -> None:
    client.execute(f"DECLARE held CURSOR WITH HOLD FOR {PRICED}")
    before = charges(served[0])
    for text in (f"DECLARE held CURSOR FOR {PRICED}", f"SELECT 1; DECLARE other CURSOR FOR {PRICED}"):
        client.commit()
        with pytest.raises(psycopg.Error, match=r"already|one by one"):
            client.execute(text)
        client.rollback()
    assert charges(served[0]) == before
    assert len(client.execute("FETCH ALL FROM held").fetchall()) == 3


@pytest.mark.parametrize("binary", [False, True])
def test_means_of_dates_and_columns_named_like_errors(client: psycopg.Connection[Any], *, binary: bool) -> None:
    with client.cursor(binary=binary) as cursor:
        cursor.execute("/* epsilon=100 */ SELECT MIN(day) AS a, AVG(day) AS b, MEDIAN(day) AS c FROM trips")
        (one,) = cursor.fetchall()
        assert [type(value).__name__ for value in one[::2]] == ["date", "datetime", "date"]
        cursor.execute("/* epsilon=100 */ SELECT COUNT(*) AS n, SUM(pay) AS n_error FROM people")
        assert [column.name for column in cursor.description or ()] == ["n", "n_error", "n_error_error"]
