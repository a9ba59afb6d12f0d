-- Spark's pipe syntax.

-- name: pipe_where_and_select
FROM sales |> WHERE n > 0 |> SELECT id, n * 2 AS twice;

-- name: pipe_extend_set_drop
FROM sales |> SELECT id, n, shop |> EXTEND n + 1 AS more |> SET n = n * 10 |> DROP shop;

-- name: pipe_aggregate
FROM sales |> AGGREGATE sum(n) AS total, count(*) AS rows GROUP BY shop |> WHERE total > 1;

-- name: pipe_aggregate_without_groups
FROM sales |> AGGREGATE max(amount) AS top;

-- name: pipe_join
FROM sales |> AS s |> LEFT JOIN shops AS h ON s.shop = h.shop |> SELECT s.id, h.region;

-- name: pipe_sets
SELECT shop FROM sales |> UNION ALL (SELECT shop FROM shops) |> EXCEPT (SELECT shop FROM people);

-- name: pipe_order_and_limit
-- oracle: SELECT shop, n, id FROM sales ORDER BY n DESC, shop, n, id LIMIT 3
FROM sales |> SELECT shop, n, id |> ORDER BY n DESC |> LIMIT 3;

-- name: pipe_window
FROM sales |> SELECT shop, n, rank() OVER (PARTITION BY shop ORDER BY n) AS place |> WHERE place <= 2;

-- name: pipe_pivot
FROM sales |> SELECT shop, flag, n |> PIVOT (sum(n) FOR flag IN (true AS yes, false AS no));

-- name: pipe_twice_aggregated
FROM sales |> AGGREGATE count(*) AS rows GROUP BY shop |> AGGREGATE max(rows) AS most, count(*) AS shops;
