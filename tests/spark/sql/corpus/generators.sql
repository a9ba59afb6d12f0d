-- Generators, and tables that are written in the query.

-- name: explode_in_select
SELECT id, explode(tags) AS tag FROM sales;

-- name: explode_outer
SELECT id, explode_outer(tags) AS tag FROM sales;

-- name: posexplode
SELECT id, posexplode(tags) AS (place, tag) FROM sales;

-- name: posexplode_outer
SELECT id, posexplode_outer(tags) AS (place, tag) FROM sales;

-- name: explode_map
SELECT id, explode(m) AS (k, v) FROM sales;

-- name: explode_map_outer
SELECT id, n, explode_outer(m) AS (k, v) FROM sales;

-- name: lateral_view
SELECT id, tag FROM sales LATERAL VIEW explode(tags) t AS tag;

-- name: lateral_view_outer
SELECT id, tag FROM sales LATERAL VIEW OUTER explode(tags) t AS tag WHERE n > 0;

-- name: two_lateral_views
SELECT id, tag, k, v FROM sales LATERAL VIEW explode(tags) t AS tag LATERAL VIEW OUTER explode(m) e AS k, v;

-- name: lateral_view_of_a_lateral_view
SELECT shop, code, more FROM shops LATERAL VIEW explode(codes) c AS code LATERAL VIEW explode(sequence(1, abs(code % 3) + 1)) x AS more;

-- name: explode_in_from
SELECT s.id, t.col FROM sales s, LATERAL explode(s.tags) t;

-- name: explode_in_from_outer
SELECT s.id, t.tag FROM sales s LEFT JOIN LATERAL explode(s.tags) t(tag);

-- name: inline
SELECT tag, inline(parts) FROM prices;

-- name: inline_outer
SELECT tag, inline_outer(parts) AS (a, b) FROM prices;

-- name: stack
SELECT id, stack(2, 'n', n, 'id', id) AS (what, value) FROM sales;

-- name: json_tuple
SELECT shop, json_tuple(j, 'a', 'b') AS (a, b) FROM shops;

-- name: sequence_exploded
SELECT id, explode(sequence(0, n)) AS i FROM sales WHERE n >= 0;

-- name: days_exploded
SELECT tag, explode(sequence(since, until)) AS day FROM prices WHERE since <= until;

-- name: split_and_count
SELECT word, count(*) AS times FROM people LATERAL VIEW explode(split(name, '')) w AS word GROUP BY word;

-- name: exploded_and_joined
SELECT p.tag, p.price, count(*) AS times FROM (SELECT id, explode(tags) AS tag FROM sales) t JOIN prices p ON t.tag = p.tag GROUP BY p.tag, p.price;

-- name: exploded_and_distinct
SELECT DISTINCT explode(tags) AS tag FROM sales;

-- name: generator_over_an_aggregate
-- oracle: SELECT shop, explode(sort_array(collect_set(n))) AS n FROM sales GROUP BY shop
SELECT shop, explode(collect_set(n)) AS n FROM sales GROUP BY shop;

-- name: generator_twice_the_same_value
SELECT explode(array(shop, shop)) AS shop FROM sales;

-- name: variant_explode
SELECT h.shop, v.pos, v.key, to_json(v.value) AS value FROM shops h, LATERAL variant_explode(try_parse_json(h.j)) v;

-- name: variant_explode_outer
SELECT h.shop, v.pos, v.key, to_json(v.value) AS value FROM shops h, LATERAL variant_explode_outer(try_parse_json(h.j)) v;

-- name: variant_explode_of_each_value
SELECT h.shop, v.key, w.pos, CAST(w.value AS STRING) AS value
FROM shops h, LATERAL variant_explode(try_parse_json(h.j)) v, LATERAL variant_explode_outer(v.value) w;

-- name: variant_explode_of_a_constant
SELECT v.pos, v.key, CAST(v.value AS INT) AS n, count(s.id) AS rows
FROM variant_explode(parse_json('{"a": 1, "b": 3}')) v LEFT JOIN sales s ON s.n = CAST(v.value AS INT) GROUP BY 1, 2, 3;

-- name: values_alone
SELECT * FROM VALUES (1, 'a', DATE'2026-01-01'), (2, NULL, NULL), (1, 'a', DATE'2026-01-01') AS v(x, y, z);

-- name: select_without_from
SELECT 1 AS one, 'x' AS x, CAST(NULL AS INT) AS nothing, array(1, NULL) AS list, 1.50 AS price, CAST('NaN' AS DOUBLE) AS nan;

-- name: values_of_every_type
SELECT * FROM VALUES (1.5BD, X'00ff', TIMESTAMP'2026-01-01 12:00:00', INTERVAL '1 02:03:04' DAY TO SECOND, map('k', 1), named_struct('x', 1, 'y', array('z')), true, -0.0D, 3.25F, 7S, 9Y, 5L)
AS v(a, b, c, d, e, f, g, h, i, k, l, o);

-- name: range_function
SELECT r.id, count(s.id) AS rows FROM range(5) r LEFT JOIN sales s ON s.n = r.id GROUP BY r.id;

-- name: values_crossed
SELECT s.id, v.f * s.n AS scaled FROM sales s CROSS JOIN VALUES (1), (10) AS v(f);

-- name: values_in_a_subquery
SELECT id, n FROM sales WHERE n IN (SELECT x FROM VALUES (1), (3), (NULL) AS v(x));
