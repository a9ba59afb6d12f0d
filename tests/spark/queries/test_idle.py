"""Several sources with watermarks, of which one is silent: who waits for it, and for how long."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Collected, Harness

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
SCHEMA = "k string, {} timestamp, n int"
NEAR = "k = l AND ts BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 1 MINUTE"
Change = tuple[str, tuple[str, dt.datetime, int]]


class Alone(hr.Program):
    """Rows in the order of time."""

    def on_event(self, e: hr.Row) -> None:
        hr.emit(n=e.n)


class Order(Alone):
    """The same with those of another input among them."""

    def on_others(self, r: hr.Row) -> None:
        hr.emit(n=r.n)


def at(minute: int, n: int, k: str = "x") -> Change:
    return ("+", (k, NOON + dt.timedelta(minutes=minute), n))


def source(h: Harness, name: str, time: str, idle: str | None = None) -> hr.Stream:
    return h.source(name, SCHEMA.format(time)).watermark(time, "0 seconds", idle=idle)


def views(a: hr.Stream, b: hr.Stream) -> list[hr.Stream]:
    """A join within a span of time, a windowed aggregate and a program, each of both: the numbers of `a` that they have told of."""
    other = b.rename({"k": "l", "n": "m"})
    both = a.union(b.rename({"at": "ts"}))
    return [
        a.join(other, on=NEAR, how="left", emit="close").select("n", "m"),
        both.window(hr.tumble("ts", "1 minute"), emit="close").group_by("window_start").agg(n="max(n)").select("n"),
        a.key_by("k").process(Order, others=b.key_by("k")),
    ]


def numbers(outs: list[Collected]) -> list[list[int]]:
    return [sorted(row[0] for row in out.rows()) for out in outs]


def test_a_view_waits_for_no_source_that_it_shares_nothing_with(spark: SparkSession) -> None:
    """The third source says nothing for ever. What stands on the other two goes on; what stands on it waits."""
    with Harness() as h:
        a, b, c = source(h, "a", "ts"), source(h, "b", "at"), source(h, "c", "ts")
        outs = [h.collect(stream) for stream in views(a, b)]
        alone = h.collect(c.key_by("k").process(Alone))
        h.commit({"a": [at(0, 1), at(5, 2)], "b": [at(0, 7), at(5, 8)]})
        assert numbers(outs) == [[1, 2], [7], [1, 2, 7, 8]]
        h.restart()
        h.commit({"a": [at(9, 3)], "b": [at(9, 9)]})
        assert numbers(outs) == [[1, 2, 3], [7, 8], [1, 2, 3, 7, 8, 9]]
        assert alone.rows() == []
        with pytest.raises(HeadraceError, match="nothing in the harness uses processing time"):
            h.advance("1 minute")


@pytest.mark.parametrize("idle", [None, "10 minutes"])
def test_a_silent_source(spark: SparkSession, idle: str | None) -> None:
    """One query of three sources: without `idle` the silent one holds up all of it, with it until that has passed."""
    with Harness(partitions=1) as h:
        a, b, c = source(h, "a", "ts"), source(h, "b", "at", idle), source(h, "c", "ts", "1 hour")
        outs = [h.collect(stream) for stream in views(a, b)]
        third = h.collect(a.union(c).key_by("k").process(Alone))
        h.commit({"a": [at(0, 1)], "b": [at(0, 7)], "c": [at(100, 5)]})
        assert numbers(outs) == [[1], [], [1, 7]]
        h.commit({"a": [at(5, 2), at(9, 3)]})
        h.advance("9 minutes")
        assert numbers([*outs, third]) == [[1], [], [1, 7], [1]], "the watermark stands at noon"
        h.advance("1 minute")
        if idle is None:
            assert numbers([*outs, third]) == [[1], [], [1, 7], [1]]
            h.restart()
            h.commit({"a": [at(20, 4)], "b": [at(9, 9)]})
            assert numbers([*outs, third]) == [[1, 2, 3], [2, 7], [1, 2, 3, 7, 9], [1, 2, 3]]
            return
        assert numbers([*outs, third]) == [[1, 2], [2, 7], [1, 2, 3, 7], [1, 2, 3]]
        # It goes on with the others at once, as long as it says nothing.
        h.commit({"a": [at(15, 4)]})
        assert numbers([*outs, third]) == [[1, 2, 3], [2, 3, 7], [1, 2, 3, 4, 7], [1, 2, 3, 4]]
        h.restart()
        # A start begins its silence anew, and leaves it where it stood.
        h.commit({"a": [at(20, 6)]})
        assert numbers([*outs, third]) == [[1, 2, 3], [2, 3, 7], [1, 2, 3, 4, 7], [1, 2, 3, 4]]
        h.advance("10 minutes")
        assert numbers([*outs, third]) == [[1, 2, 3, 4], [2, 3, 4, 7], [1, 2, 3, 4, 6, 7], [1, 2, 3, 4, 6]]
        # It speaks again: what is behind the watermark is late, and the others wait for it once more.
        h.commit({"b": [at(19, 10), at(21, 11)]})
        h.commit({"a": [at(40, 12)]})
        assert numbers([*outs, third]) == [[1, 2, 3, 4, 6], [2, 3, 4, 6, 7], [1, 2, 3, 4, 6, 7, 11], [1, 2, 3, 4, 6]]
        h.finish()
        assert numbers([*outs, third]) == [
            [1, 2, 3, 4, 6, 12],
            [2, 3, 4, 6, 7, 11, 12],
            [1, 2, 3, 4, 6, 7, 11, 12],
            [1, 2, 3, 4, 5, 6, 12],
        ]
        assert outs[0].rows()[-2:] == [(6, 11), (12, None)]
