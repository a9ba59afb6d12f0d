"""Runs the copy of a job in a process that may be killed: `python -m headrace.certify.child PLAN CHECKPOINT LEFT PARTITIONS`.

A killed process cannot clean up: temporary files of Java and Spark go to the folder LEFT, which the parent removes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.engine import Job
from headrace.jvm.launch import SHORT_LIVED, quoted
from headrace.jvm.session import session
from headrace.plan import Plan


def short_lived(left: str) -> None:
    """Start a session for some seconds that puts its temporary files into this folder."""
    Path(left).mkdir(exist_ok=True)
    options = f"{SHORT_LIVED} {quoted(f'-Djava.io.tmpdir={left}')}"
    session(conf={"spark.driver.extraJavaOptions": options, "spark.local.dir": left})


def main(plan: str, checkpoint: str, left: str, partitions: str) -> None:
    short_lived(left)
    job = Job(Plan.from_json(json.loads(Path(plan).read_text(encoding="utf-8"))))
    print(job.run(checkpoint=checkpoint, partitions=int(partitions), flush=True, progress=False, metrics_port="off"))


if __name__ == "__main__":
    main(*sys.argv[1:])
