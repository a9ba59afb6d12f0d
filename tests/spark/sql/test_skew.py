"""One join key with a million rows, in a JVM with a heap of 1 GB: nothing holds the rows of a key at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

JOB = """
import json, sys
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
import headrace as hr
from headrace.jvm.session import session

folder, rows = Path(sys.argv[1]), int(sys.argv[2])
session(master="local[2]", conf={"spark.driver.memory": "1g"})
FILES = 10

def put(table, name, columns, operation):
    (folder / table).mkdir(exist_ok=True)
    operations = pa.array([operation] * len(next(iter(columns.values()))), pa.string())
    types = {"k": pa.int32(), "v": pa.int64(), "name": pa.string()}
    arrays = {column: pa.array(values, types[column]) for column, values in columns.items()}
    parquet.write_table(pa.table(arrays | {"op": operations}), folder / table / f"{name}.parquet")

def read(table, schema, **more):
    return hr.read.files(folder / table, format="parquet", schema=schema + ", op string", change_column="op", name=table, **more)

size = rows // FILES
for n in range(FILES):
    put("many", f"0{n}", {"k": [1] * size, "v": list(range(n * size, (n + 1) * size))}, "+")
put("few", "0", {"k": [2, None], "name": ["other", "none"]}, "+")
tables = {"many": read("many", "k int, v bigint", files_per_epoch=1, trusted=True), "few": read("few", "k int, name string")}
views = {
    "inner": "SELECT f.name, count(*) AS n, sum(m.v) AS total FROM many m JOIN few f ON m.k = f.k GROUP BY f.name",
    "left": "SELECT count(*) AS n, count(f.name) AS met, sum(m.v) AS total FROM many m LEFT JOIN few f ON m.k = f.k",
    "full": "SELECT count(*) AS n, count(m.v) AS many, count(f.name) AS few FROM many m FULL JOIN few f ON m.k = f.k",
    "semi": "SELECT count(*) AS n FROM many m LEFT SEMI JOIN few f ON m.k = f.k",
    "anti": "SELECT count(*) AS n FROM many m LEFT ANTI JOIN few f ON m.k = f.k",
}
sinks = {name: hr.sql(text, **tables).named(name).write.memory(name=name + "_kept") for name, text in views.items()}
job = hr.job("skew", *sinks.values())

def run():
    job.run(checkpoint=folder / "checkpoint", flush=False, progress=False, partitions=2)
    print(json.dumps({name: sorted(sink.rows()) for name, sink in sinks.items()}, default=str), flush=True)

run()
put("few", "1", {"k": [1], "name": ["a"]}, "+")
run()
put("few", "2", {"k": [1], "name": ["a"]}, "-")
put("few", "3", {"k": [1], "name": ["b"]}, "+")
run()
put("many", "20", {"k": [1], "v": [7]}, "-")
run()
"""


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


@pytest.mark.parametrize("rows", [50_000, pytest.param(1_000_000, marks=pytest.mark.full)])
def test_a_heavy_key_in_a_small_heap(rows: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", JOB, str(tmp_path), str(rows)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    total = rows * (rows - 1) // 2
    expected = [views(rows, total, None), views(rows, total, "a"), views(rows, total, "b"), views(rows - 1, total - 7, "b")]
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
