-- superset topn series: in duckdb
SELECT DATE_TRUNC('month', admitted_at) AS __timestamp, department AS department, COUNT(*) AS "count"
FROM (SELECT s.*, w.department FROM stays s JOIN wards w ON s.ward_id = w.ward_id) AS virtual_table
JOIN (SELECT department AS department__, COUNT(*) AS mme_inner__
      FROM (SELECT s.*, w.department FROM stays s JOIN wards w ON s.ward_id = w.ward_id) AS virtual_table
      WHERE admitted_at >= TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted_at < TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
      GROUP BY department ORDER BY mme_inner__ DESC LIMIT 3) AS series_limit ON department = department__
WHERE admitted_at >= TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted_at < TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('month', admitted_at), department ORDER BY "count" DESC LIMIT 1000
==
WITH v AS (SELECT s.*, w.department FROM stays s JOIN wards w ON s.ward_id = w.ward_id WHERE admitted_at >= '2025-01-01' AND admitted_at < '2026-01-01')
SELECT DATE_TRUNC('month', admitted_at) AS a, department, COUNT(*) FROM v WHERE department IN (SELECT department FROM v GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 3) GROUP BY 1, 2;

-- looker month: in duckdb
SELECT (TO_CHAR(DATE_TRUNC('month', stays.admitted_at ), 'YYYY-MM')) AS "stays.admitted_month",
    COUNT(DISTINCT stays.patient_id ) AS "stays.count_patients", COALESCE(SUM(stays.cost ), 0) AS "stays.total_cost"
FROM public.stays AS stays LEFT JOIN public.wards AS wards ON stays.ward_id = wards.ward_id
WHERE ((( stays.admitted_at ) >= ((TIMESTAMP '2025-01-01')) AND ( stays.admitted_at ) < ((TIMESTAMP '2026-01-01')))) AND (wards.department ) = 'Surgery'
GROUP BY (DATE_TRUNC('month', stays.admitted_at )) ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY
==
SELECT STRFTIME(admitted_at, '%Y-%m'), COUNT(DISTINCT patient_id), SUM(cost) FROM stays JOIN wards USING (ward_id) WHERE YEAR(admitted_at) = 2025 AND department = 'Surgery' GROUP BY 1;

-- metabase source: in duckdb
SELECT "source"."outcome" AS "outcome", COUNT(*) AS "count", AVG("source"."cost") AS "avg"
FROM (SELECT "public"."stays"."outcome" AS "outcome", "public"."stays"."cost" AS "cost", "public"."stays"."emergency" AS "emergency" FROM "public"."stays") AS "source"
WHERE "source"."emergency" = TRUE GROUP BY "source"."outcome" ORDER BY "source"."outcome" ASC
==
SELECT outcome, COUNT(*), AVG(cost) FROM stays WHERE emergency GROUP BY 1;

-- tableau records: in duckdb
SELECT "patients"."region" AS "region", SUM(1) AS "sum:Number of Records:ok", COUNT(DISTINCT "patients"."patient_id") AS "ctd:patient_id:ok"
FROM "public"."patients" "patients" GROUP BY 1 HAVING (COUNT(1) > 0)
==
SELECT region, COUNT(*), COUNT(*) FROM patients GROUP BY 1;

-- tableau lod
SELECT "t0"."region" AS "region", AVG(CAST("t0"."__measure__0" AS DOUBLE PRECISION)) AS "avg:visits:ok"
FROM (SELECT "p"."region" AS "region", "p"."patient_id" AS "patient_id", COUNT("s"."stay_id") AS "__measure__0"
      FROM "patients" "p" INNER JOIN "stays" "s" ON ("p"."patient_id" = "s"."patient_id") GROUP BY 1, 2) "t0" GROUP BY 1;

-- powerbi top: in tsql
SELECT TOP (1000001) [t1].[region], SUM([t0].[cost]) AS [a0], COUNT_BIG(*) AS [a1]
FROM [dbo].[stays] AS [t0] LEFT OUTER JOIN [dbo].[patients] AS [t1] ON [t0].[patient_id] = [t1].[patient_id]
WHERE [t0].[urgency] IN (1, 2) GROUP BY [t1].[region] ORDER BY [t1].[region]
==
SELECT p.region, SUM(cost), COUNT(*) FROM stays JOIN patients p USING (patient_id) WHERE urgency IN (1, 2) GROUP BY 1;

