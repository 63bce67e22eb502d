"""Random statements of every kind that a session answers, over the tables t and s (of people) and p (public)."""

from __future__ import annotations

from random import Random

MEASURES = [
    "COUNT(*)", "COUNT(x)", "SUM(x)", "SUM(k)", "AVG(x)", "AVG(k)", "MEDIAN(k)", "MEDIAN(x)", "VARIANCE(x)",
    "STDDEV(k)", "MIN(k)", "MAX(x)", "COUNT(DISTINCT g)", "COUNT(DISTINCT id)", "COUNT(DISTINCT k)", "SUM(k + 1)",
    "SUM(-x)", "SUM(CASE WHEN b THEN x ELSE 0 END)", "COALESCE(SUM(k), 0)", "SUM(x) / COUNT(*)", "CORR(x, k)",
    "COVAR_SAMP(k, x)", "SUM(x) FILTER (WHERE b)", "AVG(CAST(g AS DOUBLE))", "QUANTILE_CONT(x, 0.9)", "COUNT_IF(b)",
    "SUM(ABS(k))", "AVG(CASE WHEN b THEN 1 ELSE 0 END)", "SUM(k * k)", "SUM(LENGTH(g))", "SUM(k / 0)", "SUM(SQRT(x))",
    "AVG(CLAMP(x, 0, 100))", "VARIANCE(CLAMP(k, -5, 50))", "MEDIAN(CLAMP(k, 0, 90))", "MIN(d)", "AVG(d)", "MEDIAN(at)",
    "REGR_SLOPE(x, k)", "BOOL_OR(b)", "COUNT(DISTINCT (g, h))", "COUNT(DISTINCT g, h)", "SUM(DISTINCT k)",
    "COUNT_IF(g ~ '^a.*')", "COUNT_IF(REGEXP_MATCHES(h, '[a-z]$'))", "VAR_POP(x)", "AVG(EXTRACT(EPOCH FROM at - d))",
    "COUNT_IF(at < NOW())", "COUNT_IF(d > CURRENT_DATE - 400)", "COUNT_IF(g ILIKE 'A%')", "SUM(LEAST(k, x))",
    "SUM(CAST(SPLIT_PART(g, 'e', 1) AS INTEGER))", "AVG(ROUND(x, 1))", "SUM(k % 7)", "SUM(LN(CLAMP(x, 1, 50)))",
    "AVG(DATE_DIFF('day', d, DATE '2025-06-01'))", "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY k)",
]  # fmt: skip
GROUPS = [
    "g", "h", "k", "b", "x", "MONTH(d)", "DATE_TRUNC('month', d)", "d", "UPPER(g)", "k > 5", "ROUND(x)",
    "CASE WHEN k > 3 THEN 'many' ELSE g END", "WIDTH_BUCKET(k, 0, 90, 4)", "DATE_TRUNC('week', d)", "YEAR(at)",
    "g IS NULL", "LEFT(h, 1)", "FLOOR(k / 10)", "COALESCE(g, h)",
]  # fmt: skip
CONDITIONS = [
    "x > 0", "k BETWEEN 1 AND 50", "g = 'a'", "g IN ('a', 'b')", "d >= DATE '2025-03-01'", "b", "x IS NOT NULL",
    "g LIKE 'a%'", "NOT b OR k < 3", "k / 2 > 1", "1 = 0", "x > (SELECT AVG(x) FROM t)", "LENGTH(g) < 2",
    "EXISTS (SELECT 1 FROM s WHERE s.id = t.id AND s.v > 2)", "NOT EXISTS (SELECT 1 FROM s WHERE s.id = t.id)",
    "id IN (SELECT id FROM s WHERE v > 1)", "id NOT IN (SELECT id FROM s WHERE v > 1)",
    "g IN (SELECT g FROM p WHERE pop > 1)", "g IN (SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 2)",
    "k > (SELECT MAX(s.v) FROM s WHERE s.id = t.id)", "x >= (SELECT MEDIAN(x) FROM t WHERE b)",
    "k IN (SELECT v FROM s WHERE s.id = t.id)", "k > (SELECT COUNT(*) FROM s)", "at < CURRENT_DATE",
    "EXISTS (SELECT 1 FROM t AS w WHERE w.id = t.id AND w.d > t.d)", "REGEXP_MATCHES(g, '^[ab]')",
]  # fmt: skip
SOURCES = [
    "(SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY d, k) AS place FROM t) AS t",
    "(SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY k DESC) = 1) AS t",
    "(SELECT DISTINCT ON (id) * FROM t ORDER BY id, x) AS t",
    "(SELECT t.*, LAG(k) OVER (PARTITION BY id ORDER BY d) AS before FROM t) AS t",
    "(SELECT id, g, h, k, b, d, at, SUM(x) OVER (PARTITION BY id ORDER BY k) AS x FROM t) AS t",
    "(SELECT id, g, h, k, b, d, at, AVG(x) OVER (PARTITION BY id, g) AS x FROM t) AS t",
    "(SELECT id, g, h, x, b, d, at, RANK() OVER (PARTITION BY id ORDER BY x) AS k FROM t) AS t",
    "(SELECT id, h, x, b, d, at, k, FIRST_VALUE(g) OVER (PARTITION BY id ORDER BY d) AS g FROM t) AS t",
    "(SELECT id, g, h, k, x, b, d, at FROM t UNION SELECT id, g, h, k, x, b, d, at FROM t WHERE b) AS t",
    "(SELECT id, g, h, k, x, b, d, at FROM t INTERSECT SELECT id, g, h, k, x, b, d, at FROM t WHERE k > 0) AS t",
    "(SELECT id, g, h, k, x, b, d, at FROM t EXCEPT SELECT id, g, h, k, x, b, d, at FROM t WHERE b) AS t",
    "(SELECT id, g, h, k, x, b, d, at FROM t UNION ALL SELECT id, g, h, k, x, b, d, at FROM t) AS t",
    "(SELECT t.id, t.g, t.h, s.v AS k, t.x, t.b, t.d, t.at FROM t JOIN s ON t.id = s.id) AS t",
    "(SELECT t.id, t.g, t.h, s.v AS k, t.x, t.b, t.d, t.at FROM t LEFT JOIN s ON t.id = s.id) AS t",
    "(SELECT t.id, p.g, t.h, p.pop AS k, t.x, t.b, t.d, t.at FROM p LEFT JOIN t ON t.g = p.g) AS t",
    "(SELECT t.id, p.g, p.region AS h, t.k, t.x, t.b, t.d, t.at FROM t JOIN p ON t.g = p.g) AS t",
    "(SELECT t.id, t.g, t.h, l.v AS k, t.x, t.b, t.d, t.at FROM t JOIN LATERAL "
    "(SELECT s.v FROM s WHERE s.id = t.id ORDER BY s.v LIMIT 1) AS l ON TRUE) AS t",
    "(SELECT id, g, h, (SELECT MAX(s.v) FROM s WHERE s.id = t.id) AS k, x, b, d, at FROM t) AS t",
    "(SELECT id, MIN(g) AS g, MAX(h) AS h, SUM(k) AS k, AVG(x) AS x, BOOL_OR(b) AS b, MIN(d) AS d, MAX(at) AS at "
    "FROM t GROUP BY id) AS t",
    "(SELECT id, g, h, COUNT(*) AS k, MAX(x) AS x, BOOL_AND(b) AS b, MAX(d) AS d, MIN(at) AS at "
    "FROM t GROUP BY id, g, h) AS t",
    "(SELECT DISTINCT id, g, h, k, x, b, d, at FROM t) AS t",
    "(SELECT t.* FROM t JOIN (SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 2) AS tops ON t.g = tops.g) AS t",
]  # fmt: skip
WHOLE = [
    "SELECT g, a.n, b.m FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) AS a FULL JOIN "
    "(SELECT g, SUM(k) AS m FROM t WHERE b GROUP BY g) AS b USING (g)",
    "SELECT a.g, a.n - b.n AS more FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) AS a LEFT JOIN "
    "(SELECT g, COUNT(*) AS n FROM t WHERE k > 3 GROUP BY g) AS b ON a.g = b.g",
    "SELECT p.g, COUNT(t.id) AS n FROM p LEFT JOIN t ON t.g = p.g GROUP BY p.g",
    "SELECT p.region, SUM(t.k) AS n, COUNT(DISTINCT t.id) AS u FROM p LEFT JOIN t ON t.g = p.g GROUP BY p.region",
    "SELECT p.g, p.region, AVG(t.x) AS n FROM t RIGHT JOIN p ON t.g = p.g GROUP BY p.g, p.region",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g UNION SELECT h, COUNT(*) FROM t GROUP BY h",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g INTERSECT SELECT g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT g FROM t GROUP BY g EXCEPT SELECT g FROM t WHERE b GROUP BY g",
    "SELECT region, g, COUNT(*) AS n, SUM(k) AS s FROM (SELECT t.*, p.region FROM t JOIN p ON t.g = p.g) AS j "
    "GROUP BY ROLLUP (region, g)",
    "SELECT g, h, COUNT(*) AS n, GROUPING(g) AS z FROM t GROUP BY CUBE (g, h)",
    "SELECT g, n, SUM(n) OVER (ORDER BY n) AS r, n / SUM(n) OVER () AS q "
    "FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) AS c",
    "SELECT COUNT(*) AS n, AVG(n) AS a FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > 2) AS c",
    "SELECT DISTINCT g FROM t", "SELECT k FROM t GROUP BY k", "SELECT g FROM t GROUP BY g HAVING SUM(x) > 10",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > (SELECT COUNT(*) / 3 FROM t)",
    "WITH m AS (SELECT AVG(x) AS a FROM t) SELECT COUNT(*) AS n FROM t, m WHERE x > m.a",
    "SELECT d, COUNT(*) AS n FROM t WHERE g IN (SELECT g FROM t GROUP BY g ORDER BY SUM(k) DESC LIMIT 1) GROUP BY d",
    "SELECT v, COUNT(*) AS n, COUNT(DISTINCT id) AS u FROM s GROUP BY v",
    "SELECT COUNT(*) AS n FROM (SELECT id, k - LAG(k) OVER (PARTITION BY id ORDER BY d) AS gap FROM t) AS w "
    "WHERE gap BETWEEN 0 AND 5",
    "SELECT COUNT(*) AS n FROM (SELECT id FROM t EXCEPT SELECT id FROM s) AS w",
    "SELECT COUNT(*) AS n FROM (SELECT id FROM t INTERSECT SELECT id FROM s) AS w",
    "SELECT COUNT(DISTINCT id) AS n FROM (SELECT id FROM t UNION SELECT id FROM s) AS w",
]  # fmt: skip


