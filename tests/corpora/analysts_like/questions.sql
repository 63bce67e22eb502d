-- h01
SELECT ward, COUNT(*) AS admissions, AVG(DATE_DIFF('day', admitted_at, discharged_at)) AS mean_stay FROM visits GROUP BY ward ORDER BY admissions DESC;

-- h02
SELECT DATE_TRUNC('month', admitted_at) AS month, COUNT(DISTINCT patient_id) AS patients FROM visits WHERE admitted_at >= DATE '2024-01-01' AND admitted_at < DATE '2025-01-01' GROUP BY 1 ORDER BY 1;

-- h03
WITH ordered AS (SELECT patient_id, admitted_at, discharged_at, LAG(discharged_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS previous_discharge FROM visits) SELECT COUNT(*) AS readmissions FROM ordered WHERE admitted_at < previous_discharge + INTERVAL '30 days';

-- h04
SELECT EXTRACT(HOUR FROM admitted_at) AS hour, COUNT(*) AS n FROM visits WHERE ward = 'emergency' GROUP BY EXTRACT(HOUR FROM admitted_at) ORDER BY hour;

-- h05
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS age_group, SUM(cost) AS total_cost FROM (SELECT v.cost, DATE_DIFF('year', p.birth_date, DATE '2025-01-01') AS age FROM visits v JOIN patients p USING (patient_id)) t GROUP BY 1;

-- h06
SELECT ward, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS median_cost, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS p90 FROM visits GROUP BY ward;

-- h07
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.ward = 'cardiology');

-- h08
SELECT n_visits, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n_visits FROM visits GROUP BY patient_id) s WHERE n_visits BETWEEN 2 AND 9 GROUP BY n_visits ORDER BY n_visits;

-- h09
SELECT ward, SUM(CASE WHEN triage <= 2 THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS urgent_pct FROM visits GROUP BY ward;

-- h10
SELECT w.building, COUNT(v.visit_id) AS visits FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.building;

-- h11
SELECT COUNT(*) FROM visits WHERE diagnosis SIMILAR TO 'I2[0-5]%'
==
SELECT COUNT(*) FROM visits WHERE REGEXP_FULL_MATCH(diagnosis, 'I2[0-5].*');

-- h12
SELECT REGEXP_EXTRACT(diagnosis, '^([A-Z])') AS chapter, COUNT(*) FROM visits GROUP BY 1;

-- h13
SELECT ward, COUNT(*) FILTER (WHERE CAST(admitted_at AS TIME) >= TIME '22:00:00' OR CAST(admitted_at AS TIME) < TIME '06:00:00') AS night FROM visits GROUP BY ward;

-- h14
SELECT COUNT(DISTINCT a.patient_id) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND b.admitted_at > a.discharged_at AND b.admitted_at <= a.discharged_at + INTERVAL '30' DAY WHERE a.ward = 'surgery';

-- h15
SELECT first_ward, COUNT(*) FROM (SELECT patient_id, FIRST_VALUE(ward) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS first_ward, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted_at) AS rn FROM visits) f WHERE rn = 1 GROUP BY first_ward;

-- h16
SELECT AVG(los) AS avg_los, STDDEV(los) AS sd_los FROM (SELECT EXTRACT(EPOCH FROM discharged_at - admitted_at) / 3600 AS los FROM visits WHERE discharged_at IS NOT NULL) t;

-- h17
SELECT sex, insurer, COUNT(*) AS n FROM patients GROUP BY GROUPING SETS ((sex, insurer), (sex), ());

-- h18
SELECT ward, MAX(cost) - MIN(cost) AS spread FROM visits GROUP BY ward;

-- h19
SELECT ward, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM visits GROUP BY ward ORDER BY n DESC;

-- h20
SELECT tag, COUNT(*) AS n FROM visits, UNNEST(tags) AS t(tag) GROUP BY tag ORDER BY n DESC;

-- t01
SELECT s.region, DATE_TRUNC('week', c.called_at) AS week, SUM(c.mb) AS traffic FROM calls c JOIN subscribers s ON s.subscriber_id = c.subscriber_id WHERE c.kind = 'data' GROUP BY s.region, DATE_TRUNC('week', c.called_at);

