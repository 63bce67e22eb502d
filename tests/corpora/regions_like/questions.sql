-- s01
SELECT DATE_TRUNC('quarter', arrived_at) AS q, site, COUNT(DISTINCT pid) AS patients, COUNT(*) AS arrivals FROM ed_visits GROUP BY 1, 2 ORDER BY 1, 2;

-- s02
SELECT site, AVG(EXTRACT(EPOCH FROM (left_at - arrived_at)) / 60.0) AS avg_minutes FROM ed_visits WHERE left_at IS NOT NULL GROUP BY site;

-- s03
SELECT site, 100.0 * SUM(CASE WHEN left_at - arrived_at > INTERVAL '4 hours' THEN 1 ELSE 0 END) / COUNT(*) AS breach_pct FROM ed_visits WHERE left_at IS NOT NULL GROUP BY site;

-- s04
SELECT CASE WHEN arrived_at::TIME BETWEEN '08:00' AND '15:59:59' THEN 'day' WHEN arrived_at::TIME BETWEEN '16:00' AND '23:59:59' THEN 'evening' ELSE 'night' END AS shift, COUNT(*) FROM ed_visits GROUP BY 1;

-- s05
WITH ranked AS (SELECT pid, site, acuity, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY arrived_at DESC) AS rn FROM ed_visits) SELECT acuity, COUNT(*) FROM ranked WHERE rn = 1 GROUP BY acuity;

-- s06
SELECT COUNT(*) AS frequent FROM (SELECT pid FROM ed_visits GROUP BY pid HAVING COUNT(*) > 6) f;

-- s07
SELECT symptom, COUNT(DISTINCT pid) AS people FROM ed_visits v CROSS JOIN UNNEST(v.symptoms) AS u(symptom) WHERE v.acuity <= 2 GROUP BY symptom ORDER BY people DESC;

-- s08
SELECT REGEXP_EXTRACT(complaint, '^([a-z]+):', 1) AS grp, COUNT(*) FROM ed_visits GROUP BY 1;

-- s09
SELECT site, COUNT(*) FILTER (WHERE acuity = 1) AS red, COUNT(*) FILTER (WHERE acuity BETWEEN 2 AND 3) AS orange FROM ed_visits GROUP BY site HAVING COUNT(*) FILTER (WHERE acuity = 1) > 10;

-- s10
SELECT STDDEV_SAMP(charge), VAR_POP(charge), MEDIAN(charge) FROM ed_visits;

-- s11
SELECT p.gender, ROUND(AVG(v.charge), 2) AS avg_charge FROM people p JOIN ed_visits v USING (pid) WHERE p.born BETWEEN DATE '1980-01-01' AND DATE '1999-12-31' GROUP BY p.gender;

-- s12
SELECT FLOOR(DATE_DIFF('year', born, DATE '2025-06-30') / 10) * 10 AS decade, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;

-- s13
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM ed_visits v WHERE v.pid = p.pid AND v.charge > 2000) AND NOT EXISTS (SELECT 1 FROM ed_visits v WHERE v.pid = p.pid AND v.acuity = 1);

-- s14
SELECT s.region, SUM(v.charge) AS total FROM sites s RIGHT JOIN ed_visits v ON s.site = v.site GROUP BY s.region
==
SELECT s.region, SUM(v.charge) AS total FROM sites s RIGHT JOIN ed_visits v ON s.site = v.site GROUP BY s.region;

-- s15
SELECT site, SUM(charge) AS total, SUM(charge) / SUM(SUM(charge)) OVER () AS share FROM ed_visits GROUP BY site;

-- s16
SELECT acuity, COUNT(*) AS n FROM ed_visits WHERE complaint ILIKE '%pain%' OR complaint LIKE 'fall:%' GROUP BY acuity;

-- s17
SELECT EXTRACT(ISODOW FROM arrived_at) AS wd, AVG(n) FROM (SELECT pid, arrived_at, COUNT(*) AS n FROM ed_visits GROUP BY pid, arrived_at) z GROUP BY 1;

-- s18
SELECT m, COUNT(*) FROM (SELECT pid, DATE_TRUNC('month', MIN(arrived_at)) AS m FROM ed_visits GROUP BY pid) f GROUP BY m ORDER BY m;

-- u01
SELECT TIME_BUCKET(INTERVAL '6 hours', started) AS slot, SUM(bytes) / 1e6 AS mb FROM sessions WHERE started >= TIMESTAMP '2025-05-01 00:00:00' AND started < TIMESTAMP '2025-05-03 00:00:00' GROUP BY slot;

-- u02
SELECT apn, COUNT(*) AS n, AVG(duration_s) AS avg_s, MAX(duration_s) AS longest FROM sessions GROUP BY apn;

-- u03
SELECT REGEXP_REPLACE(imei_model, '[^A-Za-z]+.*$', '') AS vendor, COUNT(DISTINCT msisdn) FROM sessions GROUP BY 1;

