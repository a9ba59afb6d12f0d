"""Aggregates of groups that change, tried without a streaming query, and Spark batch over the same rows, which says what is right.

The oracle is one query over the prefixes of all epochs. Where SQL leaves the order open, it is given the rows in the order of the
function's own arguments, nulls first.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.spark.kernel.trials import attached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
BASE = "k string, i int, l bigint, d double, e double, m decimal(10,2), w decimal(30,5), b boolean, s string"
"""What tests give, as Python values."""

DERIVED = {
    "t": "try_cast(i as tinyint)",
    "h": "try_cast(i as smallint)",
    "f": "cast(d as float)",
    "y": "make_ym_interval(0, i)",
    "z": "make_dt_interval(0, 0, i, d)",
    "c": "s collate utf8_lcase",
    "x": "cast(s as binary)",
    "dt": "date_add(date'2024-01-01', i)",
    "ts": "timestamp_seconds(l)",
    "a": "if(i is null, null, array(i, i + 1))",
    "v": "if(i is null, null, array(float(i), float(1), float(-i)))",
    "r": "if(i is null, null, named_struct('p', i, 'q', s))",
}
"""Columns of the types that Python has no values for, from those it has."""

Base = tuple[Any, ...]
Change = tuple[int, Base]
"""A weight and a row."""


@dataclass
class Tried:
    """What came out of the operator."""

    rows: list[list[tuple[int, tuple[Any, ...]]]]
    """By epoch: weights and rows."""
    dead: list[list[tuple[int, str, str]]]
    """By epoch: weights, reasons and rows of dead letters."""
    nanos: int
    keys: int
    pages: int
    bytes: int
    accesses: int
    after: list[list[tuple[Any, ...]]] = field(default_factory=list)
    """By epoch: the rows that then are there."""

    def __post_init__(self) -> None:
        there: Counter[str] = Counter()
        known: dict[str, tuple[Any, ...]] = {}
        for epoch in self.rows:
            for weight, row in epoch:
                there[repr(row)] += weight
                known[repr(row)] = row
                assert 0 <= there[repr(row)] <= 1, f"{row} is there {there[repr(row)]} times"
            self.after.append([known[r] for r, n in sorted(there.items()) if n])


def operator(schema: str, aggregates: Sequence[str], keys: dict[str, str], **more: Any) -> dict[str, Any]:
    """An aggregate of the query document; `keys`: texts and their types."""
    return {
        "op": 1,
        "name": "totals",
        "site": None,
        "kind": "aggregate",
        "key": ", ".join(f"`{k}` {t}" for k, t in keys.items()),
        "keys": [[k, k] for k in keys],
        "inputs": [{"name": "input", "side": 0, "schema": schema}],
        "append": False,
        "aggregates": [[f"r{i}", text] for i, text in enumerate(aggregates)],
        "global": not keys,
        "outputs": [],
        **more,
    }


def trial(
    spark: SparkSession,
    changes: DataFrame,
    aggregates: Sequence[str],
    keys: dict[str, str],
    epochs: int,
    settings: dict[str, str] | None = None,
    restart: bool = False,
    **more: Any,
) -> Tried:
    """`changes`: columns _epoch, _weight, then those of the input."""
    schema = changes.drop("_epoch", "_weight").schema
    ddl = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in schema)
    document = operator(ddl, aggregates, keys, **more)
    request = {"settings": SETTINGS | (settings or {}), "operator": document, "epochs": epochs, "restart": restart}
    trials = attached(spark).headrace.operator.aggregate.AggregateTrial
    done = trials.run(spark._jsparkSession, json.dumps(request), changes._jdf)
    from pyspark.sql import DataFrame

    rows: list[list[tuple[int, tuple[Any, ...]]]] = [[] for _ in range(epochs)]
    dead: list[list[tuple[int, str, str]]] = [[] for _ in range(epochs)]
    for epoch, weight, reason, raw, *row in shown(DataFrame(done.rows(), spark)).collect():
        if reason is None:
            rows[epoch].append((weight, tuple(row)))
        else:
            dead[epoch].append((weight, reason, raw))
    return Tried(rows, dead, done.nanos(), done.keys(), done.pages(), done.bytes(), done.accesses())


def shown(frame: DataFrame) -> DataFrame:
    """Intervals as text: Python has no value for some of them."""
    return frame.selectExpr(
        *[f"cast(`{f.name}` as string) as `{f.name}`" if "interval" in f.dataType.simpleString() else f"`{f.name}`" for f in frame.schema]
    )


def changes(spark: SparkSession, batches: Iterable[Iterable[Change]], base: str = BASE, derived: dict[str, str] | None = None) -> DataFrame:
    """Batches of changes, one per epoch, with the derived columns."""
    rows = [(epoch, weight, *row) for epoch, batch in enumerate(batches) for weight, row in batch]
    frame = spark.createDataFrame(rows, f"_epoch int, _weight bigint, {base}")
    more = DERIVED if derived is None else derived
    return frame.selectExpr("*", *[f"{text} as {name}" for name, text in more.items()])


def prefixes(batches: Sequence[Sequence[Change]]) -> list[list[Base]]:
    """By epoch: the rows that are there after it."""
    there: Counter[str] = Counter()
    known: dict[str, Base] = {}
    by_epoch = []
    for batch in batches:
        for weight, row in batch:
            there[repr(row)] += weight
            known[repr(row)] = row
        assert all(n >= 0 for n in there.values())
        by_epoch.append([known[r] for r, n in there.items() for _ in range(n)])
    return by_epoch


def expected(
    spark: SparkSession,
    batches: Sequence[Sequence[Change]],
    aggregates: Sequence[str],
    keys: Sequence[str],
    order: str = "",
    base: str = BASE,
    derived: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
) -> list[list[tuple[Any, ...]]]:
    """By epoch: Spark batch over the rows that are there. `order`: the arguments that put rows in order, if the function looks at that."""
    all_settings = SETTINGS | {"spark.sql.shuffle.partitions": "1"} | (settings or {})
    before = {name: str(spark.conf.get(name)) for name in all_settings}
    for name, value in all_settings.items():
        spark.conf.set(name, value)
    try:
        all_rows = [(n, row) for n, prefix in enumerate(prefixes(batches)) for row in prefix]
        frame = changes(spark, [[(n, row)] for n, row in all_rows], base, derived).drop("_epoch").withColumnRenamed("_weight", "_epoch")
        if order:
            by = ", ".join(f"{one} asc nulls first" for one in ["_epoch", *keys, order])
            frame.createOrReplaceTempView("unordered")
            frame = spark.sql(f"select /*+ coalesce(1) */ * from unordered sort by {by}")
        frame.createOrReplaceTempView("oracle")
        # Spark's is off by one now and then, from ten values on; ours counts them.
        texts = ", ".join(text.replace("approx_count_distinct(", "count(distinct ") for text in aggregates)
        by_epoch: list[list[tuple[Any, ...]]] = [[] for _ in batches]
        if texts:
            listed = spark.sql(f"select {', '.join(['_epoch', *keys])}, {texts} from oracle group by {', '.join(['_epoch', *keys])}")
        else:
            listed = spark.sql(f"select distinct {', '.join(['_epoch', *keys])} from oracle")
        for epoch, *row in _collected(listed):
            by_epoch[epoch].append(tuple(row))
        if not keys and not all(by_epoch):
            (nothing,) = _collected(spark.sql(f"select {texts} from oracle where _epoch < 0"))
            by_epoch = [rows or [nothing] for rows in by_epoch]
        return by_epoch
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def _collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    names = [f"c{i}" for i in range(len(frame.columns))]
    return [tuple(row) for row in shown(frame.toDF(*names)).collect()]


def same(mine: Any, theirs: Any, tolerance: float = 1e-12) -> bool:
    """Are the values equal? Floats to 12 digits, or places where they are small."""
    if isinstance(mine, float) and isinstance(theirs, float):
        return (math.isnan(mine) and math.isnan(theirs)) or math.isclose(mine, theirs, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(mine, tuple | list) and isinstance(theirs, tuple | list):
        return len(mine) == len(theirs) and all(same(a, b, tolerance) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return same(sorted(mine.items(), key=repr), sorted(theirs.items(), key=repr), tolerance)
    return type(mine) is type(theirs) and bool(mine == theirs)


def by_key(rows: list[tuple[Any, ...]], keys: int) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: repr(row[:keys]))


def check(
    spark: SparkSession,
    batches: Sequence[Sequence[Change]],
    aggregates: Sequence[str | tuple[str, str]],
    keys: dict[str, str] | None = None,
    base: str = BASE,
    derived: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
    tolerance: float = 1e-12,
    **more: Any,
) -> Tried:
    """Tries the aggregates over the changes and compares with the oracle after each epoch. A pair is a text and its order."""
    keys = {"k": "string"} if keys is None else keys
    pairs = [(a, "") if isinstance(a, str) else a for a in aggregates]
    tried = trial(spark, changes(spark, batches, base, derived), [text for text, _ in pairs], keys, len(batches), settings, **more)
    width = len(keys)
    for order in dict.fromkeys(order for _, order in pairs) or [""]:
        places = [i for i, (_, o) in enumerate(pairs) if o == order]
        oracle = expected(spark, batches, [pairs[i][0] for i in places], list(keys), order, base, derived, settings)
        for epoch, (mine, theirs) in enumerate(zip(tried.after, oracle, strict=True)):
            ours = [(*row[:width], *(row[width + i] for i in places)) for row in by_key(mine, width)]
            wanted = by_key(theirs, width)
            assert same([r[:width] for r in ours], [r[:width] for r in wanted]), f"epoch {epoch}: groups {ours} for {wanted}"
            for one, other in zip(ours, wanted, strict=True):
                for n, i in enumerate(places):
                    a, b = one[width + n], other[width + n]
                    assert same(a, b, tolerance), f"epoch {epoch}, {one[:width]}: {pairs[i][0]} is {a!r}, in batch {b!r}"
    return tried
