"""Processes with the job of `places`, and what readers of their own find where it writes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.faults.test_standby import PATIENCE, ended, state_of
from tests.servers.kafka import Broker
from tests.unit.connectors.delta.tasks import rows_of as of_delta
from tests.unit.connectors.iceberg.tasks import rows_of as of_iceberg

Rows = list[tuple[Any, ...]]


class Place:
    """Where the job writes, and what a reader of its own finds there."""

    def __init__(self, kind: str, folder: Path, server: Any) -> None:
        self.kind = kind
        self.folder = folder
        self.server = server
        self.address = "" if server is None else server.servers if isinstance(server, Broker) else server.database()

    def rows(self, name: str, columns: tuple[str, ...], *, newest: bool) -> Rows:
        match self.kind:
            case "kafka":
                records = self.server.consume(f"{self.folder.name}-{name}")
                if newest:
                    records = {record.key: record for record in records}.values()
                values = [json.loads(record.value) for record in records if record.value is not None]
                return [tuple(value[column] for column in columns) for value in values]
            case "delta":
                return of_delta(self.folder / name)
            case "iceberg":
                return of_iceberg(self.folder, f"db.{name}")
        return [tuple(row) for row in self.server.run(self.address, f"SELECT {', '.join(columns)} FROM {name}")]

    def start(self, name: str, *arguments: str, **environment: str) -> Child:
        return Child(self, name, arguments, environment)

    def check(self, rows: list[tuple[str, int]]) -> None:
        """Each row is there once, and the sums are those of all of them."""
        assert Counter(self.rows("added", ("k", "id"), newest=False)) == Counter(rows)
        keys = sorted({k for k, _ in rows})
        each = [[id for k, id in rows if k == key] for key in keys]
        expected = [(key, len(ids), sum(ids)) for key, ids in zip(keys, each, strict=True)]
        assert sorted(self.rows("summed", ("k", "n", "s"), newest=True)) == expected


class Child:
    """A process with the job, its JVM, and what both say."""

    def __init__(self, place: Place, name: str, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        self.log = place.folder / name
        command = [sys.executable, "-m", "tests.faults.places", str(place.folder), place.kind, place.address, *arguments]
        variables = {
            **os.environ,
            "HEADRACE_MASTER": "local[2]",
            "SPARK_DRIVER_MEMORY": "1g",
            "HEADRACE_LEASE": "10 seconds",
            **environment,
        }
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=variables, start_new_session=True)

    def log_text(self) -> str:
        return self.log.read_text()

    def sent(self, sign: signal.Signals) -> None:
        os.killpg(self.process.pid, sign)

    def asleep(self) -> bool:
        return state_of(self.process.pid) == "T"

    def ended(self) -> None:
        ended(self.process, self.log)

    def over(self) -> None:
        """Nothing of it is left, be it a JVM whose Python is dead."""
        with contextlib.suppress(ProcessLookupError):
            self.sent(signal.SIGKILL)
        self.process.wait(PATIENCE)
