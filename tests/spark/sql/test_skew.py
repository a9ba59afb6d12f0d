"""One key of a join or a window with a million rows, in a JVM with a heap of 1 GB: nothing holds the rows of a key at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TABLES = """
import json, sys
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
import headrace as hr
from headrace.jvm.session import session

folder, rows = Path(sys.argv[1]), int(sys.argv[2])
spark = session(master="local[2]", conf={"spark.driver.memory": "1g"})
FILES = 10

def put(table, name, columns, operation):
    (folder / table).mkdir(exist_ok=True)
    operations = pa.array([operation] * len(next(iter(columns.values()))), pa.string())
    types = {"k": pa.int32(), "v": pa.int64(), "name": pa.string()}
    arrays = {column: pa.array(values, types[column]) for column, values in columns.items()}
    parquet.write_table(pa.table(arrays | {"op": operations}), folder / table / f"{name}.parquet")

def read(table, schema, **more):
    return hr.read.files(folder / table, format="parquet", schema=schema + ", op string", change_column="op", name=table, **more)

def job(tables):
    sinks = {name: hr.sql(text, **tables).named(name).write.memory(name=name + "_kept") for name, text in VIEWS.items()}
    return sinks, hr.job("skew", *sinks.values())

def run(results):
    skew.run(checkpoint=folder / "checkpoint", flush=False, progress=False, partitions=2)
    print(json.dumps(results(), default=str), flush=True)

size = rows // FILES
for n in range(FILES):
    put("many", f"0{n}", {"k": [1] * size, "v": list(range(n * size, (n + 1) * size))}, "+")
"""

JOINS = """
VIEWS = {
    "inner": "SELECT f.name, count(*) AS n, sum(m.v) AS total FROM many m JOIN few f ON m.k = f.k GROUP BY f.name",
    "left": "SELECT count(*) AS n, count(f.name) AS met, sum(m.v) AS total FROM many m LEFT JOIN few f ON m.k = f.k",
    "full": "SELECT count(*) AS n, count(m.v) AS many, count(f.name) AS few FROM many m FULL JOIN few f ON m.k = f.k",
    "semi": "SELECT count(*) AS n FROM many m LEFT SEMI JOIN few f ON m.k = f.k",
    "anti": "SELECT count(*) AS n FROM many m LEFT ANTI JOIN few f ON m.k = f.k",
}
put("few", "0", {"k": [2, None], "name": ["other", "none"]}, "+")
sinks, skew = job({"many": read("many", "k int, v bigint", files_per_epoch=1, trusted=True), "few": read("few", "k int, name string")})

def kept():
    return {name: sorted(sink.rows()) for name, sink in sinks.items()}

run(kept)
put("few", "1", {"k": [1], "name": ["a"]}, "+")
run(kept)
put("few", "2", {"k": [1], "name": ["a"]}, "-")
put("few", "3", {"k": [1], "name": ["b"]}, "+")
run(kept)
put("many", "20", {"k": [1], "v": [7]}, "-")
run(kept)
"""

WINDOWS = """
VIEWS = {
    "running": "SELECT count(*) AS n, sum(r * v) AS a, sum(total % 1009 * r) AS b, sum(back * r) AS c FROM (SELECT v, row_number() OVER w AS r, "
    "sum(v) OVER w AS total, lag(v, 3) OVER w AS back FROM many WINDOW w AS (PARTITION BY k ORDER BY v))",
    "whole": "SELECT count(*) AS n, sum(d * n % 1009) AS a, sum(l - v) AS b FROM (SELECT v, rank() OVER w AS d, count(*) OVER (PARTITION BY k) AS n, "
    "last_value(v) OVER (PARTITION BY k ORDER BY v DESC ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS l "
    "FROM many WINDOW w AS (PARTITION BY k ORDER BY v DESC))",
    "first_rows": "SELECT count(*) AS n, sum(v) AS a FROM (SELECT v FROM many ORDER BY v LIMIT 500000 OFFSET 3)",
}
sinks, skew = job({"many": read("many", "k int, v bigint", trusted=True)})

def both():
    frame = spark.read.parquet(str(folder / "many"))
    frame.filter("op = '+'").drop("op").exceptAll(frame.filter("op = '-'").drop("op")).createOrReplaceTempView("many")
    return {name: [sink.rows(), [tuple(row) for row in spark.sql(VIEWS[name]).collect()]] for name, sink in sinks.items()}

run(both)
for name, value, operation in [("a", 0, "-"), ("b", rows, "+"), ("c", rows // 2, "+"), ("d", 5, "-")]:
    put("many", name, {"k": [1], "v": [value]}, operation)
    run(both)
"""


def printed(job: str, rows: int, folder: Path) -> list[Any]:
    """What a job in a JVM of its own prints, line by line."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TABLES + job, str(folder), str(rows)],
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def views(rows: int, total: int, name: str | None) -> dict[str, list[list[Any]]]:
    """What there is while the few have one row for the key, of this name, or none."""
    met = rows if name else 0
    return {
        "inner": [[name, rows, total]] if name else [],
        "left": [[rows, met, total]],
        "full": [[rows + 2, rows, met + 2]],
        "semi": [[met]],
        "anti": [[rows - met]],
    }


@pytest.mark.full
@pytest.mark.parametrize("rows", [20_000, 1_000_000])
def test_a_heavy_key_in_a_small_heap(rows: int, tmp_path: Path) -> None:
    total = rows * (rows - 1) // 2
    expected = [views(rows, total, None), views(rows, total, "a"), views(rows, total, "b"), views(rows - 1, total - 7, "b")]
    assert printed(JOINS, rows, tmp_path) == expected


@pytest.mark.full
def test_a_heavy_window_in_a_small_heap(tmp_path: Path) -> None:
    epochs = printed(WINDOWS, 1_000_000, tmp_path)
    assert [epoch["running"][0][0][0] for epoch in epochs] == [1_000_000, 999_999, 1_000_000, 1_000_001, 1_000_000]
    for epoch in epochs:
        for name, (kept, batch) in epoch.items():
            assert (name, kept) == (name, batch)
