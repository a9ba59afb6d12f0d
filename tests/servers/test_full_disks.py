"""Disks, files and servers without room: the job says so, and when there is room again each row is there once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.servers.disks import Disk
from tests.servers.problems import lines, problem
from tests.servers.redis import VARIABLE, Redis
from tests.servers.tables import File, Served
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

WHERE = "Full disks"
FULL = pytest.mark.full
THEN = "earlier epochs are complete; the next start writes this one exactly once"
ROWS = 40_000


def numbers(count: int = ROWS) -> Any:
    """The rows from 0 to so many, each a hundred bytes that cannot be made shorter by much."""
    folder = Path("in").absolute()  # Spark's own folder is another one
    if not folder.exists():
        columns = ("id", "concat(sha2(cast(id AS string), 256), md5(cast(id AS string)), 'xxxx') AS x")
        hr.session().range(count).selectExpr(*columns).coalesce(1).write.parquet(str(folder))
    return hr.read.files(folder, format="parquet", schema="id bigint, x string", name="numbers")


def run(sink: Any, checkpoint: str | Path = "ck") -> None:
    hr.job("full", sink).run(checkpoint=checkpoint, progress=False)


@problem(
    WHERE,
    "the disk of a files sink",
    """
    DISK_FULL: out: cannot write <file>: No space left on device
      hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    THEN,
)
def test_files(disk: Disk, says: str) -> None:
    out = disk.folder / "out"

    def sink() -> Any:
        return numbers().write.files(out, format="json", name="out")

    with pytest.raises(HeadraceError) as raised:
        run(sink())
    check_error(says, re.sub(r"write file:\S+:", "write <file>:", str(raised.value)))
    disk.grow("50m")
    run(sink())
    assert sorted(row["id"] for row in lines(out)) == list(range(ROWS))


@problem(
    WHERE,
    "the disk of the checkpoint",
    """
    DISK_FULL: No space left on device
      hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    THEN,
)
@FULL
def test_a_checkpoint(disk: Disk, says: str) -> None:
    def sink() -> Any:
        return numbers().group_by("x").agg(n="count(*)").write.files("out", format="json", name="out", mode="changes")

    with pytest.raises(HeadraceError) as raised:
        run(sink(), disk.folder / "ck")
    check_error(says, re.sub(r"(DISK_FULL: ).*(No space left on device).*", r"\1\2", str(raised.value)))
    disk.grow("200m")
    run(sink(), disk.folder / "ck")
    assert sorted(row["n"] for row in lines(Path("out"))) == [1] * ROWS


@problem(
    WHERE,
    "the disk of a Delta table",
    """
    DISK_FULL: out: No space left on device
      hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    THEN,
)
@FULL
def test_delta(disk: Disk, says: str) -> None:
    from deltalake import DeltaTable

    table = disk.folder / "table"

    def sink() -> Any:
        return numbers().write.delta(table, name="out")

    with pytest.raises(HeadraceError) as raised:
        run(sink())
    check_error(says, re.sub(r"(DISK_FULL: out: ).*(No space left on device).*", r"\1\2", str(raised.value)))
    disk.grow("50m")
    run(sink())
    assert sorted(DeltaTable(table).to_pyarrow_table(columns=["id"])["id"].to_pylist()) == list(range(ROWS))


@problem(
    WHERE,
    "the disk of PostgreSQL",
    """
    DISK_FULL: out: rows could not be staged: ERROR: could not extend file "<file>": No space left on device; Hint: Check free disk space.; Where: COPY <stage>, line N
      hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    THEN,
)
@FULL
def test_postgresql(postgres: Any, disk: Disk, says: str) -> None:
    import os
    import pwd

    disk.grow("12m")
    owner = pwd.getpwnam("postgres")
    # The folders above belong to the test alone.
    for folder in (disk.folder, *disk.folder.parents):
        if folder == Path("/tmp") or folder == Path("/"):
            break
        folder.chmod(0o755)
    os.chown(disk.folder, owner.pw_uid, owner.pw_gid)
    disk.folder.chmod(0o700)
    pg = Served("postgresql", postgres)
    name = pg.url.rpartition("/")[2]
    # A tablespace cannot be made in the transaction of another statement.
    postgres.run("postgres", f"CREATE TABLESPACE small LOCATION '{disk.folder}'")
    postgres.run("postgres", f"ALTER DATABASE {name} SET TABLESPACE small")
    try:

        def sink() -> Any:
            return numbers(80_000).write.jdbc(pg.url, "t", name="out", **pg.options)

        with pytest.raises(HeadraceError) as raised:
            run(sink())
        text = re.sub(r'file "[^"]*"', 'file "<file>"', str(raised.value))
        check_error(says, re.sub(r"COPY \S+, line \d+", "COPY <stage>, line N", text))
        assert pg.run("SELECT count(*) FROM t") == [(0,)]
        disk.grow("200m")
        run(sink())
        assert pg.run("SELECT count(*), count(DISTINCT id) FROM t") == [(80_000, 80_000)]
    finally:
        postgres.run("postgres", f"DROP DATABASE {name} WITH (FORCE)")
        postgres.run("postgres", "DROP TABLESPACE small")


@problem(
    WHERE,
    "an SQLite file at its maximum size",
    """
    DISK_FULL: out: rows could not be staged: [SQLITE_FULL] Insertion failed because database is full (database or disk is full)
      hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    THEN,
)
def test_sqlite(tmp_path: Path, says: str) -> None:
    place = File(tmp_path)
    check_error(says, lambda: run(numbers().write.jdbc(place.url, "t", name="out", options={"max_page_count": "40"})))
    run(numbers().write.jdbc(place.url, "t", name="out"))
    assert place.run("SELECT count(*), count(DISTINCT id) FROM t") == [(ROWS, ROWS)]


@problem(
    WHERE,
    "the memory of Redis (`maxmemory`)",
    """
    DISK_FULL: out: <url> reported: command not allowed when used memory > 'maxmemory'.
      hint: give the server more memory (maxmemory) and start again: no row is lost or duplicated
      more: headrace error DISK_FULL
    """,
    "the next start writes the epoch, each key once",
)
@FULL
def test_redis(redis: Redis, says: str) -> None:
    redis.run("CONFIG", "SET", "maxmemory", "3mb")

    def sink() -> Any:
        return numbers().write.redis(redis.url, prefix="t:", key="id", password=hr.secret(VARIABLE), name="out")

    with pytest.raises(HeadraceError) as raised:
        run(sink())
    check_error(says, re.sub(r"'maxmemory'\..*", "'maxmemory'.", str(raised.value)).replace(redis.url, "<url>"))
    redis.run("CONFIG", "SET", "maxmemory", "0")
    run(sink())
    assert redis.run("DBSIZE") == str(ROWS + 1)
