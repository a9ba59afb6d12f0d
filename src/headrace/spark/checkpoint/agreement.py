"""Whether a query's sinks hold what its checkpoint has written, and nothing of another history; checked before anything is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headrace.durable.marks import Mark, named
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.history import History
from headrace.spark.checkpoint.record import Totals, Written


@dataclass(frozen=True)
class Strange:
    """A sink that holds something other than its checkpoint has written: its place, what it holds, and what was last written there."""

    sink: str
    place: str
    held: Mark
    last: Mark | None
    problem: str


def agree(
    checkpoint: Path,
    query: Path,
    history: History,
    totals: Totals,
    marks: Mapping[str, tuple[str, Mark | None]],
    rewinds: Callable[[], bool] = lambda: False,
) -> None:
    """Raise if the parts of a query's checkpoint, or its sinks, are not of one history. `marks`: the place of each sink and its mark, None
    if it cannot tell. `rewinds`: whether all sinks of the job can be brought back to the checkpoint.

    A checkpoint that an earlier copy has replaced is behind its sinks: CHECKPOINT_BEHIND. A sink that was emptied, removed or restored from
    a backup is behind its checkpoint: TABLE_REPLACED, TABLE_MISSING.
    """
    history.check(totals.epoch)
    disagreements = strange(history, totals, marks)
    if disagreements:
        last_logged = history.logged("offsets")
        raise _behind(checkpoint, (one.problem for one in disagreements), last_logged, _begun_at(query, last_logged), rewinds())


def strange(history: History, totals: Totals, marks: Mapping[str, tuple[str, Mark | None]]) -> list[Strange]:
    """Return the sinks with epochs that the checkpoint has not written. Raises for sinks that lack what it has written."""
    pending = history.pending()
    disagreements = []
    for sink, (place, mark) in marks.items():
        if mark is None:
            continue
        written = totals.written.get(sink)
        # at a new place a sink starts over
        last = written.mark if written is not None and written.place == place else None
        if last is not None and mark.epoch < last.epoch and not mark.fades:
            raise mark.lacks(last, sink, place)
        others = _elsewhere(mark, history, totals.written) if last is None else [last, *_renamed(place, marks, totals.written)]
        expected = [one for one in (pending, *others) if one is not None]
        if mark.fades and all(one.epoch != mark.epoch for one in expected):
            expected += _of_this_number(mark.epoch, history)
        problem = judge(sink, mark, expected, history.adopted)
        if problem is not None:
            disagreements.append(Strange(sink, place, mark, last, problem))
    return disagreements


def judge(sink: str, mark: Mark, known: Iterable[Mark], adopted: int = -1) -> str | None:
    """Return what is wrong with what a sink holds, or None. `known`: the epochs that may be its last. Epochs up to `adopted` have no
    identity, so their numbers decide.

    >>> judge("best", Mark(3, "c"), [Mark(3, "c")])
    >>> judge("best", Mark(9, "x"), [Mark(3, "c")])
    'best holds epoch 9'
    >>> judge("best", Mark(3, "x"), [Mark(3, "c")])
    'best holds epoch 3 of another history'
    """
    expected = [one for one in known if one.epoch == mark.epoch]
    if mark.epoch < 0 or any(one.agrees(mark.identity) for one in expected) or (not mark.identity and mark.epoch <= adopted):
        return None
    return f"{sink} holds epoch {mark.epoch}" + (" of another history" if expected else "")


def _renamed(place: str, marks: Iterable[str], written: Mapping[str, Written]) -> list[Mark]:
    """Return the marks of rows that earlier versions of the job wrote at a place, under names of sinks that this version does not have."""
    return [one.mark for sink, one in written.items() if one.place == place and sink not in marks]


def _elsewhere(mark: Mark, history: History, written: Mapping[str, Written]) -> list[Mark]:
    """Return the marks that a sink with a new name or place may have: those written under another one."""
    return [*(one.mark for one in written.values()), *(Mark(mark.epoch, identity) for identity in history.names(mark.epoch))]


def _of_this_number(epoch: int, history: History) -> list[Mark]:
    """Return the epoch of this history that a fading mark may be of; it may be older than the identities kept."""
    names = history.names(epoch) or ([""] if history.adopted < epoch <= history.logged("commits") else [])
    return [Mark(epoch, identity) for identity in names]


def _behind(checkpoint: Path, problems: Iterable[str], last: int, since: datetime | None, rewinds: bool) -> HeadraceError:
    when = "" if since is None else f", begun {since:%Y-%m-%d %H:%M:%S} UTC"
    back = "rewind the sinks: headrace rewind FILE, or job.rewind()" if rewinds else "restore the sinks to the same moment"
    return HeadraceError(
        "CHECKPOINT_BEHIND",
        f"{'; '.join(problems)}, but the checkpoint {checkpoint}, which ends with {named(last)}{when}, has not written it",
        hint="nothing was changed. The checkpoint was restored from an earlier copy, or a copy of it has run elsewhere: continue from the "
        f"newest one.\nto continue from this one, {back}; fresh=True starts over.",
    )


def _begun_at(query: Path, epoch: int) -> datetime | None:
    """Return the time at which Spark logged an epoch; None if it is unknown."""
    try:
        lines = (query / "offsets" / str(epoch)).read_text(encoding="utf-8").splitlines()
        return datetime.fromtimestamp(json.loads(lines[1])["batchTimestampMs"] / 1000, UTC)
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None