-- bigquery month: in bigquery
SELECT DATE_TRUNC(DATE(admitted_at), MONTH) AS month, COUNT(*) AS n FROM `hospital.stays` GROUP BY month ORDER BY month
==
SELECT DATE_TRUNC('month', admitted_at) AS m, COUNT(*) FROM stays GROUP BY 1;

-- snowflake los: in snowflake
SELECT DATEDIFF('day', admitted_at, discharged_at) AS los, COUNT(*) AS n FROM stays WHERE discharged_at IS NOT NULL GROUP BY 1 ORDER BY 1;

-- readmission lag
WITH ordered AS (
  SELECT patient_id, admitted_at, LAG(discharged_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS prev_discharge FROM stays)
SELECT COUNT(*) FILTER (WHERE admitted_at - prev_discharge <= INTERVAL '30 days') AS readmitted, COUNT(*) AS total FROM ordered;

-- readmission exists
SELECT w.department, AVG(CASE WHEN EXISTS (SELECT 1 FROM stays n WHERE n.patient_id = s.patient_id
      AND n.admitted_at > s.discharged_at AND n.admitted_at <= s.discharged_at + INTERVAL '30 days') THEN 1.0 ELSE 0 END) AS rate
FROM stays s JOIN wards w USING (ward_id) GROUP BY w.department;

-- age groups
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 65 THEN '18-64' ELSE '65+' END AS age_group, COUNT(*) AS n
FROM (SELECT s.*, EXTRACT(YEAR FROM AGE(s.admitted_at, p.birth_date)) AS age FROM stays s JOIN patients p ON p.patient_id = s.patient_id) t
GROUP BY age_group ORDER BY 1;

-- distinct on
SELECT urgency, COUNT(*) AS n FROM (SELECT DISTINCT ON (patient_id) patient_id, urgency FROM stays ORDER BY patient_id, admitted_at) f GROUP BY urgency;

-- qualify latest
SELECT outcome, COUNT(*) AS n FROM (SELECT * FROM stays QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted_at DESC) = 1) latest GROUP BY outcome;

-- stays per patient
SELECT n_stays, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n_stays FROM stays GROUP BY patient_id) x GROUP BY n_stays ORDER BY n_stays;

-- share of total
SELECT department, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM stays JOIN wards USING (ward_id) GROUP BY department ORDER BY n DESC;

-- running total
SELECT month, n, SUM(n) OVER (ORDER BY month) AS running FROM (SELECT DATE_TRUNC('month', admitted_at) AS month, COUNT(*) AS n FROM stays GROUP BY 1) t ORDER BY month;

-- month over month
WITH m AS (SELECT DATE_TRUNC('month', admitted_at) AS month, SUM(cost) AS cost FROM stays GROUP BY 1)
SELECT month, cost, cost - LAG(cost) OVER (ORDER BY month) AS delta, 100.0 * (cost / LAG(cost) OVER (ORDER BY month) - 1) AS growth_pct FROM m ORDER BY month;

-- union all metrics
SELECT 'stays' AS metric, COUNT(*) AS n FROM stays UNION ALL SELECT 'labs', COUNT(*) FROM labs UNION ALL SELECT 'patients', COUNT(*) FROM patients;

-- union patients
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM stays WHERE emergency UNION SELECT patient_id FROM labs WHERE flag = 'H') u;

-- except patients
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM patients EXCEPT SELECT patient_id FROM labs) x;

-- not exists
SELECT p.region, COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = p.patient_id AND s.admitted_at >= DATE '2025-01-01') GROUP BY p.region;

-- los percentiles
SELECT w.department,
  PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM (s.discharged_at - s.admitted_at)) / 3600.0) AS median_hours,
  PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM (s.discharged_at - s.admitted_at)) / 3600.0) AS p90_hours
FROM stays s JOIN wards w ON w.ward_id = s.ward_id GROUP BY w.department;

-- approx quantiles: in bigquery
SELECT insurance, APPROX_QUANTILES(bmi, 4)[OFFSET(2)] AS median_bmi FROM patients GROUP BY insurance
==
SELECT insurance, MEDIAN(bmi) FROM patients GROUP BY 1;

-- lab stats
SELECT test, COUNT(value) AS n, AVG(value) AS mean, STDDEV(value) AS sd, MIN(value) AS lowest, MAX(value) AS highest FROM labs GROUP BY test;

-- json mode
SELECT extra->>'mode' AS mode, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 2 DESC;

-- icd3 top10
SELECT LEFT(diagnosis, 3) AS icd3, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 2 DESC LIMIT 10;

