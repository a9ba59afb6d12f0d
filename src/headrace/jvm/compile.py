"""Build jars with the Scala compiler in the PySpark wheel: the kernel's from `kernel/**/*.scala`, once per sources and Spark version,
and one of each connector's Scala.

A wheel of headrace has the kernel's jar for the Spark it was built with. For other sources or another Spark the jar comes from the
cache, or is built into it. The compiler needs only a Java runtime; no JDK, no build tool.
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

SUPPORTED = ("4.2", "4.3")
"""The minor versions of Spark for which the kernel has sources."""
REQUIREMENT = "pyspark>=4.2,<4.4"
"""The same as pip takes it."""
SOURCES = Path(__file__).parents[1] / "kernel"
SHIPPED = Path(__file__).parent / "jar"
CLASSES = SHIPPED / "classes.txt"
"""The classes that a small job loads, one a line. The wheel has the file."""
KEY_ENTRY = "headrace/kernel.key"
"""The entry with the jar's own key: it shows which kernel a session has."""

# Part of the key. It changes with the build below, so that jars built before are not reused.
_FORMAT = "1"
_FLAGS = ("-nowarn",)

_OF_VERSION = re.compile(r"spark\d\d")
"""The name of a folder with what only one minor version of Spark has."""


@dataclass(frozen=True)
class Unit:
    """Scala sources as this process first read them, and what they are compiled for: a Spark, and the jars `against` with their digests."""

    spark: str
    sources: tuple[tuple[str, bytes], ...]
    name: str = "kernel"
    against: tuple[tuple[str, Path], ...] = ()

    @cached_property
    def key(self) -> str:
        """A digest of all that the jar depends on, as 16 hexadecimal digits."""
        digest = hashlib.sha256("\0".join((_FORMAT, self.spark, *_FLAGS, *(key for key, _ in self.against))).encode())
        for name, text in self.sources:
            digest.update(name.encode() + b"\0" + text + b"\0")
        return digest.hexdigest()[:16]

    @property
    def jar_name(self) -> str:
        return f"headrace-{self.name}-{self.key}.jar"

    @property
    def title(self) -> str:
        return "the kernel" if self.name == "kernel" else f"the Scala of {self.name}"


@cache
def kernel() -> Unit:
    """Return the kernel's sources, read once per process: a file that is edited meanwhile must not end up in a jar with another's key."""
    spark = spark_version()
    return Unit(spark, sources(SOURCES, spark))


def sources(folder: Path, spark: str) -> tuple[tuple[str, bytes], ...]:
    """Return the Scala files in a folder and below, with their relative paths; of folders such as `spark43` only that of this Spark."""
    own = f"spark{minor(spark).replace('.', '')}"
    files = (file.relative_to(folder) for file in sorted(folder.rglob("*.scala")))
    fitting = (file for file in files if all(part == own for part in file.parts if _OF_VERSION.fullmatch(part)))
    return tuple((file.as_posix(), (folder / file).read_bytes()) for file in fitting)


def kernel_jar() -> Path:
    """Return the jar for these sources and this Spark: from the wheel, from the cache, or built now."""
    shipped = SHIPPED / kernel().jar_name
    return shipped if shipped.is_file() else built(kernel())


def built(unit: Unit) -> Path:
    """Return the jar of a unit: from the cache, or built now."""
    cached = folder("kernel") / unit.jar_name
    if not cached.is_file():
        with alone(cached.with_suffix(".lock"), f"builds {unit.title}"):
            if not cached.is_file():  # another process may have built it meanwhile
                build(unit, cached)
    return cached


def spark_jars() -> Path:
    """Return the folder of Spark's jars: of SPARK_HOME if that is set, as in PySpark itself, else of the PySpark package."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home()) / "jars"


def spark_version() -> str:
    """Return the version of the Spark that will run, read from the name of its core jar."""
    for jar in spark_jars().glob("spark-core_2.13-*.jar"):
        if match := re.fullmatch(r"spark-core_2\.13-(.+)\.jar", jar.name):
            return match[1]
    raise HeadraceError(
        "SPARK_VERSION",
        f"there is no Spark with Scala 2.13 in {spark_jars().parent}",
        hint="unset SPARK_HOME to use the Spark of the package pyspark, which headrace needs anyway",
    )


def minor(version: str) -> str:
    """
    >>> minor("4.3.0"), minor("4.2.1-SNAPSHOT")
    ('4.3', '4.2')
    """
    return ".".join(version.split(".")[:2])


def build(unit: Unit, target: Path) -> None:
    """Compile into `target`. The jar is made beside it and renamed, so that `target` is never incomplete."""
    java = find()
    print(f"headrace: building {unit.title} for Spark {unit.spark} (once; about half a minute)", file=sys.stderr, flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as work:
        fresh = Path(work) / "fresh.jar"
        for name, text in unit.sources:
            file = Path(work) / "scala" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        output = scalac(java, Path(work) / "scala", fresh, *(jar for _, jar in unit.against))
        if output is not None:
            log = target.with_suffix(".log")
            log.write_text(output, encoding="utf-8")
            raise _failed(unit, log, output)
        with zipfile.ZipFile(fresh, "a") as jar:
            jar.writestr(zipfile.ZipInfo(f"headrace/{unit.name}.key"), unit.key)
        os.replace(fresh, target)
    print(f"headrace: built {target} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def scalac(java: Java, source: Path, target: Path, *libraries: Path) -> str | None:
    """Compile a folder's Scala against Spark and `libraries` into a jar. Returns the compiler's output if it failed, else None."""
    command = [
        str(java.executable),
        "-Xss8m",  # the compiler recurses deeply
        "-Xmx1g",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",  # half the time: the compiler ends before better code would pay
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


def _failed(unit: Unit, log: Path, output: str) -> HeadraceError:
    lines = output.strip().splitlines() or ["no output"]
    first = next((line for line in lines if "error: " in line or "Error: " in line), lines[0])
    return HeadraceError(
        "KERNEL_BUILD",
        f"{unit.title} for Spark {unit.spark} could not be compiled: {first}",
        hint=f"the compiler's whole output is in {log}.\nmemory, disk and versions are checked by `headrace doctor`.",
    )


@contextlib.contextmanager
def alone(lock: Path, does: str) -> Iterator[None]:
    """Let one process in at a time; the others wait. The lock ends with its process, so a killed one leaves nothing behind."""
    with open(lock, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"headrace: waiting for another process that {does}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
