"""Machines on which plain PySpark fails: a user without a passwd entry, a locale that is not UTF-8, a host name that nobody knows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.jvm import java
from headrace.jvm.compile import kernel_jar
from headrace.jvm.locale import utf8_environment

JOB = """
import sys
{start}
folder = sys.argv[1]
spark.range(3).write.json(folder + "/rows")
print(spark.read.json(folder + "/rows").count())
print(sorted(spark.range(2).rdd.map(lambda row: row.id).collect()))
spark.stop()
"""
OURS = JOB.format(start="from headrace.jvm.session import session\nspark = session(master='local[1]')")
PLAIN = JOB.format(
    start="from pyspark.sql import SparkSession\n"
    "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()"
)

# In a user namespace, a user id that the passwd file does not know; what it may read and write stays as it is.
NOBODY = ("unshare", "--user", "--map-user=54321", "--map-group=54321", "--")
# A name of this machine that resolves nowhere, in a namespace of its own.
NAMELESS = ("unshare", "--user", "--map-root-user", "--uts", "--", "sh", "-c", 'hostname nowhere-xyz && exec "$@"', "sh")


def run(
    script: str, folder: Path, *, prefix: Sequence[str] = (), drop: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    if prefix and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        raise AssertionError(f"this machine does not allow `{' '.join(prefix[:3])}`: run as root, or allow user namespaces")
    inherited = {name: value for name, value in os.environ.items() if name not in drop}
    if script == PLAIN and (home := java.find().home) is not None:
        inherited["JAVA_HOME"] = str(home)
    if script == PLAIN:
        inherited.update(utf8_environment())  # what is missing is to be one thing only
    return subprocess.run(
        [*prefix, sys.executable, "-W", "ignore", "-c", script, str(folder)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**inherited, **environment},
        cwd=folder,
        timeout=240,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "ein Blank und ein ü"
    path.mkdir()
    return path


@pytest.fixture
def cache(folder: Path) -> str:
    """A cache with the kernel in it, inside the folder with the difficult name."""
    jar = kernel_jar()
    path = folder / "cache"
    (path / "kernel").mkdir(parents=True)
    shutil.copy(jar, path / "kernel")
    return str(path)


@pytest.mark.full
def test_all_of_it_at_once(folder: Path, cache: str) -> None:
    done = run(OURS, folder, prefix=(*NAMELESS, *NOBODY), drop=("HOME", "LANG", "XDG_CACHE_HOME"), LC_ALL="C", HEADRACE_CACHE=cache)
    assert done.stdout.splitlines() == ["3", "[0, 1]"], done.stderr


@pytest.mark.full
@pytest.mark.parametrize("case", ["passwd", "locale", "host"])
def test_each_alone(case: str, folder: Path, cache: str) -> None:
    prefix = {"passwd": NOBODY, "host": NAMELESS, "locale": ()}[case]
    environment = {"LC_ALL": "C"} if case == "locale" else {}
    done = run(OURS, folder, prefix=prefix, drop=("HOME",) if case == "passwd" else (), HEADRACE_CACHE=cache, **environment)
    assert done.stdout.splitlines() == ["3", "[0, 1]"], done.stderr


@pytest.mark.full
def test_plain_pyspark_fails_without_a_passwd_entry(folder: Path) -> None:
    done = run(PLAIN, folder, prefix=NOBODY, drop=("HOME",))
    assert done.returncode != 0
    assert "basedir must be absolute" in done.stderr


@pytest.mark.full
def test_plain_pyspark_fails_in_another_locale(folder: Path) -> None:
    done = run(PLAIN, folder, LC_ALL="C")
    assert done.returncode != 0
    # It is the name of the current folder, of the output or of Java's own folder that stops it, whichever Java meets first.
    assert any(sign in done.stderr for sign in ("unmappable characters", "ManagementFactory", "java.security file"))


@pytest.mark.full
def test_plain_pyspark_fails_with_an_unknown_host_name(folder: Path) -> None:
    done = run(PLAIN, folder, prefix=NAMELESS, drop=("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"))
    assert done.returncode != 0
    assert "UnknownHostException" in done.stderr
