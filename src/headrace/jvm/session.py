"""Make or reuse the SparkSession, with the kernel's jar in it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.interrupts import SIGNALS, held, interactive, interruptible
from headrace.jvm import archive, fetch, gateway, launch, preparing
from headrace.jvm.cache import has_user_name
from headrace.jvm.compile import CLASSES, KEY_ENTRY, REQUIREMENT, SUPPORTED, kernel, kernel_jar, minor, spark_version
from headrace.jvm.java import find
from headrace.masking import follow, hide, is_secret, masked_problem
from headrace.spelling import suggestion
from headrace.words import function_cure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_lock = threading.RLock()
_attached: set[str] = set()
"""Applications whose session has the kernel: asking the JVM again would cost every call of `session()` some milliseconds."""
_log: Path | None = None

_UNREGISTERED = (
    "if it is your own function, register it on the session before you build the job: "
    "spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)"
)


def unregistered(name: str, text: str = "") -> str:
    """Return the cure for a function that the session does not have; `text` calls it."""
    names = [one.name for one in session().catalog.listFunctions()]
    return function_cure(name, text) or suggestion(name, names, _UNREGISTERED, least=0.75)


def session(
    spark: SparkSession | None = None,
    *,
    master: str | None = None,
    conf: Mapping[str, object] | None = None,
    packages: str | None = None,
) -> SparkSession:
    """Returns the SparkSession that headrace uses, with headrace's jar added: the given one, else the active one, else a new one.

    The jar is the [kernel](../../contribute/kernel.md). A new session runs on this machine by default. It listens on the loopback address
    only, has no web UI unless `conf` sets `spark.ui.enabled`, and writes its log to a file. headrace calls this itself when it needs Spark,
    so call it only to set something, before anything else.

    Args:
        spark: A running classic session to use. Spark Connect is refused.
        master: The Spark master of a new session. Default: `HEADRACE_MASTER`, else Spark's own configuration, else `"local[*]"`.
        conf: Spark settings of a new session; they win over `spark-defaults.conf`. A running session with other settings is refused.
        packages: `"auto"`: a job that starts fetches the jars that its connectors need. `"never"`: only `headrace packages add` fetches
            them. Default: `HEADRACE_PACKAGES`, else `"auto"`.

    Raises:
        ConfigError: `SESSION_RUNNING` if the running session has other settings; `CONNECT_SESSION`; `SESSION_START` if Spark does not start
            or `spark` was stopped; `JAVA_MISSING`, `JAVA_VERSION`, `SPARK_VERSION`, `KERNEL_BUILD`, `KERNEL_OTHER`; `BAD_SETTING` for
            `packages`.

    Examples:
        >>> import headrace as hr
        >>> hr.session().sql("SELECT 1 + 1 AS two").collect()
        [Row(two=2)]
    """
    with interruptible(), _lock:
        if packages is not None:
            fetch.choose(packages)
        wanted = {name: _text(value) for name, value in (conf or {}).items()}
        if master is not None:
            wanted["spark.master"] = master
        _hide(wanted.items())
        chosen = spark if spark is not None else _active()
        if chosen is None:
            chosen = _start(wanted)
            _attach(chosen)
            if "PYSPARK_GATEWAY_PORT" not in os.environ:
                jvm(chosen).headrace.Signals.leaveToPython()
            return chosen
        _refuse_connect(chosen)
        if wanted:
            _same_settings(chosen, wanted, passed_in=spark is not None)
        _attach(chosen)
        return chosen


def end() -> None:
    """Stop Spark and the JVM that this process started, and wait until it has ended."""
    from pyspark import SparkContext

    active, known = _active(), SparkContext._gateway
    if active is not None:
        active.stop()
    if known is not None:
        process: Any = known.proc
        known.shutdown()
        gateway.end(process)
        SparkContext._gateway = SparkContext._jvm = None


def jvm(spark: SparkSession) -> Any:
    """Return the JVM's packages by name: `jvm(spark).headrace.run.Kernel`."""
    return spark._jvm


