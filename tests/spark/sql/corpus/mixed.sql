-- Several features at once, and expressions that fail for some rows: their rows, groups and pairs are left out.

-- name: best_two_of_each_in_a_subquery
SELECT sh.shop, (SELECT sum(x.amount) FROM (SELECT shop, amount, rank() OVER (PARTITION BY shop ORDER BY amount DESC) AS r FROM sales) x WHERE x.shop = sh.shop AND x.r <= 2) AS best FROM shops sh;

-- name: in_with_or_over_the_outer_row
SELECT id, n FROM sales s WHERE n IN (SELECT size FROM shops h WHERE h.shop = s.shop OR h.size > s.n);

-- name: frames_before_and_behind_by_value
SELECT id, shop, n, count(*) OVER (PARTITION BY shop ORDER BY n DESC NULLS LAST RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) AS c, max(n) OVER (PARTITION BY shop ORDER BY n RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS m FROM sales;

-- name: window_over_aggregates_by_rows
SELECT shop, n, sum(sum(amount)) OVER (PARTITION BY shop ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running, count(count(*)) OVER (PARTITION BY shop) AS groups FROM sales GROUP BY shop, n;

-- name: grouping_sets_twice_the_same
SELECT shop, flag, n, count(*), grouping(shop), grouping_id(shop, flag, n) FROM sales GROUP BY GROUPING SETS ((shop, flag), (flag, n), (), (shop), (shop));

-- name: cube_and_grouping_sets
SELECT region, active, count(*), sum(size), count(DISTINCT shop) FROM shops GROUP BY CUBE (region, active), GROUPING SETS ((size), ());

-- name: except_all_of_a_union_then_intersect
SELECT shop FROM sales EXCEPT ALL (SELECT shop FROM shops UNION SELECT shop FROM people) INTERSECT SELECT shop FROM sales;

-- name: lateral_groups
SELECT a.shop, b.k, b.total FROM (SELECT DISTINCT shop FROM sales) a, LATERAL (SELECT n % 2 AS k, sum(amount) AS total FROM sales s WHERE s.shop = a.shop GROUP BY n % 2) b;

-- name: left_lateral_first_rows
SELECT h.shop, l.id, l.amount FROM shops h LEFT JOIN LATERAL (SELECT id, amount FROM sales s WHERE s.shop = h.shop ORDER BY amount DESC NULLS LAST, id, n, big LIMIT 2) l ON true;

-- name: full_join_of_groups_with_a_bound
SELECT s.shop, h.region, count(*) AS c, sum(s.n) AS n FROM sales s FULL OUTER JOIN shops h ON s.shop = h.shop AND s.day >= h.opened GROUP BY s.shop, h.region;

-- name: left_join_by_an_array_and_two_spans
SELECT p.tag, s.id FROM prices p LEFT JOIN sales s ON array_contains(s.tags, p.tag) AND s.n BETWEEN p.low AND p.high AND s.day BETWEEN p.since AND p.until;

-- name: groups_against_their_average
WITH t AS (SELECT shop, sum(n) AS n FROM sales GROUP BY shop), u AS (SELECT avg(n) AS a FROM t) SELECT t.shop, t.n, t.n > u.a AS above, (SELECT count(*) FROM t x WHERE x.n > t.n) AS rank FROM t CROSS JOIN u;

-- name: subquery_over_an_array_of_the_row
SELECT id, (SELECT sum(x) FROM (SELECT explode(array(s.n, s.id)) AS x)) AS t FROM sales s;

-- name: first_row_of_a_subquery
SELECT region, (SELECT name FROM people p WHERE p.shop = h.shop ORDER BY p.age DESC NULLS LAST, p.id, p.name LIMIT 1) AS oldest FROM shops h;

-- name: failing_argument
-- oracle: SELECT shop, sum(10 / n), count(*) FROM sales WHERE n IS NULL OR n <> 0 GROUP BY shop
SELECT shop, sum(10 / n), count(*) FROM sales GROUP BY shop;

-- name: failing_condition_on_groups
-- oracle: SELECT shop, s FROM (SELECT shop, sum(n) AS s FROM sales GROUP BY shop) WHERE s IS NULL OR s <> 0
SELECT shop, s FROM (SELECT shop, sum(n) AS s FROM sales GROUP BY shop) WHERE s IS NULL OR 10 / s > -100;

-- name: failing_condition_on_pairs
-- oracle: SELECT s.id, h.size FROM sales s JOIN shops h ON s.shop = h.shop AND try_divide(10, s.n + h.size) < 3
SELECT s.id, h.size FROM sales s JOIN shops h ON s.shop = h.shop WHERE 10 / (s.n + h.size) < 3;

-- name: failing_order
-- oracle: SELECT id, rank() OVER (PARTITION BY shop ORDER BY 10 / n) AS r FROM sales WHERE n IS NULL OR n <> 0
SELECT id, rank() OVER (PARTITION BY shop ORDER BY 10 / n) AS r FROM sales;

-- name: failing_generator
-- oracle: SELECT id, x FROM sales LATERAL VIEW explode(sequence(1, try_divide(6, n)::int % 3)) AS x WHERE n IS NOT NULL AND n <> 0
SELECT id, x FROM sales LATERAL VIEW explode(sequence(1, (6 / n)::int % 3)) AS x WHERE n IS NOT NULL;

-- name: failing_key_of_the_left_side
-- oracle: SELECT s.id, s.n, h.size FROM (SELECT * FROM sales WHERE n IS NULL OR n <> 0) s LEFT JOIN shops h ON try_divide(6, s.n) = h.size
SELECT s.id, s.n, h.size FROM sales s LEFT JOIN shops h ON 6 / s.n = h.size;

-- name: failing_key_of_the_right_side
-- oracle: SELECT h.shop, h.size, s.id FROM shops h LEFT JOIN (SELECT * FROM sales WHERE n IS NULL OR n <> 0) s ON h.size = try_divide(6, s.n)
SELECT h.shop, h.size, s.id FROM shops h LEFT JOIN sales s ON h.size = 6 / s.n;

-- name: failing_result_of_a_window
-- oracle: SELECT id, try_divide(12, s) AS q FROM (SELECT id, sum(n) OVER (PARTITION BY shop) AS s FROM sales) WHERE s IS NULL OR s <> 0
SELECT id, 12 / sum(n) OVER (PARTITION BY shop) AS q FROM sales;

-- name: failing_key_of_a_rollup
-- oracle: SELECT shop, try_divide(10, n) AS q, count(*) AS c FROM sales WHERE n IS NULL OR n <> 0 GROUP BY ROLLUP (shop, try_divide(10, n))
SELECT shop, 10 / n AS q, count(*) AS c FROM sales GROUP BY ROLLUP (shop, 10 / n);

-- name: failing_index
-- oracle: SELECT id, get(tags, 1) AS t FROM sales WHERE tags IS NULL OR size(tags) > 1
SELECT id, tags[1] AS t FROM sales;

-- name: failing_branch
-- oracle: SELECT id, CASE WHEN id > 3 THEN 'big' ELSE CAST(try_divide(10, n) AS string) END AS c FROM sales WHERE id > 3 OR n IS NULL OR n <> 0
SELECT id, CASE WHEN id > 3 THEN 'big' ELSE CAST(10 / n AS string) END AS c FROM sales;

-- name: failing_condition_of_an_outer_join
-- oracle: SELECT shop, sum(c) AS c, count(*) AS k FROM (SELECT h.shop, s.id IS NOT NULL AS c0, if(s.id IS NULL, 0, 1) AS c FROM shops h JOIN sales s ON h.shop = s.shop AND try_divide(h.size, s.n) > 1 UNION ALL SELECT shop, false, 0 FROM shops h WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE h.shop = s.shop AND (try_divide(h.size, s.n) > 1 OR (s.n = 0 AND h.size IS NOT NULL)))) GROUP BY shop
SELECT h.shop, count(s.id) AS c, count(*) AS k FROM shops h LEFT JOIN sales s ON h.shop = s.shop AND h.size / s.n > 1 GROUP BY h.shop;

-- name: subquery_of_several_in_a_branch
-- oracle: SELECT id, CASE WHEN n > 2 THEN (SELECT max(size) FROM shops h WHERE h.shop = s.shop) ELSE 0 END AS c FROM sales s WHERE (SELECT count(*) FROM shops h WHERE h.shop = s.shop) <= 1
SELECT id, CASE WHEN n > 2 THEN (SELECT size FROM shops h WHERE h.shop = s.shop) ELSE 0 END AS c FROM sales s;

-- name: subquery_of_several_distinct
-- oracle: SELECT id, (SELECT max(region) FROM shops h WHERE h.shop = s.shop) AS r FROM sales s WHERE (SELECT count(*) FROM (SELECT DISTINCT region, shop FROM shops) h WHERE h.shop = s.shop) <= 1
SELECT id, (SELECT DISTINCT region FROM shops h WHERE h.shop = s.shop) AS r FROM sales s;

-- name: subquery_of_several_of_any_type
-- oracle: SELECT p.name, (SELECT any_value(x.m) FROM sales x WHERE x.id = p.id) AS m, (SELECT any_value(x.s) FROM sales x WHERE x.id = p.id) AS st FROM people p WHERE (SELECT count(*) FROM sales x WHERE x.id = p.id) <= 1
SELECT p.name, (SELECT x.m FROM sales x WHERE x.id = p.id) AS m, (SELECT x.s FROM sales x WHERE x.id = p.id) AS st FROM people p;
