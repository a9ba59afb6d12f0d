"""The demo: New York's flights of 2013 as a stream, and how delays propagate from flight to flight (docs/start/demo.md)."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.durable import named
from headrace.errors import HeadraceError
from headrace.jvm.launch import SHORT_LIVED

MARK = ".headrace-demo"


def main(out: str | Path = "headrace-demo") -> int:
    """Lay out the events, run the job and show its results, all below the folder `out`. Return the exit code."""
    from rich.console import Console

    import headrace as hr
    from headrace.demo import events, findings, page, picture, pipeline

    console, started = Console(highlight=False), time.monotonic()
    folder = own(Path(out).resolve())
    tables = events.tables_folder()
    console.print(
        "[bold]New York's flights of 2013[/], replayed as a stream: which delays did an aircraft hand on, and which aircraft vanished?"
    )
    with console.status("laying out the events, a file per day") as status:
        events.lay_out(folder / "events", lambda text: status.update(text))
        status.update("starting Spark")
        spark = hr.session(conf={"spark.driver.extraJavaOptions": SHORT_LIVED})

    job = pipeline.delays(folder / "events", folder / "results")
    summary = job.run(checkpoint=str(folder / "checkpoint"), fresh=True, flush=True, partitions=2, progress=True)

    with console.status("reading the results"):
        results = findings.find(spark, folder / "results")
        page.write(folder / "delays.html", results, summary, str(job.explain(verbose=True)), tables)

    picture.show(console, results)
    for sentence in picture.sentences(results):
        console.print(f" • {sentence}")
    epochs = "1 epoch" if summary.epochs == 1 else f"{summary.epochs} epochs"
    took = f"{epochs} and {summary.seconds:.0f} s; {time.monotonic() - started:.0f} s in all"
    console.print(f"\n{summary.rows:,} events in {took}. {picture.accounted(summary)}")
    console.print("\n[bold]Open next[/]")
    for what, path in picture.next_files(folder / "delays.html", folder / "results"):
        console.print(f"  {shown(path)}  [dim]{what}[/]", soft_wrap=True)
    return 0


def own(folder: Path) -> Path:
    """Make the demo's folder, or reuse one; refuse a folder with other files."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise HeadraceError(
            "DEMO_FOLDER", f"{folder} is not empty and was not made by the demo", hint="name another folder: headrace demo --out FOLDER"
        )
    named.folder(folder)
    (folder / MARK).touch()
    return folder


def shown(path: Path) -> str:
    """Return a path as text, relative to the current folder if it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
