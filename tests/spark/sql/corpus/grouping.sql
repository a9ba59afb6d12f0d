-- Grouping sets, pivots and unpivots.

-- name: rollup
SELECT shop, flag, count(*) AS rows, sum(n) AS total FROM sales GROUP BY ROLLUP (shop, flag);

-- name: cube
SELECT shop, flag, n % 2 AS odd, count(*) AS rows FROM sales GROUP BY CUBE (shop, flag, n % 2);

-- name: grouping_sets
SELECT shop, flag, sum(n) AS total FROM sales GROUP BY GROUPING SETS ((shop), (flag), ());

-- name: grouping_sets_with_duplicates
SELECT shop, count(*) AS rows FROM sales GROUP BY GROUPING SETS ((shop), (shop), ());

-- name: grouping_and_grouping_id
SELECT shop, flag, grouping(shop) AS a, grouping(flag) AS b, grouping_id() AS c, grouping_id(shop, flag) AS e, count(*) AS rows FROM sales GROUP BY CUBE (shop, flag);

-- name: rollup_with_having
SELECT shop, n, sum(amount) AS total FROM sales GROUP BY shop, n WITH ROLLUP HAVING grouping_id() > 0 AND count(*) > 1;

-- name: cube_with_distinct
SELECT shop, flag, count(DISTINCT n) AS a, sum(DISTINCT n) AS b FROM sales GROUP BY shop, flag WITH CUBE;

-- name: rollup_of_an_expression
SELECT year(day) AS y, month(day) AS m, count(*) AS rows FROM sales GROUP BY ROLLUP (year(day), month(day));

-- name: partial_rollup
SELECT flag, shop, n, count(*) AS rows FROM sales GROUP BY flag, ROLLUP (shop, n);

-- name: concatenated_grouping_sets
SELECT shop, flag, n, count(*) AS rows FROM sales GROUP BY CUBE (shop), ROLLUP (flag, n);

-- name: grouping_of_nothing
SELECT shop, count(*) AS rows FROM sales WHERE id > 1000 GROUP BY ROLLUP (shop);

-- name: rollup_over_a_join
SELECT h.region, s.shop, sum(s.amount) AS total FROM sales s JOIN shops h USING (shop) GROUP BY ROLLUP (h.region, s.shop);

-- name: rollup_ranked
SELECT shop, flag, total, rank() OVER (PARTITION BY level ORDER BY total DESC) AS place
FROM (SELECT shop, flag, sum(n) AS total, grouping_id() AS level FROM sales GROUP BY ROLLUP (shop, flag));

-- name: pivot
SELECT * FROM (SELECT shop, flag, n FROM sales) PIVOT (sum(n) FOR flag IN (true AS yes, false AS no));

-- name: pivot_of_two_aggregates
SELECT * FROM (SELECT shop, n, amount FROM sales) PIVOT (count(*) AS rows, max(amount) AS top FOR n IN (1, 2, 3));

-- name: pivot_of_two_columns
SELECT * FROM (SELECT region, active, size, n FROM shops) PIVOT (sum(size) FOR (active, n) IN ((true, 1) AS a, (false, 2) AS b));

-- name: pivot_without_groups
SELECT * FROM (SELECT n, amount FROM sales) PIVOT (sum(amount) FOR n IN (0, 1, 2));

-- name: unpivot
SELECT * FROM (SELECT id, n, CAST(big AS INT) AS other FROM sales) UNPIVOT (value FOR what IN (n, other));

-- name: unpivot_including_nulls
SELECT * FROM (SELECT id, n, id AS other FROM sales) UNPIVOT INCLUDE NULLS (value FOR what IN (n AS first, other AS second));

-- name: unpivot_of_several_values
SELECT * FROM (SELECT tag, low, high, low + 1 AS low1, high + 1 AS high1 FROM prices) UNPIVOT ((least, most) FOR what IN ((low, high) AS now, (low1, high1) AS next));

-- name: unpivot_aggregated
SELECT what, sum(value) AS total FROM (SELECT n, id FROM sales) UNPIVOT (value FOR what IN (n, id)) GROUP BY what;
