"""bytewax in two processes, under an interpreter of its own that is made at first use. headrace does not depend on it.

Time runs from the first file opened in any process until the last row is out in all of them; the start of Python is not included.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.state.contenders.contender import Answer
from bench.state.inputs import Events
from bench.state.workloads import Workload

PACKAGES = ("bytewax==0.21.1", "pyarrow==26.0.1")
PROCESSES = 2
ROOT = Path(__file__).parents[3]
FLOWS = ROOT / "bench/state/flows"


@dataclass(frozen=True)
class Bytewax:
    name: str
    python: Path
    share: float = 1.0

    def lacks(self, workload: Workload) -> str | None:
        return None if (FLOWS / f"{workload.name}.py").is_file() else "bytewax has no timers in event time"

    def prepare(self, workload: Workload) -> None:
        pass

    def seconds(self, workload: Workload, events: Events) -> float:
        reports = self.run(workload, events, "")
        began = min(report["began"] for report in reports if report["began"] is not None)
        return float(max(report["ended"] for report in reports) - began)

    def answer(self, workload: Workload, events: Events) -> Answer:
        columns = list(workload.output)
        reports = self.run(workload, events, ",".join(str(columns.index(name)) for name in workload.sums))
        sums = zip(*(report["sums"] for report in reports), strict=True)
        return Answer(sum(report["rows"] for report in reports), tuple(map(sum, sums)))

    def run(self, workload: Workload, events: Events, sums: str) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
            more = {"BENCH_EVENTS": str(events.folder), "BENCH_REPORT": folder, "BENCH_SUMS": sums, "PYTHONPATH": str(ROOT)}
            command = [str(self.python), "-m", "bytewax.testing", f"bench.state.flows.{workload.name}:flow", "-p", str(PROCESSES)]
            subprocess.run(command, env={**os.environ, **more}, check=True, stdout=subprocess.DEVNULL)
            reports = [json.loads(file.read_text()) for file in Path(folder).glob("*.json")]
        if len(reports) != PROCESSES:
            raise RuntimeError(f"{len(reports)} of {PROCESSES} processes of bytewax came to the end of {workload.name}")
        return reports
