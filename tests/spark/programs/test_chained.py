"""Two programs in a row, in time order: the second meets the rows of the first in one order, wherever epochs are cut."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import Harness
from tests.scale import runs

pytestmark = pytest.mark.usefixtures("spark")

KEYS, ROWS = 6, 80


class Past(hr.Program):
    """Sets timers for times before and after each row, and another one when one fires."""

    past = hr.Timer()
    other = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.past.set(e.ts + hr.expr("make_dt_interval(0, 0, 0, e.v)"))
        with hr.when(e.v % 3 == 0):
            self.other.set(e.ts - hr.seconds(40))
        hr.emit(k=self.key.k, what="row", at=e.ts, group=e.v % 2)

    def on_past(self, at: Any) -> None:
        self.other.set(at - hr.seconds(7))
        hr.emit(k=self.key.k, what="past", at=at, group=0)

    def on_other(self, at: Any) -> None:
        hr.emit(k=self.key.k, what="other", at=at, group=1)


class Chain(hr.Program):
    """Numbers what it meets, and sums up the numbers so that each order gives another sum."""

    n = hr.Value("bigint")
    digest = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.digest.set(hr.f.xxhash64(self.digest.get(), e.k, e.what, e.at))
        hr.emit(group=self.key.group, n=self.n.get(), report=self.digest.get(), what=e.what, at=e.at)


def chained(rows: list[list[tuple[str, int, str]]], *, restart: int = -1) -> list[Any]:
    with Harness(partitions=2) as h:
        t = h.source("t", "k string, v int, ts timestamp", watermark=("ts", "10 seconds"))
        out = h.collect(t.key_by("k").process(Past, time="at").key_by("group").process(Chain))
        for number, part in enumerate(rows):
            h.commit({"t": [("+", row) for row in part]})
            if number == restart:
                h.restart()
        h.finish()
        assert all(counts["event"]["late"] == 0 for counts in h.metrics()["inputs"].values())
        return out.rows()


def at(second: int) -> str:
    return f"2026-01-01 00:{second // 60:02}:{second % 60:02}"


@pytest.mark.full
@runs(2, 10)
@given(seed=st.integers(0, 2**32))
def test_the_cuts_of_epochs_make_no_difference(seed: int) -> None:
    rng = random.Random(seed)
    seconds = sorted(rng.randrange(600) for _ in range(ROWS))
    # at most ten seconds out of order, so that no row is late wherever the cuts are
    order = sorted(seconds, key=lambda second: second + rng.randrange(10))
    rows = [(f"k{rng.randrange(KEYS)}", rng.randrange(-60, 20), at(second)) for second in order]
    cuts = sorted(rng.sample(range(1, ROWS), 4))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, ROWS], strict=True)]
    assert chained(parts, restart=rng.randrange(5)) == chained([rows])
