"""Outcomes over outcomes as text: names in quotes, stages within stages."""

import pytest

from discreet.query.front.sql.parse import question_over_released
from discreet.query.front.unparse import as_sql

TABLES = {"t": ["id", "c", "e"]}
G = '(SELECT c AS "order", COUNT(*) AS "n n", SUM(e) AS s FROM t GROUP BY c) AS g'


@pytest.mark.parametrize(
    "text",
    [
        f'SELECT MAX("n n") AS "the most" FROM {G} WHERE "order" IS NOT NULL',
        f'SELECT COUNT(DISTINCT "order") AS d, QUANTILE("n n", 0.25) AS q FROM {G} HAVING COUNT(*) > 2',
        f'SELECT "n n" > 3 AS k, SUM(s) FILTER (WHERE s > 1) AS x FROM {G} GROUP BY 1 ORDER BY x DESC LIMIT 2 OFFSET 1',
        f'SELECT x."order", y.s / x.s AS r FROM {G.replace("AS g", "AS x")} LEFT JOIN {G.replace("AS g", "AS y")} '
        'ON x."order" = y."order" AND x.s = y.s',
        "(SELECT COUNT(*) AS n FROM t ORDER BY n LIMIT 1) UNION ALL SELECT SUM(e) AS s FROM t",
        f"SELECT SUM(s) OVER (ORDER BY k) AS r FROM (SELECT s > 3 AS k, SUM(s) AS s FROM {G} GROUP BY s > 3) AS h",
    ],
)
def test_a_text_is_read_back_as_the_same_plan(text: str) -> None:
    plan = question_over_released(text, TABLES)
    assert question_over_released(as_sql(plan, TABLES), TABLES) == plan