-- regex count: in duckdb
SELECT COUNT(*) AS n FROM stays WHERE diagnosis ~ '^I2[0-5]'
==
SELECT COUNT(*) FROM stays WHERE regexp_matches(diagnosis, '^I2[0-5]');

-- ilike notes
SELECT COUNT(DISTINCT patient_id) AS n FROM stays WHERE notes ILIKE '%sepsis%';

-- heatmap
SELECT EXTRACT(DOW FROM admitted_at) AS dow, EXTRACT(HOUR FROM admitted_at) AS hr, COUNT(*) AS n FROM stays GROUP BY 1, 2;

-- tsql dateparts: in tsql
SELECT DATEPART(year, admitted_at) AS yr, DATENAME(month, admitted_at) AS mon, COUNT(*) AS n FROM dbo.stays GROUP BY DATEPART(year, admitted_at), DATENAME(month, admitted_at)
==
SELECT YEAR(admitted_at), MONTHNAME(admitted_at), COUNT(*) FROM stays GROUP BY 1, 2;

-- last 90 days
SELECT COUNT(*) AS n FROM stays WHERE admitted_at >= CURRENT_DATE - INTERVAL '90 days';

-- weekly labs
SELECT date_trunc('week', taken_at)::date AS week, test, avg(value) AS mean FROM labs WHERE test IN ('CRP','GLU') GROUP BY 1, 2 ORDER BY 1, 2;

-- funnel
WITH high AS (SELECT patient_id, MIN(taken_at) AS first_high FROM labs WHERE test = 'CRP' AND value > 100 GROUP BY patient_id),
adm AS (SELECT DISTINCT h.patient_id FROM high h JOIN stays s ON s.patient_id = h.patient_id AND s.admitted_at BETWEEN h.first_high AND h.first_high + INTERVAL '7 days')
SELECT (SELECT COUNT(*) FROM high) AS step1, (SELECT COUNT(*) FROM adm) AS step2;

-- cohorts
WITH first AS (SELECT patient_id, DATE_TRUNC('month', MIN(admitted_at)) AS cohort FROM stays GROUP BY patient_id)
SELECT f.cohort, DATE_DIFF('month', f.cohort, DATE_TRUNC('month', s.admitted_at)) AS month_no, COUNT(DISTINCT s.patient_id) AS active
FROM first f JOIN stays s USING (patient_id) GROUP BY 1, 2 ORDER BY 1, 2;

-- episodes
WITH g AS (SELECT patient_id, taken_at, CASE WHEN taken_at - LAG(taken_at) OVER (PARTITION BY patient_id ORDER BY taken_at) > INTERVAL '3 days' THEN 1 ELSE 0 END AS new_ep FROM labs),
e AS (SELECT patient_id, SUM(new_ep) OVER (PARTITION BY patient_id ORDER BY taken_at ROWS UNBOUNDED PRECEDING) AS ep FROM g)
SELECT AVG(n) AS episodes FROM (SELECT patient_id, COUNT(DISTINCT ep) AS n FROM e GROUP BY patient_id) z;

-- case pivot
SELECT region, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS f, SUM(CASE WHEN sex = 'M' THEN 1 ELSE 0 END) AS m FROM patients GROUP BY region;

-- countif safe divide: in bigquery
SELECT COUNTIF(deceased) AS dead, COUNT(*) AS n, SAFE_DIVIDE(COUNTIF(deceased), COUNT(*)) AS rate FROM patients
==
SELECT COUNT(*) FILTER (WHERE deceased), COUNT(*), AVG(deceased::INT) FROM patients;

-- snowflake iff: in snowflake
SELECT region, SUM(IFF(deceased, 1, 0)) AS deaths, ZEROIFNULL(AVG(bmi)) AS bmi FROM patients GROUP BY region
==
SELECT region, SUM(deceased::INT), AVG(bmi) FROM patients GROUP BY 1;

-- rollup
SELECT region, insurance, COUNT(*) AS n FROM patients GROUP BY ROLLUP (region, insurance);

-- grouping sets
SELECT region, sex, COUNT(*) AS n, AVG(bmi) AS bmi FROM patients GROUP BY GROUPING SETS ((region), (sex), ());

-- lookup left
SELECT w.name, COUNT(s.stay_id) AS stays FROM wards w LEFT JOIN stays s ON s.ward_id = w.ward_id GROUP BY w.name ORDER BY stays DESC;

-- bed days
SELECT w.name, SUM(EXTRACT(EPOCH FROM s.discharged_at - s.admitted_at)) / 86400.0 / MAX(w.beds) AS bed_days_per_bed FROM stays s JOIN wards w ON w.ward_id = s.ward_id GROUP BY w.name;

