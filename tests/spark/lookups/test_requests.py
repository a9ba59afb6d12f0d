"""Lookups in a table that is asked key by key."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.spark.lookups.shelf import Shelf
from tests.unit.errors import check_error

Row = tuple[Any, ...]


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("cache", [None, "1 hour"])
def test_rows_meet_what_is_there(shelf: Shelf, how: str, cache: str | None) -> None:
    """Against a dict: keys with no, one and several rows, null keys, epochs, a restart, small requests."""
    rng = random.Random(5)
    kept = {f"k{n}": [f"v{n}.{i}" for i in range(n % 3)] for n in range(40)}
    shelf.put(**kept)
    with Harness() as h:
        events = h.source("events", "k string, n int")
        joined = events.lookup(shelf.table(), on="k", how=how, cache=cache, batch=3, in_flight=2)
        out, missed = h.collect(joined), h.collect(joined.output("missed"))
        arrived: list[Row] = []
        for epoch in range(4):
            rows = [(rng.choice([None, *kept, "x"]), n) for n in range(epoch * 50)]
            h.commit({"events": [("+", row) for row in rows]})
            arrived += rows
            met = [(k, n, v) for k, n in arrived for v in kept.get(str(k), [])]
            unmet = [(k, n) for k, n in arrived if not kept.get(str(k))]
            assert Counter(out.rows()) == Counter(met + ([(*row, None) for row in unmet] if how == "left" else []))
            assert Counter(missed.rows()) == Counter(unmet)
            if epoch == 2:
                h.restart()
        assert max(len(question) for question in shelf.questions) == 3
        assert shelf.object.mostAtOnce() <= 2


def test_it_stands_between_operators_and_behind_them(shelf: Shelf) -> None:
    """In front of a level, behind it, in a chain, and with two readers, who get one answer."""
    shelf.put(a=["b"], b=["c"], c=["a", "b"])
    with Harness() as h:
        events = h.source("events", "k string, n int")
        first = events.lookup(shelf.table(), on="k").rename({"v": "w"})
        second = first.rename({"k": "a"}).lookup(shelf.table(), on={"w": "k"}).drop("k").rename({"a": "k"}).select("k", "n", "w", "v")
        chained = h.collect(second)
        summed = first.group_by("w").agg(total="sum(n)")
        sums = h.collect(summed)
        counted = h.collect(first.key_by("w").process(Count))
        behind = h.collect(first.key_by("w").process(Count).lookup(shelf.table(), on={"w": "k"}, how="inner").select("w", "c", "v"))
        h.commit({"events": [("+", ("a", 1)), ("+", ("b", 2)), ("+", ("c", 5)), ("+", ("x", 7))]})
        assert sorted(chained.rows(), key=str) == [
            ("a", 1, "b", "c"),
            ("b", 2, "c", "a"),
            ("b", 2, "c", "b"),
            ("c", 5, "a", "b"),
            ("c", 5, "b", "c"),
            ("x", 7, None, None),
        ]
        assert sorted(sums.rows(), key=str) == [("a", 5), ("b", 6), ("c", 2), (None, 7)]
        assert Counter(counted.rows()) == Counter({("a", 1): 1, ("b", 1): 1, ("b", 2): 1, ("c", 1): 1})
        assert sorted(behind.rows()) == [("a", 1, "b"), ("b", 1, "c"), ("b", 2, "c"), ("c", 1, "a"), ("c", 1, "b")]


class Count(hr.Program):
    c = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.c.set(self.c.get() + 1)
        hr.emit(w=self.key.w, c=self.c.get())


def test_each_key_is_asked_for_once_while_it_is_kept(shelf: Shelf) -> None:
    shelf.put(a="1", b="2")
    shelf.object.at(100)
    with Harness(partitions=1) as h:
        events = h.source("told", "k string")
        out = h.collect(events.lookup(shelf.table(), on="k", cache="10 seconds"))
        h.commit({"told": [("+", (k,)) for k in "abxabx"]})
        assert shelf.questions == [["a", "b", "x"]]
        shelf.put(a="3", x="4")
        h.commit({"told": [("+", (k,)) for k in "ax"]})
        assert len(shelf.questions) == 1
        shelf.object.at(111)
        h.commit({"told": [("+", (k,)) for k in "ax"]})
        assert shelf.questions[1:] == [["a", "x"]]
        values = [(k, v) for _, _, (k, v) in out.changes()]
        assert h.metrics()["lookups"]["told.lookup_shelf"] | {"seconds": 0} == {
            "name": "told.lookup_shelf",
            "hits": 2,
            "asked": 5,
            "requests": 2,
            "missed": 3,
            "seconds": 0,
        }
        assert h.metrics()["inputs"]["told.lookup_shelf"]["input"]["handled"] == 10
        assert values[-2:] == [("a", "3"), ("x", "4")] and ("a", "3") not in values[:-2]


def test_no_more_keys_are_kept_than_asked(shelf: Shelf) -> None:
    names = [f"k{n}" for n in range(50)]
    shelf.put(**{name: name for name in names})
    with Harness(partitions=1) as h:
        events = h.source("events", "k string")
        h.collect(events.lookup(shelf.table(), on="k", cache="1 hour", cache_keys=10))
        for _ in range(2):
            h.commit({"events": [("+", (name,)) for name in names]})
        assert 40 <= sum(len(question) for question in shelf.questions[1:]) <= 50


def test_without_a_cache_a_row_gets_what_is_there_when_it_arrives(shelf: Shelf) -> None:
    with Harness() as h:
        events = h.source("events", "k string")
        out = h.collect(events.lookup(shelf.table(), on="k"))
        for value in ("1", "2"):
            shelf.put(a=value)
            h.commit({"events": [("+", ("a",))]})
        assert out.changes() == [(1, "+", ("a", "1")), (2, "+", ("a", "2"))]


def test_requests_are_under_way_together(shelf: Shelf) -> None:
    """Each waits for three others, so they would not end one after the other."""
    shelf.object.meet(4)
    with Harness(partitions=1) as h:
        events = h.source("events", "k string")
        out = h.collect(events.lookup(shelf.table(), on="k", batch=1, in_flight=4))
        h.commit({"events": [("+", (f"k{n}",)) for n in range(20)]})
        assert len(out.rows()) == 20 and shelf.object.mostAtOnce() == 4


def test_a_question_that_fails_is_put_again(shelf: Shelf) -> None:
    shelf.put(a="1")
    shelf.object.fail(2)
    with Harness() as h:
        events = h.source("events", "k string")
        out = h.collect(events.lookup(shelf.table(), on="k"))
        h.commit({"events": [("+", ("a",))]})
        assert out.rows() == [("a", "1")]
        assert shelf.questions == [["a"]] * 3


def test_a_table_that_does_not_answer_stops_the_job_and_nothing_is_lost(shelf: Shelf) -> None:
    shelf.put(a="1")
    with Harness() as h:
        events = h.source("told", "k string")
        out = h.collect(events.lookup(shelf.table(), on="k", retry="0 seconds"))
        h.commit({"told": [("+", ("x",))]})
        shelf.object.fail(1000)
        check_error(
            """
            LOOKUP_FAILED: told.lookup_shelf: the lookup failed: IOException: connection reset
              at test_requests.py:*: out = h.collect(events.lookup(shelf.table(), on="k", retry="0 seconds"))
              hint: check the table, its server or files, and the options of the lookup. No row is lost: the next start repeats the epoch.
              more: headrace error LOOKUP_FAILED
            """,
            lambda: h.commit({"told": [("+", ("a",))]}),
        )
        shelf.object.fail(0)
        h.restart()
        h.commit({})
        assert out.rows() == [("a", "1"), ("x", None)]


def test_what_is_of_no_use_is_not_tried_again(shelf: Shelf) -> None:
    with Harness() as h:
        events = h.source("events", "k string")
        h.collect(events.lookup(shelf.table(password="wrong"), on="k"))
        with pytest.raises(HeadraceError, match="the lookup failed: the password is wrong"):
            h.commit({"events": [("+", ("a",))]})
        assert not shelf.questions


def test_a_key_that_cannot_be_asked_for_is_a_dead_letter(shelf: Shelf) -> None:
    shelf.put(a="1")
    with Harness() as h:
        events = h.source("events", "label string, n int")
        joined = events.lookup(shelf.table(), on={"if(n = 0, raise_error('no n'), label)": "k"}, cache="1 hour", how="inner")
        out = h.collect(joined.select("n", "v"))
        refused = h.collect(
            events.lookup(shelf.table(), on={"label": "k"}).named("asked").output("dead_letter").select("node", "reason", "raw")
        )
        failed = h.collect(events.output("dead_letter").select("reason", "raw"))
        h.commit({"events": [("+", ("a", 1)), ("+", ("bad", 2)), ("+", ("a", 0))]})
        assert out.rows() == [(1, "1")]
        assert refused.rows() == [("asked", "BAD_KEY: the shelf has no such label", '{"label":"bad","n":2}')]
        [(reason, raw)] = failed.rows()
        assert reason.startswith("[USER_RAISED_EXCEPTION] no n") and raw == '{"label":"a","n":0}'


def test_a_row_that_is_taken_away_has_the_value_that_it_was_added_with(shelf: Shelf) -> None:
    shelf.put(a=["1", "2"])
    with Harness() as h:
        events = h.source("events", "k string", changes=True)
        out = h.collect(events.lookup(shelf.table(constant=True), on="k"))
        h.commit({"events": [("+", ("a",)), ("+", ("a",)), ("+", ("x",))]})
        h.commit({"events": [("-", ("a",)), ("-", ("x",))]})
        assert out.rows() == [("a", "1"), ("a", "2")]


def test_the_last_row_of_a_key_is_the_last_that_was_read(shelf: Shelf, tmp_path: Path) -> None:
    """Behind a lookup only what came with a row tells where it was read: files in the order of their names, in several tasks."""
    shelf.put(a="1")
    for n in range(6):
        (tmp_path / f"{n}.json").write_text("".join(json.dumps({"k": "a", "n": 10 * n + line}) + "\n" for line in range(3)))
    events = hr.read.files(tmp_path, format="json", schema="k string, n int", name="events")
    last = events.lookup(shelf.table(), on="k", batch=1).upserts("k")
    assert hr.collect(last).rows() == [("a", 52, "1")]


def test_event_time_goes_through(shelf: Shelf) -> None:
    """Windows close behind it, and late rows are those that come straight from the source."""
    shelf.put(a="1", b="2")
    with Harness() as h:
        events = h.source("events", "k string, at timestamp", watermark=("at", "0 seconds"))
        joined = events.lookup(shelf.table(), on="k", how="inner")
        closed = joined.window(hr.tumble("at", "1 minute"), emit="close").group_by("window_start", "v").agg(n="count(*)")
        out, late = h.collect(closed.select("v", "n")), h.collect(closed.output("late"))
        counted = h.collect(joined.key_by("v").process(Last, time="at").select("v", "c"))
        missed = h.collect(joined.output("missed").key_by("k").process(Missed, time="at").select("k", "c"))
        minute = "2026-01-01 00:0{}:{}"
        h.commit({"events": [("+", (k, minute.format(0, n))) for k, n in [("a", 10), ("b", 20), ("a", 30), ("x", 40)]]})
        assert out.rows() == []
        h.commit({"events": [("+", ("a", minute.format(2, 10)))]})
        assert sorted(out.rows()) == [("1", 2), ("2", 1)]
        h.commit({"events": [("+", ("b", minute.format(0, 50)))]})
        assert [row[0] for row in late.rows()] == ["b"]
        assert sorted(counted.rows()) == [("1", 1), ("1", 2), ("1", 3), ("2", 1)]
        assert missed.rows() == [("x", 1)]


class Last(hr.Program):
    c = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.c.set(self.c.get() + 1)
        hr.emit(v=self.key.v, c=self.c.get(), at=e.at)


class Missed(hr.Program):
    c = hr.Value("bigint", default=0)

    def on_event(self, e: hr.Row) -> None:
        self.c.set(self.c.get() + 1)
        hr.emit(k=self.key.k, c=self.c.get(), at=e.at)
