"""The parent of a fork: the moment that is forked, and the line of jobs to whose sinks the fork must not write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.spark.checkpoint.ancestors import Ancestor, line
from headrace.spark.checkpoint.copying import copy
from headrace.spark.checkpoint.earlier import Earlier
from headrace.spark.checkpoint.folder import MIGRATED, Stored, is_clearing, migrated, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import held_by, newest_term
from headrace.spark.checkpoint.savepoints import Savepoint, savepoint
from headrace.spark.checkpoint.switch import SWITCH, is_switching


@dataclass(frozen=True)
class Parent:
    """A job as of a moment: its checkpoint `home`; the `folder` with that moment, a savepoint or `home` itself, and what is `stored` there.

    `term`: the last start of that folder. `epochs`: the last epoch of each query. `line`: the job and its ancestors. `savepoint`: None for
    the checkpoint itself, as of its `earlier` epoch or as it is.
    """

    home: Path
    folder: Path
    stored: Stored
    term: int
    epochs: Mapping[str, int]
    line: tuple[Ancestor, ...]
    savepoint: Savepoint | None
    earlier: Earlier | None = None

    @classmethod
    def at(cls, home: Path, at: str | int | None) -> Parent:
        """Return a job as of a savepoint or an epoch; None: as its checkpoint is now. No process may work on it, unless it is a savepoint.
        Changes nothing.
        """
        moment = savepoint(home, at) if isinstance(at, str) else None
        folder = home if moment is None else moment.folder
        # a start from here on is seen after the copy
        term = newest_term(folder)
        if moment is None:
            _refuse_busy(home)
        earlier = Earlier.at(home, at) if isinstance(at, int) else None
        stored = stored_in(folder) if earlier is None else earlier.stored
        if stored is None:
            raise _changed(home)
        moved = folder / MIGRATED
        if moved.exists():
            raise migrated(folder, Path(moved.read_text(encoding="utf-8").strip()))
        last = {query.name: logged(query_folder(folder, query.name), "commits") for query in stored.identity.queries}
        epochs = {query: epoch for query, epoch in last.items() if epoch >= 0} if earlier is None else {earlier.query: earlier.epoch}
        if not epochs:
            what = f"the checkpoint {folder} has no state yet: no epoch is committed"
            raise HeadraceError("NO_STATE", what, hint="run the job first, and fork it after its first epoch")
        return cls(home, folder, stored, term, epochs, line(folder, home, home / SWITCH), moment, earlier)

    def copy(self, to: Path) -> tuple[Ancestor, ...]:
        """Copy the checkpoint as of the moment. Returns the job, as of the moment and now, and its ancestors. Raises if it has changed
        meanwhile.
        """
        copy(self.folder, to)
        # sinks know the terms of starts, and records are named after them
        (to / f"lock.{self.term}").touch()
        if self.savepoint is not None:
            now = savepoint(self.home, self.savepoint.name)
            changed = (now.at, now.epochs) != (self.savepoint.at, self.savepoint.epochs)
        else:
            _refuse_busy(self.home)
            changed = newest_term(self.home) != self.term
        if changed:
            raise _changed(self.home)
        if self.earlier is not None:
            self.earlier.cut(to)
        return line(to, self.home, self.home / SWITCH)


def _refuse_busy(home: Path) -> None:
    """Refuse a checkpoint on which a process works: it changes while it is copied."""
    holder = held_by(home)
    if holder is not None:
        raise HeadraceError(
            "CHECKPOINT_IN_USE",
            f"the checkpoint {home} is in use by {holder}",
            hint=f"make a savepoint, which a running job does too, and fork that: headrace savepoint create {home} NAME",
        )
    if is_switching(home) or is_clearing(home):
        what = "a deploy to" if is_switching(home) else "a fresh start of"
        raise HeadraceError(
            "CHECKPOINT_IN_USE",
            f"{what} the checkpoint {home} was interrupted",
            hint="nothing was changed: run the job once, which finishes it, and fork it then; or fork a savepoint",
        )


def _changed(home: Path) -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_IN_USE",
        f"the checkpoint {home} changed while it was being copied",
        hint="nothing was changed: fork it again; or fork a savepoint",
    )
