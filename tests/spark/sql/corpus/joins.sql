-- Joins of every kind.

-- name: inner_join
SELECT s.id, s.shop, h.region, h.size FROM sales s JOIN shops h ON s.shop = h.shop;

-- name: inner_join_on_int_and_bigint
SELECT s.id, h.region FROM sales s JOIN shops h ON s.n = h.n;

-- name: inner_join_on_two_keys
SELECT s.id, h.region FROM sales s JOIN shops h ON s.shop = h.shop AND s.n = h.n;

-- name: inner_join_with_a_residual_condition
SELECT s.id, s.n, h.size FROM sales s JOIN shops h ON s.shop = h.shop AND s.n < h.size;

-- name: join_that_passes_values_of_all_types
SELECT s.*, h.* FROM sales s JOIN shops h ON s.shop = h.shop;

-- name: left_join
SELECT s.id, s.shop, h.region FROM sales s LEFT JOIN shops h ON s.shop = h.shop;

-- name: left_join_with_condition
SELECT s.id, s.n, h.size FROM sales s LEFT JOIN shops h ON s.shop = h.shop AND s.n < h.size;

-- name: left_join_with_condition_on_the_left_side_only
SELECT s.id, s.n, h.region FROM sales s LEFT JOIN shops h ON s.shop = h.shop AND s.n > 0;

-- name: left_join_with_condition_on_the_right_side_only
SELECT s.id, h.region FROM sales s LEFT JOIN shops h ON s.shop = h.shop AND h.size > 2;

-- name: left_join_filtered_on_the_right_side
SELECT s.id, s.shop FROM sales s LEFT JOIN shops h ON s.shop = h.shop WHERE h.shop IS NULL;

-- name: left_join_whose_filter_makes_it_inner
SELECT s.id, h.size FROM sales s LEFT JOIN shops h ON s.shop = h.shop WHERE h.size > 2;

-- name: left_join_aggregated
SELECT h.shop, count(s.id) AS sold, sum(s.amount) AS total FROM shops h LEFT JOIN sales s ON s.shop = h.shop GROUP BY h.shop;

-- name: right_join
SELECT s.id, h.shop, h.region FROM sales s RIGHT JOIN shops h ON s.shop = h.shop;

-- name: right_join_with_condition
SELECT s.id, h.shop FROM sales s RIGHT OUTER JOIN shops h ON s.shop = h.shop AND s.n = h.n AND s.flag;

-- name: full_join
SELECT s.id, s.shop, h.shop AS other, h.region FROM sales s FULL JOIN shops h ON s.shop = h.shop;

-- name: full_join_with_condition
SELECT s.id, s.n, h.shop, h.size FROM sales s FULL OUTER JOIN shops h ON s.shop = h.shop AND s.n < h.size;

-- name: full_join_with_conditions_on_one_side
SELECT s.id, h.shop FROM sales s FULL JOIN shops h ON s.shop = h.shop AND s.flag AND h.active;

-- name: full_join_using
SELECT shop, s.id, h.size FROM sales s FULL JOIN shops h USING (shop);

-- name: semi_join
SELECT s.id, s.shop FROM sales s LEFT SEMI JOIN shops h ON s.shop = h.shop;

-- name: semi_join_with_condition
SELECT s.id, s.n FROM sales s LEFT SEMI JOIN shops h ON s.shop = h.shop AND s.n < h.size;

-- name: anti_join
SELECT s.id, s.shop FROM sales s LEFT ANTI JOIN shops h ON s.shop = h.shop;

-- name: anti_join_with_condition
SELECT s.id, s.n FROM sales s LEFT ANTI JOIN shops h ON s.shop = h.shop AND s.n < h.size;

-- name: anti_join_with_condition_on_the_left_side_only
SELECT s.id, s.n FROM sales s LEFT ANTI JOIN shops h ON s.shop = h.shop AND s.flag;

-- name: cross_join
SELECT p.name, h.region FROM people p CROSS JOIN shops h;

-- name: cross_join_with_a_filter
SELECT p.name, h.shop FROM people p, shops h WHERE p.age > h.size;

-- name: comma_join_that_is_an_equi_join
SELECT s.id, h.region, p.name FROM sales s, shops h, people p WHERE s.shop = h.shop AND p.shop = h.shop AND p.age IS NOT NULL;

-- name: non_equi_inner
SELECT s.id, p.tag FROM sales s JOIN prices p ON s.n BETWEEN p.low AND p.high;