def log_file() -> Path | None:
    """Return the log file of the JVM that this process started."""
    return _log


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _active() -> SparkSession | None:
    """Return the session that runs in this process, if there is one. Starts nothing."""
    if "pyspark.sql.session" not in sys.modules and "SPARK_REMOTE" not in os.environ:
        return None
    if "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        raise HeadraceError(
            "CONNECT_SESSION",
            "this process is set up for Spark Connect, but headrace needs a classic session",
            hint="start Python without SPARK_REMOTE and without a Connect session; "
            "for a cluster, use hr.session(master=...) or pass it a session",
        )
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return None
    known = SparkSession._instantiatedSession
    return SparkSession.getActiveSession() or (known if known is not None and known._sc is context else SparkSession(context))


def _refuse_connect(spark: SparkSession) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise HeadraceError(
            "CONNECT_SESSION",
            f"a session of {type(spark).__module__.rpartition('.')[0]} has no JVM in reach, but headrace needs a classic session",
            hint='pass one created with SparkSession.builder.config("spark.api.mode", "classic"), or none: headrace then creates one',
        )
    if spark.sparkContext._jsc is None:
        raise HeadraceError("SESSION_START", "the given session was stopped", hint="pass a running one, or none: headrace then creates one")


def _same_settings(spark: SparkSession, wanted: Mapping[str, str], *, passed_in: bool) -> None:
    context = spark.sparkContext.getConf()
    for name, value in wanted.items():
        has = spark.conf.get(name, None) if not context.contains(name) else context.get(name)
        _hide([(name, has or "")])
        if has != value:
            raise HeadraceError(
                "SESSION_RUNNING",
                f"expected {name} = {value}, but the running session has {'none' if has is None else has}",
                hint="set it where that session is created" if passed_in else "stop the running session first, or pass no settings",
            )


def _without_warning_of_pandas() -> None:
    """Hide PySpark's warning about pandas 3 from those who use no pandas.

    For its first call into the JVM PySpark asks one of its test modules whether NumPy is there (`sql/types.py`), and that looks for pandas.
    Calls of PySpark that use pandas, such as `toPandas()`, warn from another module.
    """
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning, r"pyspark\.testing\.utils")


def _start(wanted: Mapping[str, str]) -> SparkSession:
    global _log
    _same_version(spark_version(), "SPARK_HOME")
    java = find()
    kernel_jar()  # built, if necessary, before the JVM takes its share of the machine
    log = launch.log_file()
    defaults = _submitted() if "PYSPARK_GATEWAY_PORT" in os.environ else launch.defaults()
    prepared = archive.reading(java)
    settings = launch.configuration(wanted, log, defaults, prepared)
    _without_warning_of_pandas()

    with held():
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    # Every user of the machine can see a process's command line; secrets are passed once the process runs.
    line = SparkConf(loadDefaults=False).setAll([(name, value) for name, value in settings.items() if not is_secret(name)])
    known, launched = SparkContext._gateway, None
    with launch.environment(java, settings["spark.master"]):
        try:
            if known is None:
                # The launcher and the JVM itself print things that no setting turns off.
                launched = gateway.launch(launch.spark_home(), line, log)
                _log = log
                if not prepared:
                    preparing.started_without(java)
                    _load_ahead(launched.jvm)
                if not has_user_name():
                    _log_in(launched.jvm)
            with _own_handlers():
                context = SparkContext(conf=conf, gateway=known or launched)
            return SparkSession(context)
        except Exception as problem:
            raise HeadraceError(
                "SESSION_START",
                f"Spark did not start on {settings['spark.master']}: {_reason(log, problem)}",
                hint=f"the log is in {log}; `headrace doctor` checks Java, memory, disk and the rest",
                cause=problem,
            ) from masked_problem(problem)
        except BaseException:
            # interrupted: the next start begins with a new JVM
            if launched is not None:
                gateway.end(launched.proc, gateway.PATIENCE)
                SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
            raise