-- t02
SELECT plan, AVG(total_mb) FROM (SELECT s.plan, c.subscriber_id, SUM(c.mb) AS total_mb FROM calls c INNER JOIN subscribers s ON c.subscriber_id = s.subscriber_id GROUP BY s.plan, c.subscriber_id) u GROUP BY plan;

-- t03
SELECT CASE WHEN seconds < 60 THEN '<1m' WHEN seconds BETWEEN 60 AND 299 THEN '1-5m' ELSE '5m+' END AS bucket, COUNT(*) FROM calls WHERE kind = 'voice' GROUP BY bucket;

-- t04
SELECT COUNT(*) FROM subscribers WHERE subscriber_id NOT IN (SELECT subscriber_id FROM calls WHERE called_at >= TIMESTAMP '2025-03-01 00:00:00');

-- t05
SELECT c.cell, k.tech, COUNT(*) AS dropped FROM calls AS c JOIN cells AS k ON k.cell = c.cell WHERE c.dropped GROUP BY c.cell, k.tech HAVING COUNT(*) > 20;

-- t06
SELECT EXTRACT(DOW FROM called_at) AS dow, EXTRACT(HOUR FROM called_at) AS hr, SUM(seconds) / 60.0 AS minutes FROM calls GROUP BY dow, hr;

-- t07
WITH gaps AS (SELECT subscriber_id, called_at, CASE WHEN called_at - LAG(called_at) OVER (PARTITION BY subscriber_id ORDER BY called_at) > INTERVAL '30 minutes' THEN 1 ELSE 0 END AS new_session FROM calls) SELECT SUM(new_session) AS sessions FROM gaps;

-- t08
SELECT DATE_TRUNC('month', activated_on) AS cohort, COUNT(DISTINCT CASE WHEN c.called_at >= s.activated_on + INTERVAL '30 days' THEN s.subscriber_id END) AS retained FROM subscribers s LEFT JOIN calls c ON c.subscriber_id = s.subscriber_id GROUP BY 1;

-- t09
SELECT region, COUNT_IF(plan = 'prepaid') AS prepaid, COUNTIF(plan = 'business') AS business FROM subscribers GROUP BY region
==
SELECT region, COUNT_IF(plan = 'prepaid') AS prepaid, COUNT_IF(plan = 'business') AS business FROM subscribers GROUP BY region;

-- t10
SELECT APPROX_COUNT_DISTINCT(cell) FROM calls
==
SELECT COUNT(DISTINCT cell) FROM calls;

-- t11
SELECT CORR(seconds, mb) AS r FROM calls WHERE kind = 'data';

-- t12
SELECT kind, APPROX_QUANTILE(seconds, 0.95) AS p95 FROM calls GROUP BY kind
==
SELECT kind, QUANTILE_CONT(seconds, 0.95) FROM calls GROUP BY kind;

-- t13
SELECT REGEXP_REPLACE(cell, '[0-9]+$', '') AS site, COUNT(*) AS calls FROM calls GROUP BY 1;

-- t14
SELECT s.plan, AVG(CASE WHEN c.dropped THEN 1.0 ELSE 0.0 END) AS drop_rate FROM subscribers s JOIN calls c ON c.subscriber_id = s.subscriber_id GROUP BY s.plan ORDER BY drop_rate DESC LIMIT 3;

-- g01
SELECT office, YEAR(opened_on) AS y, COUNT(*) AS cases FROM cases GROUP BY office, YEAR(opened_on);

-- g02
SELECT benefit, SUM(amount) AS paid, COUNT(DISTINCT citizen_id) AS people FROM cases WHERE status = 'granted' GROUP BY benefit UNION ALL SELECT 'all' AS benefit, SUM(amount), COUNT(DISTINCT citizen_id) FROM cases WHERE status = 'granted';

-- g03
SELECT TO_CHAR(opened_on, 'YYYY-MM') AS month, COUNT(*) FROM cases GROUP BY TO_CHAR(opened_on, 'YYYY-MM')
==
SELECT STRFTIME(opened_on, '%Y-%m') AS month, COUNT(*) FROM cases GROUP BY 1;

