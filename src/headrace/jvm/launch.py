"""The start of Spark's JVM: its environment, options, memory and log.

All of it is for the child process. The environment of this process changes only while Spark starts, and is restored then.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headrace.durable import private
from headrace.jvm.cache import folder, jvm_home, temporary
from headrace.jvm.java import Java
from headrace.jvm.locale import utf8_environment
from headrace.points import OFF, OWNER
from headrace.points import environment as of_points

LOG4J = Path(__file__).parent / "log4j2.properties"
_KEPT_LOGS = 20

# On two cores C2, the JVM's second compiler, takes 40% of the processor time of a cold start. With its thresholds four times as high, a
# small job starts a second earlier (of 14), and the hot code of a long job is still compiled: a million rows take no longer. Spark's
# classes outgrow the JVM's initial metaspace, and each time that happens the JVM first collects garbage.
_QUICK_START = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
    "-XX:MetaspaceSize=256m",
)

# For a JVM that runs for about a minute, which is too short for its second compiler to pay off. With the first one alone, Java reserves
# 48 MB for code. Spark's generated code can exceed that, and a task then fails with "Out of space in CodeCache".
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


def configuration(settings: Mapping[str, str], log: Path, defaults: Mapping[str, str], options: Sequence[str] = ()) -> dict[str, str]:
    """Return Spark's configuration. By precedence: `settings`, HEADRACE_MASTER, the user's `defaults`, ours.

    `options` are additional options for the driver's JVM.
    """
    ours = {
        "spark.app.name": "headrace",
        "spark.master": os.environ.get("MASTER") or "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    environment = {"spark.master": os.environ["HEADRACE_MASTER"]} if os.environ.get("HEADRACE_MASTER") else {}
    conf = {**ours, **defaults, **environment, **settings}
    if "spark.driver.memory" not in conf and "SPARK_DRIVER_MEMORY" not in os.environ:
        conf["spark.driver.memory"] = f"{driver_megabytes(machine_memory())}m"
    if is_local(conf["spark.master"]):
        # A machine's own name may not resolve, and only this machine needs to reach the driver.
        conf.setdefault("spark.driver.host", "127.0.0.1")
        conf.setdefault("spark.driver.bindAddress", "127.0.0.1")
        if conf.get("spark.sql.catalogImplementation") != "hive":
            # Spark makes this folder even if no table is saved, and would leave it in the current one.
            conf.setdefault("spark.sql.warehouse.dir", str(temporary() / "warehouse"))
    if re.fullmatch(r"local(\[.*\])?", conf["spark.master"]):
        # Other users of the machine can reach these ports, and could enter the folder where Spark spills rows. Spark makes the secret
        # itself.
        conf.setdefault("spark.authenticate", "true")
        if "java.io.tmpdir" not in conf.get("spark.driver.extraJavaOptions", ""):
            conf.setdefault("spark.local.dir", str(temporary()))
    common = ["-Dfile.encoding=UTF-8"]
    if home := jvm_home():
        common.append(quoted(f"-Duser.home={home}"))
    driver = [*common, *_QUICK_START, *map(quoted, options), quoted(f"-Dheadrace.log={log}")]
    theirs = conf.get("spark.driver.extraJavaOptions", "")
    if "log4j2.configurationFile" not in theirs and "log4j.configurationFile" not in theirs:
        driver.append(quoted(f"-Dlog4j2.configurationFile={LOG4J.as_uri()}"))
    conf["spark.driver.extraJavaOptions"] = " ".join([*driver, theirs]).strip()
    if "spark.executor.extraJavaOptions" not in conf:
        conf["spark.executor.extraJavaOptions"] = " ".join(common if is_local(conf["spark.master"]) else common[:1])
    theirs_too = {**(utf8_environment() if conf["spark.master"].startswith("local-cluster") else {}), **of_points()}
    for name, value in theirs_too.items():
        conf.setdefault(f"spark.executorEnv.{name}", value)
    return conf


def is_local(master: str) -> bool:
    """
    >>> is_local("local[2]"), is_local("local-cluster[1,1,512]"), is_local("spark://127.0.0.1:7077"), is_local("spark://north:7077")
    (True, True, True, False)
    """
    host = master.partition("://")[2].rpartition(":")[0]
    return master.startswith("local") or host in {"127.0.0.1", "localhost"}


@contextlib.contextmanager
def environment(java: Java, master: str) -> Iterator[None]:
    """Set the environment in which Spark's launcher and JVM start, and later the Python workers."""
    wanted = dict(utf8_environment())
    if java.home is not None:
        wanted["JAVA_HOME"] = str(java.home)
    # Workers must find the same packages as this interpreter.
    wanted["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
    wanted["SPARK_HOME"] = str(spark_home())
    # Spark's launcher is a JVM of its own that only builds a command line.
    wanted["SPARK_LAUNCHER_OPTS"] = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {os.environ.get('SPARK_LAUNCHER_OPTS', '')}".strip()
    if is_local(master):
        wanted["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP") or "127.0.0.1"
        wanted["SPARK_LOCAL_HOSTNAME"] = os.environ.get("SPARK_LOCAL_HOSTNAME") or "localhost"
    if not OFF:
        wanted[OWNER] = str(os.getpid())
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def spark_home() -> Path:
    """Return SPARK_HOME if that is set, else the folder of the PySpark package: the same as PySpark uses."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def defaults() -> dict[str, str]:
    """Return the user's spark-defaults.conf, read here because options on the command line would take precedence over it."""
    place = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf") / "spark-defaults.conf"
    settings: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in place.read_text(encoding="utf-8", errors="replace").splitlines():
            # as Java reads properties: the first blank, `=` or `:` ends the name
            if setting := re.match(r"\s*(spark\.[^\s=:]+)\s*[=:\s]\s*(\S.*)", line):
                settings[setting[1]] = setting[2].strip()
    return settings


def log_file() -> Path:
    """Return a fresh file for the JVM's log; deletes the oldest logs of processes that have ended."""
    logs = private.folder(folder("log"))
    for old in sorted((log for log in logs.glob("spark-*.log") if not _in_use(log)), key=_age)[:-_KEPT_LOGS]:
        with contextlib.suppress(OSError):
            old.unlink()
    return private.file(logs / f"spark-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log")


def _in_use(log: Path) -> bool:
    """Return whether the process that a log is named after is running, as far as this user can see."""
    try:
        os.kill(int(log.stem.rpartition("-")[2]), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except OSError:  # it runs as another user
        return True
    return True


def _age(path: Path) -> float:
    with contextlib.suppress(OSError):  # another process may have deleted it
        return path.stat().st_mtime
    return 0.0


def machine_memory() -> int:
    """Return the bytes that this process may use: of the machine, or of the container if that has less."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            size = min(size, int(Path(limit).read_text(encoding="ascii")))
    return size


def free_memory() -> int:
    """Return the bytes that are free for another process, in the machine or in the container; 0 if that is unknown."""
    size = 0
    with contextlib.suppress(OSError):
        available = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text(encoding="ascii"), re.M)
        size = int(available[1]) << 10 if available else 0
    for limit, used in (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        with contextlib.suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            size = min(size, int((group / limit).read_text(encoding="ascii")) - int((group / used).read_text(encoding="ascii")))
    return size


def driver_megabytes(memory: int) -> int:
    """Return a heap size that leaves room for RocksDB, Python and the rest of a small machine.

    >>> [driver_megabytes(n << 30) for n in (2, 4, 8, 16, 64)]
    [1024, 1433, 2867, 4096, 4096]
    """
    return max(1024, min(4096, int(memory * 0.35) >> 20))


def quoted(option: str) -> str:
    """Quote an option, as Spark splits a string of options."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if any(c in option for c in " \t\"'\\") else option
