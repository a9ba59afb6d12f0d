"""The checkpoint file manager: all or nothing, one winner, and the answers Spark's own managers give."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = "headrace.checkpoint.LocalCheckpointFileManager"


class Files:
    """A manager on one folder, as Spark would make it from the configuration."""

    def __init__(self, spark: SparkSession, folder: Path | str, kind: str = OURS, **conf: str) -> None:
        jvm: Any = spark._jvm
        self.path = jvm.org.apache.hadoop.fs.Path
        settings = jvm.org.apache.hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
        if kind:
            settings.set("spark.sql.streaming.checkpointFileManagerClass", kind)
        for key, value in conf.items():
            settings.set(key, value)
        self.manager = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(
            self.path(str(folder)), settings
        )

    def write(self, file: Path | str, text: str, *, overwrite: bool = False) -> None:
        out = self.manager.createAtomic(self.path(str(file)), overwrite)
        try:
            out.write(bytearray(text.encode()))
            out.close()
        except BaseException:
            out.cancel()
            raise

    def read(self, file: Path | str) -> str:
        stream = self.manager.open(self.path(str(file)))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def names(self, folder: Path | str) -> set[str]:
        return {status.getPath().getName() for status in self.manager.list(self.path(str(folder)))}


@pytest.fixture(params=[OURS, ""], ids=["ours", "spark's"])
def files(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Files:
    return Files(spark, tmp_path, request.param)


def failure(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(Py4JJavaError) as caught:
        call(*args, **options)
    return str(caught.value.java_exception.getClass().getName())


def test_same_answers_as_spark(files: Files, tmp_path: Path) -> None:
    one = tmp_path / "one"
    files.write(one, "first")
    assert files.read(one) == "first"
    assert failure(files.write, one, "second") == "org.apache.hadoop.fs.FileAlreadyExistsException"
    assert files.read(one) == "first"
    files.write(one, "third", overwrite=True)
    assert files.read(one) == "third"
    # Spark's own manager leaves the refused writer's temporary file behind.
    assert {name for name in files.names(tmp_path) if not name.startswith(".")} == {"one"}
    assert files.manager.exists(files.path(str(one)))
    assert files.manager.isLocal()

    folder = tmp_path / "a" / "b"
    files.manager.mkdirs(files.path(str(folder)))
    files.manager.mkdirs(files.path(str(folder)))
    files.write(folder / "two", "2")
    assert [(s.getPath().toString(), s.isDirectory()) for s in files.manager.list(files.path(str(tmp_path / "a")))] == [
        (f"file:{folder}", True)
    ]
    status = files.manager.list(files.path(str(folder / "two")))[0]
    assert (status.getPath().toString(), status.getLen(), status.isFile()) == (f"file:{folder}/two", 1, True)

    missing = files.path(str(tmp_path / "nothing"))
    assert not files.manager.exists(missing)
    files.manager.delete(missing)
    assert failure(files.manager.open, missing) == "java.io.FileNotFoundException"
    assert failure(files.manager.list, missing) == "java.io.FileNotFoundException"
    files.manager.delete(files.path(str(tmp_path / "a")))
    assert not (tmp_path / "a").exists()


def test_checkpoint_directory_is_made_and_qualified(files: Files, tmp_path: Path, spark: SparkSession) -> None:
    there = Files(
        spark,
        tmp_path / "new folder" / "ck",
        files.manager.getClass().getName() if "headrace" in files.manager.getClass().getName() else "",
    )
    assert there.manager.createCheckpointDirectory().toString() == f"file:{tmp_path}/new folder/ck"
    assert (tmp_path / "new folder" / "ck").is_dir()


def test_nothing_is_seen_before_close_and_nothing_is_left_after_cancel(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    out = files.manager.createAtomic(files.path(str(tmp_path / "x")), False)
    out.write(bytearray(b"half"))
    assert not (tmp_path / "x").exists()
    out.cancel()
    out.cancel()
    out.close()
    assert list(tmp_path.iterdir()) == []
    files.write(tmp_path / "x", "1")
    assert failure(files.write, tmp_path / "x", "2") == "org.apache.hadoop.fs.FileAlreadyExistsException"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".x.crc", "x"]


def test_missing_parent_is_an_error_as_it_is_in_spark(files: Files, tmp_path: Path) -> None:
    # A checkpoint that was deleted under a running query must not come back as an empty one.
    problem = failure(files.write, tmp_path / "gone" / "x", "1")
    assert problem == "java.io.FileNotFoundException"


def test_of_two_writers_exactly_one_wins(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(40):
        managers = [Files(spark, tmp_path) for _ in range(2)]
        barrier = threading.Barrier(2)
        won: list[int] = []
        lost: list[str] = []

        def write(
            who: int,
            *,
            managers: list[Files] = managers,
            barrier: threading.Barrier = barrier,
            won: list[int] = won,
            lost: list[str] = lost,
            number: int = number,
        ) -> None:
            files = managers[who]
            out = files.manager.createAtomic(files.path(str(tmp_path / str(number))), False)
            out.write(bytearray(str(who).encode()))
            barrier.wait()
            try:
                out.close()
                won.append(who)
            except Py4JJavaError as error:
                lost.append(error.java_exception.getClass().getName())

        threads = [threading.Thread(target=write, args=(who,)) for who in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert lost == ["org.apache.hadoop.fs.FileAlreadyExistsException"]
        assert (tmp_path / str(number)).read_text() == str(won[0])
    assert {p.name for p in tmp_path.glob("[0-9]*")} == {str(n) for n in range(40)}


def test_what_a_crash_left_is_in_nobodys_way(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    abandoned = files.manager.createAtomic(files.path(str(tmp_path / "5")), False)
    abandoned.write(bytearray(b"never finished"))
    files.write(tmp_path / "5", "again")
    assert files.read(tmp_path / "5") == "again"
    # Spark takes what is no number for no batch; the leftover is hidden from every other reader, too.
    leftover = files.names(tmp_path) - {"5", ".5.crc"}
    assert len(leftover) == 1
    assert next(iter(leftover)).startswith(".5.")
    abandoned.cancel()


def test_stale_checksum_of_hadoop_does_not_condemn_a_new_file(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "x"))
    fs = path.getFileSystem(settings)
    out = fs.create(path, True)
    out.write(bytearray(b"old"))
    out.close()
    assert (tmp_path / ".x.crc").exists()
    Files(spark, tmp_path).write(tmp_path / "x", "something longer", overwrite=True)
    stream = fs.open(path)
    assert bytes(stream.readAllBytes()) == b"something longer"
    stream.close()


def test_the_checksum_of_hadoop_goes_with_its_file(files: Files, spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes files of state by Hadoop, and deletes them by the manager."""
    path = files.path(str(tmp_path / "1.sst"))
    path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).create(path, True).close()
    assert (tmp_path / ".1.sst.crc").exists()
    files.manager.delete(path)
    assert list(tmp_path.iterdir()) == []


