"""Spark's JVM, started by this process so that an interrupt at any moment leaves no JVM behind.

PySpark's own start knows the JVM only once it listens. Interrupted before that, it removes the file in which the JVM is to say where it
listens; the JVM then waits for ever.
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
"""Where py4j logs what happens to a call; the first is the root of all."""
PATIENCE = 5
"""Seconds in which a JVM whose start was interrupted can remove its files."""


def launch(home: Path, conf: SparkConf, log: Path) -> Any:
    """PySpark's gateway to a new JVM of the Spark in `home`, which writes what it prints to `log`."""
    from pyspark import java_gateway

    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_said)
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
    """End a JVM that was launched: it goes by itself once it cannot read from this process, and is killed after so many seconds.

    One that writes an archive of classes at its end takes its time.
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
    """`spark-submit`, which becomes the JVM."""
    settings = [word for name, value in conf.getAll() for word in ("--conf", f"{name}={value}")]
    return subprocess.Popen(
        [str(home / "bin" / "spark-submit"), *settings, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))],
        stdin=subprocess.PIPE,  # the JVM ends with this process, when it cannot read from it any more
        stdout=noise,
        stderr=noise,
        env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
        preexec_fn=_without_ctrl_c,
    )


def _without_ctrl_c() -> None:
    # A terminal interrupts all processes of a group; what becomes of the JVM is for this process to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _address(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Where the JVM listens, and the secret that whoever calls it presents."""
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
    """PySpark takes the JVM that listens there, as it does when `spark-submit` has started Python."""
    wanted = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            os.environ.pop(name, None)


def _said(record: logging.LogRecord) -> bool:
    """Whether a line of the log is more than a traceback of an interrupt, which py4j logs and raises as well."""
    problem = record.exc_info[1] if record.exc_info else None
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem is None
