"""A deploy with `on_change="replace"`: in one step a sink holds the rows of the new version, and none of its earlier ones."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli, points
from headrace.errors import HeadraceError
from headrace.ops.sink import sinks_of
from headrace.points import Armed
from headrace.schema import parse_schema
from tests.faults.readers import READERS
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import ROWS, add, held, read
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ALL = {"large": "replace", "log": "replace", "sums": "replace"}
"""What becomes of the sinks of `job`."""


def job(folder: Path, over: int, name: str = "shop", database: str = "db") -> hr.Job:
    """Rows over an amount in files and in a table that only grow, and their sums as changes in files; the sinks are in `folder`/NAME."""
    large = read(folder, "rows", ROWS).filter(f"v > {over}").select("k", "v")
    sums = large.group_by("k").agg(s="sum(v)").named("summed")
    out = folder / name
    out.mkdir(exist_ok=True)
    return hr.job(
        name,
        large.write.files(out / "large", format="json", name="large"),
        large.write.jdbc(f"sqlite:{out}/{database}", "log", name="log"),
        sums.write.files(out / "sums", format="json", mode="changes", name="sums"),
    )


def run(job: hr.Job, folder: Path) -> hr.Summary:
    return job.run(checkpoint=folder / "state", progress=False, flush=False, partitions=2)


def deploy(folder: Path, over: int, on_change: Mapping[str, str] = ALL, **options: Any) -> hr.Deployment:
    return job(folder, over).deploy(checkpoint=folder / "state", on_change=on_change, **options)


def there(folder: Path, name: str = "shop") -> tuple[Counter[tuple[int, int]], ...]:
    """The rows in the files and in the table, and the sums."""
    out = folder / name
    with sqlite3.connect(out / "db") as database:
        table = Counter(database.execute("SELECT k, v FROM log").fetchall())
    sums = [json.loads(row) for row in Counter(held(out / "sums")).elements()] if (out / "sums").exists() else []
    return Counter((row["k"], row["v"]) for row in lines(out / "large")), table, Counter((row["k"], row["s"]) for row in sums)


def wanted(folder: Path, over: int) -> tuple[Counter[tuple[int, int]], ...]:
    """The same by Python, from the input."""
    texts = [text for file in (folder / "rows").glob("*.json") for text in file.read_text().splitlines()]
    large = [(row["k"], row["v"]) for row in map(json.loads, texts) if row["v"] > over]
    sums: Counter[int] = Counter()
    for k, v in large:
        sums[k] += v
    return Counter(large), Counter(large), Counter(sums.items())


def test_as_from_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    reader = hr.read.files(tmp_path / "shop" / "large", format="json", schema="k int, v int", name="large")
    kept = hr.job("reader", reader.write.memory(name="kept"))
    kept.run(checkpoint=tmp_path / "reader", progress=False)
    preview = deploy(tmp_path, 40, dry_run=True)
    assert {one.name: one.verdict for one in preview.verdicts if one.part == "sink"} == dict.fromkeys(ALL, "replaced")
    earlier = there(tmp_path)
    assert earlier == wanted(tmp_path, 10)
    deployment = deploy(tmp_path, 40)
    few = sum(wanted(tmp_path, 40)[0].values())
    assert f"  replaced  sink     large: {few} rows inserted\n" in str(deployment)
    assert there(tmp_path) == earlier
    add(tmp_path, 2)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40) != earlier
    with pytest.raises(HeadraceError, match=r"TABLE_REPLACED: large: .* was rewritten since it was read: it no longer has epoch"):
        kept.run(checkpoint=tmp_path / "reader", progress=False)
    # a version without rows empties them
    deploy(tmp_path, 99)
    run(job(tmp_path, 99), tmp_path)
    assert there(tmp_path) == (Counter(), Counter(), Counter())
    # the version before, over the input of all
    choices = [word for name in ALL for word in ("--on-change", f"{name}=replace")]
    assert cli.main(["rollback", str(tmp_path / "state"), *choices]) == 0
    assert "  replaced  sink     log: " in capsys.readouterr().out
    add(tmp_path, 3)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40) != (Counter(), Counter(), Counter())


@pytest.mark.parametrize("point", ["in sink commit@large", "in sink commit@log", "after the record@main"])
def test_interrupted_in_its_epoch(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink has the old rows or the new ones, the repetition has the new ones, and no later epoch replaces them again."""
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    deploy(tmp_path, 40)
    old, new = wanted(tmp_path, 10), wanted(tmp_path, 40)
    name, _, of = point.partition("@")
    with monkeypatch.context() as patch:
        patch.setattr(points, "OFF", False)
        patch.setattr(points, "_armed", Armed(name, of, action="fail"))
        patch.setattr(points, "_passed", 0)
        with pytest.raises(HeadraceError, match="Injected"):
            run(job(tmp_path, 40), tmp_path)
    assert all(one in (before, after) for one, before, after in zip(there(tmp_path), old, new, strict=True))
    add(tmp_path, 1)
    run(job(tmp_path, 40), tmp_path)
    assert there(tmp_path) == wanted(tmp_path, 40) != new