@contextlib.contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep the signal handlers. PySpark sets one for Ctrl-C, which calls the JVM in the middle of another call. It stays at a prompt, to
    end a query there.
    """
    before = {} if threading.current_thread() is not threading.main_thread() else {one: signal.getsignal(one) for one in SIGNALS}
    try:
        yield
    finally:
        if not interactive():
            for number, handler in before.items():
                if handler is not None:  # None: it was not set from Python
                    signal.signal(number, handler)


def _submitted() -> dict[str, str]:
    """Return the settings given to spark-submit, whose JVM already runs with them."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())


def _log_in(java: Any) -> None:
    """Set Hadoop's user. Hadoop reads the passwd file and fails for a user id without an entry."""
    users = java.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(f"user{os.getuid()}"))


def _load_ahead(java: Any) -> None:
    """Let a JVM that was just launched load the classes of a first job while Spark starts in it."""
    if CLASSES.is_file():
        _to_loader(java, kernel_jar())
        java.headrace.Preload.begin(str(CLASSES))


def _reason(log: Path, problem: Exception) -> str:
    """Return the most useful line: of the log if the JVM left one there, else of the exception."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        refused = "Error occurred during initialization of VM"
        if refused in lines[:-1]:
            return lines[lines.index(refused) + 1]
        causes = [line for line in lines if line.startswith(("Caused by: ", "Exception in thread ", "Error: "))]
        if causes:
            return causes[-1].removeprefix("Caused by: ")
    text = [line for line in str(problem).splitlines() if line.strip()]
    return next((line for line in text if line.startswith(": ")), text[0] if text else type(problem).__name__).removeprefix(": ")


def _same_version(version: str, place: str) -> None:
    import pyspark

    if version != pyspark.__version__:
        raise HeadraceError(
            "SPARK_VERSION",
            f"{place} has Spark {version}, but the package pyspark is {pyspark.__version__}",
            hint=f"use the same version on both sides; headrace supports Spark {' and '.join(SUPPORTED)}",
        )
    if minor(version) not in SUPPORTED:
        raise HeadraceError(
            "SPARK_VERSION",
            f"{place} has Spark {version}, but headrace supports Spark {' and '.join(SUPPORTED)}",
            hint=f'pip install "{REQUIREMENT}"',
        )


def _attach(spark: SparkSession) -> None:
    """Add the kernel's jar to the driver and the executors, if it is not there yet."""
    application = str(spark.sparkContext.applicationId)
    if application in _attached:
        return
    _same_version(spark.version, "the session")
    key = kernel().key
    carried = _carried(spark)
    if carried in (None, key):
        # For the executors, once per application; the driver's class loader outlives it.
        spark.sparkContext._jsc.addJar(str(kernel_jar()))
    if carried is None:
        to_driver(spark, kernel_jar())
        carried = _carried(spark)
    if carried != key:
        raise HeadraceError(
            "KERNEL_OTHER",
            f"the session has the kernel {carried}, but this headrace needs {key}",
            hint="start a new session (and remove an old headrace jar from spark.jars)",
        )
    _hide(spark.sparkContext.getConf().getAll())
    follow(jvm(spark).headrace.Masking.hide)
    _attached.add(application)


def _hide(settings: Iterable[tuple[str, str]]) -> None:
    for name, value in settings:
        if is_secret(name):
            hide(value)


def to_driver(spark: SparkSession, jar: Path) -> None:
    """Add a jar to the driver's class loader."""
    _to_loader(jvm(spark), jar)


def _to_loader(java: Any, jar: Path) -> None:
    java.java.lang.Thread.currentThread().getContextClassLoader().addURL(java.java.io.File(str(jar)).toURI().toURL())


def _carried(spark: SparkSession) -> str | None:
    """Return the key of the kernel in the driver's class loader."""
    loader = jvm(spark).java.lang.Thread.currentThread().getContextClassLoader()
    stream = loader.getResourceAsStream(KEY_ENTRY)
    if stream is None:
        return None
    try:
        return bytes(stream.readAllBytes()).decode("ascii")
    finally:
        stream.close()
