"""DataFrames over streams: what they describe is kept up to date, and what would run them is refused."""

from __future__ import annotations

import random

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

import headrace as hr
from headrace.testing import Harness
from tests.spark.queries.changing import Table, batch


def tables() -> dict[str, Table]:
    def row(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, 1, 2, 3]), rng.choice([None, "p", "q", "r"]), rng.choice([None, 1, 5, -2])

    return {"a": Table("k int, x string, n int", row), "b": Table("k int, y string", lambda rng: row(rng)[:2])}


def test_what_a_dataframe_describes(spark: SparkSession) -> None:
    rng, here = random.Random(11), tables()
    with Harness() as h:
        a, b = (h.source(name, table.schema, changes=True).as_dataframe() for name, table in here.items())
        ranked = a.withColumn("place", F.rank().over(Window.partitionBy("x").orderBy(F.desc("n")))).where("place = 1")
        frames = {
            "SELECT k, count(n) AS c, max(y) AS m FROM a JOIN b USING (k) GROUP BY k": a.join(b, "k")
            .groupBy("k")
            .agg(F.count("n"), F.max("y")),
            "SELECT * FROM (SELECT *, rank() OVER (PARTITION BY x ORDER BY n DESC) AS place FROM a) WHERE place = 1": ranked,
            "SELECT DISTINCT x FROM a EXCEPT SELECT y FROM b": a.select("x").distinct().exceptAll(b.select("y").distinct()),
            "SELECT * FROM a LEFT ANTI JOIN b ON a.k <=> b.k": a.join(b, a.k.eqNullSafe(b.k), "left_anti"),
            "SELECT * FROM (SELECT k, x, n FROM a) PIVOT (sum(n) FOR x IN ('p', 'q'))": a.groupBy("k").pivot("x", ["p", "q"]).sum("n"),
        }
        outs = {query: h.collect(hr.from_dataframe(frame)) for query, frame in frames.items()}
        for epoch in range(4):
            h.commit({name: table.change(rng, 7) for name, table in here.items()})
            if epoch == 1:
                h.restart()
            for query, out in outs.items():
                assert out.rows() == batch(spark, query, here), f"epoch {epoch}: {query}"


# PySpark says before it raises the error that this was in the middle of something.
@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
@pytest.mark.parametrize("action", ["collect", "count", "show", "toPandas", "pivot"])
def test_an_action_is_refused(spark: SparkSession, action: str) -> None:
    frame = hr.read.memory([("a", 1)], "card string, amount int", name="charges").as_dataframe()
    with pytest.raises(AnalysisException) as raised:
        frame.groupBy("card").pivot("amount") if action == "pivot" else getattr(frame.where("amount > 0"), action)()
    assert "is a view of a stream and has no rows of its own" in str(raised.value)
    assert "hr.from_dataframe" in str(raised.value)
    assert "\tat " not in str(raised.value)
