"""Statements: split, parameters filled in, and prices taken from comments of their own alone."""

from __future__ import annotations

import pytest

from discreet.curator.wire.statements import read_prices, statements
from discreet.errors import BadParameter, BadQuestion


def test_texts_are_split_at_semicolons_outside_of_quotes_and_comments() -> None:
    found = statements("SHOW a; SELECT ';' /* ; */; -- ;\n ;EXPLAIN SELECT 1")
    assert [one.text for one in found] == ["SHOW a", "SELECT ';'", "EXPLAIN SELECT 1"]
    assert [one.words[0] for one in found] == ["SHOW", "SELECT", "EXPLAIN"]
    assert found[2].after(1) == "SELECT 1"
    assert statements(" ; -- nothing\n") == []


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("/* epsilon=0.1 */ SELECT 1", {"epsilon": "0.1"}),
        ("SELECT 1 /* EPSILON = '0.1', key = 'day 7' */", {"epsilon": "0.1", "key": "day 7"}),
        ("DECLARE c CURSOR FOR /* rho=0.1,delta=1e-9 */ SELECT 1", {"rho": "0.1", "delta": "1e-9"}),
        ("EXPLAIN /* epsilon=2 */ SELECT 1", {"epsilon": "2"}),
        ("SELECT '/* epsilon=0.1 */'", {}),
        ("/* made by a tool, epsilon is low */ SELECT 1", {}),
    ],
)
def test_prices_stand_in_comments(text: str, prices: dict[str, str]) -> None:
    (one,) = statements(text)
    assert one.prices == prices


@pytest.mark.parametrize("text", ["epsilon=", "epsilon=0.1 and more", "epsilon=0.1, price=3", "epsilon=0.1 delta=1"])
def test_what_begins_like_a_price_must_be_one(text: str) -> None:
    with pytest.raises(BadParameter, match="must name a privacy cost"):
        read_prices(text)


def test_parameters_are_numbered_and_stay_outside_of_quotes() -> None:
    (one,) = statements("SELECT COUNT(*) FROM t WHERE a = $2 AND b = '$1' AND c -$1 > 0 /* $3 */")
    assert one.parameters == 2
    assert one.filled(["-5", "'x'"]) == "SELECT COUNT(*) FROM t WHERE a = 'x' AND b = '$1' AND c - -5 > 0"
    with pytest.raises(BadQuestion, match=r"\$2 has no value"):
        one.filled(["1"])


@pytest.mark.parametrize("text", ["SELECT 'open", "/* open", "x" * 200_000])
def test_texts_that_do_not_end_are_refused(text: str) -> None:
    with pytest.raises(BadQuestion):
        statements(text)
