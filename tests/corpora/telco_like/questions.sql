-- churn rate
SELECT plan, COUNT(*) AS subs, SUM(CASE WHEN churned_on IS NOT NULL THEN 1 ELSE 0 END) AS churned,
  1.0 * SUM(CASE WHEN churned_on IS NOT NULL THEN 1 ELSE 0 END) / COUNT(*) AS churn_rate FROM subscribers GROUP BY plan ORDER BY churn_rate DESC;

-- arpu
SELECT s.region, SUM(s.fee) / COUNT(DISTINCT s.subscriber_id) AS arpu FROM subscribers s GROUP BY s.region;

-- tenure tsql: in tsql
SELECT DATEDIFF(month, signed_up, ISNULL(churned_on, '2026-01-01')) / 12 AS tenure_years, COUNT(*) AS n FROM subscribers GROUP BY DATEDIFF(month, signed_up, ISNULL(churned_on, '2026-01-01')) / 12
==
SELECT DATE_DIFF('month', signed_up, COALESCE(churned_on, DATE '2026-01-01')) // 12, COUNT(*) FROM subscribers GROUP BY 1;

-- peak hours
SELECT HOUR(started_at) AS h, SUM(mb) / 1024 AS gb FROM usage GROUP BY h ORDER BY gb DESC LIMIT 5;

-- dau
SELECT CAST(started_at AS DATE) AS d, COUNT(DISTINCT subscriber_id) AS dau FROM usage WHERE started_at BETWEEN '2025-06-01' AND '2025-06-30 23:59:59' GROUP BY 1 ORDER BY 1;

-- stickiness
WITH dau AS (SELECT CAST(started_at AS DATE) AS d, COUNT(DISTINCT subscriber_id) AS n FROM usage WHERE started_at >= '2025-06-01' AND started_at < '2025-07-01' GROUP BY 1),
mau AS (SELECT COUNT(DISTINCT subscriber_id) AS n FROM usage WHERE started_at >= '2025-06-01' AND started_at < '2025-07-01')
SELECT AVG(dau.n) * 1.0 / MAX(mau.n) AS stickiness FROM dau CROSS JOIN mau;

-- ntile deciles: refused, the rank of a person among others
SELECT decile, SUM(mb) AS mb FROM (SELECT subscriber_id, SUM(mb) AS mb, NTILE(10) OVER (ORDER BY SUM(mb) DESC) AS decile FROM usage GROUP BY subscriber_id) t GROUP BY decile;

-- segments
SELECT CASE WHEN gb < 1 THEN 'light' WHEN gb < 3 THEN 'medium' ELSE 'heavy' END AS seg, COUNT(*) AS n FROM (SELECT subscriber_id, SUM(mb) / 1024.0 AS gb FROM usage WHERE kind = 'data' GROUP BY subscriber_id) u GROUP BY seg;

-- redshift nvl: in redshift
SELECT NVL(category, 'none') AS cat, DATE_PART('month', opened_at) AS mon, COUNT(*) AS n FROM tickets GROUP BY 1, 2 ORDER BY 1, 2
==
SELECT COALESCE(category, 'none'), MONTH(opened_at), COUNT(*) FROM tickets GROUP BY 1, 2;

-- bq timestamp diff: in bigquery
SELECT category, AVG(TIMESTAMP_DIFF(closed_at, opened_at, HOUR)) AS avg_hours FROM `ops.tickets` WHERE closed_at IS NOT NULL GROUP BY category
==
SELECT category, AVG(FLOOR(EPOCH(closed_at - opened_at) / 3600)) FROM tickets WHERE closed_at IS NOT NULL GROUP BY 1;

-- sla
SELECT priority, COUNT(*) FILTER (WHERE closed_at - opened_at <= INTERVAL '24 hours') * 100.0 / COUNT(*) AS within_sla FROM tickets GROUP BY priority;

-- nps
SELECT (SUM(CASE WHEN score >= 9 THEN 1 END) - SUM(CASE WHEN score <= 6 THEN 1 END)) * 100.0 / COUNT(score) AS nps FROM tickets;

