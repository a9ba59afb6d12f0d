"""The one sink of a query: rows dealt out by consumer, staged in tasks, committed once by the driver."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import resource
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

numbers = itertools.count()
WIRE = "op int, key binary, side tinyint, ts timestamp, ord binary, w bigint, row binary"
COUNTS = "source string, op int, side int, metric string, n bigint"


class Committer:
    """Keeps what it is given; `answer` may refuse an epoch."""

    def __init__(self, ops: list[int], answer: Callable[[int], str | None] = lambda _: None) -> None:
        self.ops = ops
        self.answer = answer
        self.epochs: list[tuple[int, dict[str, Any], dict[int, list[Any]]]] = []

    def commit(self, epoch: int, staged: Any) -> str | None:
        self.epochs.append((epoch, json.loads(staged.json()), {op: pickle.loads(staged.rows(op)) for op in self.ops}))
        return self.answer(epoch)

    def still(self) -> str | None:
        return None

    def begin(self, epoch: int) -> str:
        return "="

    class Java:
        implements = ["headrace.sink.Committer"]  # noqa: RUF012 (py4j reads this attribute)


class Query:
    """Wire rows made by hand, sent through a board into the sink."""

    def __init__(self, spark: SparkSession, checkpoint: Path, sinks: list[dict[str, Any]], zone: str = "UTC") -> None:
        jvm: Any = spark._jvm
        self.jvm = jvm
        self.spark = spark
        self.sinks = sinks
        self.zone = zone
        self.checkpoint = checkpoint
        self.board = f"sink-{next(numbers)}"
        self.jvm.headrace.source.Board.create(self.board)

    def packed(self, ddl: str, row: tuple[Any, ...]) -> bytes:
        schema = self.jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl)
        convert = self.jvm.org.apache.spark.sql.execution.python.EvaluatePython.makeFromJava(schema)
        internal = convert.apply(self.jvm.net.razorvine.pickle.Unpickler().loads(pickle.dumps(row)))
        chunk = self.jvm.headrace.source.Chunk.pack(self.jvm.scala.Some(internal).iterator(), schema).head()
        return bytes(chunk.iterator().next().getBytes())

    def wire(self, op: int, row: tuple[Any, ...], w: int = 1) -> tuple[Any, ...]:
        ddl = COUNTS if op == -1 else next((sink["schema"] for sink in self.sinks if sink["op"] == op), "x int")
        return (op, b"", 0, None, None, w, self.packed(ddl, row))

    def epoch(self, rows: list[tuple[Any, ...]]) -> None:
        self.jvm.headrace.source.Board.append(self.board, "wire", pickle.dumps(rows), WIRE)
        self.jvm.headrace.source.Board.publish(self.board)

    def start(self, committer: Committer, *, partitions: int = 1) -> StreamingQuery:
        start_callbacks: Any = ensure_callback_server_started
        start_callbacks(self.spark.sparkContext._gateway)
        frame = DataFrame(
            self.jvm.headrace.source.Memory.frame(self.spark._jsparkSession, self.board, "wire", WIRE), self.spark
        ).repartition(partitions, "op", "row")
        java, inside = self.spark._jsparkSession, self.jvm.org.apache.spark.sql.headrace
        reader, mapper = self.jvm.headrace.document.SinkText.reader(), self.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        texts = [reader.read(mapper.readTree(json.dumps(sink)), "") for sink in self.sinks]
        sinks = self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(texts).toSeq()
        table = self.jvm.headrace.sink.Sink.table(java, sinks, self.zone, committer)
        soon = self.jvm.org.apache.spark.sql.streaming.Trigger.ProcessingTime(0)
        query = inside.Inside.start(java, str(self.checkpoint), frame._jdf, table, soon, inside.Time(self.jvm.scala.Option.empty()))
        from pyspark.sql.streaming.query import StreamingQuery

        return StreamingQuery(query)

    def run(self, committer: Committer, **options: Any) -> None:
        query = self.start(committer, **options)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    def drop(self) -> None:
        self.jvm.headrace.source.Board.drop(self.board)


@pytest.fixture
def make_query(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Query]]:
    queries: list[Query] = []

    def make(sinks: list[dict[str, Any]], zone: str = "UTC") -> Query:
        queries.append(Query(spark, tmp_path / "ck", sinks, zone))
        return queries[-1]

    yield make
    for query in queries:
        query.drop()


def rows_sink(op: int, schema: str) -> dict[str, Any]:
    return {"op": op, "name": f"sink{op}", "schema": schema, "stage": {"kind": "rows"}}


def files_sink(
    op: int, schema: str, folder: Path, kind: str, partition_by: tuple[str, ...] = (), options: dict[str, str] | None = None
) -> dict[str, Any]:
    stage = {"kind": "files", "format": kind, "options": options or {}, "partition_by": list(partition_by), "folder": str(folder)}
    return {"op": op, "name": f"sink{op}", "schema": schema, "stage": stage}


def writer_sink(op: int, folder: Path, name: str = "Noted", **options: str) -> dict[str, Any]:
    stage = {"kind": "writer", "class": f"writers.{name}", "options": {"folder": str(folder), **options}}
    return {"op": op, "name": f"sink{op}", "schema": "k int, v string", "stage": stage}


def staged(epoch: tuple[int, dict[str, Any], Any], op: int) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = epoch[1]["sinks"][str(op)]["files"]
    return files


def test_rows_are_dealt_out_and_counts_added_up(make_query: Callable[..., Query]) -> None:
    query = make_query(
        [rows_sink(1, "k string, v int"), {"op": 2, "name": "none", "schema": "x int", "stage": {"kind": "none"}}, rows_sink(3, "x int")]
    )
    query.epoch([
        query.wire(1, ("a", 1)), query.wire(2, (1,)), query.wire(1, ("b", None)), query.wire(2, (2,)),
        query.wire(-1, ("s", 0, 0, "read", 2)), query.wire(-1, ("s", 0, 0, "read", 3)), query.wire(-1, (None, 4, 1, "held", -1)),
        query.wire(-1, ("s", 0, 0, "max_time", 7)), query.wire(-1, ("s", 0, 0, "max_time", 5)),
    ])  # fmt: skip
    query.epoch([query.wire(3, (9,))])
    committer = Committer([1, 3])
    query.run(committer, partitions=3)
    assert len(committer.epochs) == 1
    epoch, described, rows = committer.epochs[0]
    assert epoch == 0
    assert described["counts"] == [[None, 4, 1, "held", -1], ["s", 0, 0, "max_time", 7], ["s", 0, 0, "read", 5]]
    assert {op: sink["rows"] for op, sink in described["sinks"].items()} == {"1": 2, "2": 2, "3": 1}
    assert described["watermark_ms"] == 0
    assert sorted(rows[1], key=str) == [("a", 1), ("b", None)]
    assert rows[3] == [(9,)]


def test_values_reach_python_as_internal_values(make_query: Callable[..., Query]) -> None:
    schema = (
        "b boolean, y tinyint, i int, l bigint, f float, d double, e double, n decimal(20,3), t string, x binary, day date, ts timestamp, "
        "a array<int>, m map<string,array<double>>, r struct<p: int, q: struct<s: string>>, iv interval day to second, ym interval year to month, "
        "mk map<struct<p: int>,binary>"
    )
    row = (
        True, -1, 2, 2**40, 1.5, math.nan, -math.inf, Decimal("1.250"), "ä\U0001f600", b"\x00\xff", 20454, 1767225600000000,
        [1, None], {"k": [2.5]}, (7, ("u",)), 1_500_000, None, None,
    )  # fmt: skip
    query = make_query([rows_sink(1, schema)])
    query.epoch([query.wire(1, row), query.wire(1, (None,) * len(row))])
    committer = Committer([1])
    query.run(committer)
    first, second = sorted(committer.epochs[0][2][1], key=lambda r: r[0] is None)
    assert math.isnan(first[5])
    assert first[:5] + first[6:] == row[:5] + row[6:]
    assert isinstance(first, tuple)
    assert isinstance(first[14], tuple)
    assert isinstance(first[9], bytes)
    assert isinstance(first[12], list)
    assert second == (None,) * len(row)


def test_a_replayed_epoch_is_staged_the_same_way(make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    query = make_query([rows_sink(1, "k int"), files_sink(2, "k int, v string", out, "json")])
    query.epoch(
        [query.wire(1, (n,)) for n in range(50)] + [query.wire(2, (n, "x")) for n in range(50)] + [query.wire(-1, ("s", 1, 0, "in", 50))]
    )
    refusing = Committer([1], lambda _: "the disk is away")
    with pytest.raises(StreamingQueryException, match="the disk is away"):
        query.run(refusing, partitions=3)
    committer = Committer([1])
    query.run(committer, partitions=3)
    assert [epoch for epoch, _, _ in refusing.epochs + committer.epochs] == [0, 0]
    before, after = refusing.epochs[0], committer.epochs[0]
    assert before[2] == after[2]
    assert before[1]["counts"] == after[1]["counts"]

    def contents(epoch: Any) -> list[tuple[str, int, str]]:
        return [(Path(f["path"]).name, f["rows"], (out / f["path"]).read_text()) for f in staged(epoch, 2)]

    # The files of the commit that failed are still there: it may have got far enough for them to count. Only the sink's recovery knows.
    assert contents(before) == contents(after)
    assert {f["path"] for f in staged(before, 2)}.isdisjoint({f["path"] for f in staged(after, 2)})


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_files_are_written_below_the_staging_folder(
    make_query: Callable[..., Query], spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out"
    query = make_query([files_sink(4, "k int, v string, ts timestamp", out, kind)], zone="Europe/Berlin")
    query.epoch([query.wire(4, (n, f"v{n}", 1767225600000000)) for n in range(10)])
    committer = Committer([])
    query.run(committer)
    (file,) = staged(committer.epochs[0], 4)
    path = out / file["path"]
    assert file["path"].startswith("_headrace/staging/0-0-")
    assert path.name == "part-00000-000" + {"parquet": ".snappy.parquet"}.get(kind, f".{kind}")
    assert (file["rows"], file["bytes"]) == (10, path.stat().st_size)
    assert [other for other in out.rglob("*") if other.is_file()] == [path]
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    text = (
        spark.read.schema("k int, v string, ts string").format(kind).load(str(path)) if kind != "parquet" else spark.read.parquet(str(path))
    )
    assert sorted(row[0] for row in text.collect()) == list(range(10))
    if kind == "parquet":
        assert pyarrow.parquet.read_schema(path).field("ts").type == pyarrow.timestamp("us", "UTC")
    else:
        assert text.collect()[0]["ts"] == "2026-01-01T01:00:00.000+01:00"


def test_partition_folders_are_spelled_as_spark_spells_them(make_query: Callable[..., Query], spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    schema = "a string, n int, d date, v int"
    rows = [("x/y=z", 1, 20454, 1), ("x/y=z", 1, 20454, 2), (None, None, None, 3), ("", 2, 0, 4), ("ä b", 3, 1, 5), ("x/y=z", 2, 20454, 6)]
    query = make_query([files_sink(1, schema, out, "json", ("a", "n", "d"))])
    query.epoch([query.wire(1, row) for row in rows])
    committer = Committer([])
    query.run(committer)
    rows_by_folder = {tuple(Path(f["path"]).parts[3:-1]): f["rows"] for f in staged(committer.epochs[0], 1)}
    reference = tmp_path / "reference"
    spark.createDataFrame([(a, n, v) for a, n, _, v in rows], "a string, n int, v int").selectExpr(
        "a", "n", "date_from_unix_date(CASE v WHEN 3 THEN NULL WHEN 4 THEN 0 WHEN 5 THEN 1 ELSE 20454 END) AS d", "v"
    ).write.partitionBy("a", "n", "d").json(str(reference))
    assert set(rows_by_folder) == {path.parent.relative_to(reference).parts for path in reference.rglob("*.json")}
    assert sum(rows_by_folder.values()) == 6
    content = (out / next(f["path"] for f in staged(committer.epochs[0], 1) if f["rows"] == 2)).read_text().splitlines()
    assert [json.loads(line) for line in content] == [{"v": 1}, {"v": 2}]


@pytest.mark.full
def test_many_partition_values_keep_few_files_open(make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    query = make_query([files_sink(1, "p int, v int", out, "csv", ("p",))])
    query.epoch([query.wire(1, (n % 200, n)) for n in range(400)])
    committer = Committer([])
    query.run(committer)
    files = staged(committer.epochs[0], 1)
    assert sum(f["rows"] for f in files) == 400
    values = sorted(int(line) for f in files for line in (out / f["path"]).read_text().split())
    assert values == list(range(400))


def test_a_failed_task_leaves_no_file_and_no_count(make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    query = make_query([files_sink(1, "k int", out, "parquet")])
    query.epoch([query.wire(1, (n,)) for n in range(100)] + [query.wire(7, (1,))])
    committer = Committer([])
    with pytest.raises(StreamingQueryException, match="a row for consumer 7 reached the sinks"):
        query.run(committer)
    assert committer.epochs == []
    assert [path for path in out.rglob("*") if path.is_file()] == []


def test_rows_with_weights_do_not_pass_for_one(make_query: Callable[..., Query]) -> None:
    query = make_query([rows_sink(1, "k int")])
    query.epoch([query.wire(1, (1,), w=-1)])
    with pytest.raises(StreamingQueryException, match="a row for sink 1 has weight -1"):
        query.run(Committer([]))


def test_a_folder_that_cannot_be_written_is_named(make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("a file where a folder should be")
    query = make_query([files_sink(1, "k int", out, "csv")])
    query.epoch([query.wire(1, (1,))])
    with pytest.raises(StreamingQueryException, match=rf"cannot write .*{out}/_headrace/staging/0-0-.*: "):
        query.run(Committer([]))


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_disk_that_takes_no_more_is_named_and_nothing_is_left(make_query: Callable[..., Query], tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    # Rows that are small on their way through a shuffle, which compresses, and large in the file.
    options = {"compression": "none", "parquet.enable.dictionary": "false"} if kind == "parquet" else {}
    query = make_query([files_sink(1, "k string", out, kind, options=options)])
    query.epoch([query.wire(1, ("x" * 500_000 + str(n),)) for n in range(8)])
    process = int(query.jvm.java.lang.ProcessHandle.current().pid())
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(StreamingQueryException, match=rf"cannot write .*{out}/_headrace/staging/0-0-.*: File too large"):
            query.run(Committer([]))
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))
    assert [path for path in out.rglob("*") if path.is_file()] == []
    committer = Committer([])
    query.run(committer)
    assert committer.epochs[0][1]["sinks"]["1"]["rows"] == 8


def test_schemas_that_a_format_cannot_hold(make_query: Callable[..., Query], tmp_path: Path) -> None:
    for sink, message in (
        (files_sink(1, "k map<int,int>", tmp_path, "csv"), "csv files cannot hold column k of type MAP<INT, INT>"),
        (files_sink(1, "k int", tmp_path, "csv", ("k",)), "partition_by has every column; none is left for the files"),
    ):
        query = make_query([sink])
        with pytest.raises(Exception, match=message):
            query.start(Committer([]))


def test_an_exception_in_the_committer_ends_the_query(make_query: Callable[..., Query]) -> None:
    def fail(_: int) -> str | None:
        raise ValueError("broken here")

    query = make_query([rows_sink(1, "k int")])
    query.epoch([query.wire(1, (1,))])
    with pytest.raises(StreamingQueryException, match="epoch 0 could not be committed"):
        query.run(Committer([1], fail))


def test_a_writer_writes_in_the_tasks_and_its_notes_reach_the_commit(
    writers: None, make_query: Callable[..., Query], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    query = make_query([writer_sink(1, out), writer_sink(2, out)], zone="Europe/Berlin")
    query.epoch([query.wire(1, (n, "a")) for n in range(20)])
    committer = Committer([1])
    query.run(committer, partitions=3)
    described = committer.epochs[0][1]["sinks"]
    assert described["1"]["rows"] == 20
    assert described["1"]["files"] == []
    assert described["2"] == {"rows": 0, "files": [], "parts": []}
    parts = described["1"]["parts"]
    assert all(part["file"].startswith(f"0-{part['of']}-") for part in parts)
    lines = [line for part in parts for line in (out / part["file"]).read_text().splitlines()]
    assert sorted(lines, key=lambda line: int(line.split()[0])) == [f"{n} a sink1 Europe/Berlin 2" for n in range(20)]


def test_what_a_failed_epoch_wrote_is_aborted_and_swept(writers: None, make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    query = make_query([writer_sink(1, out, fail_at="7"), writer_sink(2, out)])
    query.epoch([query.wire(1, (n, "a")) for n in range(20)] + [query.wire(2, (n, "b")) for n in range(20)])
    committer = Committer([])
    with pytest.raises(StreamingQueryException, match="no room for 7"):
        query.run(committer, partitions=1)
    assert committer.epochs == []
    assert [path.name for path in out.iterdir()] == ["log"]
    log = (out / "log").read_text().splitlines()
    assert "aborted 0" in log
    assert log[-2:] == ["swept 0", "swept 0"]
    (out / "mended").touch()
    query.run(committer, partitions=1)
    assert {op: sink["rows"] for op, sink in committer.epochs[0][1]["sinks"].items()} == {"1": 20, "2": 20}


def test_a_sweep_that_fails_does_not_hide_why_the_epoch_failed(writers: None, make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    query = make_query([writer_sink(1, out, fail_at="7", sweep_fails="yes"), writer_sink(2, out)])
    query.epoch([query.wire(1, (7, "a"))])
    with pytest.raises(StreamingQueryException, match="no room for 7"):
        query.run(Committer([]), partitions=1)
    assert (out / "log").read_text().splitlines()[-1] == "swept 0"


def test_what_a_commit_may_have_used_is_not_swept(writers: None, make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    query = make_query([writer_sink(1, out)])
    query.epoch([query.wire(1, (1, "a"))])
    with pytest.raises(StreamingQueryException, match="not now"):
        query.run(Committer([], lambda _: "not now"))
    assert [path.name[:4] for path in out.iterdir()] == ["0-0-"]


def test_writers_that_cannot_be_had(writers: None, make_query: Callable[..., Query], tmp_path: Path) -> None:
    for name, message in (("Gone", "is not on the class path"), ("Other", "does not derive from WriterStage")):
        query = make_query([writer_sink(1, tmp_path, name)])
        with pytest.raises(Exception, match=f"sink sink1: the writer writers.{name} {message}"):
            query.start(Committer([]))


def test_a_writer_that_does_not_open_aborts_the_others(writers: None, make_query: Callable[..., Query], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    query = make_query([writer_sink(1, out), writer_sink(2, out, "Shut")])
    query.epoch([query.wire(1, (1, "a"))])
    with pytest.raises(StreamingQueryException, match="sink2 is shut"):
        query.run(Committer([]))
    assert "aborted 0" in (out / "log").read_text().splitlines()
