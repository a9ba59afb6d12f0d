"""Portable savepoints: read by other programs, and restored in other partitions, equal and complete."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyarrow import parquet

import headrace as hr
from headrace import cli
from headrace.ops.relational import Relational
from headrace.plan.node import REGISTRY
from headrace.schema import parse_schema
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.run.commands import take_savepoint
from tests import golden
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_golden import net
from tests.spark.engine.test_savepoints import job, put
from tests.spark.engine.test_state import case, every, write
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from headrace import Portable

pytestmark = pytest.mark.usefixtures("spark")

SAMPLE = ("cells",)
"""The golden checkpoints of the older Spark that are moved in every run of the tests."""
OF_OLDER = [
    pytest.param(one, id=f"{golden.OLDER.name}-{one.name}", marks=() if one.name in SAMPLE else pytest.mark.full)
    for one in golden.of_older_spark()
]


def exported(checkpoint: Path, to: Path) -> Portable:
    """The checkpoint of a job that does not run, as a portable savepoint."""
    name = f"for-{to.name}"
    take_savepoint(checkpoint, name)
    return hr.export_savepoint(checkpoint, name, to)


def state_of(portable: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """All state of a portable savepoint by operator, as another program reads it."""
    return {
        folder.name: Counter(duckdb.sql(f"SELECT key, part, bag, number, bytes FROM '{folder}/*.parquet'").fetchall())
        for folder in sorted((portable / "state").glob("*"))
    }


def shown(checkpoint: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All tables of a checkpoint's state."""
    state = hr.state(checkpoint)
    return {name: state.table(name).rows() for name in state.tables}


CASES = [
    path for path in golden.checkpoints() if path.parents[1].name == str(max(int(one.parents[1].name) for one in golden.checkpoints()))
]


