-- Aggregates of all kinds. Where batch leaves an answer open (first, collect_list, max_by …) the oracle says which one is meant:
-- ties are completed by the function's own arguments, ascending, nulls first.

-- name: count_star_without_groups
SELECT count(*) AS rows FROM sales;

-- name: aggregates_of_nothing
SELECT count(*) AS a, sum(n) AS b, max(shop) AS c, count(DISTINCT n) AS e, avg(f) AS g FROM sales WHERE id > 1000;

-- name: aggregates_of_nothing_by_group
SELECT shop, count(*) AS a, sum(n) AS b FROM sales WHERE id > 1000 GROUP BY shop;

-- name: counts_by_group
SELECT shop, count(*) AS rows, count(n) AS n, count(n, f) AS both, count_if(flag) AS flags FROM sales GROUP BY shop;

-- name: sums_of_integers
SELECT shop, sum(n) AS a, sum(big) AS b, sum(n * big) AS c, avg(n) AS e, avg(big) AS g FROM sales GROUP BY shop;

-- name: sums_of_small_integers
SELECT shop, sum(age) AS a, sum(id) AS b, avg(age) AS c, min(age) AS e, max(id) AS g FROM people GROUP BY shop;

-- name: sums_of_decimals
SELECT shop, sum(amount) AS a, avg(amount) AS b, min(amount) AS c, max(amount) AS e, sum(amount) / count(*) AS g FROM sales GROUP BY shop;

-- name: sums_of_wide_decimals
SELECT shop, sum(wage) AS a, avg(wage) AS b, try_sum(wage) AS c, try_avg(wage) AS e FROM people GROUP BY shop;

-- name: sums_of_doubles_with_nan_and_infinity
SELECT shop, sum(d) AS a, avg(d) AS b, min(d) AS c, max(d) AS e FROM sales GROUP BY shop;

-- name: sums_of_floats
SELECT tag, sum(ratio) AS a, avg(ratio) AS b, min(ratio) AS c, max(ratio) AS e FROM prices GROUP BY tag;

-- name: sums_of_doubles_that_cancel
SELECT shop, sum(CASE WHEN flag THEN 1e15D WHEN NOT flag THEN -1e15D ELSE 0D END + f) AS a FROM sales GROUP BY shop;

-- name: sums_of_intervals
SELECT shop, sum(took) AS a, avg(took) AS b, min(took) AS c, max(took) AS e FROM sales GROUP BY shop;

-- name: sums_of_months
SELECT region, sum(term) AS a, avg(term) AS b, min(term) AS c, max(term) AS e FROM shops GROUP BY region;

-- name: least_and_greatest_of_every_type
SELECT flag, min(shop) AS a, max(shop) AS b, min(day) AS c, max(at) AS e, min(flag) AS g, max(raw) AS h, min(s) AS i, max(tags) AS k, min(n) AS l, max(amount) AS o
FROM sales GROUP BY flag;

-- name: variance_and_deviation
-- tolerance: 1e-9
SELECT shop, var_pop(f) AS a, var_samp(f) AS b, stddev(f) AS c, stddev_pop(f) AS e, variance(n) AS g, std(n) AS h FROM sales GROUP BY shop;

-- name: variance_with_nan
SELECT shop, var_pop(d) AS a, stddev_samp(d) AS b FROM sales GROUP BY shop;

-- name: skewness_and_kurtosis
-- tolerance: 1e-9
SELECT region, skewness(s.f) AS a, kurtosis(s.f) AS b FROM sales s JOIN shops h USING (shop) GROUP BY region;

-- name: covariance_and_correlation
-- tolerance: 1e-9
SELECT flag, covar_pop(f, n) AS a, covar_samp(f, n) AS b, corr(f, n) AS c FROM sales GROUP BY flag;

-- name: regression
-- tolerance: 1e-9
SELECT flag, regr_count(f, n) AS a, regr_avgx(f, n) AS b, regr_avgy(f, n) AS c, regr_slope(f, n) AS e, regr_intercept(f, n) AS g, regr_r2(f, n) AS h,
       regr_sxx(f, n) AS i, regr_sxy(f, n) AS k, regr_syy(f, n) AS l
FROM sales GROUP BY flag;

-- name: booleans
SELECT shop, bool_and(flag) AS a, bool_or(flag) AS b, every(n > 0) AS c, some(n > 3) AS e, any(flag) AS g FROM sales GROUP BY shop;

-- name: bits
SELECT shop, bit_and(n) AS a, bit_or(n) AS b, bit_xor(n) AS c, bit_xor(big) AS e FROM sales GROUP BY shop;

-- name: distinct_aggregates
SELECT shop, count(DISTINCT n) AS a, sum(DISTINCT n) AS b, avg(DISTINCT amount) AS c, count(DISTINCT n, flag) AS e, count(n) AS g FROM sales GROUP BY shop;