def test_seeking_in_a_file_longer_than_the_buffer(spark: SparkSession, tmp_path: Path) -> None:
    content = bytes(n % 251 for n in range(100_000))
    (tmp_path / "long").write_bytes(content)
    files = Files(spark, tmp_path)
    stream = files.manager.open(files.path(str(tmp_path / "long")))
    for at in (0, 5, 99_999, 16_384, 16_383, 50_000, 49_990):
        stream.seek(at)
        assert stream.getPos() == at
        assert stream.read() == content[at]
        assert stream.getPos() == at + 1
    stream.seek(70_000)
    assert bytes(stream.readNBytes(25_000)) == content[70_000:95_000]
    assert bytes(stream.readAllBytes()) == content[95_000:]
    assert stream.read() == -1
    assert failure(stream.seek, 100_001) == "java.io.EOFException"
    stream.close()


def test_fsync_on_demand(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path, **{"headrace.checkpoint.fsync": "true"})
    files.write(tmp_path / "x", "kept")
    assert (tmp_path / "x").read_text() == "kept"


def test_other_file_systems_are_left_to_spark(spark: SparkSession) -> None:
    # Nothing listens there: the point is that the path is not taken for a local folder.
    conf = {
        "dfs.client.retry.policy.enabled": "false",
        "ipc.client.connect.max.retries": "0",
        "fs.viewfs.mounttable.t.link./x": "file:///tmp",
    }
    files = Files(spark, "viewfs://t/x", **conf)
    assert failure(files.read, "viewfs://t/x/certainly-not-there") == "java.io.FileNotFoundException"
    assert not (Path("/x")).exists()


@pytest.mark.full
def test_a_query_that_changes_manager_keeps_its_state(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    key = "spark.sql.streaming.checkpointFileManagerClass"
    source = tmp_path / "in"
    source.mkdir()

    def run() -> list[Any]:
        seen: list[Any] = []
        frame = spark.readStream.schema("k string").csv(str(source)).groupBy("k").count()
        query = (
            frame.writeStream.outputMode("update")
            .option("checkpointLocation", str(tmp_path / "ck"))
            .foreachBatch(lambda batch, _: seen.extend(tuple(row) for row in batch.collect()))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sorted(seen)

    assert jvm is not None
    before = spark.conf.get(key, None)
    provider = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    try:
        for number, manager in enumerate([None, OURS, None, OURS]):
            (source / f"{number}.csv").write_text("a\nb\na\n" if number == 0 else "a\n")
            if manager is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, manager)
            assert run() == ([("a", 2), ("b", 1)] if number == 0 else [("a", 2 + number)])
    finally:
        spark.conf.unset(provider)
        if before is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, before)