@pytest.mark.parametrize("case", [pytest.param(one, id=one.name, marks=pytest.mark.full) for one in CASES] + OF_OLDER)
def test_all_kinds_of_state(case: Path, tmp_path: Path) -> None:
    """Each golden job goes on from the golden portable savepoint of its checkpoint, in other partitions, as it does from that checkpoint."""
    kept, moved = tmp_path / "kept", tmp_path / "moved"
    shutil.copytree(case, kept)
    shutil.copytree(case, moved, ignore=shutil.ignore_patterns("checkpoint"))
    first = exported(kept / "checkpoint", tmp_path / "first")
    assert state_of(tmp_path / "first") == state_of(case / "portable")
    assert hr.import_savepoint(case / "portable", checkpoint=moved / "checkpoint", partitions=3) == moved / "checkpoint"
    for query in (kept / "checkpoint" / "queries").iterdir():
        mend(query)  # it was written elsewhere
    if first.keys:
        assert shown(moved / "checkpoint") == shown(kept / "checkpoint")
    for name, columns in first.tables.items():
        described = duckdb.sql(f"DESCRIBE SELECT * FROM '{case}/portable/tables/{name}/*.parquet'").fetchall()
        assert [one[0] for one in described] == [column.name for column in parse_schema(columns).fields]
        count = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/first/tables/{name}/*.parquet'").fetchone()
        assert count == (hr.state(kept / "checkpoint").count(name),)
    exported(moved / "checkpoint", tmp_path / "second")
    assert state_of(tmp_path / "second") == state_of(tmp_path / "first")
    last = golden.runs(case)[-1]
    golden.run(last, kept, last=True)
    golden.run(last, moved, last=True)
    assert net(golden.results(moved)) == net(golden.results(kept)) != net(golden.results(case))


def test_every_kind_of_operator_is_among_them() -> None:
    kinds = {node for node, of in REGISTRY.items() if issubclass(of, Relational)} | {"program"}
    plans = [json.loads((case / "checkpoint" / "job.json").read_text())["plan"] for case in CASES]
    assert kinds <= {node["op"] for plan in plans for node in plan["nodes"]}


def test_a_program_with_all_kinds_of_cells(tmp_path: Path) -> None:
    """From 2 partitions to 7 to 3: what all keys read is in each of them, timers fire, entries expire, held rows are handled."""
    events, rules = case(7)
    for number, part in enumerate((events[:60], events[60:]), 1):
        write(tmp_path / "events", number, part[:40] if number == 1 else part)
    write(tmp_path / "rules", 1, rules[:10])
    state = tmp_path / "state"
    every(tmp_path).run(checkpoint=state, flush=False, progress=False, partitions=2)
    exported(state, tmp_path / "two")
    seven = hr.import_savepoint(tmp_path / "two", checkpoint=tmp_path / "seven", partitions=7)
    exported(seven, tmp_path / "of seven")
    three = hr.import_savepoint(tmp_path / "of seven", checkpoint=tmp_path / "three", partitions=3)
    exported(three, tmp_path / "of three")
    assert state_of(tmp_path / "two") == state_of(tmp_path / "of seven") == state_of(tmp_path / "of three")
    parts = Counter(part for rows in state_of(tmp_path / "two").values() for _, part, *_ in rows)
    assert set(parts) == {"value", "page", "alarm"}
    assert any(key is None for rows in state_of(tmp_path / "two").values() for key, *_ in rows)
    write(tmp_path / "rules", 2, rules[10:])
    write(tmp_path / "events", 3, events[40:60])
    for checkpoint in (state, seven, three):
        every(tmp_path).run(checkpoint=checkpoint, flush=False, progress=False, partitions=None)
    tables = shown(state)
    assert all(tables.values())
    assert shown(seven) == tables == shown(three)


def test_an_interrupted_epoch_is_repeated(tmp_path: Path) -> None:
    """A savepoint after a crash has the input of the epoch, which runs again in the same partitions."""

    def failing(fails: bool) -> hr.Job:
        def each(rows: Any, epoch: int) -> None:
            if fails and epoch == 1:
                raise RuntimeError("the power is gone")

        rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows")
        sums = rows.group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
        out = sums.write.files(tmp_path / "out", format="json", mode="changes", name="out")
        return hr.job("sums", rows.write.foreach_batch(each, name="each"), out)

    put(tmp_path, 0)
    failing(fails=False).run(checkpoint=tmp_path / "state", partitions=2, flush=False, progress=False)
    put(tmp_path, 1)
    with pytest.raises(hr.HeadraceError, match="the power is gone"):
        failing(fails=True).run(checkpoint=tmp_path / "state", flush=False, progress=False)
    exported(tmp_path / "state", tmp_path / "portable")
    check_error(
        """
        EPOCH_UNFINISHED: epoch 1 of main was interrupted, and has to be repeated in 2 partitions
          hint: import it with partitions=2, run it once, then change their number: headrace rescale
          more: headrace error EPOCH_UNFINISHED
        """,
        lambda: hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved", partitions=5),
    )
    moved = hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved")
    put(tmp_path, 2)
    failing(fails=False).run(checkpoint=moved, flush=False, progress=False)
    rows = hr.state(moved).query("SELECT key.k, rows, s FROM sums ORDER BY 1").rows()
    assert rows == [(k, 30, sum(part * 100 + i for part in range(3) for i in range(k, 50, 5))) for k in range(5)]
    held = Counter[str]()
    for row in lines(tmp_path / "out"):
        held[json.dumps({key: row[key] for key in "kns"})] += 1 if row["_change"] in ("insert", "update_after") else -1
    assert +held == Counter(json.dumps({"k": k, "n": n, "s": s}) for k, n, s in rows)


def test_an_interrupted_first_epoch(tmp_path: Path) -> None:
    """Without a committed epoch there is no state, but the epoch has begun in its partitions."""

    def broken(rows: Any, epoch: int) -> None:
        raise RuntimeError("the power is gone")

    put(tmp_path, 0)
    rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows")
    first = hr.job("first", rows.write.foreach_batch(broken, name="out"))
    with pytest.raises(hr.HeadraceError, match="the power is gone"):
        first.run(checkpoint=tmp_path / "state", partitions=2, progress=False)
    exported(tmp_path / "state", tmp_path / "portable")
    with pytest.raises(hr.HeadraceError, match="EPOCH_UNFINISHED: epoch 0 of main was interrupted, and has to be repeated in 2 partitions"):
        hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved", partitions=5)
    hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved")


def test_queries_with_and_without_state(tmp_path: Path) -> None:
    put(tmp_path, 0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "1.json").write_text('{"k": 1}\n{"k": 1}\n')

    def both() -> hr.Job:
        rows = hr.read.files(tmp_path / "in", format="json", schema="k int, v int", name="rows")
        other = hr.read.files(tmp_path / "other", format="json", schema="k int", name="other")
        plain = rows.filter("v % 2 = 0").write.files(tmp_path / "plain", format="json", name="plain")
        counts = other.group_by("k").agg(n="count(*)").named("counts")
        # without a key, rows are divided among as many groups as there were partitions at first
        met = other.join(other.select(o="k"), on="k <= o").named("met")
        views = [view.write.files(tmp_path / name, format="json", mode="changes", name=name) for name, view in (("n", counts), ("m", met))]
        return hr.job("both", plain, *views)

    both().run(checkpoint=tmp_path / "state", partitions=2, progress=False)
    portable = exported(tmp_path / "state", tmp_path / "portable")
    assert (len(portable.epochs), portable.keys["counts"]) == (2, 1)
    moved = hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved", partitions=3)
    put(tmp_path, 1)
    (tmp_path / "other" / "2.json").write_text('{"k": 1}\n')
    both().run(checkpoint=moved, progress=False)
    assert sorted(row["v"] for row in lines(tmp_path / "plain")) == [part * 100 + i for part in range(2) for i in range(0, 50, 2)]
    assert [(row["k"], row["n"]) for row in lines(tmp_path / "n")][-1] == (1, 3)
    assert len(lines(tmp_path / "m")) == 9
    assert json.loads((moved / "history.jsonl").read_text().splitlines()[-1])["what"] == "import"


TYPES = {
    "a": "cast(id as tinyint)",
    "b": "cast(id as decimal(38, 10))",
    "c": "cast(id as decimal(9, 2))",
    "d": "cast(id as float)",
    "e": "date_add(date'2026-01-01', id)",
    "f": "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, id)",
    "g": "timestamp_ntz'1826-01-01 00:00:00.123456'",
    "h": "cast(concat('x', id) as binary)",
    "i": "id % 2 = 0",
    "j": "make_ym_interval(1, id)",
    "k": "make_dt_interval(id, 1)",
    "l": "array(named_struct('x', id, 'y', array(id)))",
    "m": "map(cast(id as string), id)",
    "n": "parse_json(concat('{\"id\": ', id, '}'))",
    "o": "cast(id as string) collate UNICODE_CI",
    "p": "time'12:34:56.789'",
    "q": "cast(null as void)",
}


def test_types_of_all_kinds(tmp_path: Path, spark: Any) -> None:
    """Another program reads each type, and a restore keeps each value."""
    rows = hr.read.memory([(i,) for i in range(5)], "id int", name="rows")
    columns = rows.select(*(hr.expr(text).alias(name) for name, text in TYPES.items()), "id")
    kept = columns.top(3, by="id").named("kept")
    job = hr.job("types", kept.write.memory(name="out"))
    job.run(checkpoint=tmp_path / "state", partitions=2, progress=False)
    exported(tmp_path / "state", tmp_path / "portable")
    there = duckdb.sql(f"SELECT * FROM '{tmp_path}/portable/tables/kept/*.parquet' ORDER BY id")
    assert there.columns == [*TYPES, "id", "count"]
    first = dict(zip(there.columns, there.fetchall()[1], strict=True))
    assert (first["a"], float(first["b"]), first["i"], first["h"], first["l"]) == (1, 1.0, False, b"x1", [{"x": 1, "y": [1]}])
    assert (str(first["e"]), first["m"], first["j"], first["o"]) == ("2026-01-02", {"1": 1}, 13, "1")
    moved = hr.import_savepoint(tmp_path / "portable", checkpoint=tmp_path / "moved", partitions=3)
    assert shown(moved) == shown(tmp_path / "state")


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Path:
    folder = tmp_path_factory.mktemp("a job")
    put(folder, 0)
    job(folder).run(checkpoint=folder / "state", partitions=2, progress=False)
    exported(folder / "state", folder / "portable")
    return folder / "portable"


def test_refused(portable: Path, tmp_path: Path) -> None:
    hide = {str(portable.parent): "<job>", str(tmp_path): "<folder>"}
    check_error(
        """
        UNKNOWN_SAVEPOINT: <folder> has no portable savepoint
          hint: name the folder that headrace savepoint export wrote
          more: headrace error UNKNOWN_SAVEPOINT
        """,
        lambda: hr.import_savepoint(tmp_path),
        hide=hide,
    )
    check_error(
        """
        CHECKPOINT_EXISTS: <job>/state is a checkpoint already
          hint: choose another folder for the import, or move that one away
          more: headrace error CHECKPOINT_EXISTS
        """,
        lambda: hr.import_savepoint(portable, checkpoint=portable.parent / "state"),
        hide=hide,
    )
    check_error(
        """
        SAVEPOINT_EXISTS: <job>/portable exists already
          hint: choose another folder, or remove that one first
          more: headrace error SAVEPOINT_EXISTS
        """,
        lambda: hr.export_savepoint(portable.parent / "state", "for-portable", portable),
        hide=hide,
    )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").touch()
    check_error(
        """
        CHECKPOINT_EXISTS: <folder>/full has other files
          hint: choose another folder for the import, or move that one away
          more: headrace error CHECKPOINT_EXISTS
        """,
        lambda: hr.import_savepoint(portable, checkpoint=tmp_path / "full"),
        hide=hide,
    )
    (tmp_path / "full" / "letter").write_text("a file, not a folder")
    check_error(
        """
        FOLDER_NOT_WRITABLE: the portable savepoint <folder>/full/letter/new cannot be written: Not a directory
          hint: choose another folder, or give this user the right to write there
          more: headrace error FOLDER_NOT_WRITABLE
        """,
        lambda: hr.export_savepoint(portable.parent / "state", "for-portable", tmp_path / "full" / "letter" / "new"),
        hide=hide,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda file: file.unlink(), "it is gone"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "it is not what was exported"),
        (lambda file: file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:]), "it is not what was exported"),
        (lambda file: shutil.copy(file, file.with_name("another")), "it was not exported"),
    ],
)
def test_damaged(portable: Path, tmp_path: Path, damage: Any, why: str) -> None:
    copied = shutil.copytree(portable, tmp_path / "copied")
    # nobody reads these back
    damage(next((copied / "tables").glob("*/*.parquet")))
    for file in [next((copied / "state").glob("*/*.parquet")), copied / "checkpoint" / "job.json"]:
        text = file.read_bytes()
        damage(file)
        with pytest.raises(hr.CheckpointError, match=why) as raised:
            hr.import_savepoint(copied, checkpoint=tmp_path / "state")
        assert raised.value.code == "CHECKPOINT_UNREADABLE"
        file.write_bytes(text)
        file.with_name("another").unlink(missing_ok=True)
    assert not (tmp_path / "state").exists()
    hr.import_savepoint(copied, checkpoint=tmp_path / "state")


