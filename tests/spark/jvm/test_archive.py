"""The archive of classes that makes starts faster."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.jvm import archive
from headrace.jvm.compile import kernel_jar
from headrace.jvm.java import Java
from tests.spark.engine.test_run import wait_for
from tests.unit.errors import check_error

# Java's -Xshare:on ends with an error where the archive does not fit.
PROGRAM = """
import sys
import headrace as hr
spark = hr.session(master="local[1]", conf={"spark.driver.extraJavaOptions": f"-Xshare:on -Xlog:class+load:file={sys.argv[1]}"})
print(spark.range(3).count())
"""


@pytest.mark.full
def test_a_start_from_the_archive(tmp_path: Path) -> None:
    cache = tmp_path / "a cäche"
    (cache / "kernel").mkdir(parents=True)
    (cache / "kernel" / kernel_jar().name).symlink_to(kernel_jar())

    def call(*command: object) -> str:
        environment = {**os.environ, "HEADRACE_CACHE": str(cache)}
        done = subprocess.run(
            [sys.executable, *map(str, command)], env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "headrace: made " in call("-m", "headrace", "prepare")
    assert call("-m", "headrace", "prepare") == "headrace: already prepared\n"
    assert [path.suffix for path in sorted((cache / "classes").iterdir())] == [".jsa", ".jsa"]
    loaded = tmp_path / "loaded"
    assert call("-c", PROGRAM, loaded) == "3\n"
    sparks = [line for line in loaded.read_text(encoding="utf-8").splitlines() if " org.apache.spark." in line and "$$Lambda" not in line]
    assert sum("shared objects file (top)" in line for line in sparks) > 0.9 * len(sparks)


JOB = """
import headrace as hr
from headrace import samples
print(len(hr.collect(hr.read.files(samples.CHARGES, format="json", schema="card string")).rows()))
"""


@pytest.mark.full
def test_the_first_job_prepares_later_starts(tmp_path: Path) -> None:
    """Beside it and after its end; the next job starts nothing."""
    cache = tmp_path / "cache"
    (cache / "kernel").mkdir(parents=True)
    (cache / "kernel" / kernel_jar().name).symlink_to(kernel_jar())
    environment = {**os.environ, "HEADRACE_CACHE": str(cache)}
    del environment["HEADRACE_PREPARE"]

    def job() -> None:
        done = subprocess.run(
            [sys.executable, "-c", JOB], env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
        )
        assert (done.stdout, done.returncode) == ("394\n", 0), done.stderr

    job()
    # It holds this lock while it works, and gives it back when it is done.
    wait_for(lambda: (cache / "classes.lock").is_file())
    wait_for(lambda: any(path.suffixes in ([".jsa"], [".failed"]) for path in (cache / "classes").iterdir()), 600)
    with open(cache / "classes.lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    kept = sorted((cache / "classes").iterdir())
    assert [path.suffix for path in kept] == [".jsa", ".jsa"]
    job()
    assert sorted((cache / "classes").iterdir()) == kept
    assert [path.name for path in cache.iterdir() if path.suffix == ".lock"] == ["classes.lock"]


def test_a_java_that_makes_none(tmp_path: Path) -> None:
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho 'Error: -Xshare:dump is not supported' >&2\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    check_error(
        """
        ARCHIVE_FAILED: <java> (Java 99) creates no archive of classes: Error: -Xshare:dump is not supported
          hint: everything works without it, but each start of Spark takes longer; `headrace doctor` checks disk and memory
          more: headrace error ARCHIVE_FAILED
        """,
        lambda: archive.writing(Java(script, "99", "PATH", None), tmp_path / "made"),
        hide={str(script): "<java>"},
    )


def test_an_archive_that_java_does_not_take_back(tmp_path: Path) -> None:
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho '[error][cds] shared class paths mismatch'\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    file = tmp_path / "made"
    file.touch()
    check_error(
        """
        ARCHIVE_FAILED: <java> (Java 99) creates no archive of classes: [error][cds] shared class paths mismatch
          hint: everything works without it, but each start of Spark takes longer; `headrace doctor` checks disk and memory
          more: headrace error ARCHIVE_FAILED
        """,
        lambda: archive.keep(Java(script, "99", "PATH", None), file, "/conf:/jars/a.jar"),
        hide={str(script): "<java>"},
    )


def test_a_folder_that_java_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = tmp_path / "jäva" / "jars"
    monkeypatch.setattr(archive, "spark_jars", lambda: jars)
    check_error(
        """
        ARCHIVE_FAILED: /opt/java (Java 99) creates no archive of classes: it skips folders whose names are not ASCII, such as <jars>
          hint: everything works without it, but each start of Spark takes longer; `headrace doctor` checks disk and memory
          more: headrace error ARCHIVE_FAILED
        """,
        lambda: archive.writing(Java(Path("/opt/java"), "99", "PATH", None), tmp_path / "made"),
        hide={str(jars): "<jars>"},
    )
