"""A run of the copy of a job, in a process that may be killed: `python -m headrace.certify.child PLAN CHECKPOINT PARTITIONS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.engine import Job
from headrace.jvm.session import session
from headrace.plan import Plan

# A run of some seconds is over before the JVM's second compiler has earned what it costs.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def main(plan: str, checkpoint: str, partitions: str) -> None:
    session(conf=QUICK)
    job = Job(Plan.from_json(json.loads(Path(plan).read_text(encoding="utf-8"))))
    print(job.run(checkpoint=checkpoint, partitions=int(partitions), progress=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
