"""A table of sums whose definition changes, in the table of any sink that replaces rows: it ends as if it had always been the new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.ops.sink import sinks_of
from headrace.schema import parse_schema
from tests.faults.readers import READERS
from tests.spark.engine.pairs import ROWS, add, read
from tests.spark.engine.test_deploy_running import running, until

Write = Callable[[hr.Stream, str], Any]

BEFORE = "SELECT k, sum(v) AS s, CAST(max(ts) AS string) AS last FROM rows WHERE v > 10 GROUP BY k"
AFTER = "SELECT k, sum(v) AS s, CAST(max(ts) AS string) AS last FROM rows WHERE v > 30 GROUP BY k HAVING sum(v) > 60"
SCHEMA = parse_schema("k int, s bigint, last string")


def job(folder: Path, text: str, write: Write, place: str, *, follow: bool = False) -> hr.Job:
    rows = read(folder, "rows", ROWS, follow=follow)
    stays = rows.group_by("k").agg(n="count(*)").named("stays").write.files(folder / place, format="json", mode="changes", name="stays_out")
    return hr.job("sums", write(hr.sql(text, rows=rows), place), stays)


def there(job: hr.Job) -> Counter[tuple[Any, ...]]:
    """What an independent reader finds in the table."""
    sink = next(node for node in sinks_of(job.plan.nodes.values()) if node.name != "stays_out")
    connected: Any = sink.connect()
    if connected.connector == "kafka":
        connected._replaces = True
    return Counter(tuple(map(str, row)) for row in READERS[connected.connector](connected, SCHEMA))


def check(folder: Path, write: Write, partitions: int | None = None, on_change: dict[str, str] | None = None) -> None:
    """Deploy, roll back, deploy again; after each the table equals that of a job which was always so. `partitions`: after a deploy."""

    def run(text: str, place: str, checkpoint: str, start: int | None = 2) -> None:
        job(folder, text, write, place).run(checkpoint=folder / checkpoint, progress=False, flush=False, partitions=start)

    for part in (0, 1):
        add(folder, part)
        run(BEFORE, "table", "state")
    for number, text in enumerate((AFTER, BEFORE, AFTER), 1):
        fresh = f"fresh{number}"
        version = job(folder, text, write, "table")
        deployment = version.deploy(checkpoint=folder / "state", partitions=partitions, on_change=on_change)
        kept = next(one for one in deployment.verdicts if one.name == "stays")
        assert kept.verdict in ("kept", "moved")
        run(text, "table", "state", None)
        run(text, fresh, fresh)
        assert there(version) == there(job(folder, text, write, fresh)) != {}
        add(folder, number + 1)
        run(text, "table", "state", None)
        run(text, fresh, fresh)
        assert there(version) == there(job(folder, text, write, fresh))


def check_running(folder: Path, write: Write, on_change: dict[str, str] | None = None) -> None:
    """The same with a job that runs all the time, and gets rows while it is deployed to."""
    add(folder, 0)
    with running(job(folder, BEFORE, write, "table", follow=True), folder / "state", partitions=2) as run:
        for number, text in enumerate((AFTER, BEFORE, AFTER), 1):
            version = job(folder, text, write, "table", follow=True)
            add(folder, number)
            assert version.deploy(checkpoint=folder / "state", on_change=on_change).pause_seconds is not None
            afresh = job(folder, text, write, f"fresh{number}")
            afresh.run(checkpoint=folder / f"fresh{number}", progress=False, flush=False, partitions=2)
            wanted = there(afresh)
            until(lambda version=version, wanted=wanted: there(version) == wanted != {})  # type: ignore[misc]  # those of this round
    assert run.error is None
