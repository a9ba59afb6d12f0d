"""Importing: a checkpoint, made of a portable savepoint."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.durable import atomic, private
from headrace.durable.sums import text_of
from headrace.errors import HeadraceError
from headrace.ops import sinks_of
from headrace.plan import Plan, displayed
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Stored, is_checkpoint, query_folder, stored_in
from headrace.spark.checkpoint.history import History, logged
from headrace.spark.checkpoint.offsets import Offsets, write_logs
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.deploy.beside import LOG, beside
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
    with beside(checkpoint) as fresh:
        shutil.copytree(folder / CHECKPOINT, private.folder(fresh), dirs_exist_ok=True)
        if after != stored.partitions:
            atomic.replace(fresh / "job.json", text_of(_divided(stored, after).to_json(), indent=1))
        for query in stored.identity.queries:
            if logged(query_folder(fresh, query.name), "commits") >= 0:
                _restore(query, fresh, stored, folder / STATE, portable.operators, after)
                mend(query_folder(fresh, query.name), query_folder(checkpoint, query.name))
        channel.note(fresh, Command.make("import"), {**portable.portable.to_json(), "partitions": after})
        if checkpoint.is_dir():
            checkpoint.rmdir()
        fresh.rename(checkpoint)
    return portable.portable


def _restore(
    query: QueryIdentity, checkpoint: Path, stored: Stored, state: Path, operators: Mapping[str, Operator], partitions: int
) -> None:
    """Write the stores of a query, as of the last epoch that it has completed."""
    folder = query_folder(checkpoint, query.name)
    epoch = logged(folder, "commits")
    origin = Origin(query, folder, epoch, stored.partitions)
    watermark = origin.watermark
    if partitions == stored.partitions:
        (folder / "commits" / str(epoch)).unlink()
        (folder / "commits" / f".{epoch}.crc").unlink(missing_ok=True)
    else:
        _divide(query.name, checkpoint, stored, epoch, watermark, partitions)
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
        log=checkpoint / LOG,
    )


def _divide(query: str, checkpoint: Path, stored: Stored, epoch: int, watermark: int, partitions: int) -> None:
    """Let the logs of a query say that its last epoch ran in another number of partitions: it is a new branch of its history."""
    folder, epochs = query_folder(checkpoint, query), checkpoint / "epochs" / query
    if logged(folder, "offsets") > epoch:
        raise HeadraceError(
            "EPOCH_UNFINISHED",
            f"epoch {epoch + 1} of {query} was interrupted, so it has to be repeated in {stored.partitions} partitions",
            hint=f"import it with partitions={stored.partitions}, run it once, then change their number: headrace rescale",
        )
    offsets = Offsets.read(folder, epoch).with_partitions(partitions)
    fingerprint = Plan.from_json(stored.plan).fingerprint
    before = History(epochs, folder, fingerprint, stored.adopted.get(query, -1)).of(epoch)
    for gone in (folder / "offsets", folder / "commits", epochs):
        shutil.rmtree(gone, ignore_errors=True)
    write_logs(folder, epoch, offsets, after=watermark)
    History(epochs, folder, fingerprint).branch(epoch, [before])


def _divided(stored: Stored, partitions: int) -> Stored:
    """Return a job with another number of partitions. Joins without keys go on with as many groups as they have."""
    queries = tuple(
        replace(query, entries=tuple(replace(entry, shards=entry.shards or stored.partitions) for entry in query.entries))
        for query in stored.identity.queries
    )
    return replace(stored, partitions=partitions, identity=replace(stored.identity, queries=queries))


def _refuse_placed(stored: Stored, partitions: int) -> None:
    """Refuse another number of tasks for sinks that commit task by task."""
    if partitions == stored.partitions:
        return
    plan = Plan.from_json(stored.plan)
    with displayed(plan):
        placed = [str(sink.name) for sink in sinks_of(plan.nodes.values()) if sink.connect().traits.placed]
        if placed:
            raise HeadraceError(
                "PARTITIONS_CHANGED",
                f"{', '.join(placed)} commits task by task, so the checkpoint has to keep its {stored.partitions} partitions",
                hint=f"write partitions={stored.partitions} or leave it out",
            )
