"""A job from files to three tables, for a process that will be killed. `python -m tests.faults.lakes FOLDER delta|iceberg`"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr


def job(folder: Path, lake: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, id bigint", files_per_epoch=1, name="rows")
    sums = rows.group_by("k").agg(n="count(*)", s="sum(id)")
    if lake == "delta":
        return hr.job(
            "killed",
            rows.write.delta(folder / "rows", partition_by="k", name="copied"),
            sums.write.delta(folder / "sums", key="k", name="summed"),
            sums.write.delta(folder / "told", mode="changes", name="told", compact_every=2),
        )
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "wh")}
    return hr.job(
        "killed",
        rows.write.iceberg("db.rows", catalog=catalog, partition_by="k", name="copied"),
        sums.write.iceberg("db.sums", catalog=catalog, key="k", name="summed"),
        sums.write.iceberg("db.told", catalog=catalog, mode="changes", name="told"),
    )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(job(place, sys.argv[2]).run(checkpoint=place / "state", progress=False))
