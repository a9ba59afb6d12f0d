"""A job with expectations and something to repair, for a process that will be killed: `python contracts.py FOLDER`"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr


def job(folder: Path) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, v int", files_per_epoch=1, name="rows")
    sound = rows.expect(positive="v > 0").expect(small="v < 100", on_violation="keep")
    sums = sound.group_by("k").agg(s="sum(v)", n="count(*)").expect(few="n < 7", on_violation="drop")
    return hr.job(
        "contracts",
        sound.write.files(folder / "out", format="json", name="out"),
        sums.changes().write.files(folder / "sums", format="json", name="sums"),
    )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(job(place).run(checkpoint=place / "state", progress=False, flush=False))
