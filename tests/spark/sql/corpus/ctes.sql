-- Common table expressions: used once, twice, nested, shadowed.

-- name: cte
WITH t AS (SELECT shop, sum(n) AS total FROM sales GROUP BY shop) SELECT * FROM t WHERE total > 1;

-- name: cte_used_twice
WITH t AS (SELECT shop, sum(n) AS total FROM sales GROUP BY shop) SELECT a.shop, b.shop AS other FROM t a JOIN t b ON a.total < b.total;

-- name: cte_of_a_cte
WITH a AS (SELECT shop, n FROM sales WHERE n > 0), b AS (SELECT shop, max(n) AS most FROM a GROUP BY shop) SELECT b.shop, b.most, count(a.n) AS rows FROM b JOIN a ON a.shop = b.shop GROUP BY b.shop, b.most;

-- name: cte_with_column_names
WITH t(name, rows) AS (SELECT shop, count(*) FROM sales GROUP BY shop) SELECT name, rows FROM t;

-- name: cte_nested
WITH t AS (WITH u AS (SELECT shop, n FROM sales WHERE flag) SELECT shop, count(*) AS rows FROM u GROUP BY shop) SELECT * FROM t;

-- name: cte_in_a_subquery
SELECT id FROM sales WHERE n > (WITH t AS (SELECT avg(n) AS mean FROM sales) SELECT mean FROM t);

-- name: cte_that_hides_a_table
WITH shops AS (SELECT shop, n FROM sales WHERE n > 1) SELECT shop, count(*) AS rows FROM shops GROUP BY shop;

-- name: cte_in_union
WITH t AS (SELECT shop, n FROM sales) SELECT shop, n FROM t WHERE n > 2 UNION ALL SELECT shop, -n FROM t WHERE n < 0;

-- name: cte_in_exists
WITH big AS (SELECT shop FROM shops WHERE size > 2) SELECT s.id FROM sales s WHERE EXISTS (SELECT 1 FROM big b WHERE b.shop = s.shop) AND s.shop NOT IN (SELECT shop FROM big WHERE shop = 'a');

-- name: cte_with_a_window_used_twice
WITH t AS (SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n) AS r FROM sales) SELECT a.shop, a.n, b.n AS next FROM t a LEFT JOIN t b ON a.shop = b.shop AND b.r = a.r + 1;

-- name: cte_chain_of_four
WITH a AS (SELECT h.region, s.n, s.amount FROM sales s JOIN shops h USING (shop)), b AS (SELECT region, sum(amount) AS total FROM a GROUP BY region),
     c AS (SELECT avg(total) AS mean FROM b), e AS (SELECT b.region, b.total - c.mean AS above FROM b CROSS JOIN c)
SELECT region, above FROM e WHERE above > 0;
