"""What goes by time keeps nothing when its time is over: no key is counted, and Spark's stores have no row."""

from __future__ import annotations

import json
import random
from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.checkpoint.folder import query_folder
from headrace.testing import Harness
from tests.models.windows import commits

SCHEMA = "card string, ts timestamp, amount int"
DELAY = "5 seconds"


class Remembers(hr.Program):
    """Every kind of cell, each of which forgets, and rows that wait for the watermark."""

    last = hr.Value("int", expires="20 seconds")
    amounts = hr.List("int", expires="20 seconds")
    times = hr.Map("int", "timestamp", expires="20 seconds")
    total = hr.Aggregate("sum(x)", "x int", expires="20 seconds")
    close = hr.Timer()
    each = hr.Timer(key="int")

    def on_event(self, e: hr.Row) -> None:
        self.last.set(e.amount)
        self.amounts.append(e.amount)
        self.times.set(e.amount, e.ts)
        self.total.add(x=e.amount)
        self.close.set(e.ts + hr.minutes(1))
        self.each.set(e.ts + hr.seconds(30), e.amount)
        hr.emit(card=self.key.card, total=self.total.get())

    def on_close(self, at: hr.Row) -> None:
        hr.emit(card=self.key.card, total=hr.lit(None).cast("bigint"))

    def on_each(self, at: hr.Row, amount: hr.Row) -> None:
        hr.emit(card=self.key.card, total=hr.lit(None).cast("bigint"))


def views(charges: hr.Stream, refunds: hr.Stream) -> dict[str, hr.Stream]:
    """Whatever closes, expires or forgets, over two sources with a watermark."""
    streams = {
        "once in a while": charges.dedupe(on="card", within="10 seconds"),
        "program": charges.key_by("card").process(Remembers).named("program"),
        "program in order of arrival": charges.key_by("card").process(Remembers, order="arrival").named("arriving"),
    }
    hop = hr.hop("ts", "12 seconds", "4 seconds")
    versions = refunds.select(c="card", at="ts", a="amount")
    as_of = {"on": "card = c", "time": ("ts", "at")}
    for emit in ("changes", "close"):
        windowed = charges.window(hop, emit=emit, lateness="2 seconds")
        other = refunds.window(hop, emit=emit).select(c="card", e="window_end", a="amount")
        counted = windowed.group_by("card", "window_end").agg(n="count(*)", amounts="count(DISTINCT amount)")
        streams |= {
            f"groups, {emit}": counted,
            f"groups of groups, {emit}": counted.group_by("window_end").agg(most="max(n)"),
            f"first rows, {emit}": counted.top(1, by="n desc", per="window_end", ties="rank"),
            f"places, {emit}": windowed.select("card", "window_end", n=hr.f.row_number().over(per="window_end", by="ts")),
            f"distinct, {emit}": windowed.select("card", "window_end").distinct(),
            f"one row for a key, {emit}": windowed.dedupe(on=["card", "window_end"], keep="last"),
            f"full join, {emit}": windowed.join(other, on="card = c AND window_end = e", how="full"),
            f"anti join, {emit}": windowed.join(other, on="card = c AND window_end = e", how="anti"),
            f"version of its time, {emit}": charges.join_asof(versions, **as_of, emit=emit),
            f"nearest version, {emit}": charges.join_asof(versions, **as_of, direction="nearest", within="9 seconds", emit=emit),
        }
    return streams


def stored(spark: SparkSession, checkpoint: Path) -> dict[str, int]:
    """Rows of each variable of each operator of a query, its timers among them, as Spark's own source for state reads them."""
    counts = {}
    spark = spark.newSession()
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    for operator in spark.read.format("state-metadata").load(str(checkpoint)).collect():
        names = [variable["stateName"] for variable in json.loads(operator.operatorProperties)["stateVariables"]]
        variables = [(name, {"stateVarName": name}) for name in names if not name.startswith("$")]
        for name, option in [*variables, ("timers", {"readRegisteredTimers": "true"})]:
            rows = spark.read.format("statestore").options(path=str(checkpoint), operatorId=operator.operatorId, **option).load()
            counts[f"{operator.operatorId} {name}"] = rows.count()
    return counts


def test_nothing_is_left_when_all_time_has_passed(spark: SparkSession) -> None:
    rng = random.Random(11)
    with Harness(partitions=1) as h:
        sources = [h.source(name, SCHEMA, watermark=("ts", DELAY)) for name in ("charges", "refunds")]
        streams = views(*sources)
        outs = {name: h.collect(view) for name, view in streams.items()}
        for charges, refunds in zip(commits(rng, 4), commits(rng, 4), strict=True):
            h.commit({"charges": [("+", row) for row in charges], "refunds": [("+", row) for row in refunds]})
        [query] = h._queries()
        checkpoint = query_folder(h._folder / "checkpoint", query.query.name)
        before = stored(spark, checkpoint)
        assert query.state_keys() > 0 and before["1 level1_cells"] > 0 and before["1 level1_bags"] > 0 and before["1 timers"] > 0
        h.restart()
        h.finish()
        assert [name for name, out in outs.items() if not out.changes()] == []
        [query] = h._queries()
        assert query.state_keys() == 0
        assert {name: count for name, count in stored(spark, checkpoint).items() if count} == {}
