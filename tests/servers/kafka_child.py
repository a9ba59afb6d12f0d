"""A job for a process that will be killed: files → a topic. `python kafka_child.py FOLDER SERVERS TOPIC`"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr


def job(folder: Path, servers: str, topic: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="id bigint, k string", files_per_epoch=1, name="rows")
    return hr.job("killed", rows.write.kafka(topic, servers=servers, key="k", name="out", end_markers=True))


if __name__ == "__main__":
    place, servers, topic = sys.argv[1:]
    print(job(Path(place), servers, topic).run(checkpoint=Path(place) / "state", progress=False))