-- first ticket
SELECT category, SUM(CASE WHEN rn = 1 THEN 1 ELSE 0 END) AS first_time, SUM(CASE WHEN rn > 1 THEN 1 ELSE 0 END) AS repeated
FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY t.subscriber_id ORDER BY t.opened_at) AS rn FROM tickets t) x GROUP BY category;

-- days between
SELECT AVG(gap) AS days FROM (SELECT DATE_DIFF('day', LAG(opened_at) OVER w, opened_at) AS gap FROM tickets WINDOW w AS (PARTITION BY subscriber_id ORDER BY opened_at)) g WHERE gap IS NOT NULL;

-- intersect
SELECT COUNT(*) AS n FROM (SELECT subscriber_id FROM usage WHERE roaming INTERSECT SELECT subscriber_id FROM tickets WHERE category = 'roaming') b;

-- snowflake group all: in snowflake
SELECT DATE_TRUNC('MONTH', opened_at)::DATE AS mth, COUNT_IF(priority = 'high') AS high, COUNT(*) AS n FROM tickets GROUP BY ALL ORDER BY mth
==
SELECT DATE_TRUNC('month', opened_at)::DATE, COUNT(*) FILTER (WHERE priority = 'high'), COUNT(*) FROM tickets GROUP BY 1;

-- city tech
SELECT c.city, c.tech, SUM(u.mb) AS mb FROM usage u INNER JOIN cells c ON c.cell_id = u.cell_id GROUP BY c.city, c.tech HAVING SUM(u.mb) > 1000;

-- snowflake json: in snowflake
SELECT device:os::STRING AS os, COUNT(DISTINCT subscriber_id) AS subs FROM usage GROUP BY 1
==
SELECT device->>'os', COUNT(DISTINCT subscriber_id) FROM usage GROUP BY 1;

-- superset avg: in duckdb
SELECT plan AS plan, AVG(fee) AS "AVG(fee)" FROM telco.subscribers WHERE region IN ('North', 'South') GROUP BY plan ORDER BY "AVG(fee)" DESC LIMIT 100
==
SELECT plan, AVG(fee) FROM subscribers WHERE region IN ('North', 'South') GROUP BY 1;

-- metabase bins: in duckdb
SELECT ((FLOOR((("public"."subscribers"."birth_year" - 1900.0) / 10.0)) * 10.0) + 1900.0) AS "birth_year", COUNT(*) AS "count" FROM "public"."subscribers"
GROUP BY ((FLOOR((("public"."subscribers"."birth_year" - 1900.0) / 10.0)) * 10.0) + 1900.0) ORDER BY ((FLOOR((("public"."subscribers"."birth_year" - 1900.0) / 10.0)) * 10.0) + 1900.0) ASC
==
SELECT FLOOR((birth_year - 1900) / 10.0) * 10 + 1900, COUNT(*) FROM subscribers GROUP BY 1;

-- metabase relative: in duckdb
SELECT CAST(DATE_TRUNC('quarter', "source"."signed_up") AS date) AS "signed_up", COUNT(*) AS "count" FROM (SELECT "public"."subscribers"."signed_up" AS "signed_up" FROM "public"."subscribers"
WHERE ("public"."subscribers"."signed_up" >= CAST(DATE_TRUNC('year', (NOW() + (INTERVAL '-3 year'))) AS date)) AND ("public"."subscribers"."signed_up" < CAST(DATE_TRUNC('year', NOW()) AS date))) AS "source"
GROUP BY CAST(DATE_TRUNC('quarter', "source"."signed_up") AS date) ORDER BY CAST(DATE_TRUNC('quarter', "source"."signed_up") AS date) ASC
==
SELECT DATE_TRUNC('quarter', signed_up)::DATE, COUNT(*) FROM subscribers WHERE YEAR(signed_up) >= YEAR(CURRENT_DATE) - 3 AND YEAR(signed_up) < YEAR(CURRENT_DATE) GROUP BY 1;

