-- Set operations: nulls are equal to each other here, and ALL counts duplicates.

-- name: union_all
SELECT shop, n FROM sales UNION ALL SELECT shop, size FROM shops;

-- name: union_distinct
SELECT shop FROM sales UNION SELECT shop FROM shops;

-- name: union_of_three
SELECT shop FROM sales UNION ALL SELECT shop FROM shops UNION DISTINCT SELECT shop FROM people;

-- name: union_with_types_made_equal
SELECT n AS x FROM sales UNION ALL SELECT n FROM shops UNION ALL SELECT amount FROM sales UNION ALL SELECT age FROM people;

-- name: union_of_a_table_with_itself
SELECT id, n FROM sales UNION ALL SELECT id, n FROM sales WHERE n > 1;

-- name: union_of_constants
SELECT 'sales' AS what, count(*) AS rows FROM sales UNION ALL SELECT 'shops', count(*) FROM shops UNION ALL SELECT 'none', 0;

-- name: intersect
SELECT shop FROM sales INTERSECT SELECT shop FROM shops;

-- name: intersect_of_two_columns
SELECT shop, n FROM sales INTERSECT SELECT shop, n FROM shops;

-- name: intersect_all
SELECT shop FROM sales INTERSECT ALL SELECT shop FROM shops;

-- name: except
SELECT shop FROM sales EXCEPT SELECT shop FROM shops;

-- name: except_of_two_columns
SELECT shop, n FROM sales EXCEPT SELECT shop, n FROM shops;

-- name: except_all
SELECT shop FROM sales EXCEPT ALL SELECT shop FROM shops;

-- name: except_all_of_itself
SELECT n FROM sales EXCEPT ALL SELECT n FROM sales WHERE flag;

-- name: minus
SELECT n FROM sales MINUS SELECT size FROM shops;

-- name: chained_sets
(SELECT shop FROM sales INTERSECT SELECT shop FROM people) UNION ALL (SELECT shop FROM shops EXCEPT SELECT shop FROM sales);

-- name: sets_of_doubles
SELECT d FROM sales INTERSECT SELECT d FROM shops;

-- name: sets_of_doubles_except_all
SELECT d FROM sales EXCEPT ALL SELECT d FROM shops;

-- name: sets_of_structs_and_arrays
SELECT s, tags FROM sales WHERE flag EXCEPT SELECT s, tags FROM sales WHERE n > 1;

-- name: set_over_aggregates
SELECT shop, count(*) AS rows FROM sales GROUP BY shop EXCEPT SELECT shop, count(*) FROM people GROUP BY shop;

-- name: aggregate_over_a_set
SELECT count(*) AS rows FROM (SELECT shop FROM sales INTERSECT SELECT shop FROM shops);

-- name: symmetric_difference
(SELECT shop FROM sales EXCEPT SELECT shop FROM shops) UNION (SELECT shop FROM shops EXCEPT SELECT shop FROM sales);
