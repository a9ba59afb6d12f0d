"""The sink keeps what its traits say. In the repository of headrace `tests/spark/conformance/test_duckdb.py` runs this file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from headrace_duckdb import Sink

import headrace as hr
from headrace.ports import Elsewhere
from headrace.schema import Struct
from headrace.testing.conformance import check_sink

HOLDER = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


def sink(place: Elsewhere, key: tuple[str, ...]) -> Sink:
    return Sink(str(place.folder.with_suffix(".duckdb")), "t", key=key)


def rows(sink: Sink, schema: Struct) -> Iterable[Sequence[Any]]:
    """What is there, by nothing of the sink's."""
    if not Path(sink.path).exists():
        return []
    with duckdb.connect(sink.path) as database:
        records = database.execute("FROM t").arrow().read_all().to_pylist()
    return [tuple(row.get(name) for name in schema.names) for row in records]


def refused(report: Any) -> list[str]:
    return [line.check for line in report.lines if line.outcome != "passed"]


def test_replays_and_late_commits() -> None:
    """The checks that find most mistakes, in a minute."""
    assert refused(check_sink(sink, rows, rows=0, points=(), only=("by a new process", "another has taken over", "times"))) == []


@pytest.mark.full
def test_all_of_the_suite() -> None:
    assert refused(check_sink(sink, rows)) == REFUSED


def test_a_file_that_another_process_has_open(tmp_path: Path) -> None:
    charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    path = str(tmp_path / "shop.duckdb")
    job = hr.job("copy", charges.write.duckdb(path, "charges", wait="1 second"))
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(hr.ConnectorError) as raised:
            job.run(checkpoint=tmp_path / "checkpoint", progress=False)
        other.communicate()
    assert raised.value.code == "DUCKDB_LOCKED" and raised.value.message.startswith(
        f"{path} is open in another process: Could not set lock"
    )
    job.run(checkpoint=tmp_path / "checkpoint", progress=False)
    with duckdb.connect(path) as database:
        assert database.execute("FROM charges").fetchall() == [("a", 1)]


def test_what_a_plan_stores() -> None:
    sink = Sink("shop.duckdb", "charges", key="card")  # type: ignore[arg-type]  # a name will do
    assert sink.options() == {"path": "shop.duckdb", "table": "charges", "key": ["card"]}
    assert Sink.from_options(sink.options()).options() == sink.options()
    charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
    with pytest.raises(hr.ConnectorError, match=r"write\.duckdb: key cannot be 5"):
        charges.write.duckdb("shop.duckdb", "charges", key=5)


REFUSED = ["intervals", "variants"]
