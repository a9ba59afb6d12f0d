"""Spark's classes as an archive that the JVM maps into memory instead of loading and verifying them anew: a start takes half the time.

`headrace prepare` makes it, once per Java and Spark. A JVM that the archive does not fit ignores it and starts as usual.
Source: JEP 350, Dynamic CDS Archives.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jvm import cache
from headrace.jvm.compile import spark_jars, spark_version
from headrace.jvm.java import Java


def place(java: Java) -> Path:
    """Return the place of the archive for this Java and this Spark; it may not exist."""
    what = "\0".join((str(java.executable.resolve()), java.version, str(spark_jars()), spark_version()))
    return cache.root() / "classes" / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.jsa"


def reading(java: Java) -> list[str]:
    """Return options with which a JVM starts from the archive; none if there is no archive."""
    archive = place(java)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []


def writing(java: Java, written: Path) -> list[str]:
    """Return options with which a JVM, at its exit, writes an archive of the classes it has loaded to `written`.

    It builds on an archive of Java's own classes, which is kept beside `place` because not every Java has one.
    """
    if not str(spark_jars()).isascii():
        raise _failed(java, f"it skips folders whose names are not ASCII, such as {spark_jars()}")
    own = place(java).with_suffix(".java.jsa")
    if not own.is_file():
        _run(java, "-Xshare:dump", f"-XX:SharedArchiveFile={written}")
        written.replace(own)
    return [f"-XX:SharedArchiveFile={own}", f"-XX:ArchiveClassesAtExit={written}"]


def keep(java: Java, written: Path, class_path: str) -> Path:
    """Put the archive that a JVM with this class path has written into its place, if Java accepts it."""
    if not written.is_file():
        raise _failed(java, "no archive of Spark's classes was written")
    _run(java, f"-XX:SharedArchiveFile={written}", "-Xshare:on", "-cp", class_path, "-version")
    return written.replace(place(java))


def _run(java: Java, *options: str) -> None:
    done = subprocess.run([str(java.executable), *options], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        output = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise _failed(java, output[-1] if output else "it gave no reason")


def _failed(java: Java, reason: str) -> HeadraceError:
    return HeadraceError(
        "ARCHIVE_FAILED",
        f"{java.executable} (Java {java.version}) creates no archive of classes: {reason}",
        hint="everything works without it, but each start of Spark takes longer; `headrace doctor` checks disk and memory",
    )
