"""Conditions: DuckDB is the judge, on every combination of the domain."""

from functools import reduce

import duckdb
import numpy as np
import pytest

from discreet.errors import BadParameter, BadQuestion, Unsupported
from discreet.query.plan.evaluate import like
from discreet.synthetic.columns import bins
from discreet.synthetic.domain import Domain
from discreet.synthetic.predicate import Predicate, predicate, question

DOMAIN = Domain({"age": range(5), "sex": ["f", "m"], "ok": [False, True]})
BINNED = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "cost": bins([0, 10, 20])})
EVERYONE = np.array(list(np.ndindex(*DOMAIN.sizes)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [
        "age < 3",
        "3 >= age",
        "age = 2 OR sex = 'f'",
        "NOT (age = 2 AND sex = 'f')",
        "age IN (1, 2, NULL)",
        "age NOT IN (1, NULL)",
        "age BETWEEN 1 AND 3 AND ok",
        "age NOT BETWEEN 1 AND 3",
        "sex IS NULL OR NOT ok",
        "sex IS NOT NULL AND age <> 4",
        "age IS NULL AND sex = 'm'",
        "(age < 2) IS TRUE",
        "(age < 2) IS NOT TRUE",
        "age = NULL",
        "TRUE",
        "age > -1 AND age < 2.5",
        "SEX = 'm'",
        "age = 1 OR age = 3",
        "age % 2 = 1",
        "(2 * age - 3) % 4 < 0",
        "6 <= abs(age - 2) * 3 AND sex LIKE '_'",
        "-age IN (-1, -2)",
        "(age + 1) BETWEEN 2 AND 3",
        "sex LIKE 'f%' OR sex LIKE '%M%'",
        "sex ILIKE 'F'",
        "sex NOT LIKE 'f'",
    ],
)
def test_as_duckdb_says(where: str) -> None:
    asked = predicate(DOMAIN, where)
    table = DOMAIN.decode(EVERYONE)
    connection = duckdb.connect()
    connection.register("t", table)
    rows = connection.execute(f"SELECT coalesce(({where}), FALSE) FROM t").fetchall()
    full = np.broadcast_to(
        asked.table.reshape([DOMAIN.sizes[c] if c in asked.clique else 1 for c in range(3)]), DOMAIN.sizes
    )
    assert full.ravel().tolist() == [bool(r[0]) for r in rows]
    if asked.factors is not None and asked.clique:
        assert (reduce(np.logical_and.outer, asked.factors) == asked.table).all()


def test_conjunctions_are_known_as_such() -> None:
    assert predicate(DOMAIN, "age < 3 AND sex = 'f'").factors is not None
    assert predicate(DOMAIN, "age < 3 OR sex = 'f'").factors is None
    assert predicate(DOMAIN, "age = 1 OR age = 2").factors is not None


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("", BadQuestion),
        ("age <", BadQuestion),
        ("height > 1", BadParameter),
        ("age = sex", Unsupported),
        ("age + ok = 2", Unsupported),
        ("age + 1 = sex", Unsupported),
        ("sex + 1 = 2", Unsupported),
        ("age % 0 = 1", BadQuestion),
        ("age / 2 = 1", Unsupported),
        ("age LIKE '1'", Unsupported),
        ("cost + 1 > 5", Unsupported),
        ("age IN (SELECT 1)", Unsupported),
        ("random() < 1", Unsupported),
        ("age = 'old'", BadParameter),
        ("sex < 3", BadParameter),
        ("t.age = 1", Unsupported),
    ],
)
def test_refused(where: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        predicate(BINNED, where)


def test_patterns_are_those_of_duckdb() -> None:
    texts = ["", "a", "ab", "ba", "aab", "abab", "a%b", "a_b", "b" * 9]
    patterns = ["", "%", "%%", "_", "a%", "%a", "%ab", "a%b", "_%_", "%a%b%", "a_b", "%b%b%b%"]
    for text in texts:
        for pattern in patterns:
            (said,) = duckdb.execute("SELECT ? LIKE ?", [text, pattern]).fetchall()[0]
            assert like(text, pattern) is said, (text, pattern)
    assert not like("a" * 2_000, "%a" * 500 + "b")  # at once, not after 2^500 tries


def test_questions_are_counts() -> None:
    asked = question(DOMAIN, "SELECT COUNT(*) FROM people WHERE age < 2")
    assert asked.table.tolist() == [True, True, False, False, False, False]
    assert question(DOMAIN, "SELECT COUNT(*) FROM people").clique == ()
    for text in (
        "SELECT SUM(age) FROM t",
        "SELECT COUNT(age) FROM t",
        "SELECT COUNT(*) FROM t GROUP BY sex",
        "SELECT COUNT(*), COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t LIMIT 1",
        "SELECT COUNT(*) FROM t JOIN u ON TRUE",
    ):
        with pytest.raises(Unsupported):
            question(DOMAIN, text)


@pytest.mark.parametrize(
    "made",
    [
        Predicate((1,), np.zeros(500, dtype=np.int64)),  # as an index: one cell five hundred times
        Predicate((1,), np.array([5, 0, 0])),
        Predicate((1,), np.array([True, False])),
        Predicate((1, 1), np.ones((3, 3), dtype=bool)),
        Predicate((9,), np.ones(3, dtype=bool)),
        Predicate((1,), np.array([True, False, False]), (np.array([1, 1, 1]),)),  # ~1 is true as well
        Predicate((1,), np.array([True, False, False]), (np.ones(3, dtype=bool),) * 2),
    ],
)
def test_a_condition_made_by_hand_counts_a_cell_once(made: Predicate) -> None:
    with pytest.raises(BadQuestion):
        predicate(DOMAIN, made)
    good = predicate(DOMAIN, "sex = 'f' AND age < 2")
    assert predicate(DOMAIN, good) is good
