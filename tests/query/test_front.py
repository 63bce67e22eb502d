"""Two interfaces, one plan: what is asked in SQL and what is asked with verbs become equal plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.query.front import verbs as dp
from discreet.query.front.frame import Asked, Frame
from discreet.query.front.sql.parse import question
from discreet.query.plan.nodes import Question

TABLES = {
    "visits": ("patient_id", "clinic", "cost", "year", "day", "note", "paid", "at"),
    "patients": ("id", "age", "city"),
    "regions": ("city", "region"),
}
UNITS = {"visits": "patient_id", "patients": "id", "regions": None}


@dataclass(frozen=True, slots=True)
class Kept(Asked):
    """A query that only keeps its plan."""

    plan: Question

    def again(self, plan: Question) -> Kept:
        return replace(self, plan=plan)


def frame(name: str) -> Frame[Kept]:
    return Frame.of(name, TABLES, Kept, unit=UNITS[name])


visits, patients, regions = frame("visits"), frame("patients"), frame("regions")
col = dp.col
N = dp.count()

PAIRS: list[tuple[str, Callable[[], Kept]]] = [
    ("SELECT COUNT(*) FROM visits", lambda: visits.agg(dp.count())),
    ("SELECT COUNT(*) AS n FROM visits", lambda: visits.agg(n=dp.count())),
    ("SELECT COUNT(*) AS n FROM visits", lambda: visits.agg(n="COUNT(*)")),
    ("SELECT COUNT(cost), COUNT(DISTINCT patient_id) FROM visits",
     lambda: visits.agg(dp.count("cost"), dp.count_distinct("patient_id"))),
    ("SELECT SUM(cost), AVG(cost), VARIANCE(cost), STDDEV(cost) FROM visits",
     lambda: visits.agg(dp.sum("cost"), dp.mean("cost"), dp.variance("cost"), dp.stddev("cost"))),
    ("SELECT COVAR_SAMP(cost, year), CORR(cost, year) FROM visits",
     lambda: visits.agg(dp.covariance("cost", "year"), dp.correlation("cost", "year"))),
    ("SELECT MEDIAN(cost), QUANTILE(cost, 0.9), MIN(cost), MAX(cost) FROM visits",
     lambda: visits.agg(dp.median("cost"), dp.quantile("cost", "0.9"), dp.min("cost"), dp.max("cost"))),
    ("SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY cost) FROM visits",
     lambda: visits.agg(dp.quantile("cost", 0.1))),
    ("SELECT SUM(cost) FILTER (WHERE paid) AS s FROM visits", lambda: visits.agg(s=dp.sum("cost", where="paid"))),
    ("SELECT COUNT(*) FILTER (WHERE cost > 10) FROM visits", lambda: visits.agg(dp.count(where=col("cost") > 10))),
    ("SELECT SUM(cost) / COUNT(*) AS m FROM visits", lambda: visits.agg(m=dp.sum("cost") / dp.count())),
    ("SELECT SUM(cost) / COUNT(*) AS m, COUNT(*) AS n FROM visits",
     lambda: visits.agg(m=dp.sum("cost") / N, n=N)),
    ("SELECT ROUND(AVG(cost), 1) FROM visits", lambda: visits.agg(dp.mean("cost").round(1))),
    ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", lambda: visits.group_by("clinic").agg(n=N)),
    ("SELECT clinic FROM visits GROUP BY clinic", lambda: visits.group_by("clinic").agg()),
    ("SELECT DISTINCT clinic, year FROM visits", lambda: visits.group_by("clinic", "year").agg()),
    ("SELECT EXTRACT(month FROM day) AS m, COUNT(*) FROM visits GROUP BY m",
     lambda: visits.group_by(m=col("day").part("month")).agg(N)),
    ("SELECT DATE_TRUNC('week', day) AS w, COUNT(*) FROM visits GROUP BY 1",
     lambda: visits.group_by(w="DATE_TRUNC('week', day)").agg(N)),
    ("SELECT WIDTH_BUCKET(cost, 0, 100, 10) AS b, COUNT(*) FROM visits GROUP BY b",
     lambda: visits.group_by(b=col("cost").bucket(0, 100, 10)).agg(N)),
    ("SELECT CASE WHEN cost > 10 THEN 'high' ELSE 'low' END AS k, COUNT(*) FROM visits GROUP BY k",
     lambda: visits.group_by(k=dp.case(("cost > 10", "high"), otherwise="low")).agg(N)),
    ("SELECT FLOOR(cost / 10) AS f, COUNT(*) FROM visits GROUP BY f",
     lambda: visits.group_by((col("cost") / 10).floor().alias("f")).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE year = 2025", lambda: visits.filter("year = 2025").agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE year = 2025 AND cost > 1.5",
     lambda: visits.filter(col("year") == 2025, col("cost") > 1.5).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE year = 2025 AND cost > 1.5 AND paid",
     lambda: visits.filter("year = 2025 AND cost > 1.5").filter("paid").agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE year = 2025 AND cost > 1.5 AND paid",
     lambda: visits.filter((col("year") == 2025) & (col("cost") > Decimal("1.5")) & col("paid")).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE year = 2025 OR NOT paid OR cost <> 0.1",
     lambda: visits.filter((col("year") == 2025) | ~col("paid") | (col("cost") != Fraction(1, 10))).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE cost BETWEEN 1 AND 2 AND year NOT BETWEEN 1 AND 2",
     lambda: visits.filter(col("cost").between(1, 2) & ~col("year").between(1, 2)).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE clinic IN ('a', 'b') AND year NOT IN (1, 2)",
     lambda: visits.filter(col("clinic").is_in(["a", "b"]), ~col("year").is_in([1, 2])).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE 'a%' AND note ILIKE '_b' AND note NOT LIKE 'c'",
     lambda: visits.filter(col("note").like("a%"), col("note").ilike("_b"), ~col("note").like("c")).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE note IS NULL OR note IS NOT NULL",
     lambda: visits.filter(col("note").is_null() | col("note").not_null()).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-01-31' AND at < TIMESTAMP '2024-01-31 10:00:00'",
     lambda: visits.filter(col("day") >= date(2024, 1, 31), col("at") < datetime(2024, 1, 31, 10)).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE day + INTERVAL 7 DAY > day AND DATE_DIFF('month', day, at) = 1",
     lambda: visits.filter(col("day").add_days(7) > col("day"), col("day").until(col("at"), "month") == 1).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE LOWER(TRIM(note)) = 'x' AND LENGTH(UPPER(note)) > 2",
     lambda: visits.filter(col("note").trim().lower() == "x", col("note").upper().length() > 2).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE STARTS_WITH(note, 'a') AND ENDS_WITH(note, 'b') AND CONTAINS(note, 'c')",
     lambda: visits.filter(col("note").starts_with("a"), col("note").ends_with("b"), col("note").contains("c")).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE SUBSTRING(note, 2, 3) = note || clinic",
     lambda: visits.filter(col("note").substring(2, 3) == col("note").concat(col("clinic"))).agg(N)),
    ("SELECT COUNT(*) FROM visits WHERE CAST(note AS BIGINT) > -1 AND CAST(year AS TEXT) = '1'",
     lambda: visits.filter(col("note").cast("integer") > -1, col("year").cast("text") == "1").agg(N)),
    ("SELECT SUM(CLAMP(cost * 2 - 1, 0, 100)) AS s FROM visits",
     lambda: visits.agg(s=dp.sum((col("cost") * 2 - 1).clamp(0, 100)))),
    ("SELECT SUM(-cost + 1 / year), SUM(ABS(cost) % 3 // 2), SUM(COALESCE(NULLIF(cost, 0), 5)) FROM visits",
     lambda: visits.agg(dp.sum(-col("cost") + 1 / col("year")), dp.sum(abs(col("cost")) % 3 // 2),
                        dp.sum(col("cost").null_if(0).or_else(5)))),
    ("SELECT SUM(POWER(cost, 2)), SUM(CEIL(cost)), SUM(3 - cost), SUM(2 * cost), SUM(1 + cost) FROM visits",
     lambda: visits.agg(dp.sum(col("cost") ** 2), dp.sum(col("cost").ceil()), dp.sum(3 - col("cost")),
                        dp.sum(2 * col("cost")), dp.sum(1 + col("cost")))),
    ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic HAVING COUNT(*) > 10",
     lambda: visits.group_by("clinic").agg(n=N).having("n > 10")),
    ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic HAVING n > 10 AND clinic <> 'x'",
     lambda: visits.group_by("clinic").agg(n=N).having(col("n") > 10).having("clinic <> 'x'")),
    ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY n DESC, clinic LIMIT 3",
     lambda: visits.group_by("clinic").agg(n=N).order_by("n DESC", "clinic").limit(3)),
    ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC LIMIT 3",
     lambda: visits.group_by("clinic").agg(n=N).order_by("n", descending=True).limit(10).limit(3)),
    ("SELECT clinic, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY clinic ORDER BY m",
     lambda: visits.group_by("clinic").agg(m=dp.sum("cost") / N).order_by("m")),
    ("SELECT clinic, year, GROUPING(clinic, year) AS g, COUNT(*) AS n FROM visits GROUP BY CUBE(clinic, year) "
     "HAVING GROUPING(year) = 0 ORDER BY GROUPING(clinic) DESC",
     lambda: visits.cube("clinic", "year").agg(g=dp.grouping("clinic", "year"), n=N).having("GROUPING(year) = 0")
     .order_by("GROUPING(clinic) DESC")),
    ("SELECT clinic, COUNT(*), GROUPING(clinic) AS g FROM visits GROUP BY ROLLUP(clinic) HAVING GROUPING(clinic) = 1",
     lambda: visits.rollup("clinic").agg(N, g="GROUPING(clinic)").having(dp.grouping("clinic") == 1)),
    ("SELECT clinic, year, COUNT(*) FROM visits GROUP BY ROLLUP(clinic, year)",
     lambda: visits.rollup("clinic", "year").agg(N)),
    ("SELECT clinic, year, paid, COUNT(*) FROM visits GROUP BY CUBE(clinic, year, paid)",
     lambda: visits.cube("clinic", "year", "paid").agg(N)),
    ("SELECT SUM(half) FROM (SELECT clinic, cost / 2 AS half FROM visits WHERE paid) t",
     lambda: visits.filter("paid").select("clinic", half="cost / 2").agg(dp.sum("half"))),
    ("SELECT SUM(half) FROM (SELECT *, cost / 2 AS half FROM visits) t",
     lambda: visits.with_column("half", col("cost") / 2).agg(dp.sum("half"))),
    ("SELECT SUM(price) FROM (SELECT id, age AS price, city FROM patients) t",
     lambda: patients.rename({"age": "price"}).agg(dp.sum("price"))),
    ("SELECT COUNT(*) FROM (SELECT id, city FROM patients) t", lambda: patients.drop("age").agg(N)),
    ("SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t",
     lambda: visits.per_unit("patient_id").agg(total=dp.sum("cost")).agg(dp.mean("total"))),
    ("SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) < 9) t"
     " GROUP BY n",
     lambda: visits.per_unit("patient_id").agg(n=N).filter("n < 9").group_by("n").agg(N)),
    ("SELECT COUNT(*) FROM (SELECT patient_id, clinic, MAX(cost) / 2 AS h FROM visits GROUP BY patient_id, clinic) t",
     lambda: visits.per_unit("patient_id", "clinic").agg(h=dp.max("cost") / 2).agg(N)),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, clinic FROM visits) t",
     lambda: visits.per_unit("patient_id", "clinic").agg().agg(N)),
    ("SELECT city, COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.id GROUP BY p.city",
     lambda: visits.join(patients, on=[("patient_id", "id")]).group_by("city").agg(N)),
    ("SELECT region, COUNT(*) FROM patients LEFT JOIN regions USING (city) GROUP BY region",
     lambda: patients.join(regions, on="city", how="left").group_by("region").agg(N)),
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.year = b.year "
     "WHERE a.cost < b.cost",
     lambda: visits.join(visits, on=["patient_id", "year"]).filter("cost < cost_2").agg(N)),
    ("SELECT COUNT(*) FROM (SELECT cost FROM visits UNION ALL SELECT age AS cost FROM patients) t",
     lambda: visits.select("cost").union_all(patients.select(cost="age")).agg(N)),
    ("WITH v AS (SELECT * FROM visits WHERE paid), w AS (SELECT clinic, cost FROM v) "
     "SELECT clinic, SUM(cost) AS s FROM w GROUP BY clinic ORDER BY s DESC",
     lambda: visits.filter("paid").select("clinic", "cost").group_by("clinic").agg(s=dp.sum("cost"))
     .order_by("s desc")),
]  # fmt: skip


def test_there_are_enough_pairs() -> None:
    assert len(PAIRS) >= 40


@pytest.mark.parametrize(("text", "verbs"), PAIRS, ids=[text for text, _ in PAIRS])
def test_both_interfaces_give_one_plan(text: str, verbs: Callable[[], Kept]) -> None:
    assert verbs().plan == question(text, TABLES)


def test_different_questions_are_different_plans() -> None:
    texts = list(dict.fromkeys(text for text, _ in PAIRS))
    assert len({question(text, TABLES) for text in texts}) == len(texts)


def test_grouping_by_the_unit_gives_a_frame() -> None:
    found: object = visits.group_by("patient_id").agg(total=dp.sum("cost"))
    assert isinstance(found, Frame)
    assert found == visits.per_unit("patient_id").agg(total=dp.sum("cost"))
    assert found.columns == ("patient_id", "total")


def test_spelling_makes_no_difference() -> None:
    texts = [
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost > 1 AND paid GROUP BY clinic",
        "select CLINIC, count( * ) n -- a comment\nfrom Visits where (Cost > 1.0) and PAID group by 1;",
        'SELECT v."clinic" AS clinic, COUNT(1) AS n FROM visits AS v WHERE v.cost > 1e0 AND (v.paid) GROUP BY v.clinic',
        "WITH x AS (SELECT * FROM visits WHERE cost > 1) SELECT clinic, COUNT(*) AS n FROM x WHERE paid GROUP BY 1",
        "SELECT c.clinic, COUNT(*) AS n FROM (SELECT * FROM visits) AS c WHERE cost > 1 AND paid GROUP BY clinic",
    ]
    assert len({question(text, TABLES) for text in texts}) == 1


def test_nobody_pays_for_an_order_that_is_forgotten() -> None:
    start = Kept(question("SELECT clinic FROM visits GROUP BY clinic HAVING SUM(cost) > 1 ORDER BY COUNT(*)", TABLES))
    wanted = "SELECT clinic FROM visits GROUP BY clinic HAVING SUM(cost) > 1 ORDER BY clinic"
    assert start.order_by("clinic").plan == question(wanted, TABLES)
    assert start.order_by("count").plan == start.plan
