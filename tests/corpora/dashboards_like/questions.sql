-- 1
WITH monthly AS (SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits, SUM(cost) AS revenue FROM visits GROUP BY 1) SELECT month, visits, revenue, revenue / visits AS per_visit FROM monthly ORDER BY month;
-- 2
SELECT clinic, COUNT(*) FILTER (WHERE wait_minutes > 60) * 100.0 / COUNT(*) AS pct_long FROM visits GROUP BY clinic ORDER BY clinic;
-- 3
SELECT REPLACE(code, '_', '-') LIKE 'AB-%' AS is_ab, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 4
SELECT COUNT(*) AS n FROM visits WHERE REPLACE(code, '_', '') BETWEEN 'AB000' AND 'AB250';
-- 5
SELECT UPPER(TRIM(channel)) AS channel, COUNT(*) AS n, AVG(cost) AS avg_cost FROM visits GROUP BY 1 ORDER BY n DESC;
-- 6
SELECT LPAD(CAST(EXTRACT(month FROM day) AS VARCHAR), 2, '0') AS mm, COUNT(*) AS n FROM visits GROUP BY mm ORDER BY mm;
-- 7
SELECT CASE WHEN wait_minutes < 15 THEN '0-15' WHEN wait_minutes < 30 THEN '15-30' WHEN wait_minutes < 60 THEN '30-60' ELSE '60+' END AS bucket, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY bucket HAVING COUNT(*) > 10 ORDER BY total DESC;
-- 8
SELECT clinic, SUM(cost) / NULLIF(COUNT(DISTINCT patient_id), 0) AS revenue_per_patient FROM visits GROUP BY clinic ORDER BY clinic;
-- 9
SELECT EXTRACT(hour FROM arrived) AS h, COUNT(*) AS n FROM visits WHERE EXTRACT(isodow FROM arrived) BETWEEN 1 AND 5 GROUP BY h ORDER BY h;
-- 10
SELECT DAYNAME(day) AS weekday, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY n DESC LIMIT 3;
-- 11
SELECT MONTHNAME(day) AS m, AVG(wait_minutes) AS w FROM visits WHERE clinic IN ('North', 'City') GROUP BY m ORDER BY w DESC;
-- 12
SELECT STRFTIME(day, '%Y-Q') || CAST(QUARTER(day) AS VARCHAR) AS quarter, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY 1 ORDER BY 1;
-- 13
SELECT p.region, COUNT(*) AS visits, AVG(v.cost) AS avg_cost FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.region ORDER BY p.region;
-- 14
SELECT 2025 - birth_year AS age, COUNT(*) AS n FROM patients WHERE birth_year BETWEEN 1990 AND 1999 GROUP BY age ORDER BY age;
-- 15
SELECT region, COUNT(*) FILTER (WHERE sex = 'female') AS women, COUNT(*) FILTER (WHERE sex = 'male') AS men, ROUND(COUNT(*) FILTER (WHERE sex = 'female') / COUNT(*), 2) AS share FROM patients GROUP BY region ORDER BY region;
-- 16
SELECT reason, COUNT(*) AS n FROM visits GROUP BY reason HAVING COUNT(*) >= 50 ORDER BY n DESC LIMIT 5;
-- 17
SELECT CONCAT(clinic, ' / ', UPPER(LEFT(channel, 1))) AS label, COUNT(*) AS n FROM visits GROUP BY clinic, channel, label ORDER BY n DESC LIMIT 4;
-- 18
SELECT clinic, channel, COUNT(*) AS n FROM visits WHERE LOWER(TRIM(channel)) = 'web' GROUP BY clinic, channel ORDER BY n;
-- 19
SELECT AVG(n) AS visits_per_patient, MAX(n) AS most FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t;
-- 20
SELECT n_visits, COUNT(*) AS patients FROM (SELECT patient_id, LEAST(COUNT(*), 10) AS n_visits FROM visits GROUP BY patient_id) t GROUP BY n_visits ORDER BY n_visits;
-- 21
SELECT COUNT(*) AS new_in_h2 FROM (SELECT patient_id, MIN(day) AS first_day FROM visits GROUP BY patient_id) f WHERE first_day >= DATE '2025-07-01';
-- 22
SELECT DATE_TRUNC('quarter', first_day) AS cohort, COUNT(*) AS patients FROM (SELECT patient_id, MIN(day) AS first_day FROM visits GROUP BY patient_id) f GROUP BY cohort ORDER BY cohort;
-- 23
SELECT 'short' AS kind, COUNT(*) AS n FROM visits WHERE wait_minutes < 30 UNION ALL SELECT 'long' AS kind, COUNT(*) AS n FROM visits WHERE wait_minutes >= 30;
-- 24
SELECT clinic, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS rank FROM visits GROUP BY clinic ORDER BY rank;
-- 25
SELECT clinic, n, n * 1.0 / SUM(n) OVER () AS share FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) t ORDER BY clinic;
-- 26
SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM (SELECT EXTRACT(month FROM day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY month;
-- 27
SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-03-01' AND LAST_DAY(DATE '2025-03-01');
-- 28
SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2025-12-31' - INTERVAL 90 DAY AND clinic NOT IN ('Coast');
-- 29
SELECT clinic, MEDIAN(cost) AS p50, QUANTILE_CONT(cost, 0.9) AS p90 FROM visits GROUP BY clinic ORDER BY clinic;
-- 30
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) AS q1, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS q2, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY cost) AS q3 FROM visits;
-- 31
SELECT clinic, STDDEV_SAMP(wait_minutes) AS sd, VAR_POP(wait_minutes) AS v, AVG(wait_minutes) AS m FROM visits GROUP BY clinic ORDER BY clinic;
-- 32
SELECT CORR(cost, wait_minutes) AS r, COVAR_SAMP(cost, wait_minutes) AS c FROM visits;
-- 33
SELECT COUNT(DISTINCT clinic) AS clinics, COUNT(DISTINCT patient_id) AS patients, COUNT(DISTINCT day) AS days FROM visits;
-- 34
SELECT RIGHT(code, 1) AS last_digit, COUNT(*) AS n FROM visits WHERE RIGHT(code, 1) IN ('0', '1', '2') GROUP BY 1 ORDER BY 1;
-- 35
SELECT LEFT(code, 2) AS prefix, AVG(cost) AS a FROM visits WHERE LEFT(code, 2) IN ('AB', 'xy') GROUP BY 1 ORDER BY 1;
-- 36
SELECT CAST(SPLIT_PART(code, '_', 2) AS INTEGER) // 250 AS quarter_of_code, COUNT(*) AS n FROM visits WHERE CAST(SPLIT_PART(code, '_', 2) AS INTEGER) BETWEEN 0 AND 999 GROUP BY 1 ORDER BY 1;
-- 37
SELECT COUNT(*) AS n FROM visits WHERE code ILIKE 'ab\_1%';
-- 38
SELECT COUNT(*) AS n FROM visits WHERE code NOT LIKE 'xy%' AND reason <> 'heart';
-- 39
SELECT COUNT(*) AS n FROM visits WHERE reason SIMILAR TO '(heart|lungs)';
-- 40
SELECT clinic, MAX(day) AS last_seen, MIN(day) AS first_seen FROM visits GROUP BY clinic ORDER BY clinic;
-- 41
SELECT DATE_DIFF('day', DATE '2025-01-01', day) // 7 AS week_no, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1 LIMIT 5;
-- 42
SELECT GREATEST(0, wait_minutes - 30) > 0 AS late, AVG(GREATEST(0, wait_minutes - 30)) AS avg_late FROM visits GROUP BY 1 ORDER BY 1;
-- 43
SELECT ROUND(AVG(cost), 2) AS avg_cost, ROUND(SUM(cost) / 1000, 1) AS total_k, CAST(COUNT(*) AS VARCHAR) || ' visits' AS label FROM visits;
-- 44
SELECT clinic, CASE WHEN AVG(wait_minutes) > 45 THEN 'slow' WHEN AVG(wait_minutes) > 30 THEN 'ok' ELSE 'fast' END AS grade FROM visits GROUP BY clinic ORDER BY clinic;
-- 45
SELECT region, sex, COUNT(*) AS n FROM patients GROUP BY GROUPING SETS ((region), (sex), ()) ORDER BY n DESC;
-- 46
SELECT COALESCE(region, 'all') AS region, COUNT(*) AS n FROM patients GROUP BY ROLLUP (region) ORDER BY n;
-- 47
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.reason = 'heart');
-- 48
SELECT region, COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE clinic = 'Coast') GROUP BY region ORDER BY region;
-- 49
SELECT clinic, AVG(cost) AS a FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) GROUP BY clinic ORDER BY clinic;
-- 50
WITH base AS (SELECT *, CASE WHEN cost >= 1000 THEN 'high' ELSE 'low' END AS tier FROM visits), agg AS (SELECT tier, clinic, COUNT(*) AS n FROM base GROUP BY tier, clinic) SELECT tier, SUM(n) AS total, MAX(n) AS biggest FROM agg GROUP BY tier ORDER BY tier;
-- 51
SELECT DISTINCT clinic FROM visits ORDER BY clinic;
-- 52
SELECT a.clinic, a.n AS first_half, b.n AS second_half, b.n - a.n AS diff FROM (SELECT clinic, COUNT(*) AS n FROM visits WHERE MONTH(day) <= 6 GROUP BY clinic) a JOIN (SELECT clinic, COUNT(*) AS n FROM visits WHERE MONTH(day) > 6 GROUP BY clinic) b ON a.clinic = b.clinic ORDER BY a.clinic;
-- 53
SELECT COUNT(*) AS n, COUNT(*) / COUNT(DISTINCT day) AS per_day FROM visits WHERE MONTH(day) = 2;
-- 54
SELECT date_part('year', day) AS y, date_part('month', day) AS m, count(*) AS n FROM visits GROUP BY y, m ORDER BY y, m;
-- 55
SELECT CAST(arrived AS DATE) AS d, COUNT(*) AS n FROM visits WHERE arrived >= TIMESTAMP '2025-06-01 00:00:00' AND arrived < TIMESTAMP '2025-06-04 00:00:00' GROUP BY d ORDER BY d;
-- 56
SELECT clinic, AVG(SQRT(cost)) AS root, AVG(LN(1 + cost)) AS logcost FROM visits GROUP BY clinic ORDER BY clinic;
-- 57
SELECT clinic FROM visits GROUP BY clinic ORDER BY SUM(cost) DESC LIMIT 2;
-- 58
SELECT TRIM(BOTH ' ' FROM channel) AS c, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 59
SELECT MOD(patient_id, 10) AS bucket, COUNT(*) FROM patients GROUP BY 1;
-- 60
SELECT COUNT(*) AS n FROM visits v LEFT JOIN patients p ON p.patient_id = v.patient_id WHERE p.patient_id IS NULL;
-- 61: refused, a text of all rows
SELECT clinic, STRING_AGG(reason, ',') FROM visits GROUP BY clinic;
-- 62: refused, rows themselves
SELECT * FROM visits WHERE cost > 4000;
-- 63
SELECT CAST(cost AS INT) AS c, COUNT(*) AS n FROM visits WHERE cost < 5 GROUP BY c ORDER BY c;
-- 64
SELECT ROUND(cost, -3) AS thousand, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 65
SELECT APPROX_QUANTILE(wait_minutes, 0.95) AS p95, MEDIAN(wait_minutes) AS p50, QUANTILE(wait_minutes, 0.99) AS p99 FROM visits;
-- 66
SELECT clinic || '-' || LOWER(TRIM(channel)) AS segment, COUNT(*) AS n FROM visits GROUP BY segment ORDER BY n DESC LIMIT 3;
-- 67
SELECT p.region || ':' || p.sex AS cell, COUNT(*) AS n FROM patients p GROUP BY 1 ORDER BY 1;
-- 68
with src as (select * from visits), renamed as (select patient_id, clinic as site, cost as amount, day as visit_date from src), final as (select site, count(*) as n_visits, sum(amount) as revenue from renamed where visit_date >= date '2025-04-01' group by site) select * from final order by revenue desc;
-- 69
SELECT "clinic" AS "Clinic", COUNT(*) AS "Number of Records", SUM("cost") AS "sum:cost:ok" FROM "visits" GROUP BY 1 ORDER BY 1;
-- 70
SELECT DATE_TRUNC('week', day) AS week_start, COUNT(*) AS n FROM visits WHERE day BETWEEN '2025-03-03' AND '2025-03-30' GROUP BY 1 ORDER BY 1;
-- 71
SELECT CAST(DATE_TRUNC('month', arrived) AS DATE) AS month, COUNT(DISTINCT patient_id) AS mau FROM visits GROUP BY 1 ORDER BY 1;
-- 72
SELECT EXTRACT(year FROM day) * 100 + EXTRACT(month FROM day) AS yyyymm, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 73
SELECT clinic, SUM(CASE WHEN MONTH(day) = 1 THEN cost ELSE 0 END) AS jan, SUM(CASE WHEN MONTH(day) = 2 THEN cost ELSE 0 END) AS feb, SUM(CASE WHEN MONTH(day) = 3 THEN cost ELSE 0 END) AS mar FROM visits GROUP BY clinic ORDER BY clinic;
-- 74
SELECT CASE clinic WHEN 'North' THEN 'N' WHEN 'South' THEN 'S' ELSE 'other' END AS c, COUNT(*) AS n FROM visits GROUP BY CASE clinic WHEN 'North' THEN 'N' WHEN 'South' THEN 'S' ELSE 'other' END ORDER BY 2 DESC;
-- 75
SELECT COUNT(*) AS n FROM visits WHERE (clinic, channel) IN (('North', 'WEB'), ('South', 'WEB'));
-- 76
SELECT COUNT(*) AS n FROM visits WHERE clinic = ANY (ARRAY['North', 'City']);
-- 77
SELECT COUNT(*) AS n FROM visits WHERE NOT (wait_minutes BETWEEN 10 AND 20 OR cost IS NULL);
-- 78
SELECT SUM(cost)::BIGINT AS total, AVG(wait_minutes)::DECIMAL(10, 2) AS w FROM visits;
-- 79
SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC, clinic ASC NULLS LAST FETCH FIRST 2 ROWS ONLY;
-- 80
SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY n DESC LIMIT 1 OFFSET 1;
-- 81
SELECT * FROM (SELECT clinic, AVG(cost) AS a, COUNT(*) AS n FROM visits GROUP BY clinic) q WHERE n > 500 AND a > 100 ORDER BY a;
-- 82
SELECT clinic, SUM(n) AS total FROM (SELECT clinic, channel, COUNT(*) AS n FROM visits GROUP BY clinic, channel) q GROUP BY clinic ORDER BY clinic;
-- 83
SELECT clinic, n, SUM(n) OVER (ORDER BY n DESC) AS running, ROUND(100.0 * n / SUM(n) OVER (), 1) AS pct FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) t ORDER BY n DESC;
-- 84
SELECT m, n, AVG(n) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma3 FROM (SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY m;
-- 85
SELECT p.region, COUNT(DISTINCT v.patient_id) AS active, COUNT(*) AS visits, COUNT(*) / COUNT(DISTINCT v.patient_id) AS freq FROM patients p JOIN visits v ON p.patient_id = v.patient_id AND v.day >= DATE '2025-06-01' GROUP BY p.region ORDER BY p.region;
-- 86
SELECT p.region, COUNT(v.patient_id) AS visits FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id AND v.reason = 'heart' GROUP BY p.region ORDER BY p.region;
-- 87
SELECT CASE WHEN birth_year < 1960 THEN '65+' WHEN birth_year < 1985 THEN '40-64' ELSE 'under 40' END AS age_group, AVG(v.cost) AS avg_cost FROM visits v JOIN patients p USING (patient_id) GROUP BY age_group ORDER BY age_group;
-- 88
SELECT COUNT(*) AS frequent FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 5) t;
-- 89
SELECT COUNT(*) AS both_clinics FROM (SELECT patient_id FROM visits WHERE clinic IN ('North', 'South') GROUP BY patient_id HAVING COUNT(DISTINCT clinic) = 2) t;
-- 90
SELECT AVG(CASE WHEN days <= 30 THEN 1.0 ELSE 0.0 END) AS within_30 FROM (SELECT patient_id, DATE_DIFF('day', MIN(day), MAX(day)) AS days FROM visits GROUP BY patient_id HAVING COUNT(*) > 1) t;
-- 91
SELECT region, AVG(LEAST(n, 20)) AS a FROM (SELECT p.region, p.patient_id, COUNT(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.region, p.patient_id) t GROUP BY region ORDER BY region;
-- 92
SELECT clinic, COUNT(*) AS n, 'clinic' AS level FROM visits GROUP BY clinic UNION ALL SELECT 'total', COUNT(*), 'all' FROM visits;
-- 93
SELECT COUNT(*) AS n FROM (SELECT patient_id, clinic FROM visits WHERE MONTH(day) = 1 UNION ALL SELECT patient_id, clinic FROM visits WHERE MONTH(day) = 2) u WHERE clinic = 'North';
-- 94
SELECT REPLACE(REPLACE(LOWER(TRIM(channel)), '-', ''), ' ', '') AS ch, SUM(cost) AS total FROM visits GROUP BY ch ORDER BY ch;
-- 95
SELECT REPLACE(reason, '-', ' ') AS r, COUNT(*) AS n FROM visits WHERE reason IN ('check-up', 'heart') GROUP BY r ORDER BY r;
-- 96
SELECT REPLACE(reason, 'a', '@') AS r, COUNT(*) AS n FROM visits GROUP BY r ORDER BY n DESC LIMIT 3;
-- 97
SELECT RPAD(clinic, 6, '.') || LPAD(CAST(COUNT(*) AS VARCHAR), 6, ' ') AS line FROM visits GROUP BY clinic ORDER BY line;
-- 98
SELECT LENGTH(REPLACE(code, '_', '')) AS len, COUNT(*) AS n FROM visits WHERE LENGTH(REPLACE(code, '_', '')) IN (4, 5, 6) GROUP BY len ORDER BY len;
-- 99
SELECT SUBSTRING(code FROM 1 FOR 2) = 'AB' AS ab, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 100
SELECT COUNT(*) AS n FROM visits WHERE POSITION('AB' IN code) > 0;
-- 101
SELECT STRPOS(code, '_') AS p, COUNT(*) FROM visits GROUP BY 1;
-- 102
SELECT INITCAP(reason) AS r, COUNT(*) AS n FROM visits GROUP BY 1;
-- 103
SELECT HOUR(arrived) < 12 AS morning, AVG(wait_minutes) AS w FROM visits GROUP BY morning ORDER BY morning;
-- 104
SELECT COUNT(*) AS n FROM visits WHERE arrived::TIME > TIME '12:00:00';
-- 105
SELECT COUNT(*) AS n FROM visits WHERE day >= CURRENT_DATE - INTERVAL '30 days';
-- 106
SELECT day + INTERVAL '1 month' AS due, COUNT(*) AS n FROM visits WHERE day BETWEEN '2025-01-30' AND '2025-02-02' GROUP BY due ORDER BY due;
-- 107
SELECT MAKE_DATE(YEAR(day), MONTH(day), 1) AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- 108
SELECT clinic, MODE(reason) AS top_reason FROM visits GROUP BY clinic;
-- 109
SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic HAVING n > 100 AND AVG(cost) < 500 ORDER BY n;
-- 110
SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE cost > 1000) AS dear, COUNT(*) FILTER (WHERE cost > 1000) / COUNT(*)::FLOAT AS share FROM visits;
-- 111
SELECT SUM(cost) AS total, SUM(cost) FILTER (WHERE clinic = 'North') / SUM(cost) AS north_share FROM visits;
-- 112
SELECT FLOOR(cost / 500) * 500 AS lo, COUNT(*) AS n FROM visits WHERE cost < 2000 GROUP BY lo ORDER BY lo;
-- 113
SELECT CEIL(wait_minutes / 30.0) AS half_hours, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 114
SELECT ROUND(wait_minutes / 60.0, 0) AS hours, COUNT(*) AS n FROM visits GROUP BY hours ORDER BY hours;
-- 115
SELECT EXP(AVG(LN(cost + 1))) - 1 AS geo_mean FROM visits;
-- 116
SELECT SQRT(SUM(POWER(wait_minutes, 2)) / COUNT(*)) AS rms FROM visits;
-- 117
SELECT MEDIAN(cost) FILTER (WHERE clinic = 'North') AS north, MEDIAN(cost) FILTER (WHERE clinic = 'City') AS city FROM visits;
-- 118
SELECT COUNT(*) AS n FROM visits AS v, patients AS p WHERE v.patient_id = p.patient_id AND p.sex = 'female';
-- 119
SELECT COUNT(*) AS n FROM visits v1 JOIN visits v2 ON v1.patient_id = v2.patient_id WHERE v1.day < v2.day;
-- 120
SELECT x.clinic, x.n, y.avg_cost FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) x LEFT JOIN (SELECT clinic, AVG(cost) AS avg_cost FROM visits WHERE reason = 'heart' GROUP BY clinic) y USING (clinic) ORDER BY x.clinic;
-- 121
SELECT clinic, COUNT(*) AS n FROM visits WHERE reason LIKE '%heart%' OR reason LIKE '%lung%' GROUP BY clinic ORDER BY clinic;
-- 122
SELECT COUNT(*) AS n FROM visits WHERE reason ~ '^(heart|lungs)$';
-- 123
SELECT COUNT(DISTINCT CASE WHEN reason = 'heart' THEN patient_id END) AS heart_patients FROM visits;
-- 124
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE reason = 'heart') AS heart_patients, COUNT(DISTINCT patient_id) AS patients FROM visits;
-- 125
SELECT clinic, COUNT(DISTINCT patient_id) AS p, COUNT(DISTINCT DATE_TRUNC('month', day)) AS months FROM visits GROUP BY clinic ORDER BY clinic;
-- 126
SELECT COUNT(*) AS n FROM visits WHERE (clinic, channel) NOT IN (('North', 'WEB'));
-- 127
SELECT COUNT(*) AS n FROM visits WHERE clinic <> ALL (ARRAY['North', 'City']);
-- 128
SELECT COUNT(*) AS n FROM visits WHERE clinic IS NOT DISTINCT FROM 'North';
-- 129
SELECT clinic = ANY (SELECT clinic FROM clinics) AS x, COUNT(*) FROM visits GROUP BY 1;
-- 130
SELECT clinic, AVG(EXTRACT(EPOCH FROM arrived - CAST(day AS TIMESTAMP)) / 3600) AS hours FROM visits GROUP BY clinic ORDER BY clinic;
-- 131
SELECT COUNT(*) AS n FROM visits WHERE arrived - TIMESTAMP '2025-03-01' BETWEEN INTERVAL '2 days' AND INTERVAL '40 days';
-- 132
SELECT COUNT(*) AS n FROM visits WHERE arrived > TIMESTAMP '2025-06-01' + INTERVAL '1 day 6 hours';
-- 133
SELECT COUNT(*) AS n FROM visits WHERE DATE_PART('hour', arrived - TIMESTAMP '2025-01-01') < 6;
-- 134
SELECT COUNT(*) AS n FROM visits WHERE DATESUB('month', DATE '2024-11-30', day) >= 6;
-- 135
SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE AND arrived < NOW();
-- 136
SELECT clinic, REGR_SLOPE(cost, wait_minutes) AS slope, REGR_COUNT(cost, wait_minutes) AS n FROM visits GROUP BY clinic ORDER BY clinic;
-- 137
SELECT BOOL_OR(wait_minutes > 200) AS some, BOOL_AND(wait_minutes >= 0) AS every FROM visits;
-- 138
SELECT COUNT(DISTINCT (clinic, channel)) AS n FROM visits;
-- 139
SELECT COUNT(*) AS n FROM visits WHERE code ~ 'AB.*';
-- 140
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(code, '[0-9]+');
-- 141
SELECT STRPOS(code, '_') AS place, COUNT(*) AS n FROM visits WHERE code IN ('AB_100', 'CD-200') GROUP BY 1 ORDER BY 1;
-- 142
SELECT clinic, SUM(1) AS n, SUM(2) FILTER (WHERE wait_minutes > 60) AS twice FROM visits GROUP BY clinic ORDER BY clinic;
-- 143
SELECT AVG(x.wait_minutes) AS w FROM (SELECT v.*, cost / 2 AS half FROM visits v) x WHERE half > 100;
-- 144
SELECT DATE_TRUNC('month', day) AS __timestamp, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
-- 145: in tsql
SELECT TOP (3) [clinic], COUNT_BIG(*) AS n FROM [dbo].[visits] WITH (NOLOCK) WHERE [channel] <> N'WEB' GROUP BY [clinic] ORDER BY n DESC;
==
SELECT clinic, COUNT(*) AS n FROM visits WHERE channel <> 'WEB' GROUP BY clinic ORDER BY n DESC LIMIT 3;
-- 146: in tsql
SELECT DATEDIFF(week, '2025-01-01', day) AS w, COUNT(*) AS n FROM visits WHERE DATEPART(weekday, day) = 1 GROUP BY DATEDIFF(week, '2025-01-01', day) ORDER BY w;
==
SELECT (CAST(DATE_TRUNC('week', day + 1) AS DATE) - DATE '2024-12-30') // 7 AS w, COUNT(*) AS n FROM visits WHERE DAYOFWEEK(day) = 0 GROUP BY 1 ORDER BY 1;
-- 147: in bigquery
SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) AS n FROM `shop.visits` WHERE channel = "WEB" GROUP BY w ORDER BY w;
==
SELECT CAST(DATE_TRUNC('week', day + 1) AS DATE) - 1 AS w, COUNT(*) AS n FROM visits WHERE channel = 'WEB' GROUP BY w ORDER BY w;
-- 148: in bigquery
SELECT EXTRACT(DAYOFWEEK FROM day) AS d, AVG(DATE_DIFF(DATE(arrived), day, DAY)) AS days FROM visits GROUP BY d ORDER BY d;
==
SELECT DAYOFWEEK(day) + 1 AS d, AVG(DATE_DIFF('day', day, CAST(arrived AS DATE))) AS days FROM visits GROUP BY d ORDER BY d;
-- 149: in mysql
SELECT WEEKDAY(day) AS d, AVG(TIMESTAMPDIFF(HOUR, day, arrived)) AS hours FROM visits GROUP BY d ORDER BY d;
==
SELECT ISODOW(day) - 1 AS d, AVG(DATESUB('hour', CAST(day AS TIMESTAMP), arrived)) AS hours FROM visits GROUP BY d ORDER BY d;
-- 150: in snowflake
SELECT DECODE(channel, 'WEB', 'online', 'other') AS kind, DIV0(SUM(cost), COUNT(*)) AS mean FROM visits GROUP BY 1 ORDER BY 1;
==
SELECT CASE WHEN channel = 'WEB' THEN 'online' ELSE 'other' END AS kind, SUM(cost) / COUNT(*) AS mean FROM visits GROUP BY 1 ORDER BY 1;
