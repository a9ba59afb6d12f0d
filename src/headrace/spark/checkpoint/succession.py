"""The output of earlier versions of a job in its sinks, and whether this version can continue from it.

An operator of a query that is new on a checkpoint, or was changed, begins empty: it has not seen the rows read before. A sink with rows
of its forerunner would mix both, and a sink that takes changes would get retractions of rows that it never had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from headrace.durable.marks import Mark, named
from headrace.errors import HeadraceError
from headrace.ops import Sink
from headrace.ops.dedupe import forgets_keys_after
from headrace.ops.facts.carried import EVENT
from headrace.ops.facts.kind import CHANGES, kind_of
from headrace.ops.operator import operator
from headrace.ops.relational import Stateful
from headrace.plan import Node, order
from headrace.schema import shown
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.checkpoint.forerunner import Forerunner, forerunner_of, forerunners, moved_along
from headrace.spark.checkpoint.forms import Form, form_of, misfit, other_columns
from headrace.spark.checkpoint.program_changes import begun, otherwise, replaced
from headrace.spark.checkpoint.readings import lost_position, reads_elsewhere, reread
from headrace.spark.checkpoint.record import Totals, place_of
from headrace.spark.compile.identity import Entry, Identity, QueryIdentity, together
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query
from headrace.spark.compile.shapes import PROGRAM

_CURE = (
    "continue with the version that wrote the checkpoint; or start over with fresh=True, which empties the sinks and reads all again; or "
    "run this version as a job with another name and sinks of its own."
)


def refuse_mixed_results(
    job: SparkJob,
    stored: Stored,
    identity: Identity,
    names: Mapping[str, str],
    totals: Mapping[str, Totals],
    mark: Callable[[str], Mark | None] = lambda sink: None,
    *,
    drops: bool = False,
    rebuilt: Collection[str] = (),
    corrected: Collection[str] = (),
    cut: Collection[str] = (),
) -> tuple[str, ...]:
    """Refuse sinks and programs that would mix rows of two versions. Returns a line for each part that begins empty and does no harm.

    `names`: the checkpoint's name for each query of the job. `totals`: the counts of each stored query. `mark`: what a sink holds at its
    current place, None if that is unknown. `drops`: a program may be gone while another is new. `rebuilt`: the operators that are filled
    with the rows read before. `corrected`: the sinks that get the difference between the versions; `cut`: those that may mix them.
    """
    known = list(forerunners(stored, totals))
    mark = cache(mark)
    read = {str(source.name) for source in job.sources}
    errors: list[HeadraceError] = []
    notices: list[str] = []
    other = reread(job.plan, stored.plan)
    sources = {node["name"]: node for node in stored.plan["nodes"]}
    times = {name for name, clock in job.clocks.items() if clock.name == EVENT}
    for query in job.queries:
        name = names[query.name]
        epoch = totals[name].epoch if name in totals else -1
        now = identity.query(name)
        new = {one for one, entry in now.live().items() if entry.op >= stored.identity.next}
        for sink in query.sinks:
            forerunner = moved_along(sink, forerunner_of(sink, known, job.plan.sinks), known, mark)
            elsewhere = forerunner is not None and forerunner.query.name != name
            if (forerunner is not None and forerunner.epoch < 0) if elsewhere else epoch < 0:
                continue  # nothing is there yet
            as_before = sink.name not in corrected
            mixed = (
                _mixed(sink, forerunner, now, new, read, other, rebuilt) if as_before and not (sink.name in cut and forerunner) else None
            )
            mixed = mixed or (_moved(sink, forerunner, known, new, mark) if as_before else None)
            error = mixed or _misfit(sink, forerunner, job, mark)
            if error is not None:
                errors.append(error if mixed is None or drops else _with_deploy(error))
                continue
            notices += _partial(sink, forerunner, now.live()[str(sink.name)], epoch, other, mark) if as_before else ()
            notices += _other_columns(sink, forerunner, job, epoch)
        if epoch >= 0:
            kept = [node for node in query.operators if str(node.name) not in rebuilt]
            errors += _lost_positions(query, sources)
            notices += [line for source in query.sources if (line := reads_elsewhere(source, sources.get(str(source.name)))) is not None]
            before = stored.identity.query(name)
            others = [*_other_within(kept, before), *_mixed_programs(kept, before, now, new, other), *_reread(kept, before, other)]
            errors += others if drops else map(_with_deploy, others)
            errors += _other_times(query, before, times, stored)
            errors += () if drops else replaced(before, now, query.operators)
            notices += otherwise(kept, before, now, epoch, other)
            notices += begun(before, now, [node for node in kept if _keeps(node)], epoch)
    if errors:
        raise together(errors)
    return tuple(notices)


def _mixed(
    sink: Sink,
    forerunner: Forerunner | None,
    query: QueryIdentity,
    new: Collection[str],
    read: Collection[str],
    other: Mapping[str, str],
    rebuilt: Collection[str],
) -> HeadraceError | None:
    """Return why a sink cannot continue from what is there, or None. `new`: the nodes that begin with this version. `read`: the sources of
    the job. `other`: the nodes that get rows that are read in another way.
    """
    changing = _changing(sink, new)
    if forerunner is None:
        if not changing:
            return None
        return _refused(sink, f"{sink.name} is new on this checkpoint, and changes of {changing[0].name} refer to rows it never received")
    place, was = forerunner.place, forerunner.query
    if was.name != query.name:
        gone = [name for name in was.sources if name not in read]
        cure = f'if a source was renamed, restore its name with name="{gone[0]}"; or ' if gone else ""
        return _refused(
            sink, f"{sink.name} would write rows of {', '.join(query.sources)} to {place}, which has rows of {', '.join(was.sources)}", cure
        )
    empty = [node for node in order([sink]) if node.by_content and str(node.name) in set(new) - set(rebuilt) and _keeps(node)]
    if empty:
        began = f"{empty[0].name}, which is new or was changed, would start without the rows read before"
        return _refused(empty[0], f"{sink.name} has rows of an earlier version in {place}, and {began}")
    if not changing:
        return None
    if not query.live()[str(sink.name)].shape.reads_like(forerunner.entry.shape):
        return _refused(
            sink,
            f"{sink.name} has rows of {changing[0].name} in {place} that were computed differently, so changes would not match them",
        )
    if sink.name in other:
        rows = f"{sink.name} has rows of {changing[0].name} in {place}"
        return _refused(sink, f"{rows}, and changes would not match them: {other[str(sink.name)]}")
    if forerunner.entry.retired:
        return _refused(sink, f"{sink.name} was left out for a while, and {place} lacks the changes of {changing[0].name} from that time")
    return None


def _moved(
    sink: Sink, forerunner: Forerunner | None, known: Iterable[Forerunner], new: Collection[str], mark: Callable[[str], Mark | None]
) -> HeadraceError | None:
    """Return why a sink cannot continue at another place, to which not all its output was moved, or None."""
    connected = sink.connect()
    place = place_of(connected)
    if forerunner is None or forerunner.place in ("", place):
        return None
    other = next((one for one in known if one.place == place and one.name != sink.name and one.epoch >= 0), None)
    if other is not None and connected.owns:
        return _refused(sink, f"{sink.name} would write to {place}, which has rows of {other.name}")
    changing = _changing(sink, new)
    held = mark(str(sink.name)) if changing else None
    if held is None:
        return None
    some = (f", which ends with {named(held.epoch)},", f" up to {named(forerunner.epoch)}") if held.epoch >= 0 else (",", "")
    return _refused(
        sink,
        f"{sink.name} would write to {place}{some[0]} and changes of {changing[0].name} refer to rows that it has written to "
        f"{forerunner.place}{some[1]}",
        "move the earlier output to the new place, with all files next to it; or ",
    )


def _misfit(sink: Sink, forerunner: Forerunner | None, job: SparkJob, mark: Callable[[str], Mark | None]) -> HeadraceError | None:
    """Return why rows of this version cannot join the stored ones, or None."""
    if forerunner is None:
        return None
    place = place_of(sink.connect())
    if forerunner.place not in ("", place):
        moved = mark(str(sink.name))
        if moved is None or moved.epoch < 0:
            return None  # nothing is there
    why = misfit(forerunner.form, _form(sink, job))
    if why is None:
        return None
    cure = "" if sink.mode == "changes" else "write to another place, which starts empty; or "
    return _refused(sink, f"{sink.name} has rows in {place} that were written {why}", cure)


def _other_columns(sink: Sink, forerunner: Forerunner | None, job: SparkJob, epoch: int) -> Iterator[str]:
    """Yield the notice about a sink that writes other columns to its place than before."""
    if forerunner is not None and forerunner.place == place_of(sink.connect()):
        for now, was in other_columns(forerunner.form, _form(sink, job)):
            yield f"{sink.name} writes the columns {now} from epoch {epoch + 1} on; earlier rows have {was}"


def _form(sink: Sink, job: SparkJob) -> Form:
    return form_of(sink.connect(), sink.mode, job.schemas.of[str(sink.name)])


def _lost_positions(query: Query, before: Mapping[str, Mapping[str, Any]]) -> Iterator[HeadraceError]:
    """Yield errors for sources that would continue from a position in something else."""
    for source in query.sources:
        lost = lost_position(source, before.get(str(source.name)))
        if lost is not None:
            yield _refused(source, lost)


def _reread(operators: Iterable[Node], old: QueryIdentity, other: Mapping[str, str]) -> Iterator[HeadraceError]:
    """Yield errors for operators that hold rows as they were read before, and would not find them among new ones."""
    before = old.live()
    for node in operators:
        name = str(node.name)
        if name in other and name in before and before[name].shape.kind != PROGRAM and _keeps(node):
            yield _refused(node, f"{name} has state of rows that were read differently: {other[name]}")


def _mixed_programs(
    operators: Iterable[Node], old: QueryIdentity, now: QueryIdentity, new: Collection[str], other: Mapping[str, str]
) -> Iterator[HeadraceError]:
    """Yield errors for programs that take changes as rows: like sinks, they depend on the rows before."""
    before, after = old.live(), now.live()
    for node in operators:
        name = str(node.name)
        changing = _changing(node, new)
        if after[name].shape.kind != PROGRAM or not changing:
            continue
        if name in new:
            yield _refused(node, f"{name} is new on this checkpoint, and changes of {changing[0].name} refer to rows it never received")
            continue
        if not after[name].shape.reads_like(before[name].shape):
            yield _refused(node, f"{name} has state of rows of {changing[0].name} that were computed differently")
        elif name in other:
            yield _refused(node, f"{name} has state of rows of {changing[0].name} that were read differently: {other[name]}")


def _other_within(operators: Iterable[Stateful], old: QueryIdentity) -> Iterator[HeadraceError]:
    """Yield errors for a `dedupe` that forgets keys after another time: as a program it could, but its rows would be of neither time."""
    before = old.live()
    for node in operators:
        now, entry = forgets_keys_after(node), before.get(str(node.name))
        if now is None or entry is None:
            continue
        was = next((cell.expires_ms for cell in entry.layouts[-1].cells), None)
        if was is not None and was != now:
            yield _refused(node, f"{node.name} drops duplicates within {shown(now)}, and earlier rows were compared within {shown(was)}")


def _other_times(query: Query, old: QueryIdentity, times: Collection[str], stored: Stored) -> Iterator[HeadraceError]:
    """Yield errors for watermarks by another column, if an operator uses event time, now (`times`) or before: the old column decided where
    the watermark is and when kept state ends.
    """
    by_time = [
        entry.shape.name
        for entry in old.live().values()
        if entry.shape.keeps and (entry.shape.clock == EVENT or entry.shape.order == "time")
    ]
    by_time += [str(node.name) for node in query.operators if str(node.name) in times]
    if not by_time:
        return
    known = {node["name"]: node.get("watermark") for node in stored.plan["nodes"]}
    for source in query.sources:
        before, now = known.get(str(source.name)), source.watermark
        if before is not None and now is not None and before["column"] != now.column:
            change = f"the watermark of {source.name} uses {now.column} instead of {before['column']}"
            yield _refused(source, f"{change}, and the state of {by_time[0]} expires by the times in {before['column']}")


def _with_deploy(error: HeadraceError) -> HeadraceError:
    """Return the error of a start for a change that a deploy may follow."""
    first = "nothing was changed: `headrace deploy FILE` rebuilds what has no usable state and corrects the sinks, if that is possible; or "
    hint = (error.hint or "").replace("nothing was changed: ", first)
    return HeadraceError(error.code, error.message, hint=hint, site=error.site)


def _refused(node: Node, message: str, first: str = "") -> HeadraceError:
    return HeadraceError("STATE_CHANGED", message, hint=f"nothing was changed: {first}{_CURE}", site=node.site)


def _partial(
    sink: Sink, forerunner: Forerunner | None, now: Entry, epoch: int, other: Mapping[str, str], mark: Callable[[str], Mark | None]
) -> Iterator[str]:
    """Yield the notice about a sink that holds less than the job has read, or rows that were computed in another way."""
    place = place_of(sink.connect())
    if not sink.connect().traits.lasting:
        yield f"{sink.name} shows the output of this run, from epoch {epoch + 1} on"
    elif forerunner is None:
        yield f"{sink.name} is new on this checkpoint: it receives rows from epoch {epoch + 1} on, none from before"
    elif forerunner.entry.retired:
        yield f"{sink.name} was left out for a while: {forerunner.place} lacks the rows of that time"
    elif forerunner.place not in ("", place):
        held = mark(str(sink.name))
        since = "before" if held is None or held.epoch < 0 else f"after {named(held.epoch)}, the last one there,"
        yield f"{sink.name} writes to {place} from epoch {epoch + 1} on; what it wrote {since} stays in {forerunner.place}"
    elif not now.shape.reads_like(forerunner.entry.shape):
        yield f"{sink.name} receives differently computed rows from epoch {epoch + 1} on"
    elif sink.name in other:
        yield f"{sink.name} receives differently read rows from epoch {epoch + 1} on: {other[str(sink.name)]}"


def _changing(end: Node, new: Collection[str]) -> list[Node]:
    """Return the nearest nodes upstream with a past whose rows are also retracted: sources, programs, and operators of queries that existed
    before. Rows of a source may express retractions in words that a later step interprets.
    """
    changing: dict[Node, None] = {}
    stack = [(node, False) for node in end.inputs]
    while stack:
        node, weighed = stack.pop()
        changes = kind_of(node) == CHANGES
        if node.inputs and (node.passing or (node.by_content and (str(node.name) in new or not _keeps(node)))):
            stack += [(one, node.passing and (weighed or changes)) for one in node.inputs]
        elif changes or (weighed and not node.inputs):
            changing[node] = None
    return list(changing)


def _keeps(node: Node) -> bool:
    return operator(node).keeps
