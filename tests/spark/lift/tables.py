"""Three small tables with nulls in every column and rows that are equal, and queries over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMAS = {
    "t": "id int, k string, v int, d decimal(10,2), x double, ts timestamp, day date, b boolean, xs array<int>, m map<string,int>, s struct<a: int, b: string>",
    "u": "id int, k string, w bigint, ts timestamp",
    "e": "id int, boss int, name string, pay int, dept string",
}

_ROWS = {
    "t": """
        (1, 'a', 10, 1.50, 0.5, '2024-01-01 00:00:00', '2024-01-01', true, array(1, 2), map('a', 1), named_struct('a', 1, 'b', 'x')),
        (2, 'a', 20, 2.25, CAST('NaN' AS DOUBLE), '2024-01-01 00:03:00', '2024-01-02', false, array(3, NULL), map('b', 2), named_struct('a', 2, 'b', NULL)),
        (3, 'b', NULL, -3.00, -0.0, '2024-01-01 00:07:00', NULL, NULL, array(), map(), NULL),
        (4, 'b', 20, NULL, 0.0, NULL, '2024-02-29', true, NULL, NULL, named_struct('a', NULL, 'b', 'y')),
        (5, NULL, 5, 0.00, NULL, '2024-03-10 02:30:00', '2024-12-31', false, array(7), map('a', NULL), named_struct('a', 5, 'b', 'x')),
        (NULL, 'c', -1, 99999999.99, 1e300, '1969-12-31 23:59:59.999999', '1970-01-01', true, array(1), map('a', 3), named_struct('a', 1, 'b', 'x')),
        (2, 'a', 20, 2.25, CAST('NaN' AS DOUBLE), '2024-01-01 00:03:00', '2024-01-02', false, array(3, NULL), map('b', 2), named_struct('a', 2, 'b', NULL))""",
    "u": """
        (1, 'a', 100, '2024-01-01 00:01:00'), (1, 'b', 200, '2024-01-01 00:02:00'), (2, 'a', 300, NULL), (3, NULL, NULL, '2024-01-01 00:07:00'),
        (NULL, 'a', 500, '2024-01-01 00:04:00'), (6, 'c', 600, '2024-01-02 00:00:00'), (6, 'c', 600, '2024-01-02 00:00:00')""",
    "e": """
        (1, NULL, 'ann', 100, 'x'), (2, 1, 'bob', 80, 'x'), (3, 1, 'cid', 70, 'y'), (4, 2, 'dee', 60, 'y'), (5, 2, 'eve', 60, NULL), (6, 9, NULL, NULL, 'z')""",
}


def frames(spark: SparkSession) -> dict[str, DataFrame]:
    """The tables as temporary views of their names, cached by nobody."""
    by_name = {}
    for name, ddl in SCHEMAS.items():
        columns = [c.strip().split(" ", 1) for c in _split(ddl)]
        values = spark.sql(f"SELECT * FROM VALUES {_ROWS[name]} AS v({', '.join(c for c, _ in columns)})")
        by_name[name] = values.selectExpr(*(f"CAST({c} AS {t}) AS {c}" for c, t in columns))
        by_name[name].createOrReplaceTempView(name)
    return by_name


def _split(ddl: str) -> list[str]:
    parts, depth = [""], 0
    for c in ddl:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


QUERIES = {
    # rows
    "columns": "SELECT id, K, v + 1 AS v1, s.a, s.b AS sb FROM t",
    "star": "SELECT * FROM t",
    "where": "SELECT id FROM t WHERE v > 5 AND k = 'a' OR NOT b",
    "same_name_twice": "SELECT id, id, v AS id, ID AS Id FROM t",
    "case": "SELECT CASE WHEN v > 10 THEN 'big' WHEN v IS NULL THEN NULL ELSE 'small' END c, if(b, 1, 2L) i, nullif(k, 'a') n, nvl(v, 0) z FROM t",
    "between": "SELECT id FROM t WHERE v BETWEEN 5 AND 20 AND ts NOT BETWEEN '2024-01-01' AND TIMESTAMP '2024-01-01 00:05:00'",
    "in": "SELECT id FROM t WHERE k IN ('a', 'c') AND v NOT IN (10, 11) AND (id, k) IN ((2, 'a'), (4, 'b'))",
    "like": "SELECT id FROM t WHERE k LIKE 'a%' OR k RLIKE '^b' OR s.b LIKE ANY ('x', '_y')",
    "arithmetic": "SELECT v * 2 - id % 3 a, v / 4 q, v DIV 3 i, -v n, d * 1.5 m, d + v s, (v + id) * 2 p, x - 1 y, v & 6 | 1 ^ 2 w, ~v c, v << 2 sh FROM t",
    "dates": "SELECT day + 1 a, day - INTERVAL 1 MONTH b, ts + INTERVAL '1 2:03' DAY TO MINUTE c, ts - TIMESTAMP '2024-01-01' d, datediff(day, '2024-01-01') e, extract(MONTH FROM day) f, date_trunc('HOUR', ts) g, dateadd(MINUTE, 3, ts) h FROM t",
    "try": "SELECT try_divide(v, id - 2) a, try_add(v, 2147483640) b, try_cast(k AS INT) c, try_element_at(xs, 5) e, get(xs, 9) g FROM t",
    "lambdas": "SELECT transform(xs, x -> x + v) a, filter(xs, (x, i) -> x > i) b, aggregate(xs, 0, (acc, x) -> acc + nvl(x, 0), acc -> acc * id) c, exists(xs, x -> x IS NULL) e, transform(xs, x -> transform(array(1, 2), y -> x * y)) n FROM t WHERE id IS NOT NULL",
    "sorted_array": "SELECT array_sort(array(v, id, 3), (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END) s, array_sort(xs) d, sort_array(xs, false) e FROM t",
    "collections": "SELECT xs[0] a, m['a'] b, named_struct('p', id, 'q', k).q q, array(v, id) r, map(id, v) mm, size(xs) z, s.a IS NULL sn, explode(array(1, 2)) g FROM t WHERE id > 0 AND size(xs) > 0",
    "json": "SELECT to_json(s) j, from_json(to_json(s), 'a INT, b STRING') f, get_json_object('{\"a\":1}', '$.a') g, schema_of_json('[1]') h FROM t",
    "variant": "SELECT variant_get(parse_json('{\"a\": [1, 2]}'), '$.a[1]', 'int') i, parse_json('{\"a\": 7}'):a::int j, id FROM t",
    "collation": "SELECT k COLLATE UTF8_LCASE = 'A' e, count(*) c FROM t GROUP BY k COLLATE UTF8_LCASE",
    "literals": "SELECT 1Y a, 2S b, 3L c, 1.5BD d, 2.5F e, 1e3 f, X'1F' g, DATE '2024-02-29' h, CAST(INTERVAL '3' MONTH AS STRING) i, INTERVAL '1' DAY j, 'it''s\\n' k, true l, NULL m, CAST('NaN' AS DOUBLE) n, array() o, TIMESTAMP_NTZ '2024-01-01 00:00:00' p, -0.0D q, -2147483648 r FROM t",
    "values": "SELECT a, b FROM VALUES (1, 'x'), (NULL, 'y') AS v(a, b)",
    "no_table": "SELECT 1 AS one, 'x' AS x",
    "range": "SELECT id * 2 AS d FROM range(1, 6, 2)",
    "table_function": "SELECT * FROM explode(array(3, 4)) AS f(n)",
    # joins
    "inner": "SELECT t.id, u.w FROM t JOIN u ON t.id = u.id WHERE t.v > 5 AND u.w < 1000",
    "comma": "SELECT t.id, u.id uid, u.k FROM t, u WHERE t.id = u.id AND t.k = u.k",
    "left": "SELECT t.id, u.w FROM t LEFT JOIN u ON t.id = u.id AND u.w > 100",
    "left_one_sided": "SELECT t.id, u.w FROM t LEFT JOIN u ON t.id = u.id AND t.v > 10",
    "left_filtered": "SELECT t.id, u.w FROM t LEFT JOIN u ON t.id = u.id WHERE u.w IS NULL OR t.v = 10",
    "left_made_inner": "SELECT t.id, u.w FROM t LEFT JOIN u ON t.id = u.id WHERE u.w > 100",
    "right": "SELECT t.id, u.* FROM t RIGHT JOIN u ON t.id = u.id AND t.v > 5",
    "full": "SELECT t.id, t.k, u.id uid, u.w FROM t FULL JOIN u ON t.id = u.id AND t.k = u.k",
    "full_made_left": "SELECT t.id, u.w FROM t FULL JOIN u ON t.id = u.id WHERE t.v > 5",
    "using": "SELECT * FROM t JOIN u USING (id, k)",
    "full_using": "SELECT id, v, w FROM t FULL JOIN u USING (id)",
    "natural": "SELECT k, v, w FROM t NATURAL JOIN (SELECT k, w FROM u)",
    "cross": "SELECT t.id, u.id i2 FROM t CROSS JOIN u",
    "no_columns": "SELECT count(*) c FROM t CROSS JOIN u",
    "non_equi": "SELECT t.id, u.w FROM t JOIN u ON t.ts < u.ts",
    "null_safe": "SELECT t.id, u.w FROM t JOIN u ON t.k <=> u.k AND t.id = u.id",
    "semi": "SELECT id FROM t LEFT SEMI JOIN u ON t.id = u.id AND u.w > t.v",
    "anti": "SELECT id, k FROM t LEFT ANTI JOIN u ON t.id = u.id AND t.v > 5",
    "self": "SELECT a.name, b.name boss FROM e a LEFT JOIN e b ON a.boss = b.id",
    "three": "SELECT a.name, c.name top FROM e a JOIN e b ON a.boss = b.id JOIN e c ON b.boss = c.id WHERE a.pay < c.pay",
    "or_with_common_part": "SELECT t.id, u.w FROM t, u WHERE (t.id = u.id AND t.v > 5 AND u.w < 250) OR (t.id = u.id AND t.k = 'b')",
    "key_expression": "SELECT t.id, u.w FROM t JOIN u ON t.id + 1 = u.id AND lower(t.k) = u.k",
    "join_on_cast": "SELECT t.id FROM t JOIN (SELECT CAST(id AS STRING) sid FROM u) u ON t.id = u.sid",
    # subqueries
    "exists": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND u.w > 100)",
    "not_exists": "SELECT id, k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AND v > 0",
    "exists_uncorrelated": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE w > 1000)",
    "in_subquery": "SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE w > 100)",
    "not_in": "SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE id IS NOT NULL)",
    "not_in_with_nulls": "SELECT id FROM t WHERE id NOT IN (SELECT id FROM u)",
    "not_in_correlated": "SELECT id FROM t WHERE v NOT IN (SELECT w FROM u WHERE u.k = t.k)",
    "in_or": "SELECT id FROM t WHERE id IN (SELECT id FROM u) OR v > 15 AND NOT EXISTS (SELECT 1 FROM e WHERE e.id = t.id)",
    "exists_in_select": "SELECT id, EXISTS (SELECT 1 FROM u WHERE u.id = t.id) e, k IN (SELECT k FROM u) i FROM t",
    "scalar": "SELECT id, v - (SELECT min(pay) FROM e) r FROM t WHERE v < (SELECT max(w) FROM u)",
    "scalar_row": "SELECT id, (SELECT name FROM e WHERE id = 2) n FROM t",
    "scalar_none": "SELECT id, (SELECT name FROM e WHERE id = 99) n FROM t",
    "scalar_twice": "SELECT id FROM t WHERE v > (SELECT avg(v) FROM t) OR v < (SELECT avg(v) FROM t) - 5",
    "correlated": "SELECT name FROM e WHERE pay > (SELECT avg(pay) FROM e f WHERE f.dept = e.dept)",
    "correlated_count": "SELECT name, (SELECT count(*) FROM e f WHERE f.boss = e.id) n FROM e",
    "correlated_having": "SELECT id, (SELECT count(*) FROM u WHERE u.id = t.id HAVING count(*) > 1) n FROM t",
    "correlated_non_equi": "SELECT id, (SELECT count(*) FROM u WHERE u.w > t.v) n FROM t",
    "nested": "SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE w > (SELECT avg(w) FROM u x WHERE x.k = u.k OR x.k IS NULL) OR k IN (SELECT dept FROM e))",
    "scalar_in_aggregate": "SELECT k, sum(v) / (SELECT count(*) FROM u) r, sum(v + (SELECT min(id) FROM u)) s FROM t GROUP BY k",
    "subquery_in_join": "SELECT t.id, u.w FROM t JOIN u ON t.id = u.id AND u.w > (SELECT min(w) FROM u)",
    "lateral": "SELECT t.id, x.n, x.m FROM t, LATERAL (SELECT count(*) n, max(w) m FROM u WHERE u.id = t.id) x",
    "lateral_rows": "SELECT t.id, x.w FROM t JOIN LATERAL (SELECT w FROM u WHERE u.id = t.id AND u.w > 100) x",
    "lateral_top": "SELECT t.id, x.w FROM t LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k ORDER BY w DESC, id LIMIT 1) x",
    "lateral_expression": "SELECT id, y FROM t, LATERAL (SELECT v + 1 AS y)",
    # aggregates
    "group": "SELECT k, count(*), count(v) cv, sum(v) s, avg(d) a, min(ts) mi, max(x) ma FROM t GROUP BY k",
    "group_expression": "SELECT v % 2 p, count(*) c, sum(v) + 1 s FROM t GROUP BY v % 2 HAVING count(*) > 1",
    "group_twice": "SELECT k, k kk, sum(v) s, sum(v) * 2 s2 FROM t GROUP BY k, k",
    "global": "SELECT sum(v), count(*), max(k) FROM t WHERE id > 100",
    "global_unread": "SELECT 1 AS one FROM (SELECT max(v) m FROM t)",
    "distinct": "SELECT DISTINCT k, v FROM t",
    "count_distinct": "SELECT k, count(DISTINCT v, id) c, sum(DISTINCT v) s FROM t GROUP BY k",
    "filter": "SELECT k, sum(v) FILTER (WHERE b) s, count(*) FILTER (WHERE v > 10) c FROM t GROUP BY k",
    "percentiles": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v DESC) p, median(d) m, percentile(v, array(0.25, 0.75)) a, mode() WITHIN GROUP (ORDER BY v) mo FROM t",
    "booleans": "SELECT bool_and(b) a, some(b) s, every(v > 0) e, count_if(b) c, bit_xor(v) x FROM t",
    "statistics": "SELECT stddev(v) s, var_pop(v) p, corr(v, id) c, regr_slope(v, id) r, skewness(v) k, regr_count(v, id) n FROM t",
    "listagg": "SELECT listagg(DISTINCT k, ',') WITHIN GROUP (ORDER BY k) l, array_sort(collect_set(k)) c, max_by(id, v) mb FROM t WHERE v <> 20",
    "rollup": "SELECT k, b, count(*) c, grouping(k) g, grouping_id() gid FROM t GROUP BY ROLLUP (k, b)",
    "cube": "SELECT k, v % 2 p, sum(v) s FROM t GROUP BY CUBE (k, v % 2) HAVING sum(v) > 10",
    "sets": "SELECT k, b, max(v) FROM t GROUP BY GROUPING SETS ((k), (b), ())",
    "pivot": "SELECT * FROM (SELECT k, b, v FROM t) PIVOT (sum(v) AS s, max(v) AS m FOR b IN (true AS yes, false AS no))",
    "pivot_plain": "SELECT * FROM (SELECT id, k, v FROM t) PIVOT (collect_list(v) FOR k IN ('a', 'b'))",
    "unpivot": "SELECT * FROM (SELECT id, v, CAST(d AS INT) d FROM t WHERE d < 100) UNPIVOT (val FOR name IN (v, d))",
    "tumbling": "SELECT window.start s, window.end e, count(*) c FROM t GROUP BY window(ts, '5 minutes')",
    "hopping": "SELECT window(ts, '10 minutes', '5 minutes').start s, sum(v) v FROM t GROUP BY window(ts, '10 minutes', '5 minutes')",
    "sessions": "SELECT k, session_window.start s, session_window.end e, count(*) c FROM t WHERE v > 0 GROUP BY k, session_window(ts, '5 minutes')",
    "sessions_of_each": "SELECT session_window s, sum(v) v FROM t GROUP BY session_window(ts, CASE WHEN b THEN '1 minute' ELSE '2 hours' END)",
    "aggregate_of_aggregate": "SELECT max(s) m, c FROM (SELECT k, sum(v) s, count(*) c FROM t GROUP BY k) GROUP BY c",
    "group_by_alias": "SELECT upper(k) AS kk, count(*) AS c FROM t GROUP BY kk HAVING c > 1",
    # windows
    "row_number": "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id DESC, v) n FROM t WHERE id <> 2",
    "ranks": "SELECT name, rank() OVER w r, dense_rank() OVER w d, percent_rank() OVER w p, cume_dist() OVER w c FROM e WINDOW w AS (PARTITION BY dept ORDER BY pay DESC)",
    "ntile": "SELECT name, ntile(2) OVER (ORDER BY id) n FROM e",
    "lag_lead": "SELECT name, lag(name) OVER w a, lead(pay, 2, -1) OVER w b, lag(pay, 1) IGNORE NULLS OVER w c FROM e WINDOW w AS (ORDER BY id)",
    "first_last": "SELECT name, first_value(pay) OVER w a, last(pay) IGNORE NULLS OVER w b, nth_value(pay, 2) OVER w c FROM e WINDOW w AS (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)",
    "frames": "SELECT id, sum(pay) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) a, count(*) OVER (ORDER BY pay RANGE BETWEEN 10 PRECEDING AND 20 FOLLOWING) b, max(pay) OVER () c, avg(pay) OVER (PARTITION BY dept ORDER BY id) d FROM e",
    "range_interval": "SELECT id, count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL '2' DAY PRECEDING AND CURRENT ROW) c FROM t",
    "window_over_aggregate": "SELECT dept, sum(pay) s, rank() OVER (ORDER BY sum(pay) DESC NULLS LAST) r FROM e GROUP BY dept",
    "window_in_expression": "SELECT name, pay * 100.0 / sum(pay) OVER (PARTITION BY dept) share FROM e",
    "top_n": "SELECT id, k FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) n FROM t) WHERE n <= 1 AND k IS NOT NULL",
    "qualify": "SELECT name, dept FROM e QUALIFY row_number() OVER (PARTITION BY dept ORDER BY pay DESC, id) = 1",
    # limits
    "limit": "SELECT name, pay FROM e ORDER BY pay DESC, id LIMIT 3",
    "limit_offset": "SELECT name FROM e ORDER BY id LIMIT 2 OFFSET 1",
    "offset": "SELECT name FROM e ORDER BY id OFFSET 4",
    "limit_hidden_order": "SELECT name FROM e ORDER BY pay + id DESC LIMIT 2",
    "limit_of_subquery": "SELECT upper(name) n FROM (SELECT * FROM e ORDER BY id DESC) WHERE pay IS NOT NULL LIMIT 3",
    "limit_twice": "SELECT * FROM (SELECT id FROM e ORDER BY id LIMIT 4) ORDER BY id DESC LIMIT 2",
    "order_at_the_end": "SELECT name FROM e ORDER BY pay",
    "join_with_limit": "SELECT t.id, l.name FROM t JOIN (SELECT id, name FROM e ORDER BY id LIMIT 3) l ON t.id = l.id",
    # sets
    "union_all": "SELECT id, k FROM t UNION ALL SELECT id, k FROM u",
    "union": "SELECT id, w FROM u UNION SELECT id, v FROM t",
    "union_filtered": "SELECT * FROM (SELECT id, v FROM t UNION ALL SELECT id, w FROM u) WHERE id > 1",
    "intersect": "SELECT id, k FROM t INTERSECT SELECT id, k FROM u",
    "except": "SELECT id FROM t EXCEPT SELECT id FROM u",
    "intersect_all": "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "except_all": "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    # generators
    "explode": "SELECT id, n FROM t LATERAL VIEW explode(xs) AS n",
    "explode_outer": "SELECT id, n FROM t LATERAL VIEW OUTER explode(xs) AS n",
    "posexplode": "SELECT id, p, n + v AS y FROM t LATERAL VIEW posexplode(xs) AS p, n WHERE v > 0 AND n > 1",
    "explode_map": "SELECT id, explode_outer(m) AS (mk, mv) FROM t",
    "inline": "SELECT id, inline(array(s, named_struct('a', id, 'b', k))) FROM t",
    "stack": "SELECT id, stack(2, 'v', v, 'id', id) AS (n, val) FROM t",
    "json_tuple": "SELECT id, json_tuple('{\"a\":1,\"b\":2}', 'a', 'b') AS (a, b) FROM t",
    "two_views": "SELECT id, n, o FROM t LATERAL VIEW explode(xs) AS n LATERAL VIEW explode(array(n, id)) AS o",
    # tables of the query itself
    "cte": "WITH big AS (SELECT * FROM t WHERE v > 5) SELECT a.id, b.k FROM big a JOIN big b ON a.id = b.id",
    "cte_nested": "WITH a AS (SELECT id, v FROM t), b AS (WITH c AS (SELECT * FROM a WHERE v > 5) SELECT * FROM c) SELECT count(*) n FROM a, b",
    "cte_hides_table": "WITH u AS (SELECT 1 AS id) SELECT * FROM u",
    "cte_in_subquery": "WITH m AS (SELECT max(v) v FROM t) SELECT id FROM t WHERE v = (SELECT v FROM m) AND v IN (SELECT v FROM m)",
    "pipe": "FROM t |> WHERE v > 5 |> AGGREGATE sum(v) AS s GROUP BY k |> EXTEND s * 2 AS d |> ORDER BY s |> LIMIT 2",
    "lateral_alias": "SELECT v + 1 AS a, a * 2 AS b FROM t",
    "odd_names": "SELECT id AS `a b`, v AS `select`, k AS `x``y`, d AS `date` FROM t WHERE `id` > 0",
    "hints": "SELECT /*+ BROADCAST(u) */ t.id FROM t JOIN u ON t.id = u.id DISTRIBUTE BY t.id",
    "order_of_conditions": "SELECT id FROM t WHERE id <> 1 AND 10 / (id - 1) > 2 AND k = 'a'",
}
