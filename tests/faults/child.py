"""A job for a process that will be killed: files → a program → files. `python child.py FOLDER [--standby]`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace as hr


class Number(hr.Program):
    """Numbers the rows of a key; a timer far away keeps state that has to survive."""

    n = hr.Value("bigint")
    done = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.done.set(e.ts + hr.days(30))
        hr.emit(k=self.key.k, id=e.id, n=self.n.get(), ts=e.ts)

    def on_done(self, at: Any) -> None:
        hr.emit(k=self.key.k, id=-1, n=self.n.get(), ts=at)


def job(folder: Path) -> hr.Job:
    schema = "k string, id bigint, ts timestamp"
    rows = hr.read.files(folder / "in", format="json", schema=schema, files_per_epoch=1, name="rows").watermark("ts", "10 seconds")
    numbered = rows.key_by("k").process(Number, time="ts").named("numbered")
    twice = numbered.key_by("k").process(Number).named("again")
    return hr.job(
        "killed",
        numbered.write.files(folder / "out", format="json", name="out"),
        twice.write.files(folder / "twice", format="json", name="twice"),
    )


if __name__ == "__main__":
    place = Path(sys.argv[1])
    summary = job(place).run(checkpoint=place / "state", progress=False, standby="--standby" in sys.argv)
    print(summary)
