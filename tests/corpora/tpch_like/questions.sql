-- 1: prices by flag and status
SELECT l_flag, l_status, SUM(l_quantity) AS sum_qty, SUM(l_price) AS sum_base,
       SUM(l_price * (1 - l_discount)) AS sum_disc, SUM(l_price * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
       AVG(l_quantity) AS avg_qty, AVG(l_price) AS avg_price, COUNT(*) AS count_order
FROM items WHERE l_ship <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_flag, l_status ORDER BY l_flag, l_status;
-- 2: refused, public tables only
SELECT s_balance, s_name, n_name, p_id FROM parts, suppliers, offers, nations
WHERE p_id = ps_part AND s_id = ps_supplier AND p_size = 15 AND s_nation = n_id ORDER BY s_balance DESC LIMIT 100;
-- 3: refused, one group for each order of a customer
SELECT l_order, SUM(l_price * (1 - l_discount)) AS revenue, o_date FROM customers, orders, items
WHERE c_segment = 'BUILDING' AND c_id = o_customer AND l_order = o_id AND o_date < DATE '1995-03-15'
GROUP BY l_order, o_date ORDER BY revenue DESC LIMIT 10;
-- 4: orders of a quarter that have a late item
SELECT o_priority, COUNT(*) AS order_count FROM orders
WHERE o_date >= DATE '1993-07-01' AND o_date < DATE '1993-07-01' + INTERVAL '3' MONTH
  AND EXISTS (SELECT * FROM items WHERE l_order = o_id AND l_commit < l_receipt)
GROUP BY o_priority ORDER BY o_priority;
-- 5: local revenue by nation
SELECT n_name, SUM(l_price * (1 - l_discount)) AS revenue FROM customers, orders, items, suppliers, nations, regions
WHERE c_id = o_customer AND l_order = o_id AND l_supplier = s_id AND c_nation = s_nation AND s_nation = n_id
  AND n_region = r_id AND r_name = 'ASIA' AND o_date >= DATE '1994-01-01'
  AND o_date < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY n_name ORDER BY revenue DESC;
-- 6: what a higher discount would have cost
SELECT SUM(l_price * l_discount) AS revenue FROM items
WHERE l_ship >= DATE '1994-01-01' AND l_ship < DATE '1994-01-01' + INTERVAL '1' YEAR
  AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24;
-- 7: trade between two nations by year
SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue FROM (
  SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(year FROM l_ship) AS l_year,
         l_price * (1 - l_discount) AS volume
  FROM suppliers, items, orders, customers, nations n1, nations n2
  WHERE s_id = l_supplier AND o_id = l_order AND c_id = o_customer AND s_nation = n1.n_id AND c_nation = n2.n_id
    AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
    AND l_ship BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping
GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year;
-- 8: market share of a nation by year
SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share FROM (
  SELECT EXTRACT(year FROM o_date) AS o_year, l_price * (1 - l_discount) AS volume, n2.n_name AS nation
  FROM parts, suppliers, items, orders, customers, nations n1, nations n2, regions
  WHERE p_id = l_part AND s_id = l_supplier AND l_order = o_id AND o_customer = c_id AND c_nation = n1.n_id
    AND n1.n_region = r_id AND r_name = 'AMERICA' AND s_nation = n2.n_id
    AND o_date BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND p_type = 'ECONOMY STEEL') AS all_nations
GROUP BY o_year ORDER BY o_year;
-- 9: profit by nation and year
SELECT nation, o_year, SUM(amount) AS sum_profit FROM (
  SELECT n_name AS nation, EXTRACT(year FROM o_date) AS o_year,
         l_price * (1 - l_discount) - ps_cost * l_quantity AS amount
  FROM parts, suppliers, items, offers, orders, nations
  WHERE s_id = l_supplier AND ps_supplier = l_supplier AND ps_part = l_part AND p_id = l_part AND o_id = l_order
    AND s_nation = n_id AND p_name LIKE '%green%') AS profit
GROUP BY nation, o_year ORDER BY nation, o_year DESC;
-- 10: refused, one group for each customer
SELECT c_id, SUM(l_price * (1 - l_discount)) AS revenue, n_name FROM customers, orders, items, nations
WHERE c_id = o_customer AND l_order = o_id AND l_flag = 'R' AND c_nation = n_id
GROUP BY c_id, n_name ORDER BY revenue DESC LIMIT 20;
-- 11: refused, public tables only
SELECT ps_part, SUM(ps_cost * ps_available) AS v FROM offers, suppliers WHERE ps_supplier = s_id GROUP BY ps_part;
-- 12: late items by mode
SELECT l_mode, SUM(CASE WHEN o_priority = '1-URGENT' OR o_priority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line,
       SUM(CASE WHEN o_priority <> '1-URGENT' AND o_priority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line
FROM orders, items
WHERE o_id = l_order AND l_mode IN ('MAIL', 'SHIP') AND l_commit < l_receipt AND l_ship < l_commit
  AND l_receipt >= DATE '1994-01-01' AND l_receipt < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY l_mode ORDER BY l_mode;
-- 13: customers by their number of orders
SELECT c_count, COUNT(*) AS custdist FROM (
  SELECT c_id, COUNT(o_id) AS c_count FROM customers LEFT OUTER JOIN orders
    ON c_id = o_customer AND o_comment NOT LIKE '%special%requests%'
  GROUP BY c_id) AS c_orders
WHERE c_count IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) GROUP BY c_count ORDER BY custdist DESC, c_count DESC;
-- 14: share of promotions
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_price * (1 - l_discount) ELSE 0 END)
       / SUM(l_price * (1 - l_discount)) AS promo_revenue
FROM items, parts WHERE l_part = p_id AND l_ship >= DATE '1995-09-01'
  AND l_ship < DATE '1995-09-01' + INTERVAL '1' MONTH;
-- 15: revenue by supplier, ranked
WITH revenue AS (
  SELECT s_name AS supplier, SUM(l_price * (1 - l_discount)) AS total FROM items, suppliers
  WHERE l_supplier = s_id AND l_ship >= DATE '1996-01-01' AND l_ship < DATE '1996-01-01' + INTERVAL '3' MONTH
  GROUP BY s_name)
SELECT supplier, total, RANK() OVER (ORDER BY total DESC) AS place FROM revenue ORDER BY place LIMIT 5;
-- 16: refused, public tables only
SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_supplier) AS n FROM offers, parts WHERE p_id = ps_part
GROUP BY p_brand, p_type, p_size;
-- 17: small orders of a brand
SELECT SUM(l_price) / 7.0 AS avg_yearly FROM items, parts
WHERE p_id = l_part AND p_brand = 'Brand#23' AND p_container = 'MED BAG' AND l_quantity < 10;
-- 18: customers with a large order
SELECT COUNT(*) AS n, SUM(o_total) AS total FROM customers, orders
WHERE c_id = o_customer AND o_id IN (SELECT l_order FROM items GROUP BY l_order HAVING SUM(l_quantity) > 100);
-- 19: revenue of three kinds of parts
SELECT SUM(l_price * (1 - l_discount)) AS revenue FROM items, parts
WHERE (p_id = l_part AND p_brand = 'Brand#12' AND p_container = 'SM CASE' AND l_quantity >= 1 AND l_quantity <= 11
       AND p_size BETWEEN 1 AND 25 AND l_mode IN ('AIR', 'AIR REG') AND l_instruct = 'DELIVER IN PERSON')
   OR (p_id = l_part AND p_brand = 'Brand#23' AND p_container = 'MED BAG' AND l_quantity >= 10 AND l_quantity <= 40
       AND p_size BETWEEN 1 AND 30 AND l_mode IN ('AIR', 'AIR REG') AND l_instruct = 'DELIVER IN PERSON');
-- 20: items of parts that a list names
SELECT n_name, COUNT(*) AS n FROM items, suppliers, nations
WHERE l_supplier = s_id AND s_nation = n_id AND l_part IN (SELECT p_id FROM parts WHERE p_name LIKE 'green%')
GROUP BY n_name ORDER BY n_name;
-- 21: suppliers that kept orders waiting
SELECT s_name, COUNT(*) AS numwait FROM suppliers, items, orders, nations
WHERE s_id = l_supplier AND o_id = l_order AND o_status = 'F' AND l_receipt > l_commit AND s_nation = n_id
  AND n_name = 'CHINA'
GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100;
-- 22: customers of some country codes without orders
SELECT code, COUNT(*) AS numcust, SUM(c_balance) AS totacctbal FROM (
  SELECT SUBSTRING(c_phone FROM 1 FOR 2) AS code, c_balance FROM customers
  WHERE SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29')
    AND NOT EXISTS (SELECT * FROM orders WHERE o_customer = c_id)) AS custsale
GROUP BY code ORDER BY code;
