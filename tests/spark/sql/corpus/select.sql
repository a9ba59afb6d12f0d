-- Projections and filters: nothing is kept in state, and weights must pass through untouched.

-- name: every_column_of_sales
SELECT * FROM sales;

-- name: every_column_of_shops
SELECT * FROM shops;

-- name: every_column_of_prices
SELECT * FROM prices;

-- name: every_column_of_people
SELECT * FROM people;

-- name: star_except
SELECT * EXCEPT (d, f, m) FROM sales WHERE flag;

-- name: filter_is_not_true_for_null
SELECT id, n FROM sales WHERE n > 1;

-- name: filter_not
SELECT id, n, flag FROM sales WHERE NOT (n > 1 AND flag);

-- name: filter_in_list_with_null
SELECT id, n FROM sales WHERE n IN (1, 2, NULL);

-- name: filter_not_in_list_with_null
SELECT id, n FROM sales WHERE n NOT IN (1, 2, NULL);

-- name: filter_between_and_like
SELECT id, shop FROM sales WHERE n BETWEEN -1 AND 3 AND shop LIKE '_%' AND shop NOT RLIKE '^c';

-- name: filter_null_safe
SELECT id, n, shop FROM sales WHERE (n <=> NULL) OR (shop IS DISTINCT FROM 'a');

-- name: nan_and_negative_zero_in_comparisons
SELECT id, d, d > 1e300 AS huge, d = 0.0 AS zero, d = CAST('NaN' AS DOUBLE) AS nan, d <=> -0.0D AS safe FROM sales;

-- name: negative_zero_keeps_its_sign
SELECT id, CAST(d AS STRING) AS text FROM sales;

-- name: case_simple_and_searched
SELECT id, CASE n WHEN 1 THEN 'one' WHEN 2 THEN 'two' END AS simple,
       CASE WHEN n IS NULL THEN 'none' WHEN n > 2 AND flag THEN 'many' WHEN flag THEN 'few' ELSE shop END AS searched
FROM sales;

-- name: null_functions
SELECT id, coalesce(shop, 'none') AS a, nullif(n, 2) AS b, nvl2(d, 'there', 'missing') AS c, ifnull(flag, false) AS e, if(n > 1, n, -n) AS g,
       greatest(n, big, 1) AS h, least(n, big, 1) AS i, nanvl(d, 0.5D) AS k
FROM sales;

-- name: casts
SELECT id, CAST(n AS STRING) AS a, CAST(amount AS DOUBLE) AS b, CAST(flag AS INT) AS c, CAST(day AS TIMESTAMP) AS e, CAST(at AS DATE) AS g,
       try_cast(shop AS INT) AS h, CAST(n AS DECIMAL(5,1)) AS i, CAST(f AS DECIMAL(10,1)) AS k, shop::STRING AS l, CAST(raw AS STRING) AS o
FROM sales;

-- name: decimal_arithmetic
SELECT id, amount * 1.5 AS a, amount / 3 AS b, amount + CAST(n AS DECIMAL(5,0)) AS c, amount % 7 AS e, round(amount, 1) AS g, bround(amount, 0) AS h,
       ceil(amount) AS i, floor(amount) AS k, -amount AS l, abs(amount) AS o
FROM sales;

-- name: integer_arithmetic
SELECT id, n + 1 AS a, n * big AS b, n / 4 AS c, n div 2 AS e, n % 3 AS g, pmod(n, 3) AS h, n & 3 AS i, n | 8 AS k, n ^ 1 AS l, ~n AS o, shiftleft(n, 2) AS p
FROM sales;

-- name: try_arithmetic
SELECT id, try_divide(amount, n) AS a, try_add(n, 2147483647) AS b, try_multiply(big, big) AS c, try_element_at(tags, 2) AS e FROM sales;

-- name: strings
SELECT id, upper(shop) || '-' || shop AS a, concat_ws('/', shop, CAST(n AS STRING)) AS b, length(shop) AS c, substring(shop, 1, 1) AS e, lpad(shop, 3, '*') AS g,
       split(shop, '') AS h, replace(shop, 'a', 'aa') AS i, initcap(shop) AS k, md5(shop) AS l, regexp_replace(shop, '[ab]', '#') AS o
FROM sales;

-- name: dates
SELECT id, year(day) AS a, date_add(day, n) AS b, datediff(day, DATE'2026-01-01') AS c, date_trunc('HOUR', at) AS e, last_day(day) AS g,
       date_format(at, 'yyyy-MM-dd HH:mm') AS h, unix_timestamp(at) AS i, months_between(at, TIMESTAMP'2026-01-01 00:00:00') AS k, add_months(day, n) AS l,
       extract(DAYOFWEEK FROM day) AS o, to_date('2026-02-0' || CAST(abs(n) + 1 AS STRING)) AS p
FROM sales;

-- name: structs_and_arrays
SELECT id, s.x AS a, s.y AS b, named_struct('n', n, 's', s) AS c, array(n, id) AS e, try_element_at(tags, 1) AS g, size(tags) AS h, array_contains(tags, 'x') AS i,
       m['x'] AS k, map_keys(m) AS l, sort_array(tags) AS o, struct(s.*) AS p
FROM sales;

-- name: lateral_column_alias
SELECT id, n + 1 AS more, more * 2 AS twice, twice - n AS left_over FROM sales;

-- name: hints_change_nothing
SELECT /*+ BROADCAST(h), REPARTITION(3) */ s.id, h.region FROM sales s JOIN shops h ON s.shop = h.shop;

-- name: sort_without_limit_has_no_meaning
SELECT id, shop FROM sales DISTRIBUTE BY shop SORT BY id;

-- name: order_by_at_the_top_is_dropped
SELECT id, shop FROM sales ORDER BY n DESC NULLS LAST, id;

-- name: column_names_that_need_quotes
SELECT id AS `an id`, n AS `select`, shop AS `back``tick`, n AS id FROM sales;

-- name: the_same_name_twice
SELECT n, n, shop AS n FROM sales;

-- name: hashes
SELECT id, hash(n, shop) AS a, xxhash64(n, shop, tags) AS b, crc32(raw) AS c, sha2(raw, 256) AS e FROM sales;
