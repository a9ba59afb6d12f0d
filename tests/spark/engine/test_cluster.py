"""A job whose tasks run in other processes: with executors of its own, and on a standalone cluster's."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headrace.jvm import java
from tests.spark.engine.jobs import FIRST, SECOND, alerts, put

pytestmark = pytest.mark.full

PROGRAM = """
import sys
from pathlib import Path
import headrace as hr
from tests.spark.engine.jobs import fraud

spark = hr.session(master=sys.argv[1], conf={"spark.executor.memory": "700m", "spark.driver.memory": "1g"})
summary = fraud(Path(sys.argv[2])).run(checkpoint=Path(sys.argv[2]) / "state", flush=len(sys.argv) > 3, progress=False, partitions=3)
executors = spark._jsc.sc().getExecutorMemoryStatus().size() - 1
held = hr.state(Path(sys.argv[2]) / "state").table("alerts_held_event").rows()
print("read", summary.rows, "by", executors, "executors, which hold", len(held))
spark.stop()
"""


def run(master: str, folder: Path, *flush: str) -> str:
    command = [sys.executable, "-c", PROGRAM, master, str(folder), *flush]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """Spark's own master and one worker on loopback; gives the master's address."""
    import pyspark

    runtime, home = java.find(), Path(pyspark.__file__).parent
    ports = [free_port() for _ in range(4)]
    surroundings = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}
    environment = {**surroundings, "JAVA_HOME": str(runtime.home or runtime.executable.resolve().parents[1])}
    master = f"spark://127.0.0.1:{ports[0]}"
    commands = {
        "Master": ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", ports[0], "--webui-port", ports[1]],
        "Worker": [
            *("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--port", ports[2], "--webui-port", ports[3]),
            *("--cores", 2, "--memory", "1g", "--work-dir", folder / "work", master),
        ],
    }
    with ExitStack() as processes:
        for name, command in commands.items():
            log = folder / f"{name}.log"
            process = processes.enter_context(started([home / "bin" / "spark-class", *command], log, environment))
            await_line(process, log, r"New state: ALIVE" if name == "Master" else r"Successfully registered with master")
        yield master


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def started(command: list[object], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, env=environment)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def await_line(process: subprocess.Popen[bytes], log: Path, wanted: str) -> None:
    until = time.monotonic() + 120
    while not re.search(wanted, log.read_text(errors="replace")):
        assert process.poll() is None and time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(0.1)


def start_and_go_on(master: str, folder: Path) -> str:
    put(folder / "in", "1.json", FIRST)
    assert run(master, folder).endswith("which hold 4")
    put(folder / "in", "2.json", SECOND)
    return run(master, folder, "flush")


def test_executors_in_other_processes(tmp_path: Path) -> None:
    assert start_and_go_on("local-cluster[2,1,700]", tmp_path) == "read 3 by 2 executors, which hold 0"
    assert alerts(tmp_path) == [("a", "00:00:30"), ("b", "00:20:10")]


def test_a_standalone_cluster(tmp_path: Path) -> None:
    with standalone(tmp_path) as master:
        assert start_and_go_on(master, tmp_path) == "read 3 by 1 executors, which hold 0"
    assert alerts(tmp_path) == [("a", "00:00:30"), ("b", "00:20:10")]


EXECUTORS = """
import os, sys
from pathlib import Path
import headrace as hr

spark = hr.session(master="local-cluster[1,2,700]", conf={"spark.executor.memory": "700m", "spark.driver.memory": "1g"})
print(spark.sparkContext.applicationId)
hr.secret("TOKEN").read()
folder = Path(sys.argv[1])
rows = hr.read.files(folder / "in", format="json", schema="id int", malformed="fail", name="rows")
try:
    hr.job("secret", rows.write.files(folder / "out", format="json", name="out")).run(checkpoint=folder / "ck", progress=False)
except hr.HeadraceError as error:
    print(error.code)
spark.stop()
"""


def test_executors_show_no_secret(tmp_path: Path) -> None:
    """What an executor says of a task that fails is in a log of its own."""
    import pyspark

    token = "tok/Sesame+4711&x"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text(f'{{"id": "{token}"}}\n', encoding="utf-8")
    environment = {**os.environ, "TOKEN": token}
    command = [sys.executable, "-c", EXECUTORS, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    application, code = done.stdout.split()
    assert code == "MALFORMED_ROW"
    work = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "work" / application
    try:
        output = b"".join(file.read_bytes() for file in work.glob("*/std*"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    assert b"MALFORMED_ROW" in output or b"HeadraceKernelException" in output
    assert b"***" in output and token.encode() not in output
    assert token not in done.stdout + done.stderr
