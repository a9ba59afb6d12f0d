-- EXISTS, IN and scalar subqueries, in WHERE, SELECT and HAVING.

-- name: exists_correlated
SELECT s.id FROM sales s WHERE EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop);

-- name: exists_with_a_condition
SELECT s.id, s.n FROM sales s WHERE EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop AND h.size > s.n);

-- name: not_exists
SELECT s.id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop AND h.active);

-- name: not_exists_without_equality
SELECT s.id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM shops h WHERE h.size < s.n);

-- name: exists_uncorrelated
SELECT s.id FROM sales s WHERE EXISTS (SELECT 1 FROM shops WHERE size > 3);

-- name: not_exists_uncorrelated
SELECT s.id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM people WHERE age > 60);

-- name: exists_in_select
SELECT s.id, EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop AND h.active) AS there FROM sales s;

-- name: exists_in_a_disjunction
SELECT s.id FROM sales s WHERE s.n > 3 OR EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop);

-- name: exists_in_case
SELECT s.id, CASE WHEN EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop) THEN 'known' WHEN s.shop IS NULL THEN 'none' ELSE 'lost' END AS what FROM sales s;

-- name: exists_of_an_aggregate
SELECT s.id FROM sales s WHERE EXISTS (SELECT h.region FROM shops h WHERE h.shop = s.shop GROUP BY h.region HAVING count(*) > 1);

-- name: exists_nested
SELECT p.name FROM people p WHERE EXISTS (SELECT 1 FROM shops h WHERE h.shop = p.shop AND NOT EXISTS (SELECT 1 FROM sales s WHERE s.shop = h.shop AND s.n > 2));

-- name: in_subquery
SELECT id, shop FROM sales WHERE shop IN (SELECT shop FROM shops);

-- name: in_subquery_in_select
SELECT id, shop, shop IN (SELECT shop FROM shops WHERE size > 1) AS known FROM sales;

-- name: in_subquery_correlated
SELECT s.id FROM sales s WHERE s.n IN (SELECT h.n FROM shops h WHERE h.shop = s.shop);

-- name: in_subquery_of_two_columns
SELECT id FROM sales WHERE (shop, n) IN (SELECT shop, n FROM shops);

-- name: in_subquery_in_a_disjunction
SELECT id, n FROM sales WHERE n IN (SELECT n FROM shops) OR shop IN (SELECT shop FROM people);

-- name: in_subquery_of_an_aggregate
SELECT id, n FROM sales WHERE n IN (SELECT max(n) FROM sales GROUP BY shop);

-- name: not_in_subquery
SELECT id, n FROM sales WHERE n NOT IN (SELECT n FROM shops);

-- name: not_in_subquery_without_nulls
SELECT id, n FROM sales WHERE n NOT IN (SELECT n FROM shops WHERE n IS NOT NULL);

-- name: not_in_a_subquery_that_has_nulls_at_times
SELECT id, n FROM sales WHERE n NOT IN (SELECT n FROM shops WHERE size < 2);

-- name: not_in_an_empty_subquery
SELECT id, n FROM sales WHERE n NOT IN (SELECT n FROM shops WHERE size > 1000);

-- name: not_in_a_subquery_that_is_empty_at_times
SELECT id, n FROM sales WHERE n NOT IN (SELECT n FROM shops WHERE active AND size > 4);

-- name: not_in_correlated
SELECT s.id, s.n FROM sales s WHERE s.n NOT IN (SELECT h.n FROM shops h WHERE h.shop = s.shop);

-- name: not_in_of_two_columns
SELECT id FROM sales WHERE (shop, n) NOT IN (SELECT shop, n FROM shops WHERE size > 2);

-- name: not_in_in_select
SELECT id, n NOT IN (SELECT n FROM shops WHERE n > 1) AS unknown FROM sales;

-- name: not_in_in_a_disjunction
SELECT id FROM sales WHERE flag OR n NOT IN (SELECT n FROM shops);

-- name: in_of_an_expression_over_null
SELECT id, (n + 1) IN (SELECT size FROM shops) AS there FROM sales;

-- name: scalar_uncorrelated
SELECT id, n, (SELECT max(size) FROM shops) AS most FROM sales;