-- name: non_equi_left
SELECT s.id, p.tag FROM sales s LEFT JOIN prices p ON s.n > p.low AND s.day >= p.since;

-- name: non_equi_full
SELECT s.id, p.tag FROM sales s FULL JOIN prices p ON s.n > p.high;

-- name: non_equi_semi
SELECT s.id FROM sales s LEFT SEMI JOIN prices p ON s.n BETWEEN p.low AND p.high;

-- name: non_equi_anti
SELECT s.id FROM sales s LEFT ANTI JOIN prices p ON s.n BETWEEN p.low AND p.high;

-- name: range_join_with_an_equi_key
SELECT s.id, p.price FROM sales s JOIN prices p ON array_contains(s.tags, p.tag) AND s.day >= p.since AND s.day < p.until;

-- name: self_join
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.shop = b.shop;

-- name: self_join_with_an_inequality
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.shop = b.shop AND a.n < b.n;

-- name: self_join_left
SELECT p.name, b.name AS boss FROM people p LEFT JOIN people b ON p.boss = b.id;

-- name: self_join_anti
SELECT a.id, a.n FROM sales a LEFT ANTI JOIN sales b ON a.shop = b.shop AND b.n > a.n;

-- name: self_join_of_three
SELECT a.name, c.name AS top FROM people a JOIN people b ON a.boss = b.id JOIN people c ON b.boss = c.id;

-- name: null_safe_join
SELECT s.id, s.shop, h.region FROM sales s JOIN shops h ON s.shop <=> h.shop;

-- name: null_safe_left_join
SELECT s.id, h.size FROM sales s LEFT JOIN shops h ON s.shop <=> h.shop AND s.n <=> h.n;

-- name: null_safe_full_join
SELECT s.id, h.shop FROM sales s FULL JOIN shops h ON s.n <=> h.n;

-- name: null_safe_anti_join
SELECT s.id, s.n FROM sales s LEFT ANTI JOIN shops h ON s.n <=> h.n;

-- name: plain_and_null_safe_keys
SELECT s.id, h.region FROM sales s LEFT JOIN shops h ON s.shop = h.shop AND s.n <=> h.n;

-- name: join_using
SELECT shop, id, region FROM sales JOIN shops USING (shop);

-- name: join_using_star
SELECT * FROM (SELECT shop, n, id FROM sales) JOIN (SELECT shop, n, region FROM shops) USING (shop, n);

-- name: natural_join
SELECT * FROM (SELECT shop, id, amount FROM sales) NATURAL JOIN (SELECT shop, region FROM shops);

-- name: natural_left_join
SELECT * FROM (SELECT shop, n, id FROM sales) NATURAL LEFT JOIN (SELECT shop, n, region FROM shops);

-- name: natural_full_join
SELECT * FROM (SELECT shop, id FROM sales) NATURAL FULL JOIN (SELECT shop, region FROM shops);

-- name: lateral_join
SELECT h.shop, l.total FROM shops h, LATERAL (SELECT sum(s.amount) AS total FROM sales s WHERE s.shop = h.shop) l;

-- name: lateral_join_of_rows
SELECT h.shop, l.id FROM shops h JOIN LATERAL (SELECT s.id FROM sales s WHERE s.shop = h.shop AND s.n < h.size) l;

-- name: lateral_left_join
SELECT h.shop, l.id FROM shops h LEFT JOIN LATERAL (SELECT s.id, s.n FROM sales s WHERE s.shop = h.shop AND s.flag) l ON l.n > 0;

-- name: lateral_of_an_expression
SELECT s.id, l.twice, k.more FROM sales s, LATERAL (SELECT s.n * 2 AS twice) l, LATERAL (SELECT l.twice + 1 AS more) k;

-- name: lateral_top
SELECT h.shop, l.n FROM (SELECT DISTINCT shop FROM shops) h, LATERAL (SELECT s.n FROM sales s WHERE s.shop = h.shop ORDER BY s.n DESC LIMIT 2) l;

-- name: three_tables
SELECT s.id, h.region, p.name FROM sales s JOIN shops h ON s.shop = h.shop LEFT JOIN people p ON p.shop = h.shop AND p.age > 30;

-- name: four_tables
SELECT h.region, p.name, r.tag, count(*) AS rows
FROM sales s JOIN shops h USING (shop) JOIN people p USING (shop) LEFT JOIN prices r ON array_contains(s.tags, r.tag)
GROUP BY h.region, p.name, r.tag;

