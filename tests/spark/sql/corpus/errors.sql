-- Rows whose expression fails (ANSI is on): the answer is that of batch without those rows. They go to the dead letters, and so do their
-- deletions. A group whose result fails is not there until it is valid again.

-- name: division_by_zero_in_select
-- oracle: SELECT id, 10 / n AS a FROM sales WHERE n <> 0 OR n IS NULL
SELECT id, 10 / n AS a FROM sales;

-- name: division_by_zero_in_where
-- oracle: SELECT id FROM sales WHERE n <> 0 AND 10 div n > 2
SELECT id FROM sales WHERE 10 div n > 2;

-- name: division_that_a_filter_keeps_away
SELECT id, 10 div n AS a FROM (SELECT id, n FROM sales WHERE n <> 0);

-- name: cast_that_fails
-- oracle: SELECT id, try_cast(shop AS INT) AS a FROM sales WHERE shop IS NULL OR try_cast(shop AS INT) IS NOT NULL
SELECT id, CAST(shop AS INT) AS a FROM sales;

-- name: failing_argument_of_an_aggregate
-- oracle: SELECT shop, sum(10 div n) AS a, count(*) AS rows FROM sales WHERE n <> 0 OR n IS NULL GROUP BY shop
SELECT shop, sum(10 div n) AS a, count(*) AS rows FROM sales GROUP BY shop;

-- name: failing_filter_of_an_aggregate
-- oracle: SELECT shop, count(*) FILTER (WHERE 10 div n > 2) AS a FROM sales WHERE n <> 0 OR n IS NULL GROUP BY shop
SELECT shop, count(*) FILTER (WHERE 10 div n > 2) AS a FROM sales GROUP BY shop;

-- name: failing_group
-- oracle: SELECT 6 div n AS k, count(*) AS rows FROM sales WHERE n <> 0 OR n IS NULL GROUP BY 6 div n
SELECT 6 div n AS k, count(*) AS rows FROM sales GROUP BY 6 div n;

-- name: failing_join_key
-- oracle: SELECT s.id, h.shop FROM (SELECT * FROM sales WHERE n <> 0) s JOIN shops h ON 6 div s.n = h.n
SELECT s.id, h.shop FROM sales s JOIN shops h ON 6 div s.n = h.n;

-- name: sum_that_overflows
-- oracle: SELECT flag, total FROM (SELECT flag, try_sum(x) AS total, count(x) AS rows FROM (SELECT flag, CASE WHEN n > 3 THEN 9223372036854775000 WHEN n > 0 THEN n END AS x FROM sales) GROUP BY flag) WHERE total IS NOT NULL OR rows = 0
SELECT flag, sum(CASE WHEN n > 3 THEN 9223372036854775000 WHEN n > 0 THEN n END) AS total FROM sales GROUP BY flag;

-- name: element_that_is_not_there
-- oracle: SELECT id, try_element_at(tags, 2) AS a FROM sales WHERE tags IS NULL OR size(tags) >= 2
SELECT id, element_at(tags, 2) AS a FROM sales;

-- name: coalesce_and_case_keep_errors_away
SELECT id, CASE WHEN n = 0 THEN 0 ELSE 10 div n END AS a, coalesce(n, 1 div 0) AS b FROM sales WHERE n IS NOT NULL;