-- name: scalar_uncorrelated_in_where
SELECT id, n FROM sales WHERE n > (SELECT avg(n) FROM sales);

-- name: scalar_uncorrelated_twice
SELECT id, (SELECT count(*) FROM shops) AS a, (SELECT min(opened) FROM shops) AS b FROM sales WHERE f < (SELECT max(f) FROM sales);

-- name: scalar_of_no_rows
SELECT id, (SELECT max(size) FROM shops WHERE size > 1000) AS nothing FROM sales;

-- name: scalar_of_one_row_or_none
SELECT id, (SELECT DISTINCT 'busy' FROM shops WHERE size >= 4) AS state FROM sales;

-- name: scalar_correlated
SELECT h.shop, (SELECT sum(s.amount) FROM sales s WHERE s.shop = h.shop) AS total FROM shops h;

-- name: scalar_correlated_count_of_nothing_is_zero
SELECT h.shop, (SELECT count(*) FROM sales s WHERE s.shop = h.shop AND s.flag) AS rows FROM shops h;

-- name: scalar_correlated_in_where
SELECT o.id, o.shop, o.n FROM sales o WHERE o.n > (SELECT avg(t.n) FROM sales t WHERE t.shop = o.shop);

-- name: scalar_correlated_without_equality
SELECT h.shop, h.size, (SELECT count(*) FROM sales s WHERE s.n < h.size) AS fewer FROM shops h;

-- name: scalar_correlated_expression
SELECT h.shop, (SELECT coalesce(max(s.n), -1) FROM sales s WHERE s.shop = h.shop) + h.size AS a FROM shops h;

-- name: scalar_correlated_two_levels
SELECT h.shop, (SELECT max(p.age) FROM people p WHERE p.shop = h.shop AND p.age > (SELECT min(q.age) FROM people q WHERE q.boss = p.boss)) AS oldest FROM shops h;

-- name: scalar_correlated_first
SELECT s.id, (SELECT h.region FROM shops h WHERE h.shop = s.shop ORDER BY h.region DESC LIMIT 1) AS region FROM sales s;

-- name: scalar_in_case
SELECT h.shop, CASE WHEN h.size > 2 THEN (SELECT max(s.n) FROM sales s WHERE s.shop = h.shop) ELSE h.size END AS a FROM shops h;

-- name: scalar_in_having
SELECT shop, sum(n) AS total FROM sales GROUP BY shop HAVING sum(n) > (SELECT avg(n) FROM shops);

-- name: scalar_in_group_by
SELECT n > (SELECT avg(n) FROM sales) AS above, count(*) AS rows FROM sales GROUP BY n > (SELECT avg(n) FROM sales);

-- name: scalar_in_a_join_condition
SELECT s.id, h.shop FROM sales s JOIN shops h ON s.shop = h.shop AND h.size > (SELECT min(low) FROM prices);

-- name: scalar_in_an_aggregate
SELECT shop, sum(CASE WHEN n > (SELECT min(size) FROM shops) THEN 1 ELSE 0 END) AS larger FROM sales GROUP BY shop;

-- name: subquery_of_a_subquery_in_from
SELECT region, total FROM (SELECT region, sum(n) AS total FROM (SELECT h.region, s.n FROM sales s JOIN shops h USING (shop)) GROUP BY region) WHERE total > 0;

-- name: exists_and_in_and_scalar_together
SELECT s.id FROM sales s WHERE EXISTS (SELECT 1 FROM shops h WHERE h.shop = s.shop) AND s.n IN (SELECT n FROM shops) AND s.f <= (SELECT max(f) FROM sales);

-- name: in_with_a_union
SELECT id, shop FROM sales WHERE shop IN (SELECT shop FROM shops WHERE active UNION SELECT shop FROM people WHERE age > 40);

-- name: not_exists_that_finds_the_greatest
SELECT o.shop, o.n FROM sales o WHERE NOT EXISTS (SELECT 1 FROM sales t WHERE t.shop = o.shop AND t.n > o.n);

-- name: relational_division
SELECT DISTINCT p.name FROM people p WHERE NOT EXISTS (SELECT 1 FROM shops h LEFT ANTI JOIN sales s ON s.shop = h.shop AND s.flag WHERE h.size = p.boss);
