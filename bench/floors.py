"""The floor under each question: the fastest sound bounded aggregate that we know in plain DuckDB SQL, without noise.

The caps are those of the benchmark: 10 rows per user (Q1); 10 groups per user and one row's worth per group (Q2 to Q5).
A user's rows are weighted by integers of at most ``ONE``, rounded down, so that his part of the answer has L2 length of
at most √10 (Q1: L1 length of at most 10). Of the many ways to write this, these were the fastest: pairs of user and
group are made once and kept, weights are joined back by an inner join; windows, lists and unnesting are all slower.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from bench.trips import REGIONS

ONE = 1 << 20
GROUPS = 10
ROWS = 10
MOST_KEYS = 256
"""Of unknown keys, so many of one user's are looked at; the rest is dropped by a salted hash."""
BINS = 4096
CENTS = 128
"""Steps of one unit of money."""

_REGION = f"TRY_CAST(region AS ENUM ({', '.join(map(repr, REGIONS))}))"
_AMOUNT = f"CAST(CASE WHEN amount > 100 THEN {100 * CENTS} WHEN amount > 0 THEN amount * {CENTS} ELSE 0 END AS BIGINT)"
_PLACE = f"CASE WHEN amount >= 100 THEN {BINS - 1} WHEN amount > 0 THEN floor(amount * {BINS / 100}) ELSE 0 END"
_BIN = f"CAST({_PLACE} AS UBIGINT)"
_HIGH = (1 << 64) - BINS


def l2_weight(groups: str) -> str:
    """ONE * sqrt(10 / groups), rounded down: the number under the root is below 2**40, so the double is exact."""
    root = f"CAST(floor(sqrt(CAST({ONE * ONE * GROUPS} // {groups} AS DOUBLE))) AS BIGINT)"
    return f"CASE WHEN {groups} <= {GROUPS} THEN {ONE} ELSE {root} END"


def l1_weight(count: str, cap: int) -> str:
    return f"CASE WHEN {count} <= {cap} THEN {ONE} ELSE {ONE * cap} // {count} END"


def _by_region(weight: str) -> str:
    return f"""
    WITH pairs AS MATERIALIZED (
        SELECT user_id, {_REGION} AS key, count(*) AS n, sum({_AMOUNT}) AS total FROM {{source}} GROUP BY ALL
    ),
    weights AS (SELECT user_id, {weight} AS w FROM pairs GROUP BY user_id),
    weighted AS (SELECT key, n, total, w // n AS w FROM pairs JOIN weights USING (user_id))
    SELECT key, sum(w * n) AS n, sum(w * total) AS total FROM weighted GROUP BY key ORDER BY key
    """


FLOORS = {
    "Q1": f"SELECT sum(n * ({l1_weight('n', ROWS)})) AS n FROM (SELECT count(*) AS n FROM {{source}} GROUP BY user_id)",
    "Q2": _by_region(l2_weight("count(*)")),
    "Q3": f"""
    WITH pairs AS MATERIALIZED (SELECT user_id, product AS key FROM {{source}} GROUP BY ALL),
    users AS MATERIALIZED (SELECT user_id, count(*) AS g FROM pairs GROUP BY user_id),
    ranked AS (
        SELECT key, row_number() OVER (PARTITION BY user_id ORDER BY hash(user_id, key, 'salt'), key) AS rank
        FROM pairs JOIN (SELECT user_id FROM users WHERE g > {MOST_KEYS}) USING (user_id)
    ),
    weighted AS (
        SELECT key, {l2_weight("g")} AS w
        FROM pairs JOIN (SELECT user_id, g FROM users WHERE g <= {MOST_KEYS}) USING (user_id)
        UNION ALL
        SELECT key, {l2_weight(str(MOST_KEYS))} FROM ranked WHERE rank <= {MOST_KEYS}
    )
    SELECT key, sum(w) AS n FROM weighted GROUP BY key ORDER BY key
    """,
    "Q4": f"""
    WITH pairs AS MATERIALIZED (SELECT user_id, day AS key FROM {{source}} GROUP BY ALL),
    weights AS (SELECT user_id, {l2_weight("count(*)")} AS w FROM pairs GROUP BY user_id)
    SELECT key, sum(w) AS n FROM pairs JOIN weights USING (user_id) GROUP BY key ORDER BY key
    """,
    # one row of each pair is drawn: the one whose bin has the smallest salted hash
    "Q5": f"""
    WITH pairs AS MATERIALIZED (
        SELECT user_id, {_REGION} AS key, min((hash({_BIN} + 271828182845) & {_HIGH}) | {_BIN}) AS chosen
        FROM {{source}} GROUP BY ALL
    ),
    weights AS (SELECT user_id, {l2_weight("count(*)")} AS w FROM pairs GROUP BY user_id)
    SELECT key, CAST(chosen & {BINS - 1} AS SMALLINT) AS bin, sum(w) AS n
    FROM pairs JOIN weights USING (user_id) GROUP BY key, bin
    """,
}

RAW = {
    "Q1": "SELECT count(*) FROM {source}",
    "Q2": f"SELECT region, count(*) AS n, sum({_AMOUNT}) AS total FROM {{source}} GROUP BY region ORDER BY region",
    "Q3": "SELECT product, count(*) AS n FROM {source} GROUP BY product",
    "Q4": "SELECT day, count(DISTINCT user_id) AS n FROM {source} GROUP BY day",
    "Q5": "SELECT region, quantile_disc(amount, [0.25, 0.5, 0.75]) FROM {source} GROUP BY region",
}
"""The same questions without bounds and without privacy."""


def run(text: str, path: Path, *, memory: str | None = None) -> Any:
    """The answer as an Arrow table, on a connection of its own."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    if memory is not None:
        connection.execute(f"SET memory_limit = '{memory}'")
    return connection.sql(text.format(source=f"read_parquet('{path}')")).to_arrow_table()


def truths(path: Path) -> dict[str, dict[str, tuple[Fraction, Fraction]]]:
    """Count and sum of each region, before noise: not bounded; scaled as we do; drawn at random, in expectation.

    A random choice of 10 groups, and in each of one row, has the expectation of scaling in the L1 form.
    """
    texts = {"raw": RAW["Q2"], "scaled": FLOORS["Q2"], "drawn": _by_region(l1_weight("count(*)", GROUPS))}
    found = {}
    for name, text in texts.items():
        one = 1 if name == "raw" else ONE
        rows = zip(*(column.to_pylist() for column in run(text, path).columns), strict=True)
        found[name] = {key: (Fraction(int(n), one), Fraction(int(total), one * CENTS)) for key, n, total in rows}
    return found