-- width bucket: in duckdb
SELECT width_bucket(bmi, 15, 45, 6) AS b, COUNT(*) AS n FROM patients WHERE bmi IS NOT NULL GROUP BY b ORDER BY b
==
SELECT CASE WHEN bmi < 15 THEN 0 WHEN bmi >= 45 THEN 7 ELSE FLOOR((bmi - 15) / 5) + 1 END, COUNT(*) FROM patients WHERE bmi IS NOT NULL GROUP BY 1;

-- cost bins
SELECT FLOOR(cost / 1000) * 1000 AS bin, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1;

-- above average
SELECT COUNT(*) AS n FROM stays WHERE cost > (SELECT AVG(cost) FROM stays);

-- corr slope
SELECT w.department, CORR(s.urgency, s.cost) AS r, REGR_SLOPE(s.cost, s.urgency) AS slope FROM stays s JOIN wards w USING (ward_id) GROUP BY w.department;

-- mode
SELECT region, MODE() WITHIN GROUP (ORDER BY insurance) AS usual FROM patients GROUP BY region;

-- top1 per group
SELECT department, chapter, n FROM (SELECT department, LEFT(diagnosis, 1) AS chapter, COUNT(*) AS n,
  RANK() OVER (PARTITION BY department ORDER BY COUNT(*) DESC) AS rk FROM stays JOIN wards USING (ward_id) GROUP BY 1, 2) r WHERE rk = 1;

-- moving average
SELECT day, n, AVG(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7
FROM (SELECT admitted_at::date AS day, COUNT(*) AS n FROM stays WHERE admitted_at >= '2025-01-01' AND admitted_at < '2025-03-01' GROUP BY 1) d ORDER BY day;

-- in having
SELECT COUNT(*) AS n FROM patients WHERE patient_id IN (SELECT patient_id FROM stays GROUP BY patient_id HAVING COUNT(*) >= 3);

-- ever emergency
SELECT region, AVG(ever_emergency::int) AS share FROM (SELECT p.patient_id, p.region, BOOL_OR(s.emergency) AS ever_emergency
  FROM patients p JOIN stays s USING (patient_id) GROUP BY p.patient_id, p.region) t GROUP BY region;

-- lateral latest
SELECT l.test, COUNT(*) AS n FROM patients p CROSS JOIN LATERAL (SELECT test FROM labs WHERE labs.patient_id = p.patient_id ORDER BY taken_at DESC LIMIT 1) l GROUP BY l.test;

-- census: in duckdb
SELECT d::date AS day, COUNT(s.stay_id) AS n FROM generate_series(DATE '2025-03-01', DATE '2025-03-31', INTERVAL '1 day') AS g(d)
LEFT JOIN stays s ON s.admitted_at <= d AND s.discharged_at > d GROUP BY 1 ORDER BY 1
==
SELECT d::date AS day, COUNT(s.stay_id) FROM (SELECT UNNEST(generate_series(TIMESTAMP '2025-03-01', TIMESTAMP '2025-03-31', INTERVAL '1 day')) AS d) g LEFT JOIN stays s ON s.admitted_at <= d AND s.discharged_at > d GROUP BY 1;

-- mysql year month: in mysql
SELECT YEAR(admitted_at), MONTH(admitted_at), COUNT(*) FROM stays GROUP BY YEAR(admitted_at), MONTH(admitted_at);

-- mysql date format: in mysql
SELECT DATE_FORMAT(admitted_at, '%Y-%m') AS ym, COUNT(*) AS n FROM stays GROUP BY ym
==
SELECT STRFTIME(admitted_at, '%Y-%m'), COUNT(*) FROM stays GROUP BY 1;

-- unnest codes
SELECT code, COUNT(*) AS n FROM labs, UNNEST(codes) AS t(code) GROUP BY code;

-- distinct pairs
SELECT COUNT(DISTINCT (patient_id, ward_id)) AS n FROM stays;

-- pivot
PIVOT stays ON outcome USING COUNT(*) GROUP BY urgency;

-- rows: refused, rows of people
SELECT * FROM patients LIMIT 10;

-- recursive: refused, a recursive CTE
WITH RECURSIVE chain AS (SELECT patient_id, gp_id FROM patients WHERE gp_id = 1 UNION ALL SELECT p.patient_id, p.gp_id FROM patients p JOIN chain c ON p.gp_id = c.patient_id) SELECT COUNT(*) FROM chain;