@pytest.mark.full
def test_a_replacement_that_waits(tmp_path: Path) -> None:
    """A deploy before the next run replaces the rows that the sinks still have, unless the user says otherwise."""
    add(tmp_path, 0)
    run(job(tmp_path, 10), tmp_path)
    earlier = there(tmp_path)
    deploy(tmp_path, 40)
    assert deploy(tmp_path, 40, {}).unchanged
    again = deploy(tmp_path, 40, {}, partitions=3)
    assert "  replaced  sink     large: it did not get its rows of the last deploy so far; " in str(again)
    deploy(tmp_path, 99, {"log": "from now"})
    add(tmp_path, 1)
    job(tmp_path, 99).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    assert there(tmp_path) == (Counter(), earlier[1], Counter())


@pytest.mark.full
def test_lakes(tmp_path: Path) -> None:
    """Delta and Iceberg, with a key and without, read by DuckDB."""
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}

    def lakes(over: int) -> hr.Job:
        large = read(tmp_path, "rows", ROWS).filter(f"v > {over}").select("k", "v")
        sums = large.group_by("k").agg(s="sum(v)").named("summed")
        return hr.job(
            "shop",
            large.write.delta(str(tmp_path / "delta" / "large"), name="delta_rows"),
            large.write.iceberg("shop.large", catalog=catalog, name="iceberg_rows"),
            sums.write.delta(str(tmp_path / "delta" / "sums"), key="k", name="delta_sums"),
            sums.write.iceberg("shop.sums", catalog=catalog, key="k", name="iceberg_sums"),
        )

    def held_in(job: hr.Job) -> dict[str, Counter[tuple[Any, ...]]]:
        connected = {str(node.name): (node.connect(), node.name) for node in sinks_of(job.plan.nodes.values())}
        schemas = {name: parse_schema("k int, v int" if name.endswith("rows") else "k int, s bigint") for name in connected}
        return {name: Counter(READERS[sink.connector](sink, schemas[name])) for name, (sink, _) in connected.items()}

    def expected(over: int) -> dict[str, Counter[tuple[Any, ...]]]:
        large, _, sums = (Counter(tuple(map(str, row)) for row in one.elements()) for one in wanted(tmp_path, over))
        return {"delta_rows": large, "iceberg_rows": large, "delta_sums": sums, "iceberg_sums": sums}

    add(tmp_path, 0)
    run(lakes(10), tmp_path)
    assert held_in(lakes(10)) == expected(10)
    for part, over in enumerate((40, 99), 1):
        lakes(over).deploy(checkpoint=tmp_path / "state", on_change=dict.fromkeys(expected(over), "replace"))
        add(tmp_path, part)
        run(lakes(over), tmp_path)
        assert held_in(lakes(over)) == expected(over)


class Counts(hr.Program):
    """How many rows a key has had."""

    n = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(k=self.key.k, n=self.n.get())


def test_what_cannot_be_replaced(tmp_path: Path) -> None:
    kept: dict[int, Any] = {}
    now = {"out": "from now", "shown": "from now"}

    def job(over: int) -> hr.Job:
        large = read(tmp_path, "rows", ROWS).filter(f"v > {over}").select("k", "v")
        arrived = large.key_by("k").process(Counts, order="arrival").named("arrived")
        kept[over] = large.write.memory(name="kept")
        return hr.job(
            "shop",
            kept[over],
            large.write.console(name="shown"),
            arrived.filter(f"n > {over}").write.files(tmp_path / "out", format="json", name="out"),
            large.group_by("v").agg(n="count(*)").write.memory(name="sizes", key="v"),
        )

    add(tmp_path, 0)
    run(job(10), tmp_path)

    def refused(message: str, choices: dict[str, str]) -> None:
        check_error(message, lambda: job(40).deploy(checkpoint=tmp_path / "state", on_change={**now, **choices}))

    refused(
        """
        CANNOT_REBUILD: the rows of shown cannot be replaced: the console cannot take back what it has shown
          at test_replace.py:*: large.write.console(name="shown"),
          hint: nothing was changed: on_change={"shown": "from now"} writes the rows of this version from now on; or write to another place
          more: headrace error CANNOT_REBUILD
        """,
        {"shown": "replace"},
    )
    refused(
        """
        CANNOT_REBUILD: out gets other rows than before, and they cannot be replaced: arrived handles rows as they arrive, and may get them in another order
          at test_replace.py:*: arrived.filter(f"n > {over}").write.files(tmp_path / "out", format="json", name="out"),
          hint: on_change={"out": "from now"} writes the rows of this version from now on
          more: headrace error CANNOT_REBUILD
        """,
        {"out": "replace"},
    )
    # a memory sink of the new version has no rows so far
    job(40).deploy(checkpoint=tmp_path / "state", on_change={**now, "kept": "replace"})
    run(job(40), tmp_path)
    assert Counter(kept[40].rows()) == wanted(tmp_path, 40)[0]
