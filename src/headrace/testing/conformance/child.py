"""Reads the available input and ends, since a source may be unbounded, in a process that may be killed:
`python -m headrace.testing.conformance.child PLAN CHECKPOINT LEFT PARTITIONS`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.certify.child import short_lived
from headrace.plan import Plan
from headrace.spark.compile.job import compile
from headrace.testing.conformance.workbench import read_all


def main(plan: str, checkpoint: str, left: str, partitions: str) -> None:
    short_lived(left)
    read_all(compile(Plan.from_json(json.loads(Path(plan).read_text(encoding="utf-8")))), Path(checkpoint), int(partitions))


if __name__ == "__main__":
    main(*sys.argv[1:])
