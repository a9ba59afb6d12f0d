"""What verbs give, against Spark's batch engine: nothing at first, then rows that come, change and go, and nothing again at the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from tests.spark.queries.changing import Changes, Table, batch

SALES, SHOPS, BASKETS = "id int, shop string, amount int", "name string, size int", "id int, goods array<string>"


@dataclass(frozen=True)
class Streams:
    """The inputs of all verbs; rows of each are added and taken away."""

    sales: hr.Stream
    shops: hr.Stream
    baskets: hr.Stream


Build = Callable[[Streams], hr.Stream]
"""A stream of the inputs."""


def tables() -> dict[str, Table]:
    """Few values, so that much is equal; nulls in all columns."""

    def sale(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, 1, 2, 3, 4]), rng.choice([None, "a", "b", "c"]), rng.choice([None, 1, 2, 3])

    def shop(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, "a", "b", "c", "d"]), rng.choice([None, 1, 2])

    def basket(rng: random.Random) -> tuple[object, ...]:
        return rng.choice([None, 1, 2]), rng.choice([None, [], ["x"], ["x", None, "y"]])

    return {"sales": Table(SALES, sale), "shops": Table(SHOPS, shop), "baskets": Table(BASKETS, basket)}


def check(spark: SparkSession, queries: Mapping[str, tuple[Build, str]], *, restart: bool = False) -> None:
    """After each epoch each stream has the rows of its query; `restart`: also when the job has started again in between."""
    rng = random.Random(3)
    # Each source has its price in every epoch, each table in every comparison.
    here = {name: table for name, table in tables().items() if any(name in query for _, query in queries.values())}
    with Harness(partitions=1) as h:
        sources = {name: h.source(name, table.schema, changes=True, trusted=True) for name, table in here.items()}
        streams = Streams(**{name: sources.get(name) or hr.read.memory([], table.schema, name=name) for name, table in tables().items()})
        outs = {name: h.collect(build(streams)) for name, (build, _) in queries.items()}
        for epoch in (1, 2, 3, 4):
            # Some rows come and go in the middle; at the end all that are there go.
            changes = {name: [] if epoch == 1 else table.change(rng, 9) if epoch < 4 else _emptied(table) for name, table in here.items()}
            h.commit(changes)
            wrong = {name: (out.rows(), want) for name, out in outs.items() if out.rows() != (want := batch(spark, queries[name][1], here))}
            assert not wrong, f"epoch {epoch}"
            if restart and epoch == 2:
                h.restart()
        assert h.metrics()["dead_letters"] == 0


def _emptied(table: Table) -> Changes:
    gone = [("-", row) for row in table.rows]
    table.rows.clear()
    return gone
