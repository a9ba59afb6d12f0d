"""A copy of a checkpoint becomes that of a fork: another job, with an identity of its own, that has read what its parent has read.

The fork takes over what belongs to the state, and leaves what belongs to the parent:

queries, corrections, sealing, sealed   taken over, with new ids of the queries. An interrupted epoch is cut off: the fork reads its input
                                        in an epoch of its own
epochs                                  one identity for each query, chained to the parent's (`History.fork`)
repaired                                taken over: repaired rows are input
record                                  the counts of what was read are taken over; sinks have got no rows, and were written nowhere
dead_letters, refused                   left: they are in the parent's outputs, and are repaired there
kafka, foreach_batch, rewound.jsonl     left: notes about the parent's sinks
history.jsonl                           begins anew, with the fork
forked.json                             its ancestors: the parent, and those of the parent (`ancestors.py`)
savepoints, commands, errors.log, ...   left: they are not even copied (`copying.py`)
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from headrace.durable import atomic
from headrace.durable.sums import text_of, unreadable
from headrace.errors import HeadraceError
from headrace.plan.codec import typed
from headrace.spark.checkpoint.ancestors import ID, Ancestor, store_ancestors
from headrace.spark.checkpoint.channel import HISTORY
from headrace.spark.checkpoint.corrections import FOLDER, undelivered
from headrace.spark.checkpoint.folder import Stored, query_folder
from headrace.spark.checkpoint.history import History, renew_id
from headrace.spark.checkpoint.record import newest, recorded

FORK = "fork"
"""What the first line of a fork's history is about."""

_OF_THE_PARENT = ("dead_letters", "refused", "kafka", "foreach_batch", "rewound.jsonl", HISTORY, "savepoint.json")


def separate(folder: Path, stored: Stored, job: str, line: Sequence[Ancestor], *, of_savepoint: bool = False) -> None:
    """Make the copy of a checkpoint in `folder` that of another job. `stored`: the `job.json` of the copy; `line`: the ancestors of the
    fork; `of_savepoint`: it is a copy of a savepoint.
    """
    for name in _OF_THE_PARENT:
        _remove(folder / name)
    for query in stored.identity.queries:
        _branch(folder, stored, query.name, of_savepoint)
    store_ancestors(folder, line)
    plan = {**stored.plan, "job": job}
    store(folder, replace(stored, id=f"{ID}{uuid.uuid4().hex}", job=job, plan=plan, adopted={}))


def origin(folder: Path) -> Path | None:
    """Return the checkpoint from which the one in a folder was forked; None if it is not of a fork."""
    try:
        first = (folder / HISTORY).read_text(encoding="utf-8").partition("\n")[0]
        entry = json.loads(first or "null")
        return Path(typed(entry["arguments"]["checkpoint"], str)) if entry is not None and entry["what"] == FORK else None
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as problem:
        raise unreadable(folder / HISTORY, f"{type(problem).__name__}: {problem}") from None


def settle(folder: Path, stored: Stored) -> None:
    """Forget which rows the parent's sinks have got. A deploy needs that, and is over."""
    for query in stored.identity.queries:
        file = newest(folder / "record", query.name)
        if file is not None:
            totals = replace(recorded(folder / "record", query.name), rows={}, written={})
            atomic.replace(file, text_of(totals.to_json()))


def store(folder: Path, stored: Stored) -> None:
    """Write the `job.json` of a fork that nobody has opened."""
    atomic.replace(folder / "job.json", text_of(stored.to_json(), indent=1))


def _branch(folder: Path, stored: Stored, name: str, of_savepoint: bool) -> None:
    """Cut off the interrupted epoch of a query, and give its last one the identity of a branch."""
    query = query_folder(folder, name)
    history = History(folder / "epochs" / name, query, "", stored.adopted.get(name, -1))
    ended, begun = history.logged("commits"), history.logged("offsets")
    if begun > ended:
        if recorded(folder / "record", name).epoch > ended:
            cure = ", make another savepoint, and fork that" if of_savepoint else ", so that it finishes the epoch, then fork it"
            raise HeadraceError(
                "EPOCH_UNFINISHED",
                f"epoch {begun} of query {name} was interrupted when the job {stored.job} had counted it already",
                hint=f"nothing was changed: run {stored.job} once{cure}",
            )
        if not undelivered(folder / FOLDER, name, query):
            for log in (f"{begun}", f".{begun}.crc"):
                _remove(query / "offsets" / log)
    parent = history.of(ended)
    _remove(folder / "epochs" / name)
    if ended >= 0:
        history.fork(ended, parent)
        renew_id(query)
    else:
        # it has no state, and begins as a query that was never started
        _remove(query)


def _remove(path: Path) -> None:
    """Remove a file or a folder. Others may have a link to the file."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()