def draw_statement(random: Random) -> str:
    """A statement that may be refused, but is SQL."""
    if random.random() < 0.25:
        return random.choice(WHOLE)
    if random.random() < 0.1:
        inner = random.choice(["COUNT(*)", "SUM(x)", "MAX(k)", "AVG(x)"])
        outer = random.choice(["AVG(n)", "SUM(n)", "MEDIAN(n)", "COUNT(*)"])
        return f"SELECT {outer} AS m0 FROM (SELECT id, {inner} AS n FROM t GROUP BY id) AS per_person"
    measures = [f"{random.choice(MEASURES)} AS m{i}" for i in range(random.choice([1, 1, 2, 3]))]
    where = f" WHERE {random.choice(CONDITIONS)}" if random.random() < 0.5 else ""
    source = random.choice(SOURCES) if random.random() < 0.5 else "t"
    groups = random.sample(GROUPS, random.choice([0, 0, 1, 1, 2]))
    if not groups:
        return f"SELECT {', '.join(measures)} FROM {source}{where}"
    names = [f"{group} AS c{i}" for i, group in enumerate(groups)]
    by = ", ".join(groups)
    by = f"ROLLUP ({by})" if random.random() < 0.15 else by
    end = random.choice(["", "", "", " HAVING COUNT(*) > 3", " ORDER BY m0 DESC LIMIT 2", " ORDER BY 1"])
    return f"SELECT {', '.join(names + measures)} FROM {source}{where} GROUP BY {by}{end}"
