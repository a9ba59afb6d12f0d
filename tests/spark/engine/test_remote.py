"""Files in a store that renames nothing: what a reader of the manifests sees, after crashes, replays and broken commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.connectors.files.remote import RemoteManifest
from headrace.durable.manifest import Owner, StagedFile
from headrace.errors import HeadraceError
from headrace.jvm import compile, java
from headrace.jvm.session import jvm, to_driver
from headrace.jvm.store import Store, hadoop_version
from tests.unit.errors import check_error

# The store is a class of Scala, compiled for these tests alone.
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def bucket(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store in a folder of its own."""
    jar = tmp_path_factory.mktemp("bucket") / "bucket.jar"
    problem = compile.scalac(java.find(), Path(__file__).parent / "scala", jar)
    assert problem is None, problem
    to_driver(spark, jar)
    spark.sparkContext._jsc.addJar(str(jar))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.bucket.impl", "headrace.trial.Bucket")
    conf.setBoolean("fs.bucket.impl.disable.cache", True)
    return f"bucket://here{tmp_path_factory.mktemp('store')}"


@pytest.fixture
def place(bucket: str, request: pytest.FixtureRequest) -> str:
    return f"{bucket}/{request.node.name.partition('[')[0]}"


def local(place: str) -> Path:
    return Path(place.removeprefix("bucket://here"))


