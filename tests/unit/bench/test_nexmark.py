"""Nexmark's events, as the published generator spreads them, and the oracle that results are compared with."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bench.nexmark.events import Events, arrivals, lines, make
from bench.nexmark.generator import BID, HOT_CHANNELS, Generator, kinds
from bench.nexmark.oracle import Oracle
from bench.nexmark.queries import QUERIES
from pyarrow import parquet


def events(numbers: range, seed: int = 1) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(lines(Generator(seed), np.array(numbers))).splitlines()]


def bids(count: int) -> dict[str, Any]:
    numbers = np.arange(count)
    return {name: np.asarray(values) for name, values in Generator().bid(numbers[kinds(numbers) == BID]).items()}


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    of_each = Counter(event["event_type"] for event in events(range(500)))
    assert of_each == {0: 10, 1: 30, 2: 460}


def test_a_part_is_what_it_is_in_the_whole() -> None:
    assert events(range(1234, 1300)) == events(range(2000))[1234:1300]


def test_another_seed_gives_other_events() -> None:
    one, other = ([event["bid"]["price"] for event in events(range(4, 50), seed)] for seed in (1, 2))
    assert len(set(one) & set(other)) < 5


def test_events_follow_each_other_at_ten_thousand_a_second() -> None:
    times = [next(value for value in event.values() if isinstance(value, dict))["dateTime"] for event in events(range(20_000, 20_021))]
    assert (times[0], times[9], times[10], times[20]) == tuple(f"2015-07-15 00:00:02.00{end}" for end in (0, 0, 1, 2))


def test_persons_and_auctions_are_numbered() -> None:
    generated = events(range(150))
    assert [event["person"]["id"] for event in generated if "person" in event] == [1000, 1001, 1002]
    assert [event["auction"]["id"] for event in generated if "auction" in event] == list(range(1000, 1009))


def test_half_of_the_bids_are_for_hot_auctions_and_three_quarters_by_hot_bidders() -> None:
    sample = bids(100_000)
    assert np.mean(sample["auction"] % 100 == 0) == pytest.approx(0.5, abs=0.01)
    assert np.mean(sample["bidder"] % 100 == 1) == pytest.approx(0.75, abs=0.01)


def test_prices_are_as_often_of_each_magnitude() -> None:
    prices = bids(100_000)["price"]
    assert prices.min() >= 100 and prices.max() <= 100_000_000
    assert [np.mean(prices < limit) for limit in (10_000, 1_000_000)] == pytest.approx([1 / 3, 2 / 3], abs=0.01)


def test_half_of_the_bids_come_by_hot_channels_and_most_others_tell_theirs() -> None:
    sample = bids(100_000)
    hot = np.isin(sample["channel"], HOT_CHANNELS)
    with_channel_id = np.array(["&channel_id=" in url for url in sample["url"]])
    assert np.mean(hot) == pytest.approx(0.5, abs=0.01)
    assert not with_channel_id[hot].any()
    assert np.mean(with_channel_id[~hot]) == pytest.approx(0.9, abs=0.01)


def test_bids_are_for_auctions_of_their_time() -> None:
    numbers = np.arange(100_000)
    numbers = numbers[kinds(numbers) == BID]
    newest = 1000 + numbers // 50 * 3 + 2
    auction = Generator().bid(numbers)["auction"]
    assert (auction >= np.maximum(newest - 100, 1000)).all() and (auction <= newest + 10).all()


@pytest.mark.parametrize(("kind", "size"), [("person", 200), ("auction", 500), ("bid", 100)])
def test_padding_gives_each_kind_its_size(kind: str, size: int) -> None:
    def width(value: Any) -> int:
        return 8 if isinstance(value, int) else len(value)

    rows = [event[kind] for event in events(range(20_000)) if kind in event]
    counted = {"channel", "url"}
    sizes = [
        sum(8 if name in ("dateTime", "expires") else width(value) for name, value in row.items() if name not in counted) for row in rows
    ]
    assert np.mean(sizes) == pytest.approx(size, rel=0.05)


def test_late_events_are_a_tenth_and_no_later_than_a_minute() -> None:
    order = arrivals(1_000_000, 1, late=True)
    assert sorted(order) == list(range(1_000_000))
    behind = (np.maximum.accumulate(order) - order) / 10_000
    assert np.mean(behind > 0.01) == pytest.approx(0.1, abs=0.01)
    assert 55 < behind.max() <= 60


def test_files_hold_each_event_once_and_the_epochs_follow_each_other(tmp_path: Path) -> None:
    dataset = make(1_050, 4, cache=tmp_path)
    files = sorted(dataset.stream.iterdir())
    assert [file.name for file in files] == [f"000{epoch}-{core}.json" for epoch in range(4) for core in range(2)]
    by_epoch = [sorted(line for core in range(2) for line in files[2 * epoch + core].read_text().splitlines()) for epoch in range(4)]
    whole = [json.dumps(event, separators=(",", ":")) for event in events(range(1_050))]
    assert by_epoch == [sorted(part) for part in (whole[:262], whole[262:525], whole[525:787], whole[787:])]
    for_flink = dataset.for_flink()
    assert (for_flink / "0.json").read_text() == "".join(file.read_text() for file in files[::2])
    assert (for_flink / "1.json").read_text() == "".join(file.read_text() for file in files[1::2])


class TestDifference:
    """The oracle complains of whatever is not the answer."""

    @pytest.fixture(autouse=True)
    def _dataset(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.oracle = Oracle(make(10_000, 1, cache=tmp_path))
        self.rows = [(*row, "insert") for row in self.oracle.answer(QUERIES["q2"])]

    def difference(self, rows: list[tuple[Any, ...]]) -> str:
        file = self.folder / "result.parquet"
        columns = zip(*rows, strict=True)
        parquet.write_table(pa.table(dict(zip(("auction", "price", "_change"), map(pa.array, columns), strict=True))), file)
        return self.oracle.difference(QUERIES["q2"], [file])

    def test_the_answer_in_another_order(self) -> None:
        assert self.difference(self.rows[::-1]) == ""

    def test_rows_that_came_and_went(self) -> None:
        assert self.difference([*self.rows, (1, 2, "insert"), (1, 2, "delete")]) == ""

    def test_a_row_twice(self) -> None:
        auction, price, _ = self.rows[0]
        assert self.difference([*self.rows, self.rows[0]]) == (
            f"1 rows are missing: [({auction}, {price}, 1)]; 1 rows are too many: [({auction}, {price}, 2)]"
        )

    def test_a_row_taken_away(self) -> None:
        auction, price, _ = self.rows[0]
        assert self.difference([*self.rows, (auction, price, "delete")]) == f"1 rows are missing: [({auction}, {price}, 1)]"

    def test_no_rows(self) -> None:
        assert self.oracle.difference(QUERIES["q2"], []).startswith(f"{len(set(self.rows))} rows are missing: ")


def test_windows_of_the_clock_are_compared_by_the_bids_in_them(tmp_path: Path) -> None:
    oracle = Oracle(make(10_000, 1, cache=tmp_path))
    counts = oracle.answer(QUERIES["q12"])
    halves = [(bidder, part, window, "insert") for bidder, count in counts for window, part in enumerate((count // 2, count - count // 2))]
    taken_back = [(1000, 7, 2, "insert"), (1000, 7, 2, "delete")]

    def difference(rows: list[tuple[int, int, int, str]]) -> str:
        names = ("bidder", "bid_count", "starttime", "_change")
        parquet.write_table(pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True))), tmp_path / "result.parquet")
        return oracle.difference(QUERIES["q12"], [tmp_path / "result.parquet"])

    assert difference([*halves, *taken_back]) == ""
    assert difference(halves[1:]).startswith("1 rows are missing: ")


def test_no_oracle_is_without_rows(tmp_path: Path) -> None:
    oracle = Oracle(Events(make(20_000, 1, cache=tmp_path).folder, 20_000, 1))
    assert [name for name, query in QUERIES.items() if not oracle.rows(query)] == []