-- tableau quarter: in duckdb
SELECT CAST(DATE_TRUNC('QUARTER', CAST("usage"."started_at" AS TIMESTAMP)) AS DATE) AS "tqr:started_at:ok", SUM("usage"."mb") AS "sum:mb:ok"
FROM "public"."usage" "usage" WHERE ((NOT ("usage"."kind" = 'sms')) OR ("usage"."kind" IS NULL)) GROUP BY 1
==
SELECT DATE_TRUNC('quarter', started_at)::DATE, SUM(mb) FROM usage WHERE kind <> 'sms' OR kind IS NULL GROUP BY 1;

-- powerbi nested: in tsql
SELECT TOP (501) [t0].[plan], SUM(CAST([t0].[fee] AS FLOAT)) AS [a0] FROM ((SELECT [_].[plan] AS [plan], [_].[fee] AS [fee], [_].[region] AS [region] FROM [dbo].[subscribers] AS [_])) AS [t0] WHERE [t0].[region] = N'North' GROUP BY [t0].[plan]
==
SELECT plan, SUM(fee) FROM subscribers WHERE region = 'North' GROUP BY 1;

-- looker pivot: in duckdb
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) as z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) as z__pivot_col_ordering, CASE WHEN z___min_rank = z___rank THEN 1 ELSE 0 END AS z__is_highest_ranked_cell FROM (
SELECT *, MIN(z___rank) OVER (PARTITION BY "subscribers.region") as z___min_rank FROM (
SELECT *, RANK() OVER (ORDER BY CASE WHEN z__pivot_col_rank=1 THEN (CASE WHEN "subscribers.count" IS NOT NULL THEN 0 ELSE 1 END) ELSE 2 END, CASE WHEN z__pivot_col_rank=1 THEN "subscribers.count" ELSE NULL END DESC, "subscribers.count" DESC, z__pivot_col_rank, "subscribers.region") AS z___rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY CASE WHEN "subscribers.plan" IS NULL THEN 1 ELSE 0 END, "subscribers.plan") AS z__pivot_col_rank FROM (
SELECT subscribers.plan AS "subscribers.plan", subscribers.region AS "subscribers.region", COUNT(*) AS "subscribers.count" FROM public.subscribers AS subscribers GROUP BY 1, 2) ww
) bb WHERE z__pivot_col_rank <= 16384
) aa
) xx
) zz
WHERE (z__pivot_col_rank <= 50 OR z__is_highest_ranked_cell = 1) AND (z___pivot_row_rank <= 500 OR z__pivot_col_ordering = 1) ORDER BY z___pivot_row_rank
==
WITH c AS (SELECT plan, region, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY plan) AS pc FROM subscribers GROUP BY 1, 2),
r AS (SELECT *, RANK() OVER (ORDER BY CASE WHEN pc = 1 THEN 0 ELSE 2 END, CASE WHEN pc = 1 THEN n END DESC, n DESC, pc, region) AS rk FROM c),
m AS (SELECT *, MIN(rk) OVER (PARTITION BY region) AS mr FROM r)
SELECT plan, region, n, pc, rk, mr, DENSE_RANK() OVER (ORDER BY mr), RANK() OVER (PARTITION BY pc ORDER BY mr), CASE WHEN mr = rk THEN 1 ELSE 0 END FROM m;

-- age bands
SELECT CASE WHEN 2025 - birth_year BETWEEN 18 AND 29 THEN '18-29' WHEN 2025 - birth_year BETWEEN 30 AND 49 THEN '30-49' WHEN 2025 - birth_year >= 50 THEN '50+' ELSE 'other' END AS band, plan, COUNT(*) AS n FROM subscribers GROUP BY band, plan;

-- year over year
SELECT EXTRACT(MONTH FROM started_at) AS mon, SUM(CASE WHEN EXTRACT(YEAR FROM started_at) = 2024 THEN mb END) AS y24, SUM(CASE WHEN EXTRACT(YEAR FROM started_at) = 2025 THEN mb END) AS y25,
  SUM(CASE WHEN EXTRACT(YEAR FROM started_at) = 2025 THEN mb END) / NULLIF(SUM(CASE WHEN EXTRACT(YEAR FROM started_at) = 2024 THEN mb END), 0) - 1 AS growth FROM usage GROUP BY 1 ORDER BY 1;

