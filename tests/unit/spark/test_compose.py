"""The positions and the counts of a query that continues several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.spark.checkpoint.offsets import Offsets
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.deploy import compose
from headrace.spark.deploy.stores import Origin


def origin(folder: Path, *logs: tuple[str, ...], sources: tuple[str, ...] = ("rows",)) -> Origin:
    """A stored query that has logged files of the source, one tuple for each epoch of the log."""
    log = folder / "sources" / "rows"
    log.mkdir(parents=True)
    for epoch, files in enumerate(logs):
        entries = [json.dumps({"path": f"file:///in/{name}", "batchId": epoch, "length": 7}) for name in files]
        (log / str(epoch)).write_text("\n".join(["v3", *entries]))
    return Origin(QueryIdentity(folder.name, sources, 1, "none", ()), folder, 0, 1)


def at(position: int | None) -> Offsets:
    return Offsets({}, {} if position is None else {"rows": f'{{"logOffset":{position}}}'})


@pytest.mark.parametrize(
    ("logs", "position", "alike"),
    [
        ([("1", "2"), ("3",)], 1, True),
        ([("1",), ("2",), ("3",)], 2, True),
        ([("1", "2", "3"), ("4",)], 0, True),
        ([("1",), ("2", "3")], 0, False),
        ([("1",), ("2",), ("4",)], 2, False),
        ([("1",), ("2",)], 1, False),
        ([], None, False),
    ],
)
def test_files(logs: list[tuple[str, ...]], position: int | None, alike: bool, tmp_path: Path) -> None:
    """The logs of two queries number their own epochs."""
    one, other = origin(tmp_path / "one", ("1",), ("2", "3")), origin(tmp_path / "other", *logs)
    assert compose._is_read_alike("rows", [one, other], [at(1), at(position)]) is alike


def test_a_query_without_the_source_has_no_say(tmp_path: Path) -> None:
    one, other = origin(tmp_path / "one", ("1",)), origin(tmp_path / "other", sources=("prices",))
    assert compose._is_read_alike("rows", [one, other], [at(0), at(None)])


def test_repaired_rows(tmp_path: Path) -> None:
    one, other = origin(tmp_path / "one", ("1",)), origin(tmp_path / "other", ("1",))
    mended = Offsets({}, {**at(0).sources, "rows_23_repaired": '{"logOffset":0}'})
    assert not compose._is_read_alike("rows", [one, other], [mended, at(0)])


def test_a_source_that_is_gone_is_no_longer_counted() -> None:
    """If it came back, its rows would be counted twice, and rows read again would be late."""
    counts = {(source, 0, 0, metric): 7 for source in ("rows", "prices", "prices#repaired") for metric in ("read", "max_time")}
    query = QueryIdentity("main", ("rows",), 1, "event", ())
    kept = compose.divided(query, {"main": Totals(3, counts)}, (), ["prices"])
    assert (kept.of_source("rows", "read"), kept.times()) == (7, {"rows": 7})
    assert not any(source.startswith("prices") for source, *_ in kept.counts)
