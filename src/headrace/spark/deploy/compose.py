"""A query of a new version, composed of the stored queries that its operators, sources and sinks come from, as of their last epochs.

Its own last epoch is the latest of theirs, or the one after that, so its next one is later than any that a sink holds.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.durable import atomic, private
from headrace.durable.filelog import lengths_read, log_position
from headrace.durable.links import link
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.corrections import FOLDER, Target
from headrace.spark.checkpoint.corrections import log as log_corrections
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.checkpoint.history import History, renew_id
from headrace.spark.checkpoint.offsets import Offsets, again, joined, offset_name, write_logs
from headrace.spark.checkpoint.record import Key, Record, Totals, Written
from headrace.spark.checkpoint.schema_paths import mend
from headrace.spark.compile.identity import DEAD_LETTERS, QueryIdentity, repaired_scan
from headrace.spark.compile.relocation import Relocated
from headrace.spark.deploy.parts import ProgramChangeText
from headrace.spark.deploy.stores import Counts, Origin, continuable, write_stores


def compose(
    one: Relocated,
    origins: Sequence[Origin],
    checkpoint: Checkpoint,
    place: Path,
    *,
    plan: str,
    controls: Mapping[str, str],
    gone: Collection[str],
    timed: Collection[str],
    partitions: int,
    settings: Mapping[str, str],
    changes: Collection[ProgramChangeText],
    log: Path,
    rebuilt: Sequence[tuple[Origin, Totals]] = (),
    corrected: Mapping[str, Target] | None = None,
    elsewhere: Collection[str] = (),
) -> Counts:
    """Make a query in `place`, for the folder of the checkpoint. Returns the size of its state. `plan`: the fingerprint of the plan.

    `controls`: the names of the query's control sources in Spark's logs, by source. `gone`: the stored queries that other queries continue.
    `timed`: the operators that use event time. `rebuilt`: the stored queries of a shadow run, and their counts. `corrected`: the sinks
    whose corrections are in `place`, and what they are for; the first epoch of the query, which is logged here, delivers them.
    `elsewhere`: the sinks that begin in another place.
    """
    query = one.identity
    known = {source for origin in origins for source in origin.query.sources}
    last = max(origin.epoch for origin in origins)
    stored = {origin.query.name: checkpoint.record(origin.query.name).totals for origin in origins}
    sizes = [*((origin, stored[origin.query.name]) for origin in origins), *rebuilt]
    continued = continuable(query, sizes, partitions=partitions, changed={change.op for change in changes})
    # stores take rows in an epoch of their own, which reads nothing
    epoch = last + 1 if continued else last
    watermark = _watermark(query, origins, timed)
    handled = handled_watermark(query, origins, timed)
    folder = place / "queries" / query.name
    offsets = _logs(query, origins, folder, controls.values(), epoch=epoch, watermark=handled, after=watermark, partitions=partitions)
    for origin in origins:
        # Spark finds the old state by the paths in its own metadata
        mend(origin.folder)
    counts = write_stores(
        query,
        [origin for origin, _ in sizes],
        folder,
        continued=continued,
        epoch=epoch,
        watermark=watermark,
        partitions=partitions,
        settings=settings,
        changes=changes,
        log=log,
    )
    mend(folder, checkpoint.query(query.name))
    history = History(place / "epochs" / query.name, folder, plan)
    history.branch(last, (checkpoint.history(origin.query.name).of(origin.epoch) for origin in origins))
    if epoch > last:
        history.begin(epoch)
    corrections = place / FOLDER / query.name
    corrections.mkdir(parents=True, exist_ok=True)
    if corrected:
        scans = log_corrections(place / FOLDER, query.name, folder, epoch + 1, corrected)
        times = {name: time for one in stored.values() for name, time in one.times().items()}
        _log_correction(folder, epoch + 1, offsets, scans, controls, times)
    totals = divided(query, stored, gone, known - set(query.sources))
    ops = {entry.op for entry in query.entries}
    again = {key: n for origin, one in rebuilt for key, n in one.counts.items() if origin.is_taken(key[1], ops)}
    counts_of = {**totals.counts, **again}
    written = {name: last for name, last in totals.written.items() if name not in elsewhere}
    Record(place / "record", query.name, checkpoint.lease.term).store(replace(totals, epoch=epoch, counts=counts_of, written=written))
    stayed = {name: {"keys": totals.of_operators({entry.op}, "keys")} for name, entry in query.live().items() if entry.shape.keeps}
    return {**stayed, **counts}


def divided(query: QueryIdentity, totals: Mapping[str, Totals], gone: Collection[str], unread: Collection[str] = ()) -> Totals:
    """Return the part of the counts of stored queries that belongs to a query, as of their latest epoch.

    `totals`: the counts of the stored queries that it comes from, by name; other queries continue those of `gone`. `unread`: the sources
    that it no longer reads. Numbers of operators are unique in a checkpoint.
    """
    others = {scan for source in unread for scan in (source, repaired_scan(source))}
    ops = {entry.op for entry in query.entries}
    sinks = {entry.shape.name for entry in query.entries}
    counts: dict[Key, int] = {}
    rows: dict[str, int] = {}
    written: dict[str, Written] = {}
    for name, one in totals.items():
        for key, n in one.counts.items():
            if key[0] not in others and (key[1] <= 0 or key[1] in ops):
                counts[key] = max(counts.get(key, n), n)
        here = sinks if name == query.name else sinks - {DEAD_LETTERS}
        written |= {sink: last for sink, last in one.written.items() if sink in here}
        for sink in here | ({DEAD_LETTERS} if name in gone else set()):
            if sink in one.rows:
                rows[sink] = rows.get(sink, 0) + one.rows[sink]
    known = [one.conditions for one in totals.values() if one.conditions is not None]
    conditions = {node: texts for one in known for node, texts in one.items()} if known else None
    return Totals(max(one.epoch for one in totals.values()), counts, rows, written, conditions)


def _watermark(query: QueryIdentity, origins: Sequence[Origin], timed: Collection[str]) -> int:
    """Return the watermark with which a query goes on, in milliseconds: that of the queries whose operators use event time."""
    using = _using(query, origins, timed)
    marks = {origin.watermark for origin in using}
    if len(marks) > 1:
        raise _apart(using)
    return min(marks or {origin.watermark for origin in origins})


def handled_watermark(query: QueryIdentity, origins: Sequence[Origin], timed: Collection[str], *, rebuilds: bool = False) -> int:
    """Return the watermark up to which operators of a query's origins have handled time, in milliseconds; the least of the origins if none
    uses event time.
    """
    using = _using(query, origins, timed)
    if rebuilds and len({origin.handled for origin in using}) > 1:
        raise _apart(using)
    return max(origin.handled for origin in using) if using else min(origin.handled for origin in origins)


def _using(query: QueryIdentity, origins: Sequence[Origin], timed: Collection[str]) -> list[Origin]:
    """Return the stored queries whose operators use event time."""
    here = {entry.op for name, entry in query.live().items() if name in timed}
    return [origin for origin in origins if any(entry.op in here for entry in origin.query.entries)]


def _apart(origins: Sequence[Origin]) -> HeadraceError:
    return HeadraceError(
        "STATE_CHANGED",
        f"the queries {' and '.join(origin.query.name for origin in origins)} become one, and are at different watermarks",
        hint="run the earlier version until both are at the same time; or let no view read sources of both",
    )


def _logs(
    query: QueryIdentity,
    origins: Sequence[Origin],
    folder: Path,
    controls: Collection[str],
    *,
    epoch: int,
    watermark: int,
    after: int,
    partitions: int,
) -> Offsets:
    """Write what a query has read: Spark's offsets, the logs of its sources, and the id of the query."""
    sources = [scan for source in query.sources for scan in (source, repaired_scan(source))]
    names = {*map(offset_name, sources), *controls}
    read = [Offsets.read(origin.folder, origin.epoch) for origin in origins]
    offsets = joined([one.limited(names) for one in read])
    apart = [source for source in query.sources if not _is_read_alike(source, origins, read)]
    if apart:
        raise HeadraceError(
            "STATE_CHANGED",
            f"the queries {' and '.join(origin.query.name for origin in origins)} become one, and have read different parts of "
            f"{', '.join(apart)}",
            hint="run the earlier version until it has read all of it, then deploy",
        )
    private.folder(folder)
    logged = offsets.with_watermark(watermark).with_partitions(partitions)
    write_logs(folder, epoch, logged, after=after)
    for source in map(offset_name, sources):
        known = next((path for origin in origins if (path := origin.folder / "sources" / source).is_dir()), None)
        if known is not None:
            shutil.copytree(known, folder / "sources" / source, copy_function=link)
    first = origins[0].folder / "metadata"
    if origins[0].query.name == query.name and first.exists():
        shutil.copy2(first, folder / "metadata")
    else:
        renew_id(folder)
    return logged


