-- ORDER BY … LIMIT … OFFSET. Ties, and limits without an order, are completed by all columns of the input, ascending, nulls first.

-- name: order_by_limit
-- oracle: SELECT n, id, shop FROM sales ORDER BY n, n, id, shop LIMIT 5
SELECT n, id, shop FROM sales ORDER BY n LIMIT 5;

-- name: order_by_desc_limit
-- oracle: SELECT id, n FROM sales ORDER BY n DESC, id, n LIMIT 4
SELECT id, n FROM sales ORDER BY n DESC LIMIT 4;

-- name: order_by_nulls_last_limit
-- oracle: SELECT id, n FROM sales ORDER BY n NULLS LAST, id LIMIT 7
SELECT id, n FROM sales ORDER BY n NULLS LAST LIMIT 7;

-- name: order_by_desc_nulls_first_limit
-- oracle: SELECT id, n FROM sales ORDER BY n DESC NULLS FIRST, id LIMIT 3
SELECT id, n FROM sales ORDER BY n DESC NULLS FIRST LIMIT 3;

-- name: order_by_doubles_limit
-- oracle: SELECT id, d FROM sales ORDER BY d DESC, id LIMIT 6
SELECT id, d FROM sales ORDER BY d DESC LIMIT 6;

-- name: limit_without_order
-- oracle: SELECT id, shop FROM sales ORDER BY id, shop LIMIT 5
SELECT id, shop FROM sales LIMIT 5;

-- name: tablesample_of_rows
-- oracle: SELECT id, shop FROM (SELECT id, shop FROM sales ORDER BY id, shop LIMIT 5)
SELECT id, shop FROM (SELECT id, shop FROM sales) TABLESAMPLE (5 ROWS);

-- name: limit_with_offset
-- oracle: SELECT id, n FROM sales ORDER BY n, id LIMIT 4 OFFSET 3
SELECT id, n FROM sales ORDER BY n LIMIT 4 OFFSET 3;

-- name: offset_without_limit
-- oracle: SELECT id, n FROM sales ORDER BY id, n OFFSET 8
SELECT id, n FROM sales ORDER BY id OFFSET 8;

-- name: offset_without_order
-- oracle: SELECT id, n FROM sales ORDER BY id, n OFFSET 5
SELECT id, n FROM sales OFFSET 5;

-- name: limit_zero
SELECT id, n FROM sales ORDER BY id LIMIT 0;

-- name: limit_all
SELECT id, n FROM sales ORDER BY id LIMIT ALL;

-- name: limit_larger_than_the_table
SELECT id, n FROM sales ORDER BY id LIMIT 1000;

-- name: order_by_what_is_not_selected
-- oracle: SELECT id, shop FROM sales ORDER BY n DESC, id, shop LIMIT 4
SELECT id, shop FROM sales ORDER BY n DESC LIMIT 4;

-- name: order_by_an_expression
-- oracle: SELECT id, n FROM sales ORDER BY abs(n - 2), id, n LIMIT 5
SELECT id, n FROM sales ORDER BY abs(n - 2) LIMIT 5;

-- name: order_by_several
-- oracle: SELECT shop, flag, n FROM sales ORDER BY shop DESC, flag, n LIMIT 6
SELECT shop, flag, n FROM sales ORDER BY shop DESC, flag LIMIT 6;

-- name: order_by_position_and_all
SELECT shop, n, id FROM sales ORDER BY ALL LIMIT 6;

-- name: limit_of_an_aggregate
-- oracle: SELECT shop, sum(n) AS total FROM sales GROUP BY shop ORDER BY total DESC, shop LIMIT 2
SELECT shop, sum(n) AS total FROM sales GROUP BY shop ORDER BY total DESC LIMIT 2;

-- name: limit_of_distinct
-- oracle: SELECT DISTINCT n FROM sales ORDER BY n DESC LIMIT 3
SELECT DISTINCT n FROM sales ORDER BY n DESC LIMIT 3;

-- name: aggregate_of_a_limit
-- oracle: SELECT count(*) AS rows, sum(n) AS total FROM (SELECT n, id FROM sales ORDER BY n, n, id LIMIT 6)
SELECT count(*) AS rows, sum(n) AS total FROM (SELECT n, id FROM sales ORDER BY n LIMIT 6);

-- name: join_of_a_limit
-- oracle: SELECT t.id, h.region FROM (SELECT id, shop FROM sales ORDER BY id DESC, id, shop LIMIT 5) t LEFT JOIN shops h ON t.shop = h.shop
SELECT t.id, h.region FROM (SELECT id, shop FROM sales ORDER BY id DESC LIMIT 5) t LEFT JOIN shops h ON t.shop = h.shop;

-- name: limit_of_a_join
-- oracle: SELECT s.id, h.region FROM sales s JOIN shops h ON s.shop = h.shop ORDER BY s.id, h.region LIMIT 5
SELECT s.id, h.region FROM sales s JOIN shops h ON s.shop = h.shop ORDER BY s.id LIMIT 5;

-- name: limit_of_a_union
-- oracle: SELECT n FROM (SELECT n FROM sales UNION ALL SELECT size FROM shops) ORDER BY n DESC LIMIT 4
SELECT n FROM sales UNION ALL SELECT size FROM shops ORDER BY n DESC LIMIT 4;

-- name: union_of_limits
-- oracle: (SELECT id, n FROM sales ORDER BY n, id LIMIT 2) UNION ALL (SELECT id, n FROM sales ORDER BY n DESC, id LIMIT 2)
(SELECT id, n FROM sales ORDER BY n LIMIT 2) UNION ALL (SELECT id, n FROM sales ORDER BY n DESC LIMIT 2);

-- name: limit_of_a_limit
-- oracle: SELECT id, n FROM (SELECT id, n FROM sales ORDER BY n, id LIMIT 6) ORDER BY id DESC, id, n LIMIT 3
SELECT id, n FROM (SELECT id, n FROM sales ORDER BY n LIMIT 6) ORDER BY id DESC LIMIT 3;

-- name: limit_in_an_in_subquery
-- oracle: SELECT id, n FROM sales WHERE n IN (SELECT n FROM (SELECT DISTINCT n FROM sales) ORDER BY n DESC LIMIT 2)
SELECT id, n FROM sales WHERE n IN (SELECT n FROM (SELECT DISTINCT n FROM sales) ORDER BY n DESC LIMIT 2);

-- name: limit_with_duplicates_cut_in_the_middle
-- oracle: SELECT shop FROM sales ORDER BY shop LIMIT 7
SELECT shop FROM sales ORDER BY shop LIMIT 7;

-- name: limit_by_an_expression
-- oracle: SELECT id FROM sales ORDER BY id LIMIT 5
SELECT id FROM sales ORDER BY id LIMIT 2 + 3;