-- cells per sub
SELECT AVG(cells) AS mean_cells FROM (SELECT subscriber_id, COUNT(DISTINCT cell_id) AS cells FROM usage GROUP BY subscriber_id);

-- home cell
SELECT city, COUNT(*) AS subs FROM (SELECT subscriber_id, cell_id, ROW_NUMBER() OVER (PARTITION BY subscriber_id ORDER BY COUNT(*) DESC, cell_id) AS rn
  FROM usage WHERE EXTRACT(HOUR FROM started_at) NOT BETWEEN 8 AND 19 GROUP BY subscriber_id, cell_id) h JOIN cells USING (cell_id) WHERE rn = 1 GROUP BY city;

-- median fee
SELECT plan, MEDIAN(fee) AS median_fee FROM subscribers GROUP BY plan;

-- cube
SELECT subs.region, t.category, COUNT(*) AS n FROM tickets t JOIN subscribers subs USING (subscriber_id) GROUP BY CUBE (subs.region, t.category);

-- full join months
SELECT COALESCE(v.d, t.d) AS d, v.n AS usage_n, t.n AS tickets_n FROM (SELECT DATE_TRUNC('month', started_at) AS d, COUNT(*) AS n FROM usage GROUP BY 1) v
FULL OUTER JOIN (SELECT DATE_TRUNC('month', opened_at) AS d, COUNT(*) AS n FROM tickets GROUP BY 1) t ON v.d = t.d ORDER BY 1;

-- tags
SELECT tag, COUNT(*) AS n FROM tickets CROSS JOIN UNNEST(tags) AS t(tag) GROUP BY tag ORDER BY 2 DESC;

-- regexp like: in snowflake
SELECT COUNT(*) AS n FROM tickets WHERE REGEXP_LIKE(category, '^(bill|pay)')
==
SELECT COUNT(*) FROM tickets WHERE regexp_matches(category, '^(bill|pay)');

-- strftime
SELECT strftime(started_at, '%Y-%m') AS ym, SUM(seconds) / 60.0 AS minutes FROM usage WHERE kind = 'voice' GROUP BY ym ORDER BY ym;

-- inactive
SELECT COUNT(*) AS n FROM subscribers s LEFT JOIN usage u ON u.subscriber_id = s.subscriber_id AND u.started_at >= '2025-10-01' WHERE u.subscriber_id IS NULL AND s.churned_on IS NULL;

-- mean lifetime: in postgres
SELECT AVG(churned_on - signed_up) AS mean_days FROM subscribers WHERE churned_on IS NOT NULL;

-- max per sub
SELECT region, AVG(max_mb) AS mean_max FROM (SELECT s.subscriber_id, s.region, MAX(u.mb) AS max_mb FROM subscribers s LEFT JOIN usage u ON u.subscriber_id = s.subscriber_id GROUP BY s.subscriber_id, s.region) x GROUP BY region;

-- pg rounding: in postgres
SELECT plan, ROUND(AVG(fee)::numeric, 2) AS mean, ROUND(VAR_POP(fee)::numeric, 2) AS variance FROM subscribers GROUP BY plan;

-- tsql dateadd: in tsql
SELECT TOP 5 category, COUNT(*) AS n FROM tickets WHERE opened_at >= DATEADD(day, -60, '2025-12-31') GROUP BY category ORDER BY n DESC
==
SELECT category, COUNT(*) AS n FROM tickets WHERE opened_at >= DATE '2025-12-31' - INTERVAL '60 days' GROUP BY 1 ORDER BY n DESC LIMIT 5;

-- approx distinct: in duckdb
SELECT APPROX_COUNT_DISTINCT(subscriber_id) AS heavy FROM usage WHERE mb > 100 AND kind = 'data'
==
SELECT COUNT(DISTINCT subscriber_id) FROM usage WHERE mb > 100 AND kind = 'data';
