"""Questions from a grammar that knows the town's tables, and requests that are no requests.

It reaches for everything that has ever leaked: casts, divisions, functions of files, subqueries, unions, windows,
errors that quote a value.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

COLUMNS = ["person_id", "name", "city", "pay", "secret", "big", "day", "length", "note", "*", "nowhere", "rowid"]
FUNCTIONS = [
    *("CAST({} AS INTEGER)", "CAST({} AS TINYINT)", "CAST({} AS DATE)", "TRY_CAST({} AS DOUBLE)", "1/({}-7)"),
    *("{} % ({}-7)", "{} * 9223372036854775807", "LENGTH({})", "UPPER({})", "SUBSTR({},1,3)", "error({})", "chr({})"),
    *("strptime({},'%Y')", "regexp_extract({},'.*')", "{} || {}", "sqrt({})", "ln({})", "abs({})", "repeat({},1000)"),
    *("CASE WHEN {} THEN 1 ELSE {} END", "COALESCE({},0)", "NULLIF({},1)", "YEAR({})", "CLAMP({},0,10)", "hash({})"),
    *("md5({})", "read_text({})", "getenv('HOME')", "ROUND({},2)", "{}"),
]
AGGREGATES = [
    *("COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "MEDIAN({})", "COUNT(DISTINCT {})", "STDDEV({})"),
    *("ANY_VALUE({})", "FIRST({})", "STRING_AGG({}, ',')", "LIST({})", "ARG_MAX({},{})", "MODE({})", "HISTOGRAM({})"),
    *("APPROX_QUANTILE({},0.5)", "SUM({}) OVER ()", "{}", "QUANTILE({}, 0.9)"),
]
SOURCES = [
    *("people p JOIN trips t ON p.person_id = t.person_id", "people, trips", "notes", "(SELECT {} FROM people)"),
    *("read_csv('data/notes.csv')", "'people.parquet'", "duckdb_tables()", "information_schema.tables"),
    *(
        "people TABLESAMPLE 10%",
        "(SELECT person_id, COUNT(*) AS c FROM trips GROUP BY person_id)",
        "generate_series(9)",
    ),
    *("sqlite_master", "pragma_storage_info('people')", "people UNION ALL SELECT * FROM people"),
]
TAILS = [
    *("", "WHERE {} = {}", "WHERE {} IN (SELECT {} FROM people)", "GROUP BY {}", "GROUP BY {} HAVING {} > 3"),
    *("ORDER BY {}", "LIMIT 3", "WHERE {} LIKE '%a%'", "GROUP BY ROLLUP({}, city)", "QUALIFY {} > 1"),
    *("; DROP TABLE people", "WHERE EXISTS (SELECT 1)", "UNION SELECT {} FROM people", "FOR UPDATE", "-- {}"),
]
LITERALS = ["1", "0", "NULL", "'x'", "''", "1e308", "-1", "DATE '2025-01-01'", "TRUE", "'\\'", "99999999999999999999"]
# What is allowed, pointed at the texts and numbers that hold canaries.
TAME_ITEMS = [
    *("COUNT(*)", "AVG(pay)", "SUM(pay)", "MEDIAN(pay)", "COUNT(DISTINCT secret)", "COUNT(name)", "STDDEV(pay)"),
    *("SUM(CLAMP(big, 0, 100))", "SUM(LENGTH(secret))", "COUNT(DISTINCT name)", "AVG(CLAMP(LENGTH(name), 0, 40))"),
    *("SUM(CASE WHEN secret > 'canary' THEN 1 ELSE 0 END)", "COUNT(*) FILTER (WHERE name LIKE '%7%')", "MIN(pay)"),
    *("SUM(CLAMP(CAST(SUBSTR(secret, 19, 3) AS INTEGER), 0, 500))", "MAX(pay)", "AVG(ABS(pay - 7))"),
]
TAME_TAILS = [
    *("", "WHERE secret LIKE '%secret 7%'", "WHERE UPPER(name) > 'D'", "WHERE SUBSTR(secret, 1, 3) = 'can'"),
    *("WHERE CAST(SUBSTR(name, 19, 3) AS INTEGER) = 7", "WHERE big > 48213980", "WHERE pay / (pay - 7) > 1"),
    *("WHERE name || secret <> ''", "WHERE secret IN ('a', 'b') OR name IS NOT NULL", "WHERE person_id <> 7"),
]
TAME_KEYS = ["", "", "city", "name", "FLOOR(pay / 100)", "SUBSTR(name, 1, 6)", "UPPER(city)"]


def fill(template: str, draw: random.Random, depth: int) -> str:
    """A template with columns, literals or calls in its holes."""
    while "{}" in template:
        hole = draw.random()
        if hole < 0.6 or depth <= 0:
            part = draw.choice(COLUMNS)
        elif hole < 0.75:
            part = draw.choice(LITERALS)
        else:
            part = fill(draw.choice(FUNCTIONS), draw, depth - 1)
        template = template.replace("{}", part.replace("{}", "x"), 1)
    return template


def tame(draw: random.Random) -> str:
    """A question that is allowed, more often than not."""
    key, items = draw.choice(TAME_KEYS), draw.sample(TAME_ITEMS, draw.choice([1, 1, 2]))
    by = f" GROUP BY {key}" if key else ""
    shown = f"{key}, " if key else ""
    return f"SELECT {shown}{', '.join(items)} FROM people {draw.choice(TAME_TAILS)}{by}"


def question(draw: random.Random) -> str:
    """A question, or something that looks like one."""
    if draw.random() < 0.4:
        return tame(draw)
    items = [fill(draw.choice(AGGREGATES), draw, 2) for _ in range(draw.choice([1, 1, 2, 3]))]
    if draw.random() < 0.4:
        items.insert(0, draw.choice(["city", "name", "secret", "person_id"]))
    source = draw.choice(["people", "people", "trips", fill(draw.choice(SOURCES), draw, 1)])
    tail = fill(draw.choice(TAILS), draw, 1)
    if items[0] in COLUMNS and draw.random() < 0.7:
        tail = f"GROUP BY {items[0]}"
    text = f"SELECT {', '.join(items)} FROM {source} {tail}"
    if draw.random() < 0.05:
        cut = draw.randrange(len(text))
        text = text[:cut] + draw.choice(["'", '"', ")", "\x00", "é", "--", "/*"]) + text[cut:]
    return text


METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "FOO"]
GOOD = b'{"sql":"SELECT COUNT(*) AS n FROM people","epsilon":"x"}'


def malformed(
    draw: random.Random, paths: Sequence[str], tokens: Sequence[str]
) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, address, body and headers of a request of which at least the price is wrong."""
    names = ["town", "%00", "..%2f..", "a" * 5000, "town%0d%0aX: y"]
    path = draw.choice(paths).replace("{dataset}", draw.choice(names))
    path = path.replace("{number}", draw.choice(["1", "-1", "9" * 40, "x", "1e3"]))
    body = bytearray(GOOD)
    for _ in range(draw.randrange(6)):
        body[draw.randrange(len(body))] = draw.randrange(256)
    headers = {
        "authorization": f"Bearer {draw.choice([*tokens, 'x', ''])}",
        "content-type": draw.choice(["application/json", "text/plain", "application/json; charset=utf-16", ""]),
        "accept": draw.choice(["*/*", "text/html", "\x7f"]),
    }
    return draw.choice(METHODS), path, bytes(body), headers
