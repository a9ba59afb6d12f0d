"""Writes the golden files of the current format: plans and checkpoints that every later version must read; tests/golden describes them.

python tools/golden.py           writes tests/golden/FORMAT anew; files of a released version are never written again
python tools/golden.py views     one case of it
python tools/golden.py --portable [views]   only the portable savepoints of its checkpoints

On the older Spark (.venv42/bin/python) it writes a few checkpoints to tests/golden/spark42.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OF_OLDER = ["cells", "corrected", "held", "views"]


def main() -> None:
    """Write all cases, or those named. Each also runs to its end: a golden whose last run fails would be worthless."""
    sys.path.insert(0, str(ROOT))
    from tests.golden import DEPLOYS, GOLDEN, OLDER

    from headrace.jvm.compile import SUPPORTED, minor, spark_version
    from headrace.plan.codec import without_sites
    from headrace.spark.checkpoint.folder import FORMAT
    from tools.golden_jobs import CASES, PLANS

    on_older = minor(spark_version()) != SUPPORTED[-1]
    target = OLDER if on_older else GOLDEN / str(FORMAT)
    only_portable = "--portable" in sys.argv
    options = [option for option in sys.argv[1:] if option != "--portable"] or (OF_OLDER if on_older else [*PLANS, *CASES])
    if only_portable:
        for name in CASES:
            if name in options:
                _export(target / "checkpoints" / name)
        return
    for name, job in PLANS.items():
        if name in options:
            _write(target / "plans" / f"{name}.json", without_sites(job().plan.to_json()))
    for name, cases in CASES.items():
        if name not in options:
            continue
        case = target / "checkpoints" / name
        shutil.rmtree(case, ignore_errors=True)
        for number, run in enumerate(cases(), 1):
            _write(case / str(number) / "plan.json", without_sites(run.job.plan.to_json()))
            if run.deploys is not None:
                (case / str(number) / DEPLOYS).write_text(json.dumps({"on_change": dict(run.deploys), "runs": run.runs}), encoding="utf-8")
            files = {**run.changed, **{(source, number): rows for source, rows in run.files.items()}}
            for (source, of_run), rows in files.items():
                file = case / str(number) / "in" / source / f"{of_run}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        _run(case)
        _export(case)
        size = sum(file.stat().st_size for file in case.rglob("*") if file.is_file())
        print(f"{name}: {size / 1024:.0f} KB")


def _write(file: Path, plan: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def _run(case: Path) -> None:
    """Make all runs but the last, and copy their checkpoint and results into the case."""
    from tests.golden import run, runs

    # always the same place, because Spark's log has the paths of the files it read
    work = Path(tempfile.gettempdir()) / "headrace-golden" / case.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for step in runs(case)[:-1]:
        run(step, work, last=False, partitions=2 if case.name == "held" else 1)
    for kept in ("checkpoint", "result"):
        shutil.copytree(work / kept, case / kept, ignore=shutil.ignore_patterns("lock", ".*.crc"))
    shutil.rmtree(work)


def _export(case: Path) -> None:
    """Write the checkpoint of a case as a portable savepoint, too."""
    import headrace as hr
    from headrace.spark.run.commands import take_savepoint

    shutil.rmtree(case / "portable", ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        checkpoint = shutil.copytree(case / "checkpoint", Path(place, "checkpoint"))
        take_savepoint(checkpoint, "golden")
        hr.export_savepoint(checkpoint, "golden", case / "portable")


if __name__ == "__main__":
    main()
