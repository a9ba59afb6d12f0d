"""Connectors without a JVM: options, paths, commits."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from rich.live import Live

import headrace as hr
from headrace import ports
from headrace.connectors import console, files, foreach_batch, memory, rate
from headrace.jvm.store import cure
from headrace.ports import paths
from headrace.schema import parse_schema

SCHEMA = parse_schema("card string, at timestamp")
ROWS = [("a", 0), ("b", 1_000_000)]


def context(folder: Path, **changes: Any) -> ports.SinkContext:
    values = {
        "job": "job",
        "name": "sink",
        "schema": SCHEMA,
        "session": cast(Any, None),
        "checkpoint": folder / "checkpoint",
        "checkpoint_id": "c1",
    }
    return ports.SinkContext(**{**values, **changes})


def one_file(folder: Path, epoch: int) -> ports.Staged:
    """A file with a row, as a task leaves it."""
    path = f"_headrace/staging/{epoch}-0-1/part-0.json"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("{}")
    return ports.Staged(1, ({"path": path, "rows": 1, "bytes": 2},))


def staged(rows: list[tuple[Any, ...]]) -> ports.Staged:
    return ports.Staged(len(rows), (), lambda: rows)


def test_rows_of_memory_take_the_place_of_those_with_their_key(tmp_path: Path) -> None:
    sink = memory.Sink(key="CARD")
    sink.open(context(tmp_path, schema=parse_schema("card string, n int"), mode="upsert"))
    for epoch, rows in enumerate([[("a", 1, 1), ("b", 5, 1)], [("a", 2, 1)], [("b", 5, -1), ("b", 6, 1)], [("c", 1, 1), ("b", 6, -1)]]):
        sink.commit(epoch, staged(rows))
    assert sink.rows() == [("a", 2), ("c", 1)]
    assert sink.changes()[:3] == [(0, "+", ("a", 1)), (0, "+", ("b", 5)), (1, "+", ("a", 2))]


@pytest.mark.parametrize(
    "source",
    [
        files.Source(
            "charges/*.csv",
            format="csv",
            schema=SCHEMA,
            follow=True,
            by="time",
            files_per_epoch=3,
            malformed="fail",
            broken_files="skip",
            options={"sep": ";"},
        ),
        rate.Source(5),
        memory.Source([("a", "2026-01-01 00:00:00")], SCHEMA),
    ],
)
def test_a_source_is_what_its_options_say(source: ports.Source) -> None:
    assert source.schema is not None
    again = type(source).from_options(source.options(), source.schema)
    assert (again.options(), again.describe(), again.traits) == (source.options(), source.describe(), source.traits)


@pytest.mark.parametrize(
    "sink",
    [
        files.Sink("out", format="csv", partition_by=["day"], options={"sep": ";"}),
        console.Sink(3),
        memory.Sink(),
        foreach_batch.Sink(print),
    ],
)
def test_a_sink_is_what_its_options_say(sink: ports.Sink) -> None:
    again = type(sink).from_options(sink.options())
    assert (again.options(), again.describe(), again.traits) == (sink.options(), sink.describe(), sink.traits)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("charges/", "charges"),
        ("data/charges/*.json", "charges"),
        ("/data/charges.json", "charges"),
        ("*.json", "files"),
        ("s3://b/in/charges", "charges"),
        ("./x y/", "x_y"),
    ],
)
def test_a_source_is_named_after_its_path(path: str, name: str) -> None:
    assert hr.read.files(path, format="json", schema="a int")._node.name == name


def test_a_path_in_a_store_stays_as_written() -> None:
    """By its address a checkpoint knows what it has read, and a session may have its own file system under any name."""
    for path in ("s3://bucket/in", "s3a://bucket/in", "gs://bucket/in", "file:///in"):
        assert files.Source(path, format="json").options()["path"] == path
        assert files.Sink(path, format="json").options()["path"] == path
        assert files.Lookup(path, format="json", schema="a int").options()["path"] == path
    assert cure("s3") == "write s3a://, Hadoop's name for S3: headrace then adds what it needs"


def test_what_is_listed(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "_hidden.json", ".c.json", "c.json._COPYING_", "day=1/d.json", "_headrace/staging/e.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")

    def listed(path: object) -> list[str]:
        return [str(file.relative_to(tmp_path)) for file in paths.listed(str(path), {}) or []]

    assert listed(tmp_path) == ["a.json", "b.json", "day=1/d.json"]
    assert listed(tmp_path / "*.json") == ["a.json", "b.json"]
    assert listed(tmp_path / "_hidden.json") == []
    assert listed(f"{tmp_path}/{{a,b}}.json") == ["a.json", "b.json"]
    assert paths.listed("s3://bucket/in", {}) is None and paths.passed_over("s3://bucket/in", {}) == []


def test_signs_of_patterns_in_the_names_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a [1]" / "in").mkdir(parents=True)
    (tmp_path / "a 1" / "in").mkdir(parents=True)
    for folder in ("a [1]", "a 1"):
        (tmp_path / folder / "in" / "x.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "a [1]")
    for text in ("in", "in/*.json", f"{tmp_path}/a [1]/in", f"{tmp_path}/a [1]/in/{{x,y}}.json"):
        assert paths.listed(text, {}) == [tmp_path / "a [1]" / "in" / "x.json"], text
    assert paths.for_hadoop("in") == (f"file://{tmp_path}/a [1]/in", False)
    assert paths.for_hadoop("in/*.json") == (f"file://{tmp_path}/a \\[1\\]/in/*.json", True)
    assert paths.for_reader("in") == f"file://{tmp_path}/a \\[1\\]/in"
    assert len(paths.listed(f"{tmp_path}/a ?1?/in", {}) or []) == 1
    assert files.Sink("out", format="json").folder == tmp_path / "a [1]" / "out"


@pytest.mark.parametrize("written", ["../data", "./../data/", "../data/*.json", "{tmp}/query/../data"])
def test_files_are_the_same_however_their_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    for folder in ("data", "query/sources/data", "here"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data" / "a.json").write_text("{}")
    (tmp_path / "query" / "sources" / "data" / "0").write_text(f'v1\n{{"path":"file:{tmp_path}/data/a.json","timestamp":1,"batchId":0}}')
    monkeypatch.chdir(tmp_path / "here")
    source = files.Source(written.format(tmp=tmp_path), format="json", schema="a int")
    assert source.unread(cast(Any, None), ports.SourceContext("data", tmp_path / "query")) == 0


def test_files_in_subfolders_that_are_not_read(tmp_path: Path) -> None:
    for name in ("a.json", "archive/b.json", "archive/c.json", "archive/_d.json", "archive/old/e.json"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text("{}")
    source = files.Source(tmp_path / "in", format="json", schema="a int")
    where = ports.SourceContext("in", tmp_path / "query")
    reads = 'to read subfolders too, set options={"recursiveFileLookup": "true"}'
    notice = f"does not read the subfolders of {tmp_path}/in (2 files in {tmp_path}/in/archive and 1 in others); {reads}"
    assert (source.unread(cast(Any, None), where), source.notice()) == (1, notice)
    assert files.Lookup(tmp_path / "in", format="json", schema="a int").notice() == notice
    deep = files.Source(tmp_path / "in", format="json", schema="a int", options={"recursiveFileLookup": True})
    assert (deep.unread(cast(Any, None), where), deep.notice()) == (4, None)
    folders = files.Source(tmp_path / "in" / "*", format="json", schema="a int")
    notice = f"does not read the subfolders of {tmp_path}/in/* (1 file in {tmp_path}/in/archive/old); {reads}"
    assert (folders.unread(cast(Any, None), where), folders.notice()) == (3, notice)
    assert files.Source(tmp_path / "in/*/*.json", format="json", schema="a int").notice() is None
    # a sink's manifests say what is read of its folder
    (tmp_path / "in" / "_headrace").mkdir()
    assert source.notice() is None


def test_files_that_a_query_has_not_read(tmp_path: Path) -> None:
    data, query = tmp_path / "data", tmp_path / "query"
    data.mkdir()
    for name in ("a.json", "b b.json", "c.json"):
        (data / name).write_text("{}")
    log = query / "sources" / "0"
    log.mkdir(parents=True)
    source = files.Source(data, format="json", schema="a int")
    where = ports.SourceContext("data", query)
    assert source.unread(cast(Any, None), where) == 3
    (log / "0").write_text(f'v1\n{{"path":"{(data / "a.json").as_uri()}","timestamp":1,"batchId":0}}')
    (log / "1").write_text(f'v1\n{{"path":"{(data / "b b.json").as_uri()}","timestamp":1,"batchId":1}}')
    assert source.unread(cast(Any, None), where) == 1
    (log / "2").write_text(f'v3\n{{"path":"{(data / "c.json").as_uri()}","batchId":2,"length":2}}\n')
    assert source.unread(cast(Any, None), where) == 0
    for name in ("a.json", "c.json"):  # of the first no length is known
        (data / name).write_text("{}\n{}")
    assert source.unread(cast(Any, None), where) == 1
    (log / "3").write_text(f'v3\n{{"path":"{(data / "c.json").as_uri()}","batchId":3,"length":5,"was":2}}\n')
    assert source.unread(cast(Any, None), where) == 0


def test_csv_has_a_header_unless_told_otherwise() -> None:
    assert files.Source("x", format="csv", schema="a int").options()["options"] == {"header": "true"}
    assert files.Source("x", format="csv", schema="a int", options={"Header": False}).options()["options"] == {"header": "false"}
    assert files.Sink("x", format="csv").options()["options"] == {"header": "true"}


def test_a_files_sink_commits_each_epoch_once(tmp_path: Path) -> None:
    def stage(epoch: int) -> ports.Staged:
        place = f"_headrace/staging/{epoch}-0/part-0.json"
        (tmp_path / "out" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / place).write_text(str(epoch))
        return ports.Staged(1, ({"path": place, "rows": 1, "bytes": 1},))

    sink = files.Sink(tmp_path / "out", format="json")
    sink.open(context(tmp_path))
    sink.recover()
    assert sink.stage()["folder"] == f"file://{tmp_path}/out"
    sink.commit(0, stage(0))
    sink.commit(0, stage(0))
    sink.commit(1, stage(1))
    assert [file.read_text() for file in hr.committed_files(tmp_path / "out")] == ["0", "1"]


def test_a_folder_of_another_checkpoint(tmp_path: Path) -> None:
    files.Sink(tmp_path / "out", format="json").open(context(tmp_path))
    with pytest.raises(hr.CheckpointError):
        files.Sink(tmp_path / "out", format="json").open(context(tmp_path, checkpoint_id="c2"))
    files.Sink(tmp_path / "out", format="json").open(context(tmp_path, checkpoint_id="c2", fresh=True))


def test_a_fresh_start_clears_what_was_there_before_it_only(tmp_path: Path) -> None:
    def files_sink() -> files.Sink:
        sink = files.Sink(tmp_path / "out", format="json")
        sink.open(context(tmp_path, checkpoint_id="c2", fresh=True))
        return sink

    (tmp_path / "out").mkdir()
    old = files.Sink(tmp_path / "out", format="json")
    old.open(context(tmp_path))
    old.commit(0, one_file(tmp_path / "out", 0))
    first = files_sink()
    assert not (tmp_path / "out" / "_headrace" / f"{0:020}.json").exists()
    first.commit(0, one_file(tmp_path / "out", 0))
    files_sink()
    assert (tmp_path / "out" / "_headrace" / f"{0:020}.json").exists()


def test_a_fresh_start_leaves_what_another_job_wrote(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    old = files.Sink(tmp_path / "out", format="json")
    old.open(context(tmp_path))
    old.commit(0, one_file(tmp_path / "out", 0))
    kept = hr.committed_files(tmp_path / "out")
    with pytest.raises(hr.CheckpointError, match=r"FOLDER_OWNED: .* but this is job third"):
        files.Sink(tmp_path / "out", format="json").open(context(tmp_path, job="third", checkpoint_id="c2", fresh=True))
    assert hr.committed_files(tmp_path / "out") == kept != []
    again = files.Sink(tmp_path / "out", format="json")
    again.open(context(tmp_path))
    assert again.mark(context(tmp_path)) == old.mark(context(tmp_path))


def test_memory_keeps_rows_by_epoch(tmp_path: Path) -> None:
    sink = memory.Sink()
    sink.open(context(tmp_path, time_zone="Europe/Stockholm"))
    sink.commit(0, staged(ROWS))
    sink.commit(2, staged([("c", None)]))
    sink.commit(2, staged([("d", None)]))  # run again
    first = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert sink.rows() == [("a", first), ("b", first + dt.timedelta(seconds=1)), ("d", None)]
    assert [epoch for epoch, _ in sink.epochs()] == [0, 2]
    assert str(sink.rows()[0][1]) == "1970-01-01 01:00:00+01:00"
    sink.open(context(tmp_path))
    assert len(sink.rows()) == 3
    sink.open(context(tmp_path, fresh=True))
    assert sink.rows() == []


def test_the_handle_of_a_memory_sink_shows_its_rows() -> None:
    kept = hr.read.memory([], "a int", name="s").write.memory()
    kept._use()
    assert kept.rows() == []
    with pytest.raises(AttributeError):
        _ = kept.commit


def test_console_shows_the_newest_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sink = console.Sink(1)
    sink.open(context(tmp_path, name="join-2e65d5f4.console", shown="alerts"))
    sink.commit(4, staged([]))
    assert capsys.readouterr().out == ""
    sink.commit(5, staged([("[red]", 0), ("[b]", None)]))
    shown = capsys.readouterr().out
    assert "alerts, epoch 5, the last 1 of 2 rows" in shown and "[b]" in shown and "[red]" not in shown


def test_the_console_makes_room_for_a_line_of_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sink = console.Sink(1)
    sink.open(context(tmp_path, name="alerts"))
    line = Console(file=io.StringIO(), force_terminal=True)
    with Live("at work", console=line, auto_refresh=False):
        sink.commit(0, staged([("a", 0)]))
    # it came by way of the line, which clears itself first
    assert "alerts, epoch 0" in line.file.getvalue()  # type: ignore[attr-defined]  # it is the one above
    assert capsys.readouterr().out == ""


def test_foreach_batch_calls_with_rows_and_cleans_up(tmp_path: Path) -> None:
    class Reader:
        def schema(self, ddl: str) -> Reader:
            self.ddl = ddl
            return self

        def parquet(self, *paths: str) -> tuple[str, ...]:
            return (self.ddl, *paths)

    class Session:
        read = Reader()

    calls: list[tuple[Any, int]] = []
    sink = foreach_batch.Sink(lambda frame, epoch: calls.append((frame, epoch)))
    sink.open(context(tmp_path, session=Session()))
    sink.recover()
    folder = Path(sink.stage()["folder"].removeprefix("file://"))
    place = "_headrace/staging/0-0/part-0.parquet"
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_text("")
    sink.commit(0, ports.Staged(0))
    sink.commit(1, ports.Staged(1, ({"path": place, "rows": 1, "bytes": 0},)))
    assert calls == [((SCHEMA.ddl, f"file://{folder}/{place}"), 1)]
    assert not (folder / "_headrace" / "staging").exists()
    sink.close()


def test_a_start_of_foreach_batch_that_was_replaced_leaves_what_its_successor_has_staged(tmp_path: Path) -> None:
    old, new = foreach_batch.Sink(print), foreach_batch.Sink(print)
    placed = []
    for term, sink in enumerate((old, new), 1):
        sink.open(context(tmp_path, term=term))
        sink.recover()
        placed.append(Path(sink.stage()["folder"].removeprefix("file://")) / "_headrace/staging/0-0/part-0.parquet")
        placed[-1].parent.mkdir(parents=True)
        placed[-1].write_text("")
    assert [file.exists() for file in placed] == [False, True]
    old.commit(0, ports.Staged(0))
    old.close()
    assert placed[1].exists()
    new.close()
    assert not placed[1].exists()


def test_sinks_of_foreach_batch_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = set()
    for name in ("a b", "a_b", "a.b", "ä-b"):
        sink = foreach_batch.Sink(print)
        sink.open(context(tmp_path, name=name))
        folders.add(sink.stage()["folder"])
    assert len(folders) == 4
