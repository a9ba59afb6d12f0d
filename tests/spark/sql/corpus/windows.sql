-- Window functions. Ties of an order are completed by all columns of the operator's input, ascending, nulls first: inputs are subqueries
-- here, so that it is plain which columns those are.

-- name: row_number
-- oracle: SELECT shop, id, row_number() OVER (PARTITION BY shop ORDER BY id, shop) AS r FROM sales
SELECT shop, id, row_number() OVER (PARTITION BY shop ORDER BY id) AS r FROM (SELECT shop, id FROM sales);

-- name: row_number_of_ties
-- oracle: SELECT shop, n, id, row_number() OVER (PARTITION BY shop ORDER BY n DESC, shop, n, id) AS r FROM sales
SELECT shop, n, id, row_number() OVER (PARTITION BY shop ORDER BY n DESC) AS r FROM (SELECT shop, n, id FROM sales);

-- name: rank_and_dense_rank
SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n) AS a, dense_rank() OVER (PARTITION BY shop ORDER BY n) AS b FROM sales;

-- name: rank_descending_nulls
SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n DESC NULLS FIRST) AS a, rank() OVER (PARTITION BY shop ORDER BY n NULLS LAST) AS b FROM sales;

-- name: rank_of_doubles
SELECT d, rank() OVER (ORDER BY d) AS a, dense_rank() OVER (ORDER BY d DESC) AS b FROM sales;

-- name: percent_rank_and_cume_dist
SELECT shop, n, percent_rank() OVER (PARTITION BY shop ORDER BY n) AS a, cume_dist() OVER (PARTITION BY shop ORDER BY n) AS b FROM sales;

-- name: ntile
-- oracle: SELECT shop, n, id, ntile(3) OVER (PARTITION BY shop ORDER BY n, shop, n, id) AS r FROM sales
SELECT shop, n, id, ntile(3) OVER (PARTITION BY shop ORDER BY n) AS r FROM (SELECT shop, n, id FROM sales);

-- name: ntile_of_the_whole_table
-- oracle: SELECT id, n, ntile(4) OVER (ORDER BY n, id) AS r FROM sales
SELECT id, n, ntile(4) OVER (ORDER BY n) AS r FROM (SELECT id, n FROM sales);

-- name: lag_and_lead
-- oracle: SELECT shop, id, n, lag(n) OVER (PARTITION BY shop ORDER BY id, shop, id, n) AS a, lead(n) OVER (PARTITION BY shop ORDER BY id, shop, id, n) AS b FROM sales
SELECT shop, id, n, lag(n) OVER (PARTITION BY shop ORDER BY id) AS a, lead(n) OVER (PARTITION BY shop ORDER BY id) AS b FROM (SELECT shop, id, n FROM sales);

-- name: lag_with_offset_and_default
-- oracle: SELECT shop, id, n, lag(n, 2, -99) OVER (PARTITION BY shop ORDER BY id, shop, n) AS a, lead(n, 0) OVER (PARTITION BY shop ORDER BY id, shop, n) AS b FROM sales
SELECT shop, id, n, lag(n, 2, -99) OVER (PARTITION BY shop ORDER BY id) AS a, lead(n, 0) OVER (PARTITION BY shop ORDER BY id) AS b FROM (SELECT shop, id, n FROM sales);

-- name: lag_ignoring_nulls
-- oracle: SELECT shop, id, n, lag(n) IGNORE NULLS OVER (PARTITION BY shop ORDER BY id, shop, n) AS a, lead(n, 1) IGNORE NULLS OVER (PARTITION BY shop ORDER BY id, shop, n) AS b FROM sales
SELECT shop, id, n, lag(n) IGNORE NULLS OVER (PARTITION BY shop ORDER BY id) AS a, lead(n, 1) IGNORE NULLS OVER (PARTITION BY shop ORDER BY id) AS b FROM (SELECT shop, id, n FROM sales);

-- name: lag_of_an_expression
-- oracle: SELECT id, f, f - lag(f) OVER (ORDER BY id, f) AS grown FROM sales
SELECT id, f, f - lag(f) OVER (ORDER BY id) AS grown FROM (SELECT id, f FROM sales);

-- name: first_last_and_nth_value
-- oracle: SELECT shop, id, n, first_value(n) OVER w AS a, last_value(n) OVER w AS b, nth_value(n, 2) OVER w AS c FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id, shop, n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
SELECT shop, id, n, first_value(n) OVER w AS a, last_value(n) OVER w AS b, nth_value(n, 2) OVER w AS c FROM (SELECT shop, id, n FROM sales)
WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);

