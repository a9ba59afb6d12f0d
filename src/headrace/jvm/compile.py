"""Build the kernel's jar: the Scala compiler in the PySpark wheel turns `scala/**/*.scala` into a jar, once per source and Spark version.

A wheel of headrace holds the jar for the Spark it was built with. With other sources or another Spark the jar comes from the cache,
or is built into it. The compiler needs a Java runtime only; no JDK, no build tool.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jvm.cache import folder
from headrace.jvm.java import Java, find
from headrace.jvm.locale import utf8_environment

SOURCES = Path(__file__).parent / "scala"
SHIPPED = Path(__file__).parent / "jar"
KEY_ENTRY = "headrace/kernel.key"
"""The jar's own key, so that a session can be asked which kernel it carries."""

# Part of the key: a change of what is done below must not meet jars that were built before it.
_FORMAT = "1"
_FLAGS = ("-nowarn",)


@dataclass(frozen=True)
class Kernel:
    """The kernel's sources as this process found them first, and the Spark they are for."""

    spark: str
    sources: tuple[tuple[str, bytes], ...]

    @cached_property
    def key(self) -> str:
        """What the jar depends on, as 16 hexadecimal digits."""
        digest = hashlib.sha256("\0".join((_FORMAT, self.spark, *_FLAGS)).encode())
        for name, text in self.sources:
            digest.update(name.encode() + b"\0" + text + b"\0")
        return digest.hexdigest()[:16]

    @property
    def jar_name(self) -> str:
        return f"headrace-kernel-{self.key}.jar"


@cache
def kernel() -> Kernel:
    """Read once per process: a file that is edited meanwhile must not end in a jar with another's key."""
    return Kernel(
        spark_version(), tuple((file.relative_to(SOURCES).as_posix(), file.read_bytes()) for file in sorted(SOURCES.rglob("*.scala")))
    )


def kernel_jar() -> Path:
    """The jar for these sources and this Spark: shipped in the wheel, in the cache, or built now."""
    name = kernel().jar_name
    if (SHIPPED / name).is_file():
        return SHIPPED / name
    cached = folder("kernel") / name
    if not cached.is_file():
        with _lock(cached):
            if not cached.is_file():  # another process may have built it while we waited
                build(kernel(), cached)
    return cached


def spark_jars() -> Path:
    """The folder of Spark's jars: of SPARK_HOME if that is set, as PySpark itself does, else of the PySpark package."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home()) / "jars"


def spark_version() -> str:
    """The version of the Spark that will run, read from the name of its core jar."""
    for jar in spark_jars().glob("spark-core_2.13-*.jar"):
        if found := re.fullmatch(r"spark-core_2\.13-(.+)\.jar", jar.name):
            return found[1]
    raise HeadraceError(
        "SPARK_VERSION",
        f"there is no Spark with Scala 2.13 in {spark_jars().parent}",
        hint="unset SPARK_HOME to use the Spark of the package pyspark, which headrace needs anyway.",
    )


def build(kernel: Kernel, target: Path) -> None:
    """Compile into `target`. Nothing is there until all of it is: the jar is made beside it and renamed."""
    java = find()
    print(f"headrace: building the kernel for Spark {kernel.spark} (once; about half a minute)", file=sys.stderr, flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as work:
        fresh = Path(work) / "kernel.jar"
        for name, text in kernel.sources:
            file = Path(work) / "scala" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        output = scalac(java, Path(work) / "scala", fresh)
        if output is not None:
            log = target.with_suffix(".log")
            log.write_text(output, encoding="utf-8")
            raise _failed(kernel, log, output)
        with zipfile.ZipFile(fresh, "a") as jar:
            jar.writestr(zipfile.ZipInfo(KEY_ENTRY), kernel.key)
        os.replace(fresh, target)
    print(f"headrace: built {target} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def scalac(java: Java, source: Path, target: Path, *libraries: Path) -> str | None:
    """Compile a folder's Scala against Spark and `libraries` into a jar. Answers what the compiler said, if it failed."""
    command = [
        str(java.executable),
        "-Xss8m",  # the compiler recurses deeply
        "-Xmx1g",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",  # half the time: the compiler is over before the better code would pay
        "-XX:-UsePerfData",
        "-Dfile.encoding=UTF-8",
        "-cp",
        os.pathsep.join(map(str, (*libraries, spark_jars() / "*"))),
        "scala.tools.nsc.Main",
        "-usejavacp",
        "-encoding",
        "UTF-8",
        *_FLAGS,
        "-d",
        str(target),
        *map(str, sorted(source.rglob("*.scala"))),
    ]
    environment = {**os.environ, **utf8_environment()}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    output = done.stdout.decode("utf-8", "replace").replace(f"{source}/", "")
    return None if done.returncode == 0 and target.is_file() else f"{output}\nexit code {done.returncode}\n"


def _failed(kernel: Kernel, log: Path, output: str) -> HeadraceError:
    lines = output.strip().splitlines() or ["no output"]
    first = next((line for line in lines if "error: " in line or "Error: " in line), lines[0])
    return HeadraceError(
        "KERNEL_BUILD",
        f"the kernel for Spark {kernel.spark} could not be compiled: {first}",
        hint=f"the compiler's whole output is in {log}.\nmemory, disk and versions are checked by `headrace doctor`.",
    )


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    """One builder at a time; the others wait for it. The lock goes with its process, so a killed builder leaves nothing behind."""
    with open(target.with_suffix(".lock"), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("headrace: waiting for another process that builds the kernel", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
