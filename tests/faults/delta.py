"""A job from files to three Delta tables, for a process that will be killed. `python -m tests.faults.delta FOLDER`"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr


def job(folder: Path) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, id bigint", files_per_epoch=1, name="rows")
    sums = rows.group_by("k").agg(n="count(*)", s="sum(id)")
    return hr.job(
        "killed",
        rows.write.delta(folder / "rows", partition_by="k", name="copied"),
        sums.write.delta(folder / "sums", key="k", name="summed"),
        sums.write.delta(folder / "told", mode="changes", name="told", compact_every=2),
    )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(job(place).run(checkpoint=place / "state", progress=False))
