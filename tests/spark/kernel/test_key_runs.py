"""The order in which rows reach a level: by key and by order, also where one key has more rows than are put in order in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace as hr
from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 60_000


class Numbered(hr.Program):
    """Each row with its number in the order of its key's rows."""

    n = hr.Value("int")

    def on_event(self, e: Any) -> None:
        n = hr.f.coalesce(self.n.get(), 0) + 1
        self.n.set(n)
        hr.emit(k=self.key.k, n=n, ts=e.ts, id=e.id)


def test_a_hot_key_and_many_small_ones(spark: SparkSession, tmp_path: Path) -> None:
    # every other row is of one key; times go back and forth, a thousand rows share each of them
    frame = spark.range(ROWS).selectExpr(
        "if(id % 2 = 0, 'hot', concat('k', id % 997)) AS k",
        "timestamp_seconds(1767225600 + (id * 7919) % 60) AS ts",
        "id",
        "lpad('', 400, 'x') AS text",
    )
    frame.repartition(3).write.parquet(str(tmp_path / "in"))
    hot = frame.where("k = 'hot'").selectExpr("sum(2 * length(text))").collect()[0][0]
    assert hot > jvm(spark).org.apache.spark.sql.headrace.KeyRuns.Most()

    read = hr.read.files(tmp_path / "in", format="parquet", name="rows").watermark("ts", "1 second")
    rows = hr.collect(read.key_by("k").process(Numbered)).rows()
    wanted: dict[str, list[tuple[Any, int]]] = {}
    for k, ts, number, _ in frame.collect():
        wanted.setdefault(k, []).append((ts.timestamp(), number))
    by_key: dict[str, list[tuple[Any, int]]] = {}
    for k, n, ts, number in sorted(rows):
        by_key.setdefault(k, []).append((ts.timestamp(), number))
        assert n == len(by_key[k])  # one state per key: 1, 2, 3, …
    # at equal times by the columns, in their order
    assert by_key == {k: sorted(of) for k, of in wanted.items()}
    assert len(by_key) == 998
