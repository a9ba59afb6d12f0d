"""Flink SQL as a contender: a process with an interpreter of its own, which has the package apache-flink and keeps its JVM warm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.environments import CACHE, python
from bench.nexmark.events import CORES, Events
from bench.nexmark.queries import FILES, FOLDERS, Query
from bench.nexmark.tables import in_flink
from headrace.jvm.java import find

VERSION = "2.3.0"
SETTINGS = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
"""The settings of the published benchmark."""
STATES = {
    "heap": {"state.backend.type": "hashmap"},
    "rocksdb": {
        "state.backend.type": "rocksdb",
        "taskmanager.memory.managed.size": "512m",
        "execution.checkpointing.interval": "1s",
        "execution.checkpointing.incremental": "true",
    },
}
"""The state backend: the heap without checkpoints, Flink's default, or RocksDB with checkpoints, as in headrace."""


class Flink:
    """The process, as a context manager. Its tables are those of the events named last."""

    def __init__(self, state: str = "heap", memory: str = "4g") -> None:
        self._state = state
        self._memory = memory
        self._events: Events | None = None
        self.process = 0
        """The id of the JVM's process."""

    def __enter__(self) -> Self:
        interpreter = python(f"apache-flink=={VERSION}", only_binary=False)
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-flink-"))
        home = find().home
        surroundings = {
            **os.environ,
            **({"JAVA_HOME": str(home)} if home else {}),
            "JVM_ARGS": f"-Xmx{self._memory}",
            "FLINK_LOG_DIR": str(self._folder),
        }
        settings = SETTINGS | STATES[self._state]
        if self._state != "heap":
            settings["execution.checkpointing.dir"] = (self._folder / "checkpoints").as_uri()
        self._log = (CACHE / "flink.log").open("w")
        self._running = subprocess.Popen(
            [str(interpreter), str(Path(__file__).with_name("inside_flink.py")), str(CORES), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=surroundings,
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        assert self._running.stdin is not None
        self._running.stdin.close()
        self._running.wait(60)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def over(self, events: Events) -> None:
        if events != self._events:
            self.process = int(self._ask(tables=in_flink(events))["process"])
            self._events = events

    def seconds(self, query: Query) -> float:
        if query.name != FILES:
            return float(self._ask(query=query.flink, sink={"connector": "blackhole"}, folders=[])["seconds"])
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        sink = {"connector": "filesystem", "path": folder.as_uri(), "format": "csv"}
        try:
            return float(self._ask(query=query.flink, sink=sink, folders=FOLDERS)["seconds"])
        finally:
            shutil.rmtree(folder)

    def rows(self, query: Query) -> int:
        return int(self._ask(count=query.flink)["rows"])

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._running.stdin is not None and self._running.stdout is not None
        self._running.stdin.write(json.dumps(request) + "\n")
        self._running.stdin.flush()
        line = self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"Flink ended with {self._running.wait()}; its log is {self._log.name}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer


class Refused(RuntimeError):
    """The error of a query that Flink does not run, with the last cause in its trace."""

    def __init__(self, trace: str) -> None:
        causes = re.findall(r"^(?:Caused by: |: )(\S.*)$", trace, re.MULTILINE)
        super().__init__(causes[-1] if causes else trace.partition("\n")[0])
