"""Importing: a checkpoint, made of a portable savepoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from headrace.durable import atomic
from headrace.durable.sums import read, text_of
from headrace.errors import HeadraceError
from headrace.ops import Sink
from headrace.plan import Plan, displayed
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Stored, is_checkpoint, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.offsets import Offsets, write_logs
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.deploy.stores import Files, Origin, write_stores
from headrace.spark.portable.contents import CHECKPOINT, STATE, Operator, Portable, check, contents
from headrace.spark.portable.exporting import unreadable_job


def restore(folder: Path, checkpoint: Path, partitions: int | None = None) -> Portable:
    """Make a checkpoint of a portable savepoint, with `partitions` tasks a level, or as many as before."""
    folder, checkpoint = folder.absolute(), checkpoint.absolute()
    portable = contents(folder)
    if is_checkpoint(checkpoint):
        raise HeadraceError(
            "CHECKPOINT_EXISTS",
            f"{checkpoint} is a checkpoint already",
            hint="choose another folder for the import, or move that checkpoint away",
        )
    check(folder, portable.files)
    stored = stored_in(folder / CHECKPOINT)
    if stored is None:
        raise unreadable_job(folder / CHECKPOINT)
    after = partitions or stored.partitions
    _refuse_placed(stored, after)
    fresh = checkpoint.with_name(f".{checkpoint.name}.unfinished")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        shutil.copytree(folder / CHECKPOINT, fresh)
        _with_partitions(fresh, after)
        for query in stored.identity.queries:
            _restore(query, fresh, stored, folder / STATE, portable.operators, after)
            mend(query_folder(fresh, query.name), query_folder(checkpoint, query.name))
        channel.note(fresh, Command.make("import"), {**portable.portable.to_json(), "partitions": after})
        if checkpoint.is_dir():
            checkpoint.rmdir()
        fresh.rename(checkpoint)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return portable.portable


def _restore(
    query: QueryIdentity, checkpoint: Path, stored: Stored, state: Path, operators: Mapping[str, Operator], partitions: int
) -> None:
    """Write the stores of a query, as of the last epoch that it has completed."""
    folder = query_folder(checkpoint, query.name)
    epoch = logged(folder, "commits")
    if epoch < 0:
        return
    begun = logged(folder, "offsets")
    watermark = Origin(query, folder, epoch, stored.partitions).watermark
    offsets = {n: Offsets.read(folder, n).with_partitions(partitions) for n in range(epoch, begun + 1)}
    for log in ("offsets", "commits"):
        shutil.rmtree(folder / log)
    write_logs(folder, epoch, offsets[epoch], after=watermark)
    for interrupted in range(epoch + 1, begun + 1):
        atomic.replace(folder / "offsets" / str(interrupted), offsets[interrupted].text)
    files = Files(state, tuple(one.op for one in operators.values()), tuple(one.op for one in operators.values() if one.pages))
    write_stores(
        query,
        [files],
        folder,
        epoch=epoch,
        watermark=watermark,
        partitions=partitions,
        settings=stored.settings,
        changes=(),
        log=checkpoint / "errors.log",
    )


def _with_partitions(checkpoint: Path, partitions: int) -> None:
    file = checkpoint / "job.json"
    value = read(file) or {}
    atomic.replace(file, text_of({**value, "partitions": partitions}, indent=1))


def _refuse_placed(stored: Stored, partitions: int) -> None:
    """Refuse another number of tasks for sinks that commit task by task."""
    if partitions == stored.partitions:
        return
    plan = Plan.from_json(stored.plan)
    with displayed(plan):
        placed = [str(sink.name) for sink in plan.nodes.values() if isinstance(sink, Sink) and sink.connect().traits.placed]
        if placed:
            raise HeadraceError(
                "PARTITIONS_CHANGED",
                f"{', '.join(placed)} commits task by task, so the checkpoint has to keep its {stored.partitions} partitions",
                hint=f"write partitions={stored.partitions} or leave it out",
            )