-- name: distinct_of_doubles
SELECT count(DISTINCT d) AS a, count(DISTINCT d, shop) AS b FROM sales;

-- name: distinct_of_structs_and_arrays
SELECT shop, count(DISTINCT s) AS a, count(DISTINCT tags) AS b, count(DISTINCT raw) AS c FROM sales GROUP BY shop;

-- name: filtered_aggregates
SELECT shop, count(*) FILTER (WHERE flag) AS a, sum(n) FILTER (WHERE n > 1) AS b, max(f) FILTER (WHERE NOT flag) AS c, count(*) AS e FROM sales GROUP BY shop;

-- name: filtered_distinct_aggregates
SELECT shop, count(DISTINCT n) FILTER (WHERE flag) AS a, sum(DISTINCT big) FILTER (WHERE n IS NOT NULL) AS b, collect_list(n) FILTER (WHERE false) AS c
FROM sales GROUP BY shop;

-- name: having
SELECT shop, sum(n) AS total FROM sales GROUP BY shop HAVING count(*) > 2 AND max(n) > 1;

-- name: having_without_groups
SELECT count(*) AS rows FROM sales HAVING count(*) > 12;

-- name: having_on_what_is_not_selected
SELECT shop FROM sales GROUP BY shop HAVING sum(amount) > 0;

-- name: expressions_over_aggregates
SELECT shop, sum(n) * 100 / nullif(count(*), 0) AS a, max(n) - min(n) AS b, concat(shop, '-', CAST(count(*) AS STRING)) AS c FROM sales GROUP BY shop;

-- name: group_by_expressions
SELECT n % 2 AS odd, flag AND n > 1 AS large, count(*) AS rows FROM sales GROUP BY n % 2, flag AND n > 1;

-- name: group_by_position_and_alias
SELECT upper(shop) AS name, n, count(*) AS rows FROM sales GROUP BY name, 2;

-- name: group_by_all
SELECT shop, flag, sum(n) AS total, n % 2 AS odd FROM sales GROUP BY ALL;

-- name: group_by_double
SELECT d, count(*) AS rows, CAST(d AS STRING) AS text FROM sales GROUP BY d;

-- name: group_by_date_and_interval
SELECT day, took, count(*) AS rows FROM sales GROUP BY day, took;

-- name: group_by_struct_and_array
SELECT s, tags, count(*) AS rows FROM sales GROUP BY s, tags;

-- name: group_by_map
SELECT m, count(*) AS rows FROM sales GROUP BY m;

-- name: group_by_binary_and_boolean
SELECT raw, flag, count(*) AS rows, sum(amount) AS total FROM sales GROUP BY raw, flag;

-- name: group_by_a_constant
SELECT 'all' AS what, count(*) AS rows FROM sales GROUP BY 'all';

-- name: groups_without_aggregates
SELECT shop, n FROM sales GROUP BY shop, n;

-- name: distinct_rows
SELECT DISTINCT shop, n, flag FROM sales;

-- name: distinct_of_all_nulls_and_doubles
SELECT DISTINCT d FROM sales;

-- name: distinct_over_an_aggregate
SELECT DISTINCT count(*) AS rows FROM sales GROUP BY shop;

-- name: aggregate_of_an_aggregate
SELECT rows, count(*) AS shops FROM (SELECT shop, count(*) AS rows FROM sales GROUP BY shop) GROUP BY rows;

-- name: three_aggregations_in_a_row
SELECT max(mean) AS top FROM (SELECT region, avg(total) AS mean FROM (SELECT h.region, s.shop, sum(s.n) AS total FROM sales s JOIN shops h USING (shop) GROUP BY h.region, s.shop) GROUP BY region);

-- name: first_and_last
-- oracle: SELECT shop, CASE WHEN count(*) = count(n) THEN min(n) END AS a, max(n) AS b, min(n) AS c, max(n) AS e, CASE WHEN count(*) = count(f) THEN min(f) END AS g
--   FROM sales GROUP BY shop
SELECT shop, first(n) AS a, last(n) AS b, first(n) IGNORE NULLS AS c, last_value(n, true) AS e, any_value(f) AS g FROM sales GROUP BY shop;

-- name: collect_list
-- oracle: SELECT shop, sort_array(collect_list(n)) AS a, sort_array(array_agg(amount)) AS b FROM sales GROUP BY shop
SELECT shop, collect_list(n) AS a, array_agg(amount) AS b FROM sales GROUP BY shop;

-- name: collect_list_of_structs
-- oracle: SELECT shop, sort_array(collect_list(struct(n, id))) AS a FROM sales GROUP BY shop
SELECT shop, collect_list(struct(n, id)) AS a FROM sales GROUP BY shop;

-- name: collect_list_distinct
-- oracle: SELECT shop, sort_array(collect_list(DISTINCT n)) AS a FROM sales GROUP BY shop
SELECT shop, collect_list(DISTINCT n) AS a FROM sales GROUP BY shop;

