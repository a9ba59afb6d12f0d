"""Windows over event time, against a plain model of the watermark: random rows out of order, random cuts, a restart anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import Harness
from headrace.testing.collected import in_order
from tests.models.windows import Input, Kind, Row, Watermark, Windowed, commits

SCHEMA = "card string, ts timestamp, amount int"
KINDS = {
    "tumble": (hr.tumble("ts", "10 seconds", offset="3 seconds"), Kind("tumble", 10, 10, 3)),
    "hop": (hr.hop("ts", "12 seconds", "5 seconds"), Kind("hop", 12, 5)),
    "cumulate": (hr.cumulate("ts", "12 seconds", "4 seconds"), Kind("cumulate", 12, 4)),
}
Answer = Callable[[list[Windowed]], list[tuple[Any, ...]]]
Query = tuple[hr.Stream, Answer]


def grouped(rows: Iterable[Any], key: Callable[[Any], Any]) -> list[tuple[Any, list[Any]]]:
    return [(name, list(group)) for name, group in groupby(sorted(rows, key=key), key)]


def queries(rows: hr.Stream) -> dict[str, Query]:
    """Streams over windowed rows with what they are of the rows that were in time."""
    counted = rows.group_by("card", "window_end").agg(n="count(*)", s="sum(amount)")
    return {
        "invertible": (
            counted,
            lambda found: [(*key, len(of), sum(r[2] for r in of)) for key, of in grouped(found, lambda r: (r[0], r[4]))],
        ),
        "recomputed": (
            rows.group_by("window_start", "window_end", "window_time").agg(d="count(DISTINCT card)", m="max_by(card, ts)"),
            lambda found: [
                (*key, len({r[0] for r in of}), max(of, key=lambda r: (r[1], r[0]))[0]) for key, of in grouped(found, lambda r: r[3:6])
            ],
        ),
        "distinct": (
            rows.select("card", "window_end").distinct(),
            lambda found: [key for key, _ in grouped(found, lambda r: (r[0], r[4]))],
        ),
    }


def keys(h: Harness) -> int:
    return sum(query.state_keys() for query in h._queries())


def run(h: Harness, cut: list[list[Row]], inputs: list[Input], restart: int, check: Callable[[str, Watermark], None]) -> None:
    mark = Watermark({"charges": 5})
    for number, rows in enumerate(cut):
        for one in inputs:
            one.take(rows, mark)
        h.commit({"charges": [("+", row) for row in rows]})
        if rows:
            mark.see("charges", [time for _, time, _ in rows])
        mark.move()
        check(f"commit {number}", mark)
        if number == restart:
            h.restart()
    h.finish()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lateness", [0, 7])
def test_groups_of_windows(spark: SparkSession, kind: str, lateness: int) -> None:
    rng = random.Random(f"{kind} {lateness}")
    asked, model = KINDS[kind]
    cut = commits(rng, 12)
    with Harness(partitions=rng.randrange(1, 4)) as h:
        charges = h.source("charges", SCHEMA, watermark=("ts", "5 seconds"))
        late_by = f"{lateness} seconds"
        sent = {
            emit: {
                name: (stream, h.collect(stream), answer)
                for name, (stream, answer) in queries(charges.window(asked, emit=emit, lateness=late_by)).items()
            }
            for emit in ("changes", "close")
        }
        late = {emit: h.collect(found["invertible"][0].output("late")) for emit, found in sent.items()}
        rows = Input(model, lateness)

        def check(at: str, mark: Watermark) -> None:
            for name, (_, out, answer) in sent["changes"].items():
                assert out.rows() == in_order(answer(rows.on_time)), f"{name}, {at}"
            for name, (_, out, answer) in sent["close"].items():
                assert out.rows() == in_order(answer(rows.closed(mark))), f"{name}, when closed, {at}"
            for emit, out in late.items():
                assert out.rows() == in_order(rows.late), f"late rows, {emit}, {at}"

        run(h, cut, [rows], rng.randrange(len(cut)), check)
        for found in sent.values():
            for name, (_, out, answer) in found.items():
                assert out.rows() == in_order(answer(rows.on_time)), name
        assert rows.late, "some rows were late"
        for _, out, _ in sent["close"].values():
            assert {sign for _, sign, _ in out.changes()} == {"+"}
        assert keys(h) == 0
        counts = [one["input"] for one in h.metrics()["inputs"].values()]
        assert {(one["in"], one["handled"], one["late"]) for one in counts} == {
            (len(rows.on_time) + len(rows.late), len(rows.on_time), len(rows.late))
        }