def put(folder: Path, number: int, *rows: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def job(folder: Path, place: str, **options: Any) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, v int", name="rows", files_per_epoch=1)
    return hr.job("stored", rows.write.files(place, format="json", name="out", **options))


def rows(place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for file in hr.committed_paths(place) for line in local(file).read_text(encoding="utf-8").splitlines()]


def test_what_is_written_is_read_by_the_manifests(spark: SparkSession, place: str, tmp_path: Path) -> None:
    put(tmp_path / "in", 1, {"k": "a", "v": 1}, {"k": "b", "v": 2})
    put(tmp_path / "in", 2, {"k": "a", "v": 3})
    job(tmp_path, place, partition_by="k").run(checkpoint=tmp_path / "checkpoint", progress=False, flush=False)
    assert [row["v"] for row in rows(place)] == [1, 2, 3]
    assert {file.partition("/k=")[2][:1] for file in hr.committed_paths(place)} == {"a", "b"}
    # What a task left that does not count is in no manifest.
    (local(place) / "part-1-0-99-dead-00000-000.json").write_text('{"v": 99}\n', encoding="utf-8")
    again = hr.read.files(place, format="json", schema="v int", name="again")
    assert sorted(hr.collect(again).rows()) == [(1,), (2,), (3,)]
    put(tmp_path / "in", 3, {"k": "c", "v": 4})
    job(tmp_path, place, partition_by="k").run(checkpoint=tmp_path / "checkpoint", progress=False, flush=False)
    assert [row["v"] for row in rows(place)] == [1, 2, 3, 4]
    assert not (local(place) / "part-1-0-99-dead-00000-000.json").exists()


def test_a_folder_that_is_followed(spark: SparkSession, place: str, tmp_path: Path) -> None:
    put(local(place), 1, {"k": "a", "v": 1})
    source = hr.read.files(place, format="json", schema="k string, v int", name="source", follow=True)
    going = hr.job("follow", source.write.files(tmp_path / "out", format="json", name="out")).start(
        checkpoint=tmp_path / "c", progress=False
    )
    try:
        until(going, 1)
        put(local(place), 2, {"k": "b", "v": 2})
        until(going, 2)
    finally:
        going.stop()


def test_a_folder_of_a_sink_cannot_be_followed(spark: SparkSession, place: str, tmp_path: Path) -> None:
    RemoteManifest(spark, place).claim(Owner("job", "out", "c1"))
    source = hr.read.files(place, format="json", schema="k string, v int", name="source", follow=True)
    check_error(
        """
        BAD_OPTION: read.files: <place> is the folder of a files sink, and in an object store files exist before they are committed
          at test_remote.py:*: source = hr.read.files(place, format="json", schema="k string, v int", name="source", follow=True)
          hint: read it without follow=True: then only committed files are read
          more: headrace error BAD_OPTION
        """,
        lambda: hr.job("follow", source.write.memory()).start(checkpoint=tmp_path / "c", progress=False),
        hide={place: "<place>"},
    )


def until(going: hr.Run, read: int) -> None:
    while going.metrics["sources"][0]["read"] < read:
        assert going.wait(0.1) is None, "the run has ended"


@pytest.mark.parametrize("part", [0, 20, 10**6], ids=["nothing", "a part", "all of it"])
def test_a_commit_that_breaks_off(spark: SparkSession, place: str, tmp_path: Path, part: int) -> None:
    place = f"{place}-{part}"
    put(tmp_path / "in", 1, {"k": "a", "v": 1})
    put(tmp_path / "in", 2, {"k": "b", "v": 2})
    jvm(spark).headrace.trial.Bucket.breaks().put(f"{1:020}.json", part)
    # Where something is there, it is looked at at once.
    if part == 0:
        with pytest.raises(HeadraceError) as raised:
            job(tmp_path, place).run(checkpoint=tmp_path / "checkpoint", progress=False)
        assert raised.value.code == "STORE_FAILED"
        assert rows(place) == [{"k": "a", "v": 1}]
    job(tmp_path, place).run(checkpoint=tmp_path / "checkpoint", progress=False)
    assert rows(place) == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert len(hr.committed_paths(place)) == 2


def staged(place: str, *names: str) -> list[StagedFile]:
    for name in names:
        local(place).mkdir(parents=True, exist_ok=True)
        (local(place) / name).write_text("{}", encoding="utf-8")
    return [StagedFile(name, 1, 2) for name in names]


def test_two_processes_at_one_epoch(spark: SparkSession, place: str) -> None:
    owner = Owner("job", "out", "c1")
    old, new = RemoteManifest(spark, place, 1), RemoteManifest(spark, place, 2)
    old.claim(owner)
    first = staged(place, "part-0-0-1-aa-00000-000.json")
    # The other takes over and removes what nobody has committed; then the first wakes up and commits that.
    new.claim(owner)
    new.recover()
    for _ in range(2):
        with pytest.raises(HeadraceError) as raised:
            old.commit(0, first)
        assert raised.value.code == "LEASE_LOST"
        new.commit(0, staged(place, "part-0-0-1-bb-00000-000.json"))
        assert hr.committed_paths(place) == [f"{place}/part-0-0-1-bb-00000-000.json"]
    new.commit(0, staged(place, "part-0-0-2-bb-00000-000.json"))
    assert hr.committed_paths(place) == [f"{place}/part-0-0-1-bb-00000-000.json"]
    assert not (local(place) / "part-0-0-2-bb-00000-000.json").exists()


def test_a_folder_of_another(spark: SparkSession, place: str) -> None:
    RemoteManifest(spark, place).claim(Owner("job", "out", "c1"))
    check_error(
        """
        FOLDER_OWNED: <place> holds the output of sink out of job job, written from another checkpoint
          hint: write to another folder, continue from the checkpoint that wrote it, or start with fresh=True, which deletes the files it wrote
          more: headrace error FOLDER_OWNED
        """,
        lambda: RemoteManifest(spark, place).claim(Owner("job", "out", "c2")),
        hide={place: "<place>"},
    )


def test_starting_over_removes_what_was_written_and_nothing_else(spark: SparkSession, place: str, tmp_path: Path) -> None:
    put(tmp_path / "in", 1, {"k": "a", "v": 1})
    job(tmp_path, place).run(checkpoint=tmp_path / "checkpoint", progress=False)
    (local(place) / "mine.txt").write_text("kept", encoding="utf-8")
    put(tmp_path / "in", 1, {"k": "b", "v": 2})
    job(tmp_path, place).run(checkpoint=tmp_path / "checkpoint", progress=False, fresh=True)
    assert rows(place) == [{"k": "b", "v": 2}]
    assert (local(place) / "mine.txt").exists()


def test_a_file_system_that_the_session_has_not(spark: SparkSession) -> None:
    check_error(
        """
        UNKNOWN_FILE_SYSTEM: the session has no file system for gs://, where gs://bucket/out is
          at test_remote.py:*: lambda: Store(spark, "gs://bucket/out"),
          hint: add its jar to the session: hr.session(conf={"spark.jars.packages": "org.apache.hadoop:hadoop-gcp:<version>"})
          more: headrace error UNKNOWN_FILE_SYSTEM
        """,
        lambda: Store(spark, "gs://bucket/out"),
        hide={hadoop_version(): "<version>"},
    )


def test_a_store_that_does_not_do(spark: SparkSession, place: str) -> None:
    store = Store(spark, place)
    jvm(spark).headrace.trial.Bucket.breaks().put("x", 0)
    check_error(
        """
        STORE_FAILED: <place> cannot be used: the connection broke
          at test_remote.py:*: lambda: store.create("x", "text"),
          hint: pass the settings of the file system (address, credentials) to the session as spark.hadoop.*
          more: headrace error STORE_FAILED
        """,
        lambda: store.create("x", "text"),
        hide={place: "<place>"},
    )


def test_a_source_that_is_not_there(spark: SparkSession, place: str) -> None:
    source = hr.read.files(f"{place}/nowhere", format="json", schema="k string", name="source")
    with pytest.raises(HeadraceError) as raised:
        hr.collect(source)
    assert raised.value.code == "PATH_MISSING"