-- name: first_value_ignoring_nulls
-- oracle: SELECT shop, id, n, first_value(n) IGNORE NULLS OVER w AS a, nth_value(n, 2) IGNORE NULLS OVER w AS b, last_value(n) IGNORE NULLS OVER w AS c FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id, shop, n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
SELECT shop, id, n, first_value(n) IGNORE NULLS OVER w AS a, nth_value(n, 2) IGNORE NULLS OVER w AS b, last_value(n) IGNORE NULLS OVER w AS c FROM (SELECT shop, id, n FROM sales)
WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- name: aggregate_over_a_partition
SELECT shop, id, n, sum(n) OVER (PARTITION BY shop) AS a, count(*) OVER (PARTITION BY shop) AS b, max(f) OVER (PARTITION BY shop) AS c, avg(amount) OVER (PARTITION BY shop) AS e FROM sales;

-- name: aggregate_over_everything
SELECT id, n, sum(n) OVER () AS a, count(*) OVER () AS b FROM sales;

-- name: share_of_the_total
SELECT shop, n, round(100.0 * n / nullif(sum(n) OVER (PARTITION BY shop), 0), 2) AS share FROM sales;

-- name: running_total_by_range
SELECT shop, n, sum(n) OVER (PARTITION BY shop ORDER BY n) AS a, count(*) OVER (PARTITION BY shop ORDER BY n) AS b, min(f) OVER (PARTITION BY shop ORDER BY n) AS c FROM sales;

-- name: running_total_by_rows
-- oracle: SELECT shop, id, n, sum(n) OVER (PARTITION BY shop ORDER BY id, shop, n ROWS UNBOUNDED PRECEDING) AS a FROM sales
SELECT shop, id, n, sum(n) OVER (PARTITION BY shop ORDER BY id ROWS UNBOUNDED PRECEDING) AS a FROM (SELECT shop, id, n FROM sales);

