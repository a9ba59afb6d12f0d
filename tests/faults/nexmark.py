"""The queries of Nexmark as a job for a process that will be killed. `python nexmark.py FOLDER`, which holds the events as well."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.nexmark import ours
from bench.nexmark.events import make
from bench.nexmark.queries import OF_EVENTS

EVENTS, EPOCHS = 1_000_000, 10

if __name__ == "__main__":
    place = Path(sys.argv[1])
    job = ours.kept(OF_EVENTS.values(), make(EVENTS, EPOCHS, cache=place), place / "out")
    print(job.run(checkpoint=place / "state", progress=False, partitions=2))