def test_a_damaged_description(portable: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(portable, tmp_path / "copied")
    file = copied / "portable.json"
    file.write_text(file.read_text().replace('"job": "sums"', '"job": "sun"'))
    check_error(
        """
        CHECKPOINT_UNREADABLE: <folder>/portable.json cannot be read: its checksum is not that of what was written
          hint: copy the portable savepoint again, or export it again
          more: headrace error CHECKPOINT_UNREADABLE
        """,
        lambda: hr.import_savepoint(copied),
        hide={str(copied): "<folder>"},
    )


def test_another_format(portable: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(portable, tmp_path / "copied")
    value = json.loads((copied / "portable.json").read_text())
    del value["crc32"]
    (copied / "portable.json").write_text(json.dumps({**value, "format": 2}))
    check_error(
        """
        CHECKPOINT_FORMAT: <folder>/portable.json has format 2; this version of headrace reads format 1
          hint: use the version of headrace that wrote it
          more: headrace error CHECKPOINT_FORMAT
        """,
        lambda: hr.import_savepoint(copied),
        hide={str(copied): "<folder>"},
    )


def test_what_a_killed_import_has_left(portable: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "state"
    left = tmp_path / ".state.unfinished" / "checkpoint" / "queries" / "main" / "commits"
    left.mkdir(parents=True)
    (left / "99").touch()
    hr.import_savepoint(portable, checkpoint=checkpoint)
    assert not (checkpoint / "queries" / "main" / "commits" / "99").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert checkpoint.stat().st_mode & 0o077 == 0


def test_an_import_that_fails(portable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headrace.spark.portable.importing.write_stores", fail)
    with pytest.raises(KeyboardInterrupt):
        hr.import_savepoint(portable, checkpoint=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_looks_like_a_pattern(portable: Path, tmp_path: Path) -> None:
    strange = tmp_path / "a [1] {b} ü*"
    strange.mkdir()
    portable = shutil.copytree(portable, strange / "moved")
    checkpoint = hr.import_savepoint(portable, checkpoint=strange / "state", partitions=3)
    exported(checkpoint, strange / "again")
    assert state_of_all(strange / "again") == state_of_all(portable)


def state_of_all(portable: Path) -> Counter[tuple[Any, ...]]:
    """All state of a portable savepoint in a folder that DuckDB would take as a pattern."""
    return Counter(tuple(row.values()) for file in (portable / "state").glob("*/*.parquet") for row in parquet.read_table(file).to_pylist())


class Longest(hr.Program):
    """A list that is longer than a row group of a file."""

    texts = hr.List("binary")

    def on_event(self, e: Any) -> None:
        self.texts.append(e.text)
        with hr.when(e.id == 0):
            hr.emit(k=e.k)


@pytest.mark.full
def test_a_long_list(tmp_path: Path, spark: Any) -> None:
    """Spark reads a large file in several partitions; the places in a list go on from one to the next."""
    texts = f"concat({', '.join(f'unhex(sha2(cast(id + {n}e6 as string), 512))' for n in range(3))})"
    spark.range(0, 100_000, 1, 1).selectExpr("1 AS k", f"{texts} AS text", "id").write.parquet(str(tmp_path / "in"))
    rows = hr.read.files(tmp_path / "in", format="parquet", schema="k int, text binary, id bigint", name="rows")
    job = hr.job("long", rows.key_by("k").process(Longest, order="arrival").named("long").write.files(tmp_path / "out", format="json"))
    job.run(checkpoint=tmp_path / "state", partitions=1, progress=False)
    exported(tmp_path / "state", tmp_path / "portable")
    (file,) = (tmp_path / "portable" / "state").glob("*/*.parquet")
    assert parquet.ParquetFile(file).num_row_groups > 1
    there = duckdb.sql(
        f"SELECT count(*), count(DISTINCT index), min(index), max(index) FROM '{tmp_path}/portable/tables/long_texts/*.parquet'"
    )
    assert there.fetchone() == (100_000, 100_000, 0, 99_999)


def test_commands(portable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = portable.parent / "state"
    with contextlib.chdir(tmp_path):
        assert cli.main(["savepoint", "export", str(state), "for-portable", "moved"]) == 0
        assert cli.main(["savepoint", "import", "moved", "--partitions", "3"]) == 0
        assert cli.main(["savepoint", "export", str(state), "for-portable", "again", "--json"]) == 0
        assert cli.main(["doctor", ".headrace/sums"]) == 0
    one, two, rest = capsys.readouterr().out.split("\n", 2)
    what = f"for-portable: sums after epoch 0, with 5 keys of 1 operator, * KB in {tmp_path}/moved"
    assert re.sub(r"\d+ KB", "* KB", one) == f"exported {what}"
    assert re.sub(r"\d+ KB", "* KB", two) == f"made {tmp_path}/.headrace/sums from {what}"
    shown = json.loads(rest[: rest.rindex("}") + 1])
    assert (shown["name"], shown["job"], shown["keys"], list(shown["tables"])) == ("for-portable", "sums", {"sums": 5}, ["sums"])
    assert json.loads((tmp_path / ".headrace" / "sums" / "job.json").read_text())["partitions"] == 3