-- name: join_of_a_join_in_parentheses
SELECT s.id, h.region, p.name FROM sales s LEFT JOIN (shops h JOIN people p ON h.shop = p.shop) ON s.shop = h.shop;

-- name: join_on_an_expression
SELECT s.id, h.region FROM sales s JOIN shops h ON upper(s.shop) = upper(h.shop) AND s.n + 1 = h.n - 1;

-- name: join_on_doubles
SELECT s.id, s.d, h.d AS other FROM sales s JOIN shops h ON s.d = h.d;

-- name: join_on_doubles_null_safe
SELECT s.id, h.shop FROM sales s FULL JOIN shops h ON s.d <=> h.d;

-- name: join_on_decimals_of_other_scale
SELECT s.id, p.tag FROM sales s JOIN prices p ON s.amount = p.price;

-- name: join_on_decimal_and_int
SELECT s.id, p.tag FROM sales s LEFT JOIN prices p ON s.n = p.price;

-- name: join_on_float_and_double
SELECT s.id, p.tag FROM sales s JOIN prices p ON s.f = p.ratio;

-- name: join_on_date_and_timestamp
SELECT s.id, h.shop FROM sales s JOIN shops h ON s.at = h.opened;

-- name: join_on_timestamps_with_and_without_zone
SELECT s.id, h.shop FROM sales s JOIN shops h ON s.at = h.local;

-- name: join_on_structs
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.s = b.s;

-- name: join_on_arrays
SELECT a.id, b.id AS other FROM sales a LEFT JOIN sales b ON a.tags = b.tags AND a.id < b.id;

-- name: join_on_binary
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.raw = b.raw;

-- name: join_on_booleans
SELECT s.id, h.shop FROM sales s FULL JOIN shops h ON s.flag = h.active;

-- name: join_on_intervals
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.took = b.took;

-- name: join_on_true
SELECT h.shop, t.total FROM shops h LEFT JOIN (SELECT count(*) AS total FROM sales) t ON true;

-- name: join_on_false
SELECT s.id, h.shop FROM sales s LEFT JOIN shops h ON 1 = 0;

-- name: full_join_on_null
SELECT s.id, h.shop FROM sales s FULL JOIN shops h ON CAST(NULL AS BOOLEAN);

-- name: join_on_a_disjunction
SELECT s.id, h.shop FROM sales s JOIN shops h ON s.shop = h.shop OR s.n = h.n;

-- name: join_on_a_disjunction_left
SELECT s.id, h.shop FROM sales s LEFT JOIN shops h ON s.shop = h.shop OR s.n = h.n;

-- name: join_of_aggregates
SELECT a.shop, a.total, b.people FROM (SELECT shop, sum(n) AS total FROM sales GROUP BY shop) a
FULL JOIN (SELECT shop, count(*) AS people FROM people GROUP BY shop) b ON a.shop = b.shop;

-- name: join_with_its_own_aggregate
SELECT s.id, s.n, a.most FROM sales s JOIN (SELECT shop, max(n) AS most FROM sales GROUP BY shop) a ON s.shop = a.shop AND s.n = a.most;

-- name: join_then_distinct
SELECT DISTINCT h.region FROM sales s JOIN shops h ON s.shop = h.shop;

-- name: join_with_literal_rows
SELECT s.id, v.word FROM sales s JOIN VALUES (1, 'one'), (2, 'two'), (NULL, 'none'), (2, 'zwei') AS v(n, word) ON s.n = v.n;

-- name: left_join_of_literal_rows
SELECT v.n, count(s.id) AS rows FROM VALUES (1), (2), (3), (99) AS v(n) LEFT JOIN sales s ON s.n = v.n GROUP BY v.n;

-- name: two_left_joins_in_a_row
SELECT s.id, h.region, r.tag FROM sales s LEFT JOIN shops h ON s.shop = h.shop LEFT JOIN prices r ON r.low = h.size;

-- name: left_join_under_full_join
SELECT s.id, h.region, p.name FROM sales s LEFT JOIN shops h ON s.shop = h.shop FULL JOIN people p ON p.shop = h.shop;

-- name: anti_join_of_an_anti_join
SELECT h.shop FROM shops h LEFT ANTI JOIN (SELECT s.shop FROM sales s LEFT ANTI JOIN people p ON s.shop = p.shop) x ON h.shop = x.shop;
