"""Spark's JVM, started by this process so that an interrupt at any moment leaves no JVM behind.

PySpark's own start does not have the JVM's process before the JVM listens. Interrupted before that, PySpark removes the file into which
the JVM writes its address; the JVM then waits forever.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.interrupts import held

if TYPE_CHECKING:
    from pyspark import SparkConf

_LOGGERS = ("", "py4j.java_gateway", "py4j.clientserver")
"""The loggers to which py4j reports failed calls; the first is the root."""
PATIENCE = 5
"""The seconds in which a JVM can remove its files after its start was interrupted."""


def launch(home: Path, conf: SparkConf, log: Path) -> Any:
    """Launch a JVM of the Spark in `home`, with its output in `log`. Returns PySpark's gateway to it."""
    from pyspark import java_gateway

    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_news)
    start_gateway: Any = java_gateway.launch_gateway
    folder = Path(tempfile.mkdtemp(prefix="headrace-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        with log.open("ab") as noise, held():
            process = _process(home, conf, folder / "address", noise)
        port, secret = _address(folder / "address", process)
        with _known(port, secret):
            gateway = start_gateway()
        gateway.proc = process
        return gateway
    except BaseException:
        if process is not None:
            process.kill()
            process.wait()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def end(process: subprocess.Popen[bytes], patience: float | None = None) -> None:
    """End a launched JVM: it exits once it can no longer read from this process, and is killed after `patience` seconds.

    A JVM that writes an archive of classes at its exit takes longer.
    """
    with contextlib.suppress(OSError):
        assert process.stdin is not None  # it is a pipe
        process.stdin.close()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _process(home: Path, conf: SparkConf, address: Path, noise: Any) -> subprocess.Popen[bytes]:
    """Start `spark-submit`, which becomes the JVM."""
    settings = [word for name, value in conf.getAll() for word in ("--conf", f"{name}={value}")]
    return subprocess.Popen(
        [str(home / "bin" / "spark-submit"), *settings, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))],
        stdin=subprocess.PIPE,  # the JVM exits with this process, when it can no longer read from it
        stdout=noise,
        stderr=noise,
        env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
        preexec_fn=_without_ctrl_c,
    )


def _without_ctrl_c() -> None:
    # A terminal interrupts all processes of a group; this process decides when the JVM ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _address(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for the JVM's port, and for the secret that its callers present."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.serializers import UTF8Deserializer, read_int

    while not file.is_file():
        if process.poll() is not None and not file.is_file():
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        time.sleep(0.05)
    number: Any = read_int  # PySpark gives it no types
    text: Any = UTF8Deserializer
    with file.open("rb") as stream:
        return number(stream), text().loads(stream)


@contextlib.contextmanager
def _known(port: int, secret: str) -> Any:
    """Let PySpark use the JVM at this port, as it does if `spark-submit` has started Python."""
    wanted = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            os.environ.pop(name, None)


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a log record is more than the traceback of an interrupt, which py4j both logs and raises."""
    problem = record.exc_info[1] if record.exc_info else None
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem is None
