-- count
SELECT COUNT(*) AS n FROM people;
-- count of people
SELECT COUNT(DISTINCT pid) AS n FROM people WHERE age BETWEEN 30 AND 40;
-- sum and mean
SELECT SUM(income) AS s, AVG(income) AS m FROM people;
-- mean by sex
SELECT sex, AVG(age) AS m FROM people GROUP BY sex;
-- two keys
SELECT sex, married, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY sex, married ORDER BY sex, married;
-- text number
SELECT COUNT(*) AS n FROM people WHERE educ = '8';
-- text numbers
SELECT educ, COUNT(*) AS n FROM people WHERE educ IN ('8', '9', '10') GROUP BY educ;
-- text code
SELECT COUNT(*) AS n FROM people WHERE code = '08';
-- having
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ HAVING COUNT(*) > 60 ORDER BY educ;
-- top
SELECT educ, AVG(income) AS m FROM people GROUP BY educ ORDER BY educ LIMIT 5;
-- variance
SELECT VARIANCE(age) AS v, STDDEV(income) AS d FROM people;
-- population variance
SELECT VAR_POP(age) AS v, STDDEV_POP(age) AS d FROM people;
-- case
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS g, COUNT(*) AS n FROM people GROUP BY 1;
-- ratio
SELECT SUM(CASE WHEN married = 1 THEN 1 ELSE 0 END) / COUNT(*) AS share FROM people;
-- expression
SELECT SUM(income * 0.1 + age) AS s FROM people WHERE sex <> 'F';
-- subquery
SELECT AVG(m) AS overall FROM (SELECT educ, AVG(income) AS m FROM people GROUP BY educ) AS g;
-- cte
WITH adults AS (SELECT * FROM people WHERE age >= 21) SELECT race, COUNT(*) AS n FROM adults GROUP BY race;
-- cte as constant
WITH top AS (SELECT AVG(income) AS m FROM people) SELECT COUNT(*) AS n FROM people, top WHERE income > m;
-- above the mean
SELECT COUNT(*) AS n FROM people WHERE income > (SELECT AVG(income) FROM people);
-- join
SELECT city_name, COUNT(*) AS n FROM people JOIN cities ON city = city_id GROUP BY city_name;
-- comma join
SELECT coast, AVG(age) AS m FROM people p, cities c WHERE p.city = c.city_id GROUP BY coast;
-- public subquery
SELECT COUNT(*) AS n FROM people WHERE city IN (SELECT city_id FROM cities WHERE coast = 1);
-- private join
SELECT sex, COUNT(*) AS n, SUM(fare) AS s FROM trips JOIN people ON rider = pid GROUP BY sex;
-- exists
SELECT COUNT(*) AS n FROM people WHERE EXISTS (SELECT * FROM trips WHERE rider = pid AND status = 'done');
-- per person
SELECT AVG(n) AS m FROM (SELECT rider, COUNT(*) AS n FROM trips GROUP BY rider) AS t;
-- trips by month
SELECT DATE_TRUNC('month', started) AS m, COUNT(*) AS n FROM trips GROUP BY 1;
-- trips by text month
SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) AS n FROM trips GROUP BY 1;
-- trips by hour
SELECT EXTRACT(hour FROM started) AS h, COUNT(*) AS n FROM trips GROUP BY h;
-- after an hour
SELECT COUNT(*) AS n FROM trips WHERE started + INTERVAL 1 HOUR < TIMESTAMP '2024-03-01 12:30:00';
-- within a month
SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 1 MONTH > DATE '2024-06-15';
-- epoch
SELECT COUNT(*) AS n FROM trips WHERE EXTRACT(epoch FROM started) > 1714521600;
-- root
SELECT AVG(SQRT(income)) AS m FROM people;
-- logarithm
SELECT sex, AVG(LN(income + 1)) AS m FROM people GROUP BY sex;
-- decades
SELECT FLOOR(LOG10(income + 1)) AS digits, COUNT(*) AS n FROM people GROUP BY 1;
-- exponential
SELECT SUM(EXP(age / 30)) AS s FROM people;
-- power
SELECT SUM(POWER(weight, 1.5)) AS s, SUM(POWER(age, 2)) AS t FROM people;
-- different values
SELECT SUM(DISTINCT educ) AS s FROM people;
-- different values in groups
SELECT sex, SUM(DISTINCT educ) AS s, COUNT(DISTINCT educ) AS n FROM people GROUP BY sex;
-- unlisted keys
SELECT driver, COUNT(*) AS n FROM trips GROUP BY driver;
-- unlisted expression
SELECT CASE WHEN fare > 50 THEN UPPER(driver) ELSE 'cheap' END AS d, COUNT(*) AS n FROM trips GROUP BY 1;
-- rollup
SELECT sex, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, race);
-- share of a window
SELECT race, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY race;
-- joined questions
SELECT a.sex, a.n, b.n AS m FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS a JOIN (SELECT sex, COUNT(*) AS n FROM people WHERE married = 1 GROUP BY sex) AS b ON a.sex = b.sex;
-- union
SELECT 'all' AS what, COUNT(*) AS n FROM people UNION ALL SELECT sex, COUNT(*) FROM people GROUP BY sex;
-- listed keys
SELECT DISTINCT race FROM people;
-- median
SELECT MEDIAN(age) AS m FROM people;
-- filter
SELECT COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(*) FILTER (WHERE age > 65) AS o FROM people;
-- pattern
SELECT COUNT(*) AS n FROM trips WHERE status LIKE 'c%' OR REGEXP_MATCHES(status, '^o');
-- buckets
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM people GROUP BY 1;
-- a person: refused, one row is one person
SELECT * FROM people WHERE pid = 17;
-- each person: refused, a number for each person
SELECT pid, SUM(income) AS s FROM people GROUP BY pid;
-- rows of others: refused, a sample of rows depends on others
SELECT COUNT(*) AS n FROM (SELECT * FROM people LIMIT 100) AS t;
-- self join: refused, one person meets all others
SELECT COUNT(*) AS n FROM people a JOIN people b ON a.age = b.age;
-- names of people: refused, an aggregate that shows rows
SELECT STRING_AGG(code, ',') AS all_codes FROM people;
