"""Files in a store that speaks S3: written by jobs that are killed, and read by Arrow's client, which knows nothing of headrace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.connectors.files.remote import RemoteManifest
from headrace.connectors.reach import reach
from headrace.durable.manifest import Owner, StagedFile
from headrace.errors import HeadraceError
from tests.servers import free_ports
from tests.servers.s3 import BUCKET, S3, SECRET, VARIABLE
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.full

CHILD = Path(__file__).with_name("s3_child.py")
ROOT = Path(__file__).resolve().parents[2]
FILES, ROWS = 4, 30


@pytest.fixture
def session(spark: SparkSession, s3: S3) -> SparkSession:
    """The tests' session, told where the store is."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in s3.settings.items():
        conf.set(name, value)
    return spark


def put(folder: Path, number: int, *rows: tuple[str, int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}.json").write_text("".join(json.dumps({"k": k, "id": n}) + "\n" for k, n in rows), encoding="utf-8")


def lay_out(folder: Path) -> list[tuple[str, int]]:
    rows = [(f"k{number % 3}", number) for number in range(FILES * ROWS)]
    for file in range(FILES):
        put(folder / "in", file, *rows[file * ROWS : (file + 1) * ROWS])
    return rows


def start(s3: S3, folder: Path, kind: str, place: str, point: str = "") -> int:
    settings = {"HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "S3_SETTINGS": json.dumps(s3.settings), VARIABLE: SECRET}
    environment = {**os.environ, **settings, "HEADRACE_POINT": point}
    with (folder / "log").open("ab") as out:
        command = [sys.executable, str(CHILD), str(folder), kind, place]
        return subprocess.run(command, stdout=out, stderr=out, env=environment, cwd=ROOT, check=False).returncode


def committed(s3: S3, name: str) -> list[str]:
    """The files that the manifests name, in the order of these."""
    manifests = [file for file in s3.names(f"{name}/_headrace") if file[0].isdigit()]
    return [file["path"] for manifest in manifests for file in json.loads(s3.read(f"{name}/_headrace/{manifest}"))["files"]]


def rows_of(s3: S3, name: str, format: str) -> list[tuple[str, int]]:
    import pyarrow.dataset as ds

    paths = [f"{BUCKET}/{name}/{path}" for path in committed(s3, name)]
    return [(row["k"], row["id"]) for row in ds.dataset(paths, format=format, filesystem=s3.files).to_table().to_pylist()]


@pytest.mark.parametrize(
    ("point", "format"),
    [
        ("after staging@out#2:kill", "parquet"),
        ("before sink commit@out#2:kill", "json"),
        ("in sink commit@out#2:kill", "json"),
        ("after sink commit@out#3:kill", "parquet"),
    ],
)
def test_killed_at_a_point(s3: S3, tmp_path: Path, point: str, format: str) -> None:
    rows, name = lay_out(tmp_path), tmp_path.name
    assert start(s3, tmp_path, format, f"s3a://{BUCKET}/{name}", point) == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
    lying = {file for file in s3.names(name) if file.startswith("part-")}
    assert lying
    # What a task of the second epoch has staged lies there and counts nowhere.
    assert (lying == set(committed(s3, name))) == (not point.startswith(("after staging", "before sink commit")))
    assert start(s3, tmp_path, format, f"s3a://{BUCKET}/{name}") == 0, (tmp_path / "log").read_text()[-3000:]
    assert Counter(rows_of(s3, name, format)) == Counter(rows)
    assert {file for file in s3.names(name) if file.startswith("part-")} == set(committed(s3, name))


def test_what_lies_in_the_store_is_read(s3: S3, session: SparkSession, tmp_path: Path) -> None:
    name = tmp_path.name
    for number in range(3):
        s3.write(f"{name}/in/{number}.json", b'{"k": "a", "id": %d}\n' % number)
    rows = hr.read.files(f"s3a://{BUCKET}/{name}/in", format="json", schema="k string, id bigint", name="rows")
    job = hr.job("copy", rows.write.files(f"s3a://{BUCKET}/{name}/out", format="parquet", partition_by="k", name="out"))
    job.run(checkpoint=tmp_path / "state", progress=False)
    assert len(hr.committed_paths(f"s3a://{BUCKET}/{name}/out")) == len(committed(s3, f"{name}/out")) > 0
    pattern = hr.read.files(f"s3a://{BUCKET}/{name}/in/[01].json", format="json", name="pattern")
    assert sorted(row[0] for row in hr.collect(pattern).rows()) == [0, 1]
    # What a task left that counts nowhere is not read.
    s3.write(f"{name}/out/k=a/part-0-0-99-dead-00000-000.parquet", b"no parquet")
    again = hr.read.files(f"s3a://{BUCKET}/{name}/out", format="parquet", schema="id bigint, k string", name="again")
    assert sorted(hr.collect(again).rows()) == [(0, "a"), (1, "a"), (2, "a")]
    whole = hr.lookup.files(f"s3a://{BUCKET}/{name}/out", format="parquet", schema="id bigint, k string", name="whole")
    looked_up = hr.read.memory([(2,), (3,)], "id bigint", name="orders").lookup(whole, on="id", how="left")
    assert sorted(hr.collect(looked_up).rows()) == [(2, "a"), (3, None)]
    table = hr.lookup.files(f"s3a://{BUCKET}/{name}/in/2.json", format="json", schema="id bigint, k string", name="table")
    looked_up = hr.read.memory([(2,), (3,)], "id bigint", name="orders").lookup(table, on="id", how="left")
    assert sorted(hr.collect(looked_up).rows()) == [(2, "a"), (3, None)]


def test_one_of_many_makes_a_file(s3: S3, session: SparkSession, tmp_path: Path) -> None:
    name = tmp_path.name
    stores = [reach(session, f"s3a://{BUCKET}/{name}") for _ in range(4)]
    for round in range(20):
        barrier = Barrier(len(stores))

        def make(number: int, round: int = round, barrier: Barrier = barrier) -> bool:
            barrier.wait()
            return stores[number].create(f"{round}.json", f"by {number}")

        with ThreadPoolExecutor(len(stores)) as threads:
            created = list(threads.map(make, range(len(stores))))
        assert created.count(True) == 1
        assert s3.read(f"{name}/{round}.json") == b"by %d" % created.index(True)


def test_two_processes_at_one_epoch(s3: S3, session: SparkSession, tmp_path: Path) -> None:
    name = tmp_path.name
    place, owner = f"s3a://{BUCKET}/{name}", Owner("job", "out", "c1")
    old, new = RemoteManifest(session, place, 1), RemoteManifest(session, place, 2)
    mine, its = "part-0-0-1-bb-00000-000.json", "part-0-0-1-aa-00000-000.json"
    old.claim(owner)
    s3.write(f"{name}/{its}", b"{}")
    # The other takes over and removes what nobody has committed; then the first wakes up and commits that.
    new.claim(owner)
    new.recover()
    for _ in range(2):
        with pytest.raises(HeadraceError) as raised:
            old.commit(0, [StagedFile(its, 1, 2)])
        assert raised.value.code == "LEASE_LOST"
        s3.write(f"{name}/{mine}", b"{}")
        new.commit(0, [StagedFile(mine, 1, 2)])
        assert committed(s3, name) == [mine]
    assert [file for file in s3.names(name) if file.startswith("part-")] == [mine]


def copied(folder: Path, place: str) -> Any:
    put(folder / "in", 0, ("a", 1))
    rows = hr.read.files(folder / "in", format="json", schema="k string, id bigint", name="rows")
    job = hr.job("copy", rows.write.files(place, format="json", name="out"))
    return lambda: job.run(checkpoint=folder / "state", progress=False)


def test_a_wrong_secret(session: SparkSession, tmp_path: Path) -> None:
    session.sparkContext._jsc.hadoopConfiguration().set("fs.s3a.bucket.secretly.secret.key", "wrong")
    check_error(
        """
        STORE_FAILED: s3a://secretly/out cannot be used: Forbidden
          at test_s3_files.py:*: return lambda: job.run(checkpoint=folder / "state", progress=False)
          hint: pass the settings of the file system (address, credentials) to the session as spark.hadoop.*
          more: headrace error STORE_FAILED
        """,
        copied(tmp_path, "s3a://secretly/out"),
    )


def test_a_bucket_that_is_not_there(session: SparkSession, tmp_path: Path) -> None:
    check_error(
        """
        STORE_FAILED: s3a://nowhere/out cannot be used: The specified bucket does not exist
          at test_s3_files.py:*: return lambda: job.run(checkpoint=folder / "state", progress=False)
          hint: pass the settings of the file system (address, credentials) to the session as spark.hadoop.*
          more: headrace error STORE_FAILED
        """,
        copied(tmp_path, "s3a://nowhere/out"),
    )


def test_a_server_that_is_away(session: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    conf = session.sparkContext._jsc.hadoopConfiguration()
    settings = {"endpoint": f"http://127.0.0.1:{port}", "retry.limit": "1", "attempts.maximum": "1", "retry.interval": "1ms"}
    for name, value in settings.items():
        conf.set(f"fs.s3a.bucket.away.{name}", value)
    check_error(
        """
        STORE_FAILED: s3a://away/out cannot be used: Unable to execute HTTP request: Connect to 127.0.0.1:<port> [/127.0.0.1] failed: Connection refused
          at test_s3_files.py:*: return lambda: job.run(checkpoint=folder / "state", progress=False)
          hint: pass the settings of the file system (address, credentials) to the session as spark.hadoop.*
          more: headrace error STORE_FAILED
        """,
        copied(tmp_path, "s3a://away/out"),
        hide={str(port): "<port>"},
    )