-- name: collect_set
SELECT shop, sort_array(collect_set(n)) AS a, size(collect_set(day)) AS b, sort_array(collect_set(tags)) AS c FROM sales GROUP BY shop;

-- name: max_by_and_min_by
-- oracle: SELECT shop, max_by(n, CASE WHEN big IS NOT NULL THEN struct(big, n) END) AS a, max_by(n, CASE WHEN big IS NOT NULL THEN struct(-big, n) END) AS b FROM sales GROUP BY shop
SELECT shop, max_by(n, big) AS a, min_by(n, big) AS b FROM sales GROUP BY shop;

-- name: max_by_of_a_struct
SELECT shop, max_by(struct(id, n), struct(id, n)) AS a FROM sales GROUP BY shop;

-- name: mode_that_is_determined
SELECT shop, mode(n, true) AS a, mode() WITHIN GROUP (ORDER BY n) AS b, mode() WITHIN GROUP (ORDER BY n DESC) AS c FROM sales GROUP BY shop;

-- name: listagg
-- oracle: SELECT shop, listagg(name, ',') WITHIN GROUP (ORDER BY name) AS a FROM people GROUP BY shop
SELECT shop, listagg(name, ',') AS a FROM people GROUP BY shop;

-- name: listagg_ordered
SELECT shop, listagg(name, '|') WITHIN GROUP (ORDER BY name DESC) AS a, string_agg(DISTINCT name, '') WITHIN GROUP (ORDER BY name) AS b FROM people GROUP BY shop;

-- name: percentiles
SELECT shop, percentile(n, 0.5) AS a, percentile(n, array(0.1, 0.9)) AS b, median(f) AS c, percentile_cont(0.25) WITHIN GROUP (ORDER BY f) AS e,
       percentile_disc(0.25) WITHIN GROUP (ORDER BY f DESC) AS g, percentile(n, 0.5, abs(id)) AS h
FROM sales GROUP BY shop;

-- name: percentile_approx
SELECT shop, percentile_approx(n, 0.5) AS a, approx_percentile(f, array(0.0, 1.0), 1000) AS b FROM sales GROUP BY shop;

-- name: median_of_intervals
SELECT shop, median(took) AS a FROM sales GROUP BY shop;

-- name: approx_count_distinct_is_exact
-- oracle: SELECT shop, count(DISTINCT n) AS a, count(DISTINCT day) AS b FROM sales GROUP BY shop
SELECT shop, approx_count_distinct(n) AS a, approx_count_distinct(day) AS b FROM sales GROUP BY shop;

-- name: sketches_of_few_values
SELECT shop, hll_sketch_estimate(hll_sketch_agg(n)) AS a FROM sales GROUP BY shop;

-- name: bitmaps
SELECT bitmap_bucket_number(abs(n)) AS bucket, bitmap_count(bitmap_construct_agg(bitmap_bit_position(abs(n)))) AS different FROM sales WHERE n IS NOT NULL
GROUP BY bitmap_bucket_number(abs(n));

-- name: histogram
SELECT shop, histogram_numeric(n, 50) AS a FROM sales GROUP BY shop;

-- name: product_by_lambda
SELECT shop, aggregate(sort_array(collect_list(n)), 1L, (a, x) -> a * x) AS product FROM sales GROUP BY shop;

-- name: maps_from_groups
SELECT map_from_entries(sort_array(collect_list(struct(shop, rows)))) AS a FROM (SELECT shop, count(*) AS rows FROM sales WHERE shop IS NOT NULL GROUP BY shop);

-- name: try_sum_that_overflows
SELECT flag, try_sum(CASE WHEN n > 3 THEN 9223372036854775807 WHEN n > 0 THEN n ELSE 0 END) AS a FROM sales GROUP BY flag;

-- name: count_min_sketch_is_there
SELECT shop, length(count_min_sketch(n, 0.5D, 0.5D, 1)) AS a FROM sales GROUP BY shop;

-- name: grouping_column_in_an_aggregate
SELECT shop, sum(length(shop)) AS a, max(shop) AS b FROM sales GROUP BY shop;

-- name: aggregate_over_a_union
SELECT shop, sum(x) AS total FROM (SELECT shop, n AS x FROM sales UNION ALL SELECT shop, size FROM shops UNION ALL SELECT shop, age FROM people) GROUP BY shop;

-- name: aggregate_over_an_outer_join
SELECT h.region, count(*) AS a, count(s.id) AS b, sum(s.amount) AS c, max(h.size) AS e FROM sales s FULL JOIN shops h ON s.shop = h.shop GROUP BY h.region;

-- name: top_of_an_aggregate
SELECT shop, total FROM (SELECT shop, sum(amount) AS total FROM sales GROUP BY shop) WHERE total = (SELECT max(total) FROM (SELECT sum(amount) AS total FROM sales GROUP BY shop));