-- u04
WITH s AS (SELECT msisdn, started, LEAD(started) OVER (PARTITION BY msisdn ORDER BY started) AS nxt FROM sessions) SELECT COUNT(*) FROM s WHERE nxt - started < INTERVAL '10 minutes';

-- u05
SELECT apn, PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY bytes) AS p95 FROM sessions GROUP BY apn;

-- u06
SELECT CASE WHEN bytes > 5000000 THEN 'heavy' WHEN bytes > 500000 THEN 'medium' ELSE 'light' END AS class, COUNT(DISTINCT msisdn) AS users FROM sessions GROUP BY class;

-- u07
SELECT COUNT(DISTINCT msisdn) FROM sessions WHERE roaming IS TRUE AND started::DATE = DATE '2025-05-10';

-- u08: in tsql
SELECT apn, SUM(IIF(roaming, 1, 0)) AS roam FROM sessions GROUP BY apn
==
SELECT apn, SUM(CASE WHEN roaming THEN 1 ELSE 0 END) FROM sessions GROUP BY apn;

-- u09: in tsql
SELECT DATEADD(day, -DATEPART(weekday, started), CAST(started AS date)) AS wk, COUNT(*) FROM sessions GROUP BY DATEADD(day, -DATEPART(weekday, started), CAST(started AS date))
==
SELECT CAST(started AS DATE) - CAST(ISODOW(started) % 7 + 1 AS INT) AS wk, COUNT(*) FROM sessions GROUP BY 1;

-- u10
SELECT tac, n FROM (SELECT SUBSTRING(imei_model, 1, 2) AS tac, COUNT(*) AS n FROM sessions GROUP BY 1) t WHERE n > 50 ORDER BY n DESC;

-- v01
SELECT agency, fiscal_year, SUM(granted) AS granted FROM grants GROUP BY CUBE (agency, fiscal_year);

-- v02
SELECT agency, COUNT(*) AS n FROM grants WHERE fiscal_year = EXTRACT(YEAR FROM DATE '2025-02-01') AND decision IN ('approved', 'partial') GROUP BY agency;

-- v03
SELECT decision, AVG(decided - applied) AS days, MIN(applied) AS first FROM grants GROUP BY decision;

-- v04
SELECT agency FROM grants GROUP BY agency HAVING AVG(granted) > 2500;

-- v05
SELECT a.agency, a.n, b.n AS prev FROM (SELECT agency, COUNT(*) AS n FROM grants WHERE fiscal_year = 2025 GROUP BY agency) a JOIN (SELECT agency, COUNT(*) AS n FROM grants WHERE fiscal_year = 2024 GROUP BY agency) b ON a.agency = b.agency;

-- v06
SELECT COUNT(*) FROM (SELECT applicant FROM grants WHERE fiscal_year = 2024 EXCEPT SELECT applicant FROM grants WHERE fiscal_year = 2025) x;

-- v07
SELECT NTILE(4) OVER (ORDER BY SUM(granted)) AS quartile, agency, SUM(granted) FROM grants GROUP BY agency;

-- v08
SELECT meta ->> 'lang' AS lang, COUNT(*) FROM grants WHERE JSON_EXTRACT_STRING(meta, '$.lang') IS NOT NULL GROUP BY 1
==
SELECT meta ->> '$.lang' AS lang, COUNT(*) FROM grants WHERE meta ->> '$.lang' IS NOT NULL GROUP BY 1;

-- w01: in bigquery
SELECT FORMAT_DATE('%Y-%m', day) AS ym, store, SUM(amount) AS sales FROM baskets GROUP BY ym, store
==
SELECT STRFTIME(day, '%Y-%m') AS ym, store, SUM(amount) FROM baskets GROUP BY ym, store;

-- w02
SELECT store, COUNT(DISTINCT shopper) AS shoppers, SUM(amount) / COUNT(DISTINCT shopper) AS per_head FROM baskets GROUP BY store ORDER BY per_head DESC LIMIT 2;

-- w03
SELECT coupon, COUNT(*) FROM baskets, UNNEST(coupons) AS t(coupon) WHERE opened_at >= TIME '18:00' GROUP BY coupon;

-- w04
SELECT store, SUM(amount) - LAG(SUM(amount)) OVER (PARTITION BY store ORDER BY DATE_TRUNC('month', day)) AS delta, DATE_TRUNC('month', day) AS m FROM baskets GROUP BY store, DATE_TRUNC('month', day);

-- w05
SELECT CORR(amount, items), REGR_SLOPE(amount, items) FROM baskets;

-- w06
SELECT GREATEST(LEAST(items, 10), 1) AS size, COUNT(*) FROM baskets GROUP BY 1;

-- w07
SELECT TRY_CAST(note AS INTEGER) AS code, COUNT(*) FROM baskets WHERE note ~ '^[0-9]+$' GROUP BY 1;

-- w08
SELECT day, SUM(amount) AS s, AVG(SUM(amount)) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7 FROM baskets WHERE day BETWEEN '2025-03-01' AND '2025-03-31' GROUP BY day ORDER BY day;
