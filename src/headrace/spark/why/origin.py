"""The rows of its inputs that gave some rows of an operator, by its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from headrace.jvm.texts import readings
from headrace.ops.facts.provenance import Itself, OfGroup, OfPair, OfPartition, OfSpan, Provenance
from headrace.spark.why.streams import TIMES, VALUES, Captured, column, comparable, valued
from headrace.syntax import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEY, _MASK, _SOME, _TIME, _SINCE, _UNTIL = (f"_headrace_{name}" for name in ("key", "mask", "some", "time", "since", "until"))
_LEFT, _RIGHT = 0, 1

_FOLDED = 60
"""The most aggregates whose witnesses are numbered by the bits of a long."""


@dataclass(frozen=True)
class Origin:
    """`rows`: for each input, the rows that gave those asked for, with `TIMES`; None if it has none. `witnesses`: if some rows of a group
    were enough, how many there were to choose from.
    """

    rows: tuple[DataFrame | None, ...]
    witnesses: int | None = None


def origin(provenance: Provenance, rows: DataFrame, inputs: Sequence[Captured]) -> Origin:
    """Return where rows of an operator come from. `rows` have its columns and `TIMES`. `inputs`: the streams that it reads."""
    one = inputs[0]
    match provenance:
        case OfPair():
            return Origin(_pair(provenance, rows, inputs[0], inputs[1]))
        case Itself():
            return Origin((rows.select(*map(column, one.node.columns), TIMES),))
        case OfPartition(per):
            return Origin((_among(one.content, rows, per, per),))
        case OfSpan(per, time, (start, end)):
            return Origin((_span(one.content, rows, per, time, start, end),))
        case OfGroup(keys, aggregates):
            among = _among(one.content, rows, [text for _, text in keys], [quote(name) for name, _ in keys])
            read = readings(text for _, text in aggregates)
            if among is None or len(aggregates) > _FOLDED or not all(read[text].extreme for _, text in aggregates):
                return Origin((among,))
            return _witnesses(among, rows, provenance)
    raise AssertionError(provenance)


def _among(content: DataFrame | None, rows: DataFrame, texts: Sequence[str], same: Sequence[str]) -> DataFrame | None:
    """Return the rows whose values of `texts` are those of `same` in one of `rows`, with `_KEY`."""
    if content is None:
        return None
    return _keyed(content, texts).join(_keyed(rows, same).select(_KEY).distinct(), _KEY, "left_semi")


def _span(content: DataFrame | None, rows: DataFrame, per: Sequence[str], time: str, start: str, end: str) -> DataFrame | None:
    from pyspark.sql import functions as f

    if content is None:
        return None
    spans = _keyed(rows, per).select(column(_KEY).alias(_SOME), column(start).alias(_SINCE), column(end).alias(_UNTIL)).distinct()
    timed = _keyed(content, per).withColumn(_TIME, f.expr(time))
    within = (column(_KEY) == column(_SOME)) & (column(_TIME) >= column(_SINCE)) & (column(_TIME) < column(_UNTIL))
    return timed.join(spans, within, "left_semi").drop(_TIME)


def _witnesses(among: DataFrame, rows: DataFrame, group: OfGroup) -> Origin:
    """Return rows of each group that give its aggregates, none of them superfluous. If no single row gives the value of an aggregate,
    return the whole group.
    """
    from pyspark.sql import functions as f

    among = among.localCheckpoint()
    texts = [text for _, text in group.aggregates]
    full = 2 ** len(texts) - 1
    names = [column(name).alias(_value("of group", n)) for n, (name, _) in enumerate(group.aggregates)]
    results = _keyed(rows, [quote(name) for name, _ in group.keys]).select(_KEY, *names).distinct()
    alone = among.groupBy(_KEY, VALUES).agg(f.lit(0), *(f.expr(text).alias(_value("alone", n)) for n, text in enumerate(texts)))
    both = alone.join(results, _KEY)
    gives = (
        f.when(_comparable(both, _value("alone", n)).eqNullSafe(_comparable(both, _value("of group", n))), f.lit(2**n)).otherwise(f.lit(0))
        for n, _ in enumerate(texts)
    )
    masked = both.withColumn(_MASK, reduce(lambda one, other: one.bitwiseOR(other), gives, f.lit(0)).cast("bigint"))
    candidate = f.struct(f.bit_count(_MASK).alias("gives"), column(VALUES).alias("row"), column(_MASK).alias("mask"))
    # the row that gives most others as well
    best = [f.max(f.when(column(_MASK).bitwiseAND(f.lit(2**n)) != 0, candidate)).alias(_value("best", n)) for n, _ in enumerate(texts)]
    chosen = masked.groupBy(_KEY).agg(f.bit_or(_MASK).alias(_MASK), f.max(candidate).alias(_SOME), *best)
    several = f.array_distinct(f.array(*(column(_value("best", n)) for n, _ in enumerate(texts)))) if texts else f.array(_SOME)
    enough = chosen.where(column(_MASK) == full).withColumn(_SOME, least(several, full))
    some = enough.select(f.explode(column(_SOME)["row"]).alias(VALUES))
    whole = chosen.where(column(_MASK) != full).select(_KEY)
    witnesses = among.join(some, VALUES, "left_semi").withColumn(TIMES, f.lit(1).cast("bigint"))
    return Origin((witnesses.unionByName(among.join(whole, _KEY, "left_semi")),), among.count())


def least(rows: Column, full: int) -> Column:
    """Return rows of an array without those that the others make superfluous. The masks of all of them have the bits of `full`."""
    from pyspark.sql import functions as f

    def others(some: Column, row: Column) -> Column:
        return f.filter(some, lambda other: other["row"] != row["row"])

    def without(some: Column, row: Column) -> Column:
        rest = others(some, row)
        reached = f.aggregate(rest, f.lit(0).cast("bigint"), lambda mask, other: mask.bitwiseOR(other["mask"]))
        return f.when((reached == full) & (f.size(rest) > 0), rest).otherwise(some)

    return f.aggregate(rows, rows, without)


def _pair(pair: OfPair, rows: DataFrame, left: Captured, right: Captured) -> tuple[DataFrame | None, DataFrame | None]:
    """Return the left and the right rows of the rows of a join."""
    mine = map(column, left.node.columns)
    if pair.right is None:
        return rows.select(*mine, TIMES), _partners(pair, rows, left, right)
    if set(pair.right) != set(right.node.columns):
        return rows.select(*mine, TIMES), _versions(pair, rows, right)
    met = _met(pair)
    lefts = rows.where(met | _has_value(left.node.columns)) if _RIGHT in pair.kept else rows
    rights = rows.where(met | _has_value(right.node.columns)) if _LEFT in pair.kept else rows
    return lefts.select(*mine, TIMES), rights.select(*map(column, right.node.columns), TIMES)


def _partners(pair: OfPair, rows: DataFrame, left: Captured, right: Captured) -> DataFrame | None:
    """Return, for rows that show that a right row met them, one of those."""
    from pyspark.sql import functions as f

    if right.content is None or not (pair.semi or pair.mark):
        return None
    met = rows if pair.mark is None else rows.where(column(pair.mark))
    these = valued(met, left.node.columns).withColumnRenamed(VALUES, _SOME).drop(TIMES)
    both = these.join(right.content, _met(pair))
    some = both.groupBy(_SOME).agg(f.min(VALUES).alias(VALUES)).select(VALUES)
    return right.content.join(some, VALUES, "left_semi").withColumn(TIMES, f.lit(1).cast("bigint"))


def _versions(pair: OfPair, rows: DataFrame, right: Captured) -> DataFrame | None:
    """Return the right rows of rows that lack some of their columns, which are keys."""
    from pyspark.sql import functions as f

    if right.content is None or pair.right is None:
        return None
    names = [quote(name) for name in pair.right]
    met = rows.where(_has_value(pair.right))
    versions = _among(right.content, met, [*(text for _, text in pair.keys), *names], [*(text for text, _ in pair.keys), *names])
    assert versions is not None
    some = versions.groupBy(_KEY).agg(f.min(VALUES).alias(VALUES)).select(VALUES)
    return versions.join(some, VALUES, "left_semi").withColumn(TIMES, f.lit(1).cast("bigint"))


def _met(pair: OfPair) -> Column:
    """Return the condition of a join, over the columns of both sides."""
    from pyspark.sql import functions as f

    sides = [(f.expr(left), f.expr(right), n in pair.null_safe) for n, (left, right) in enumerate(pair.keys)]
    met = [left.eqNullSafe(right) if safe else left == right for left, right, safe in sides]
    met += [f.expr(pair.condition)] if pair.condition is not None else []
    return f.coalesce(reduce(lambda one, other: one & other, met, f.lit(True)), f.lit(False))


def _has_value(names: Sequence[str]) -> Column:
    from pyspark.sql import functions as f

    return reduce(lambda one, other: one | other, (column(name).isNotNull() for name in names), f.lit(False))


def _keyed(rows: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return rows with `_KEY`, the values of some texts."""
    from pyspark.sql import functions as f

    names = [_value("key", n) for n, _ in enumerate(texts)]
    valued = rows.withColumns({name: f.expr(text) for name, text in zip(names, texts, strict=True)})
    values = (_comparable(valued, name).alias(f"k{n}") for n, name in enumerate(names))
    return valued.withColumn(_KEY, f.struct(f.lit(0).alias("none"), *values)).drop(*names)


def _comparable(rows: DataFrame, name: str) -> Column:
    return comparable(column(name), rows.schema[name].dataType)


def _value(what: str, n: int) -> str:
    return f"_headrace_{what}_{n}"