-- g04
SELECT COUNT(*) FROM (SELECT citizen_id FROM cases WHERE benefit = 'housing' INTERSECT SELECT citizen_id FROM cases WHERE benefit = 'child') x;

-- g05
SELECT office, AVG(closed_on - opened_on) AS days_open FROM cases WHERE closed_on IS NOT NULL GROUP BY office;

-- g06
SELECT CASE WHEN amount >= 1000 THEN 'high' ELSE 'low' END AS band, COUNT(*) FROM cases GROUP BY 1;

-- g07
SELECT JSON_VALUE(payload, '$.channel') AS channel, COUNT(*) AS n FROM cases GROUP BY JSON_VALUE(payload, '$.channel')
==
SELECT payload ->> '$.channel' AS channel, COUNT(*) AS n FROM cases GROUP BY 1;

-- g08
SELECT office, COUNT(*) AS open_cases FROM cases WHERE closed_on IS NULL AND opened_on <= CURRENT_DATE - INTERVAL '90 days' GROUP BY office
==
SELECT office, COUNT(*) AS open_cases FROM cases WHERE closed_on IS NULL AND opened_on <= CURRENT_DATE - INTERVAL '90 days' GROUP BY office;

-- g09
SELECT QUARTER(opened_on) AS q, VAR_SAMP(amount) AS v FROM cases WHERE EXTRACT(YEAR FROM opened_on) = 2024 GROUP BY q
==
SELECT QUARTER(opened_on) AS q, VAR_SAMP(amount) AS v FROM cases WHERE EXTRACT(YEAR FROM opened_on) = 2024 GROUP BY q;

-- g10
SELECT benefit, COUNT(*) AS n FROM cases GROUP BY benefit HAVING COUNT(*) >= (SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM cases GROUP BY benefit) z);

-- g11
SELECT status, COUNT(*) FROM cases WHERE LOWER(TRIM(office)) LIKE '%north%' GROUP BY ROLLUP (status);

-- g12
SELECT citizens, COUNT(*) FROM (SELECT office, COUNT(DISTINCT citizen_id) AS citizens FROM cases GROUP BY office) t GROUP BY citizens;

-- r01
SELECT channel, SUM(total - COALESCE(discount, 0)) AS net FROM orders WHERE status <> 'cancelled' GROUP BY channel;

-- r02
SELECT p.category, SUM(i.quantity * i.price) AS revenue FROM orders o JOIN items i ON i.order_id = o.order_id JOIN products p ON p.product = i.product GROUP BY p.category ORDER BY revenue DESC LIMIT 5;

-- r03
SELECT DATE_TRUNC('day', ordered_at) AS day, SUM(total) AS revenue, SUM(SUM(total)) OVER (ORDER BY DATE_TRUNC('day', ordered_at)) AS running FROM orders WHERE ordered_at >= '2025-01-01' AND ordered_at < '2025-02-01' GROUP BY 1 ORDER BY 1;

-- r04: in tsql
SELECT TOP (3) [channel], COUNT_BIG(*) AS n FROM [orders] GROUP BY [channel] ORDER BY n DESC
==
SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel ORDER BY n DESC LIMIT 3;

-- r05
SELECT channel, AVG(total) AS aov FROM orders GROUP BY channel QUALIFY ROW_NUMBER() OVER (ORDER BY AVG(total) DESC) <= 2;

-- r06
SELECT COUNT(*) AS one_time FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) = 1) x;

-- r07
SELECT o.channel, COUNT(*) FROM orders o WHERE o.total > (SELECT AVG(o2.total) FROM orders o2 WHERE o2.customer_id = o.customer_id) GROUP BY o.channel;

-- r08: in tsql
SELECT DATEPART(month, ordered_at) AS m, SUM(total) FROM orders GROUP BY DATEPART(month, ordered_at)
==
SELECT DATE_PART('month', ordered_at) AS m, SUM(total) FROM orders GROUP BY 1;

-- r09: in bigquery
SELECT DATE_TRUNC(ordered_at, MONTH) AS m, COUNT(*) FROM `orders` GROUP BY m
==
SELECT DATE_TRUNC('month', ordered_at) AS m, COUNT(*) FROM orders GROUP BY m;

