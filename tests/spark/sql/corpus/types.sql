-- Types that are not simply compared by their bytes, and the functions that belong to them.

-- name: collated_filter
SELECT id, name, alias FROM people WHERE alias = 'ann';

-- name: collated_groups
SELECT lower(alias) AS alias, rows FROM (SELECT alias, count(*) AS rows FROM people GROUP BY alias);

-- name: collated_distinct
SELECT lower(alias) AS alias FROM (SELECT DISTINCT alias FROM people);

-- name: collated_count_distinct
SELECT shop, count(DISTINCT alias) AS a, count(DISTINCT name) AS b FROM people GROUP BY shop;

-- name: collated_join
SELECT a.id, b.id AS other, a.alias FROM people a JOIN people b ON a.alias = b.alias AND a.id < b.id;

-- name: collated_left_join
SELECT a.id, b.id AS other FROM people a LEFT JOIN people b ON a.alias = b.name COLLATE UTF8_LCASE AND a.id <> b.id;

-- name: collated_window
SELECT lower(alias) AS alias, age, rank() OVER (PARTITION BY alias ORDER BY age) AS r, rank() OVER (ORDER BY alias) AS s FROM people;

-- name: collated_in_subquery
SELECT id, alias IN (SELECT alias FROM people WHERE age > 30) AS known FROM people;

-- name: collated_sets
SELECT lower(alias) AS alias FROM (SELECT alias FROM people WHERE age > 30 INTERSECT SELECT alias FROM people WHERE age <= 30);

-- name: collation_of_an_expression
SELECT name COLLATE UNICODE_CI = 'ZOË' AS a, collation(alias) AS b, contains(alias, 'AN') AS c, count(*) AS rows FROM people GROUP BY 1, 2, 3;

-- name: collation_that_ignores_trailing_blanks
SELECT id FROM people WHERE concat(name, '  ') COLLATE UTF8_BINARY_RTRIM = 'Ann';

-- name: ordering_by_a_collation
SELECT id, name, rank() OVER (ORDER BY name COLLATE UNICODE_AI) AS r FROM people;

-- name: lambda_transform_and_filter
SELECT id, transform(tags, (x, i) -> concat(x, CAST(i AS STRING))) AS a, filter(tags, x -> x <> 'x') AS b, exists(tags, x -> x IS NULL) AS c, forall(tags, x -> length(x) = 1) AS e FROM sales;

-- name: lambda_with_outer_columns
SELECT shop, transform(codes, x -> x * size + coalesce(n, 0)) AS a, aggregate(codes, 0, (a, x) -> a + coalesce(x, 0), a -> a * 10) AS b, reduce(codes, 1, (a, x) -> greatest(a, x)) AS c FROM shops;

-- name: lambda_nested
SELECT shop, transform(codes, x -> transform(sequence(0, 1), y -> x + y)) AS a, zip_with(codes, reverse(codes), (x, y) -> coalesce(x, 0) * coalesce(y, 0)) AS b FROM shops;

-- name: lambda_over_maps
SELECT id, map_filter(m, (k, v) -> v > 1) AS a, transform_values(m, (k, v) -> coalesce(v, 0) + 1) AS b, transform_keys(m, (k, v) -> upper(k)) AS c, map_zip_with(m, m, (k, x, y) -> x + y) AS e FROM sales;

-- name: lambda_that_sorts
SELECT shop, array_sort(codes, (x, y) -> CASE WHEN x IS NULL THEN 1 WHEN y IS NULL THEN -1 WHEN x < y THEN 1 WHEN x > y THEN -1 ELSE 0 END) AS a FROM shops;

-- name: lambda_over_groups
SELECT shop, filter(sort_array(collect_list(n)), x -> x > 1) AS a FROM sales GROUP BY shop;

-- name: array_functions
SELECT shop, array_distinct(codes) AS a, array_union(codes, array(1, 2)) AS b, array_except(codes, array(1)) AS c, array_intersect(codes, array(1, 2, 3)) AS e, array_max(codes) AS g,
       array_position(codes, 2) AS h, slice(codes, 1, 2) AS i, array_repeat(size, 2) AS k, flatten(array(codes, codes)) AS l, arrays_overlap(codes, array(2)) AS o, array_join(transform(codes, x -> CAST(x AS STRING)), ',', '?') AS p,
       array_append(codes, 9) AS q, array_compact(codes) AS r, cardinality(codes) AS t, arrays_zip(codes, codes) AS u
FROM shops;

-- name: map_functions
SELECT id, map_entries(m) AS a, map_values(m) AS b, element_at(m, 'y') AS c, map_contains_key(m, 'x') AS e, map_concat(m, map('zz', 26)) AS g, size(m) AS h, map_from_arrays(array('a', 'b'), array(id, n)) AS i, str_to_map('a:1,b:2') AS k FROM sales;

-- name: maps_joined_and_grouped_by_their_entries
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON array_sort(map_entries(a.m)) = array_sort(map_entries(b.m)) AND a.id < b.id;

-- name: json_read
SELECT shop, get_json_object(j, '$.a') AS a, get_json_object(j, '$.b[0]') AS b, from_json(j, 'a INT, b ARRAY<INT>') AS c, json_array_length(j) AS e, json_object_keys(j) AS g FROM shops;

-- name: json_read_and_grouped
SELECT c.a, count(*) AS rows FROM (SELECT from_json(j, 'a INT, b ARRAY<INT>') AS c FROM shops) GROUP BY c.a;

-- name: json_written
SELECT id, to_json(struct(n, s, tags, day, amount)) AS a, to_json(m) AS b FROM sales;

