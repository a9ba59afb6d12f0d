"""Queries of Nexmark as a job for a process that will be killed. `python nexmark.py FOLDER EVENTS EPOCHS QUERY...`; the folder holds the events as well."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.nexmark import ours
from bench.nexmark.events import make
from bench.nexmark.queries import QUERIES

if __name__ == "__main__":
    folder, events, epochs, *names = sys.argv[1:]
    place = Path(folder)
    job = ours.kept([QUERIES[name] for name in names], make(int(events), int(epochs), cache=place), place / "out")
    print(job.run(checkpoint=place / "state", progress=False, partitions=2))
