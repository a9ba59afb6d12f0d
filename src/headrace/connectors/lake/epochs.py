"""The epochs of one sink in a table that others may write too: its ownership, and one commit per epoch."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from headrace import ports
from headrace.connectors.lake.place import Place
from headrace.durable.marks import named
from headrace.errors import ConnectorError, HeadraceError
from headrace.ports import Held, Holder
from headrace.schema import Struct

W = TypeVar("W")

CREATOR = "headrace.made"
JOB = "headrace.job."
TRIES = 20
# The maximum number of commits that are read to find the files that count.
LOOKS = 1000


class Epochs(ABC, Generic[W]):
    """A sink's epochs in the log of a table. `W` is the type of a function that makes a commit.

    Each start claims the table before all else, so that a replaced process is refused, by the catalog or log or by its own next read of it.
    Each commit carries the state that it leaves: a table without that state has lost rows.
    """

    versions: ClassVar[str]
    """The name of a table's versions."""

    def __init__(self, place: Place, context: ports.SinkContext) -> None:
        self._at = place.name
        self._context = context
        by_hand = "delete those rows by hand: fresh=True does not, because they are not only this job's"
        self._own = ports.Ownership(context, place.name, shared=True, by_hand=by_hand)
        self.state = Held()
        """The state at the last look."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether the table exists."""

    @abstractmethod
    def refresh(self) -> None:
        """Read the present state of the table. Raises TABLE_MISSING if it is gone."""

    def mark(self) -> ports.Mark:
        """The mark of the table before this start has claimed it."""
        if not self.exists():
            return ports.Mark(exists=False)
        self.refresh()
        return replace(self.state.mark, claimed=self.state.term > 0)

    def term_of(self, query: str) -> int:
        """The last start that wrote for a query of this checkpoint; 0 if the table has no record of it."""
        return self.state.term if query == self._context.query else 0

    def may_claim(self, schema: Struct, *, partition_by: list[str], add: bool) -> None:
        """Raise what `claim` would raise, and change nothing."""
        if not self.exists():
            return
        self.refresh()
        self._own.refuse_successor(self.state.term)
        if not self._to_be_emptied(self._properties()):
            self._check(schema, partition_by, add)

    @abstractmethod
    def _properties(self) -> Mapping[str, str]:
        """The properties of the table, including those of its owners."""

    @abstractmethod
    def _check(self, schema: Struct, partition_by: list[str], add: bool) -> object:
        """Raise if the table does not match."""

    @abstractmethod
    def claim(self, schema: Struct, *, partition_by: list[str], properties: dict[str, str], add: bool) -> None:
        """Create the table, or take it over from the process that wrote it before, and add the columns that it lacks."""

    @abstractmethod
    def named(self, epochs: set[int]) -> set[str]:
        """The names of the files that these epochs added, as far as the log still has them; possibly with names of other files."""

    @abstractmethod
    def _history(self) -> Iterable[tuple[int, Held | None, bool]]:
        """The commits that the table's rows come from, newest first: the version, the state that it carries, None for other writers, and
        whether it changed rows or columns.
        """

    @abstractmethod
    def _lacking(self, version: int) -> str | None:
        """A missing file of an earlier version."""

    @abstractmethod
    def _restore(self, version: int, mark: ports.Mark) -> bool:
        """Restore the table to a version in one commit. Returns whether the commit succeeded."""

    def rewind(self, mark: ports.Mark) -> ports.Rewind:
        """The step that brings the table back to an epoch, in one commit."""
        self.refresh()
        version, first, undone = self._undone(mark)
        gone = self._lacking(version)
        if gone is not None:
            raise self._cannot(f"{gone}, a file of {named(mark.epoch)}, was removed from the table")

        def work() -> None:
            self.refresh()
            if self._undone(mark) != (version, first, undone) or not self._restore(version, mark):
                raise self._busy()

        commits = "1 later commit" if undone == 1 else f"{undone} later commits"
        return ports.Rewind(f"{self._at} is restored to {self.versions} {version}, without {commits}", first, work)

    def _undone(self, mark: ports.Mark) -> tuple[int, int, int]:
        """The newest version in which an epoch was the last one, the earliest epoch after it, and the number of later commits."""
        first, count = -1, 0
        others: list[tuple[int, bool]] = []
        for version, state, changed in self._history():
            if state is None:
                others.append((version, changed))
                continue
            if state.mark.epoch == mark.epoch and (mark.epoch < 0 or state.mark.agrees(mark.identity)):
                return (others[0][0] if others else version), first, count
            if any(changed for _, changed in others):
                raise self._cannot("another writer has changed the table since")
            count += len(others) + 1
            others.clear()
            if state.mark.epoch >= 0:
                first = state.mark.epoch
        raise self._cannot(f"its log no longer shows which {self.versions} was the last one of {named(mark.epoch)} of this checkpoint")

    def _cannot(self, why: str) -> HeadraceError:
        return ports.cannot_rewind(self._context.name, f"{self._at} cannot be restored: {why}")

    def check_term(self) -> None:
        """Read what others have committed, and raise if one of them has taken over or the table is gone."""
        try:
            self.refresh()
        except HeadraceError as error:
            if error.code != "TABLE_MISSING":
                raise
            raise ConnectorError(
                "TABLE_MISSING",
                f"{self._context.name}: {self._at} is gone, and the rows of earlier epochs with it",
                hint="nothing of this epoch was written. Restore it, or start over with fresh=True, which writes all rows again",
            ) from None
        self._own.refuse_successor(self.state.term)

    @abstractmethod
    def _attempt(self, write: W, mark: ports.Mark) -> bool:
        """Whether a commit with this mark succeeded; another one may have come before it."""

    def transact(self, mark: ports.Mark, write: W) -> bool:
        """Write an epoch in one commit; False if the table had it already."""
        for tried in range(TRIES):
            self.check_term()
            if not self._own.admits(self.state, mark.epoch, mark.identity):
                # A commit of an earlier try may have succeeded although its answer was lost.
                return tried > 0
            try:
                if self._commit(write, mark):
                    return True
            except Exception:
                # A process that takes over removes the files staged here, and a table may be dropped at any time.
                self.check_term()
                raise
        raise self._busy()

    def _commit(self, write: W, mark: ports.Mark | None = None) -> bool:
        """Whether a commit succeeded: of an epoch, or of a change that keeps the mark."""
        mark = self.state.mark if mark is None else mark
        if not self._attempt(write, mark):
            return False
        self._own.wrote(mark.epoch, mark.identity)
        return True

    @property
    def _owner(self) -> dict[str, str]:
        """The property of the table by which the job owns it."""
        context = self._context
        owner = {"sink": context.name, "checkpoint": context.checkpoint_id, "query": context.query}
        return {f"{JOB}{context.job}": json.dumps(owner, sort_keys=True)}

    def _to_be_emptied(self, properties: Mapping[str, str]) -> bool:
        """Whether a fresh start empties the table; raises if another checkpoint writes it."""
        own, creator = self._context.job, properties.get(CREATOR)
        holders = []
        for name, text in properties.items():
            if name.startswith(JOB):
                job, owner = name.removeprefix(JOB), json.loads(text)
                term = self.term_of(owner["query"]) if job == own else 0
                holders.append(Holder(job, owner["sink"], owner["checkpoint"], owner["query"], term, creator == job))
        self._own.refuse_twice(holders)
        return self._own.empties(holders)

    def _busy(self) -> HeadraceError:
        return ConnectorError(
            "TABLE_BUSY",
            f"{self._context.name}: {TRIES} commits to {self._at} conflicted with commits of other writers",
            hint="start again: no row is lost or duplicated. Fewer writers or longer epochs (every=) conflict less",
        )