-- name: csv
SELECT id, to_csv(struct(n, shop)) AS a, from_csv(concat(CAST(n AS STRING), ',', shop), 'x INT, y STRING') AS b FROM sales;

-- name: variant_read
SELECT shop, try_variant_get(try_parse_json(j), '$.a', 'int') AS a, variant_get(try_parse_json(j), '$.b[1]', 'bigint') AS b, to_json(try_parse_json(j)) AS c, schema_of_variant(try_parse_json(j)) AS e, is_variant_null(variant_get(try_parse_json(j), '$.a')) AS g FROM shops;

-- name: variant_aggregated
SELECT try_variant_get(try_parse_json(j), '$.a', 'int') AS a, count(*) AS rows, sum(size) AS total, schema_of_variant_agg(try_parse_json(j)) AS shape FROM shops GROUP BY try_variant_get(try_parse_json(j), '$.a', 'int');

-- name: intervals_in_arithmetic
SELECT id, at + took AS a, at - INTERVAL '1' DAY AS b, took * 2 AS c, took / 4 AS e, -took AS g, day + INTERVAL '1' MONTH AS h, at - TIMESTAMP'2026-01-01 00:00:00' AS i, day - DATE'2026-01-01' AS k,
       extract(HOUR FROM took) AS l, make_dt_interval(n, 1) AS o, abs(took) AS p
FROM sales;

-- name: months_in_arithmetic
SELECT shop, opened + term AS a, term * 3 AS b, extract(YEAR FROM term) AS c, make_ym_interval(1, size) AS e, term > INTERVAL '6' MONTH AS g FROM shops;

-- name: intervals_joined_and_ranked
SELECT id, took, rank() OVER (ORDER BY took DESC) AS r, took IN (SELECT took FROM sales WHERE n > 1) AS there FROM sales;

-- name: timestamps_without_zone
SELECT shop, local, CAST(local AS TIMESTAMP) AS a, date_trunc('DAY', local) AS b, local + INTERVAL '1' HOUR AS c, max(local) OVER (PARTITION BY region) AS e FROM shops;

-- name: time_zones
SELECT id, from_utc_timestamp(at, 'Europe/Stockholm') AS a, convert_timezone('UTC', 'Asia/Tokyo', CAST(at AS TIMESTAMP_NTZ)) AS b, hour(at) AS c FROM sales;

-- name: windows_of_time
SELECT window.start, window.end, count(*) AS rows FROM sales GROUP BY window(at, '1 hour');

-- name: windows_of_time_that_slide
SELECT window.start AS since, shop, sum(n) AS total FROM sales GROUP BY window(at, '2 hours', '1 hour'), shop;

-- name: sessions_of_time
SELECT session_window.start AS since, session_window.end AS until, shop, count(*) AS rows FROM sales GROUP BY session_window(at, '90 minutes'), shop;

-- name: sessions_of_rows_that_differ
SELECT session_window.start AS since, session_window.end AS until, count(DISTINCT shop) AS shops, max(n) AS most FROM sales
GROUP BY session_window(at, CASE WHEN n > 1 THEN '30 minutes' WHEN n < 1 THEN '-1 minutes' WHEN n = 1 THEN '5 hours' END);

-- name: sessions_of_days_of_the_calendar
SELECT session_window.start AS since, session_window.end AS until, lower(shop) AS s, sum(n) AS total FROM sales WHERE n > 0 GROUP BY session_window(at, '1 day'), lower(shop);

-- name: sessions_without_zone_counted
SELECT region, count(*) AS sessions, max(rows) AS most FROM (SELECT region, session_window, count(*) AS rows FROM shops GROUP BY region, session_window(local, '3 hours'))
GROUP BY region HAVING count(*) > 0;

-- name: sessions_of_a_cube
-- refused: session_window in this position cannot be kept up to date
SELECT shop, session_window.start AS since, count(*) AS rows FROM sales GROUP BY CUBE (shop, session_window(at, '90 minutes'));

-- name: binary_values
SELECT id, raw, hex(raw) AS a, base64(raw) AS b, length(raw) AS c, raw || X'01' AS e, raw > X'61' AS g FROM sales;

-- name: floats_are_not_doubles
SELECT tag, ratio, ratio * 2 AS a, CAST(ratio AS DOUBLE) AS b, ratio = 0.1 AS c, ratio = CAST(0.1 AS FLOAT) AS e FROM prices;

-- name: structs_compared
SELECT id, s, s > named_struct('x', 1, 'y', 'b') AS a, s = named_struct('x', 1, 'y', 'a') AS b, s IS NULL AS c, s.x IS NULL AS e FROM sales;

-- name: arrays_of_structs
SELECT tag, parts.k AS a, try_element_at(parts, 1).v AS b, array_sort(parts) AS c, parts[0] IS NULL AS e FROM prices WHERE size(parts) > 0;

-- name: nulls_in_every_function
SELECT id, CAST(NULL AS INT) + n AS a, concat(shop, NULL) AS b, NULL AS c, array(NULL, n) AS e, coalesce(NULL, NULL, n) AS g, n IN (NULL) AS h FROM sales;

-- name: void_column_in_a_union
SELECT id, NULL AS extra FROM sales UNION ALL SELECT size, shop FROM shops;

-- name: strings_of_other_alphabets
SELECT name, upper(name) AS a, length(name) AS b, octet_length(name) AS c, reverse(name) AS e, levenshtein(name, 'Zoe') AS g, soundex(name) AS h, translate(name, 'öë', 'oe') AS i FROM people WHERE name > 'A';
