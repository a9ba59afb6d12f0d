"""`headrace prepare`"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace as hr
from headrace import samples
from headrace.masking import masked

if TYPE_CHECKING:
    from headrace.jvm.java import Java


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "prepare",
        help="make later starts twice as fast",
        description="Build what is built once: the kernel, and an archive of the classes that Java loads at every start (about 200 MB).",
    )
    parser.add_argument("--again", action="store_true", help="even if that was done before")
    parser.add_argument("--in-background", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from headrace.jvm import java, preparing

    os.environ[preparing.SWITCH] = "never"
    if options.in_background:
        return _in_background(java.find())
    with preparing.alone(wait=True):
        return _prepare(again=options.again)


def _in_background(runtime: Java) -> int:
    """Prepare unattended. A failure is recorded for `headrace doctor`, and there is no second attempt."""
    from headrace.jvm import preparing

    preparing.step_back()
    with preparing.alone(wait=False) as mine:
        if not mine:
            return 0
        try:
            return _prepare(again=False)
        except Exception as problem:
            preparing.failure(runtime).write_text(f"{masked(str(problem))}\n", encoding="utf-8")
            raise


def _prepare(*, again: bool) -> int:
    from headrace.jvm import archive, cache, compile, java, launch, preparing, session

    compile.kernel_jar()
    runtime = java.find()
    if archive.place(runtime).is_file() and not again:
        print("headrace: already prepared")
        return 0
    print("headrace: starting Spark once to see which classes it needs (about a minute)", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=cache.folder("classes"), prefix="making-") as folder:
        written = Path(folder) / "classes.jsa"
        options = " ".join([launch.SHORT_LIVED, *map(launch.quoted, archive.writing(runtime, written))])
        spark = session.session(master="local[2]", conf={"spark.driver.extraJavaOptions": options, "spark.driver.memory": "1g"})
        class_path = session.jvm(spark).java.lang.System.getProperty("java.class.path")
        rehearse(Path(folder))
        session.end()
        print(f"headrace: made {archive.keep(runtime, written, class_path)} in {time.monotonic() - began:.0f} s")
    preparing.failure(runtime).unlink(missing_ok=True)
    return 0


class Rehearsed(hr.Program):
    """A program with a value, a timer and both their handlers."""

    n = hr.Value("bigint")
    quiet = hr.Timer()

    def on_event(self, e: Any) -> None:
        n = hr.f.coalesce(self.n.get(), 0) + 1
        self.n.set(n)
        self.quiet.set(e.ts + hr.minutes(5))
        hr.emit(card=self.key.card, n=n)

    def on_quiet(self, at: Any) -> None:
        self.n.clear()


def rehearse(folder: Path) -> None:
    """Do what most jobs do: read files, run a program, write files of each format, restart, and collect rows."""
    charges = hr.read.files(samples.CHARGES, format="json", schema="card string, amount decimal(10,2), shop string, ts timestamp")
    counted = charges.watermark("ts", "5 minutes").filter("amount > 0").key_by("card").process(Rehearsed).named("rehearsed")
    job = hr.job("rehearsal", *(counted.write.files(folder / format, format=format, name=format) for format in ("json", "csv", "parquet")))
    for _ in range(2):
        job.run(checkpoint=folder / "checkpoint", progress=False, flush=False, metrics_port="off")
    hr.collect(hr.read.files(folder / "parquet", format="parquet").select("card", more="n + 1")).rows()