def _log_correction(
    folder: Path, epoch: int, offsets: Offsets, scans: Mapping[str, str], controls: Mapping[str, str], times: Mapping[str, int]
) -> None:
    """Log an epoch that reads only corrections, under the watermark up to which time is handled: no operator sends a row in it.

    Spark derives the next watermark from the rows of an epoch, so the control sources send their times again.
    """
    sources = {**offsets.sources, **scans}
    for source, control in controls.items():
        known: dict[str, int] = json.loads(sources.get(control, "{}"))
        moments = [one for one in (known.get(source), times.get(source)) if one is not None]
        if moments:
            sources[control] = json.dumps({**known, **again({source: max(moments)})}, separators=(",", ":"))
    atomic.replace(folder / "offsets" / str(epoch), Offsets(offsets.epoch, sources).text)


def _is_read_alike(source: str, origins: Sequence[Origin], read: Sequence[Offsets]) -> bool:
    """Return whether the stored queries with a source have read the same of it. `read`: their offsets."""
    positions = [
        tuple(_position(offset_name(scan), origin, offsets) for scan in (source, repaired_scan(source)))
        for origin, offsets in zip(origins, read, strict=True)
        if source in origin.query.sources
    ]
    return all(one == positions[0] for one in positions)


def _position(scan: str, origin: Origin, offsets: Offsets) -> Any:
    """Return what is read of a scan: its offset, or for a log of files, which has its own numbers, those files."""
    offset = offsets.sources.get(scan)
    end = log_position(offset)
    return offset if end is None else lengths_read(origin.folder / "sources" / scan, end)