-- r10
SELECT WIDTH_BUCKET(total, 0, 500, 10) AS b, COUNT(*) FROM orders GROUP BY b ORDER BY b
==
SELECT CAST(LEAST(FLOOR(total / 50), 10) + 1 AS INT) AS b, COUNT(*) FROM orders GROUP BY b ORDER BY b;

-- r11
SELECT SUM(total) FILTER (WHERE channel = 'web') / NULLIF(SUM(total), 0) AS web_share FROM orders;

-- r12
SELECT tag, SUM(total) AS revenue FROM orders CROSS JOIN UNNEST(tags) AS x(tag) WHERE tag IN ('gift', 'promo') GROUP BY tag;

-- b01
SELECT DATE_TRUNC('day', "__timestamp") AS "__timestamp", COUNT(*) AS "count" FROM events GROUP BY DATE_TRUNC('day', "__timestamp") ORDER BY "count" DESC LIMIT 1000;

-- b02
SELECT device, COUNT(*) FROM events JOIN (SELECT device AS device__, COUNT(*) AS mme FROM events GROUP BY device ORDER BY mme DESC LIMIT 2) series ON device = device__ GROUP BY device;

-- b03
SELECT COUNT(DISTINCT a.user_id) AS converted FROM events a JOIN events b ON a.user_id = b.user_id WHERE a.event_name = 'view' AND b.event_name = 'buy' AND b.__timestamp BETWEEN a.__timestamp AND a.__timestamp + INTERVAL '7 days';

-- b04
SELECT SPLIT_PART(page, '/', 2) AS section, COUNT(*) AS views, COUNT(DISTINCT user_id) AS users FROM events WHERE event_name = 'view' GROUP BY 1 ORDER BY views DESC LIMIT 10;

-- b05
SELECT payload ->> 'browser' AS browser, COUNT(*) AS n FROM events GROUP BY payload ->> 'browser'
==
SELECT payload ->> '$.browser' AS browser, COUNT(*) AS n FROM events GROUP BY 1;

-- b06
SELECT COUNT(*) AS events, COUNT(DISTINCT user_id) AS users, COUNT(*) * 1.0 / COUNT(DISTINCT user_id) AS per_user FROM events WHERE device IN ('phone', 'tablet');

-- b07
WITH firsts AS (SELECT user_id, MIN(__timestamp) AS first_ts FROM events GROUP BY user_id) SELECT DATE_TRUNC('month', first_ts) AS cohort, COUNT(*) AS users FROM firsts GROUP BY 1 ORDER BY 1;

-- b08
SELECT device, event_name, COUNT(*) AS n, RANK() OVER (PARTITION BY device ORDER BY COUNT(*) DESC) AS rnk FROM events GROUP BY device, event_name;

-- b09
SELECT * FROM (SELECT device, event_name FROM events) PIVOT (COUNT(*) FOR event_name IN ('view', 'buy'))
==
SELECT device, COUNT(*) FILTER (WHERE event_name = 'view') AS v, COUNT(*) FILTER (WHERE event_name = 'buy') AS b FROM events GROUP BY device;

-- b10
SELECT REGEXP_SUBSTR(page, '[a-z]+', 1, 1) AS area, COUNT(*) FROM events GROUP BY area
==
SELECT REGEXP_EXTRACT(page, '[a-z]+') AS area, COUNT(*) FROM events GROUP BY area;

-- b11
SELECT TIME_BUCKET(INTERVAL '15 minutes', __timestamp) AS slot, COUNT(*) FROM events WHERE __timestamp >= '2025-03-01' AND __timestamp < '2025-03-02' GROUP BY slot ORDER BY slot;

-- b12
SELECT COUNT(*) AS n FROM events WHERE CAST(__timestamp AS TIME) BETWEEN '09:00' AND '17:00' AND DAYOFWEEK(__timestamp) NOT IN (0, 6);

-- b13
SELECT AVG(n_events) FROM (SELECT user_id, COUNT(*) n_events FROM events WHERE event_name = 'view' GROUP BY user_id HAVING COUNT(*) >= 2) q;

-- b14
SELECT event_name, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY event_name) AS diff FROM events GROUP BY event_name;
