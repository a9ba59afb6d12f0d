"""Importing: a checkpoint, made of a portable savepoint."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.durable import atomic, private
from headrace.durable.sums import text_of
from headrace.errors import HeadraceError
from headrace.plan import Plan
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.corrections import FOLDER as CORRECTIONS
from headrace.spark.checkpoint.corrections import undelivered
from headrace.spark.checkpoint.folder import Stored, is_checkpoint, query_folder, stored_in
from headrace.spark.checkpoint.history import History, logged
from headrace.spark.checkpoint.offsets import Offsets, write_logs
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.identity import Entry, QueryIdentity
from headrace.spark.deploy.beside import LOG, beside, reveal
from headrace.spark.deploy.stores import Files, Origin, write_stores
from headrace.spark.portable.contents import CHECKPOINT, STATE, Operator, Portable, check, contents
from headrace.spark.portable.exporting import unreadable_job


def restore(folder: Path, checkpoint: Path, partitions: int | None = None) -> Portable:
    """Make a checkpoint of a portable savepoint, with `partitions` tasks a level, or as many as before."""
    folder, checkpoint = folder.absolute(), checkpoint.absolute()
    portable = contents(folder)
    if checkpoint.is_dir() and any(checkpoint.iterdir()):
        raise _exists(checkpoint)
    check(folder, portable.files)
    stored = stored_in(folder / CHECKPOINT)
    if stored is None:
        raise unreadable_job(folder / CHECKPOINT)
    after = partitions or stored.partitions
    if after != stored.partitions:
        _refuse_interrupted(stored, folder / CHECKPOINT)
    with beside(checkpoint) as fresh:
        _copy(folder / CHECKPOINT, fresh)
        if after != stored.partitions:
            atomic.replace(fresh / "job.json", text_of(_divided(stored, after).to_json(), indent=1))
        for query in stored.identity.queries:
            if logged(query_folder(fresh, query.name), "commits") >= 0:
                _restore(query, fresh, stored, folder / STATE, portable.operators, after)
                mend(query_folder(fresh, query.name), query_folder(checkpoint, query.name))
        channel.note(fresh, Command.make("import"), {**portable.portable.to_json(), "partitions": after})
        try:
            reveal(fresh, checkpoint)
        except FileExistsError:
            raise _exists(checkpoint) from None
    return portable.portable


def _exists(checkpoint: Path) -> HeadraceError:
    what = "is a checkpoint already" if is_checkpoint(checkpoint) else "has other files"
    hint = "choose another folder for the import, or move that one away"
    return HeadraceError("CHECKPOINT_EXISTS", f"{checkpoint} {what}", hint=hint)


def _copy(folder: Path, to: Path) -> None:
    """Copy a folder. Others may have changed the modes of its files."""
    for parent, _, files in os.walk(folder):
        here = private.folder(to / Path(parent).relative_to(folder))
        for file in files:
            shutil.copyfile(Path(parent, file), here / file)


def _refuse_interrupted(stored: Stored, checkpoint: Path) -> None:
    """Refuse another number of partitions while an epoch has to be repeated: it has to run in those that it began with."""
    for query in stored.identity.queries:
        folder = query_folder(checkpoint, query.name)
        epoch = logged(folder, "offsets")
        if epoch > logged(folder, "commits"):
            waits = undelivered(checkpoint / CORRECTIONS, query.name, folder)
            why = "has to deliver the corrections of the last deploy" if waits else "was interrupted, and has to be repeated"
            raise HeadraceError(
                "EPOCH_UNFINISHED",
                f"epoch {epoch} of {query.name} {why} in {stored.partitions} partitions",
                hint=f"import it with partitions={stored.partitions}, run it once, then change their number: headrace rescale",
            )


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
        replace(query, entries=tuple(_in_shards(entry, stored.partitions) for entry in query.entries)) for query in stored.identity.queries
    )
    return replace(stored, partitions=partitions, identity=replace(stored.identity, queries=queries))


def _in_shards(entry: Entry, shards: int) -> Entry:
    keeps = entry.shape.keeps and not entry.retired
    return replace(entry, shards=entry.shards or shards) if keeps else entry
