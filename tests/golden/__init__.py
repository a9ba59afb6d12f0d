"""Golden files: plans and checkpoints that released versions wrote, which every later version must read. `tools/golden.py` writes them.

    golden/1/plans/NAME.json               a plan
    golden/1/checkpoints/NAME/1/plan.json  the job as it was at first
    golden/1/checkpoints/NAME/1/in/        what it read
    golden/1/checkpoints/NAME/2/...        a later version of it, or its last run: the one that the test does
    golden/1/checkpoints/NAME/checkpoint/  the checkpoint after all runs but the last
    golden/1/checkpoints/NAME/result/      and what the sinks had written by then
    golden/1/checkpoints/NAME/portable/    the same checkpoint as a portable savepoint, from format 5 on
    golden/spark42/checkpoints/NAME/...    some of them as headrace writes them on Spark 4.2; all others were written on a newer Spark
    golden/manifests/4/                    the folder of a files sink whose rows were replaced, in this format of manifests
    golden/documents/NAME.json             the query documents of these plans; `python -m tests.spark.compile.documents` writes them

The first folder is the format of checkpoints (`headrace.spark.checkpoint.folder.FORMAT`). All paths in the plans are relative, and every run begins in
the folder that has `in`, `checkpoint` and `result`, so a copy goes on anywhere. What names the place where they were written is Spark's: its log of
the files that were read, which are not read again, and the metadata of operators, which `headrace.spark.checkpoint.schema_paths` mends.
Query documents are those of the present format alone.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path

import headrace as hr

GOLDEN = Path(__file__).parent
OLDER = GOLDEN / "spark42"
DEPLOYS = "deploys"
"""The file in the folder of a run whose version is deployed before it runs: what becomes of its sinks, and whether it runs."""


def checkpoints() -> list[Path]:
    """The cases of all formats."""
    return sorted(path for path in GOLDEN.glob("[0-9]*/checkpoints/*") if path.is_dir())


def of_older_spark() -> list[Path]:
    """The cases that were written on the older Spark."""
    return sorted(OLDER.glob("checkpoints/*"))


def plans() -> list[Path]:
    """All plans, those of the cases too."""
    return sorted(GOLDEN.glob("[0-9]*/plans/*.json")) + sorted(GOLDEN.glob("[0-9]*/checkpoints/*/*/plan.json"))


def runs(case: Path) -> list[Path]:
    """The runs of a case, in order."""
    return sorted(path for path in case.iterdir() if path.name.isdigit())


def run(step: Path, folder: Path, *, last: bool, partitions: int | None = None) -> None:
    """One run of a case in `folder`, which has what the runs before it left; the last one ends the input."""
    shutil.rmtree(folder / "in", ignore_errors=True)
    shutil.copytree(step / "in", folder / "in")
    with contextlib.chdir(folder):
        job = hr.load(step / "plan.json")
        if (step / DEPLOYS).exists():
            deploy = json.loads((step / DEPLOYS).read_text(encoding="utf-8"))
            job.deploy(checkpoint="checkpoint", partitions=3, on_change=deploy["on_change"])
            partitions = None
            if not deploy["runs"]:
                return
        job.run(checkpoint="checkpoint", flush=last, progress=False, partitions=partitions)


def results(folder: Path) -> dict[str, list[str]]:
    """The rows of each sink, sorted; times that an earlier version wrote with milliseconds have microseconds here, as they have now."""
    return {
        sink.name: sorted(
            re.sub(r"(\.\d{3})Z", r"\g<1>000Z", line)
            for file in hr.committed_files(sink)
            for line in file.read_text(encoding="utf-8").splitlines()
        )
        for sink in sorted((folder / "result").iterdir())
    }