-- name: running_total_of_ties_by_rows
-- oracle: SELECT flag, n, sum(n) OVER (PARTITION BY flag ORDER BY n, flag ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a FROM sales
SELECT flag, n, sum(n) OVER (PARTITION BY flag ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a FROM (SELECT flag, n FROM sales);

-- name: moving_average_by_rows
-- oracle: SELECT shop, id, f, avg(f) OVER (PARTITION BY shop ORDER BY id, shop, f ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a FROM sales
SELECT shop, id, f, avg(f) OVER (PARTITION BY shop ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a FROM (SELECT shop, id, f FROM sales);

-- name: rows_that_follow
-- oracle: SELECT shop, id, n, sum(n) OVER w AS a, max(n) OVER w AS b, count(*) OVER w AS c FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id, shop, n ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING)
SELECT shop, id, n, sum(n) OVER w AS a, max(n) OVER w AS b, count(*) OVER w AS c FROM (SELECT shop, id, n FROM sales)
WINDOW w AS (PARTITION BY shop ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING);

-- name: rows_before
-- oracle: SELECT id, n, min(n) OVER (ORDER BY id, n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS a, max(n) OVER (ORDER BY id, n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM sales
SELECT id, n, min(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS a, max(n) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b
FROM (SELECT id, n FROM sales);

-- name: range_of_ints
SELECT shop, n, sum(big) OVER (PARTITION BY shop ORDER BY n RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a, count(*) OVER (PARTITION BY shop ORDER BY n RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS b FROM sales;

-- name: range_descending
SELECT shop, n, count(*) OVER (PARTITION BY shop ORDER BY n DESC RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) AS a, min(id) OVER (PARTITION BY shop ORDER BY n DESC RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING) AS b FROM sales;

-- name: range_of_days
SELECT shop, day, count(*) OVER (PARTITION BY shop ORDER BY day RANGE BETWEEN INTERVAL '3' DAY PRECEDING AND CURRENT ROW) AS a FROM sales;

-- name: range_of_times
SELECT at, sum(n) OVER (ORDER BY at RANGE BETWEEN INTERVAL '60' MINUTE PRECEDING AND INTERVAL '30' MINUTE FOLLOWING) AS a FROM sales;

-- name: range_of_decimals_and_doubles
SELECT amount, f, count(*) OVER (ORDER BY amount RANGE BETWEEN 10.5 PRECEDING AND 10.5 FOLLOWING) AS a, sum(n) OVER (ORDER BY f RANGE BETWEEN 5D PRECEDING AND CURRENT ROW) AS b FROM sales;

-- name: range_of_doubles_with_nan
SELECT d, count(*) OVER (ORDER BY d RANGE BETWEEN 1D PRECEDING AND 1D FOLLOWING) AS a FROM sales;

-- name: range_to_the_end
SELECT shop, n, sum(f) OVER (PARTITION BY shop ORDER BY n RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a FROM sales;

-- name: range_over_several_columns
SELECT shop, flag, n, count(*) OVER (PARTITION BY shop ORDER BY flag, n DESC) AS a FROM sales;

-- name: collected_in_order
SELECT shop, n, sort_array(collect_list(id) OVER (PARTITION BY shop ORDER BY n)) AS a FROM sales;

-- name: statistics_over_a_frame
-- tolerance: 1e-9
SELECT shop, n, stddev(f) OVER (PARTITION BY shop ORDER BY n) AS a, var_pop(f) OVER (PARTITION BY shop) AS b FROM sales;

-- name: several_windows_at_once
SELECT shop, flag, n, sum(n) OVER (PARTITION BY shop) AS a, sum(n) OVER (PARTITION BY flag) AS b, rank() OVER (PARTITION BY shop, flag ORDER BY n) AS c, rank() OVER (ORDER BY n DESC) AS e FROM sales;

-- name: partition_by_nulls_and_doubles
SELECT d, n, count(*) OVER (PARTITION BY d) AS a, rank() OVER (PARTITION BY d ORDER BY n) AS b FROM sales;

-- name: partition_by_an_expression
SELECT n, f, rank() OVER (PARTITION BY n % 2, f > 0 ORDER BY f) AS a FROM sales;

-- name: window_over_an_aggregate
SELECT shop, sum(n) AS total, rank() OVER (ORDER BY sum(n) DESC) AS place, sum(sum(n)) OVER () AS everything FROM sales GROUP BY shop;

-- name: aggregate_over_a_window
SELECT shop, max(place) AS places FROM (SELECT shop, dense_rank() OVER (PARTITION BY shop ORDER BY n) AS place FROM sales) GROUP BY shop;

-- name: window_over_a_join
SELECT h.region, s.id, s.amount, rank() OVER (PARTITION BY h.region ORDER BY s.amount DESC) AS place FROM sales s JOIN shops h ON s.shop = h.shop;

-- name: window_of_a_window
SELECT shop, n, place, count(*) OVER (PARTITION BY place) AS peers FROM (SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n) AS place FROM sales);

-- name: top_of_each_group
-- oracle: SELECT shop, n, id FROM (SELECT shop, n, id, row_number() OVER (PARTITION BY shop ORDER BY n DESC, shop, n, id) AS r FROM sales) WHERE r <= 2
SELECT shop, n, id FROM (SELECT shop, n, id, row_number() OVER (PARTITION BY shop ORDER BY n DESC) AS r FROM (SELECT shop, n, id FROM sales)) WHERE r <= 2;

-- name: top_of_each_group_with_ties
SELECT shop, n, id FROM (SELECT shop, n, id, rank() OVER (PARTITION BY shop ORDER BY n DESC) AS r FROM sales) WHERE r <= 2;

-- name: top_of_each_group_with_its_place
-- oracle: SELECT shop, amount, id, row_number() OVER (PARTITION BY shop ORDER BY amount DESC NULLS LAST, shop, amount, id) AS r FROM sales QUALIFY r <= 3
SELECT * FROM (SELECT shop, amount, id, row_number() OVER (PARTITION BY shop ORDER BY amount DESC NULLS LAST) AS r FROM (SELECT shop, amount, id FROM sales)) WHERE r < 4;

-- name: last_version_of_each_key
-- oracle: SELECT id, at, n FROM (SELECT id, at, n, row_number() OVER (PARTITION BY id ORDER BY at DESC, id, at, n) AS r FROM sales) WHERE r = 1
SELECT id, at, n FROM (SELECT id, at, n, row_number() OVER (PARTITION BY id ORDER BY at DESC) AS r FROM (SELECT id, at, n FROM sales)) WHERE r = 1;

-- name: second_of_each_group
SELECT shop, n FROM (SELECT shop, n, dense_rank() OVER (PARTITION BY shop ORDER BY n DESC) AS r FROM sales) WHERE r = 2;

-- name: qualify
SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n) AS place FROM sales QUALIFY place = 1;

-- name: qualify_without_the_column
SELECT shop, n FROM sales WHERE n IS NOT NULL QUALIFY rank() OVER (PARTITION BY shop ORDER BY n DESC) < 3;

-- name: gaps_and_islands
-- oracle: SELECT shop, min(day) AS since, max(day) AS until, count(*) AS days FROM (SELECT shop, day, date_sub(day, CAST(row_number() OVER (PARTITION BY shop ORDER BY day) AS INT)) AS island FROM (SELECT DISTINCT shop, day FROM sales WHERE day IS NOT NULL)) GROUP BY shop, island
SELECT shop, min(day) AS since, max(day) AS until, count(*) AS days
FROM (SELECT shop, day, date_sub(day, CAST(row_number() OVER (PARTITION BY shop ORDER BY day) AS INT)) AS island FROM (SELECT DISTINCT shop, day FROM sales WHERE day IS NOT NULL))
GROUP BY shop, island;

-- name: window_in_a_where_with_a_subquery
SELECT shop, n FROM (SELECT shop, n, avg(n) OVER (PARTITION BY shop) AS mean FROM sales) WHERE n > mean AND shop IN (SELECT shop FROM shops);

-- name: session_numbers
-- oracle: SELECT id, at, sum(fresh) OVER (ORDER BY at, id, fresh ROWS UNBOUNDED PRECEDING) AS session FROM (SELECT id, at, CASE WHEN at - lag(at) OVER (ORDER BY at, id) <= INTERVAL '2' HOUR THEN 0 ELSE 1 END AS fresh FROM sales WHERE at IS NOT NULL)
SELECT id, at, sum(fresh) OVER (ORDER BY at ROWS UNBOUNDED PRECEDING) AS session
FROM (SELECT id, at, CASE WHEN at - lag(at) OVER (ORDER BY at) <= INTERVAL '2' HOUR THEN 0 ELSE 1 END AS fresh FROM (SELECT id, at FROM sales WHERE at IS NOT NULL));

-- name: boolean_and_bit_aggregates_over_a_frame
SELECT shop, n, bool_or(flag) OVER (PARTITION BY shop ORDER BY n) AS a, bit_or(n) OVER (PARTITION BY shop ORDER BY n) AS b, count_if(flag) OVER (PARTITION BY shop) AS c FROM sales;

-- name: windows_over_strings_dates_and_booleans
SELECT shop, day, flag, rank() OVER (ORDER BY shop) AS a, rank() OVER (ORDER BY day DESC) AS b, rank() OVER (ORDER BY flag, raw) AS c, rank() OVER (ORDER BY tags, s) AS e FROM sales;

-- name: top_with_ties_of_doubles
SELECT shop, d, id FROM (SELECT shop, d, id, rank() OVER (PARTITION BY shop ORDER BY d DESC NULLS FIRST) AS r FROM sales) WHERE r <= 3;

-- name: top_with_ties_of_all
SELECT n, flag, id FROM sales QUALIFY rank() OVER (ORDER BY n NULLS LAST, flag DESC) <= 4;

-- name: top_values
SELECT shop, n, id, place FROM (SELECT shop, n, id, dense_rank() OVER (PARTITION BY shop ORDER BY n) AS place FROM sales) WHERE place < 3;

-- name: top_values_of_a_collation
SELECT alias, age FROM people QUALIFY dense_rank() OVER (ORDER BY alias DESC) <= 3;

-- name: top_values_that_are_null
SELECT shop, day, amount FROM sales QUALIFY dense_rank() OVER (PARTITION BY shop ORDER BY day NULLS FIRST, amount DESC NULLS FIRST) = 1;

-- name: top_with_all_ranks
SELECT * FROM (SELECT shop, n, rank() OVER w AS a, dense_rank() OVER w AS b FROM sales WINDOW w AS (PARTITION BY shop ORDER BY n DESC)) WHERE b <= 2 AND a < 6;

-- name: top_numbers_beside_ranks
-- oracle: SELECT shop, n, id, r, a, b FROM (SELECT shop, n, id, row_number() OVER (PARTITION BY shop ORDER BY n, shop, n, id) AS r, rank() OVER (PARTITION BY shop ORDER BY n) AS a, dense_rank() OVER (PARTITION BY shop ORDER BY n) AS b FROM sales) WHERE r <= 3
SELECT shop, n, id, r, a, b FROM (SELECT shop, n, id, row_number() OVER w AS r, rank() OVER w AS a, dense_rank() OVER w AS b FROM (SELECT shop, n, id FROM sales) WINDOW w AS (PARTITION BY shop ORDER BY n)) WHERE r <= 3;

-- name: top_groups_with_ties
SELECT shop, total FROM (SELECT shop, total, rank() OVER (ORDER BY total DESC) AS r FROM (SELECT shop, count(*) AS total FROM sales GROUP BY shop)) WHERE r <= 2;
