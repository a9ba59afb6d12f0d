"""Write access to a place, and the epochs that it holds: one set of rules for every sink that keeps a mark.

A place (a table, the keys of a prefix) keeps a `Held` for the checkpoint and query that write it. The connector decides where and how: in
a row, a hash, the properties of a table. The rules:

* A start takes the place over from every start with a smaller term, and fails if the place has a greater one (SINK_FENCED).
* An epoch is written if the place ends where this process left it. One that it already holds, by number and identity, is not written again.
  One of another history is refused (CHECKPOINT_BEHIND), and so is a place that has lost epochs (TABLE_REPLACED). A mark without an
  identity, from an earlier version, is compared by its number.
* Another checkpoint of the same job gives the place up to a start with fresh=True, if all rows in it are the job's (else TABLE_OWNED).
  Other jobs may write to a place that is `shared`.
* Two sinks of one start cannot write to the same place (FOLDER_OWNED).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headrace.durable.marks import Mark, readable
from headrace.errors import CheckpointError, HeadraceError
from headrace.ports.sink import SinkContext


@dataclass(frozen=True)
class Held:
    """The record that a place keeps of a checkpoint's query: the mark of its last epoch, and the term of the newest start, 0 for none."""

    mark: Mark = field(default_factory=Mark)
    term: int = 0


@dataclass(frozen=True)
class Holder:
    """A writer of a place; `made`: its job created the place, and so may empty it."""

    job: str
    sink: str
    checkpoint: str
    query: str = "main"
    term: int = 0
    made: bool = True


class Ownership:
    """The access of one start of a sink to its place. Errors call it `place`, and each sink should have an `each` of its own. `by_hand` is
    the hint if a fresh start does not empty the place.

    >>> from types import SimpleNamespace
    >>> context: SinkContext = SimpleNamespace(job="j", name="best", checkpoint_id="c", query="main", term=2, fresh=False)  # type: ignore
    >>> own = Ownership(context, "the table best")
    >>> own.claim(Held(Mark(4, "77ab"), term=1))
    >>> own.admits(Held(Mark(4, "77ab"), term=2), 5, "5f1c"), own.admits(Held(Mark(5, "5f1c"), term=2), 5, "5f1c")
    (True, False)
    >>> own.admits(Held(Mark(4, "77ab"), term=3), 5, "5f1c")
    Traceback (most recent call last):
    headrace.errors.CheckpointError: SINK_FENCED: best: start 3 of this job has taken over the table best from start 2
      hint: nothing more of this epoch was written; the process that took over continues with it
      more: headrace error SINK_FENCED
    """

    def __init__(
        self,
        context: SinkContext,
        place: str,
        *,
        each: str = "table",
        shared: bool = False,
        by_hand: str = "empty it by hand: fresh=True does not, because it is not only this job's",
    ) -> None:
        self.context = context
        self.place = place
        self._each = each
        self._shared = shared
        self._by_hand = by_hand
        self.last = Mark()
        """The last mark that this process read or wrote there."""

    def key(self, *place: str) -> str:
        """A short name for this checkpoint and query, in a place that keeps the marks of several."""
        return hashlib.sha256("\0".join((self.context.checkpoint_id, self.context.query, *place)).encode()).hexdigest()[:32]

    def claim(self, held: Held) -> None:
        """Take a place over from its previous start; the connector stores the term of this one in the same step."""
        self.refuse_successor(held.term)
        self.last = held.mark

    def admits(self, held: Held, epoch: int, identity: str) -> bool:
        """Whether to write an epoch; False if the place already holds it."""
        self.refuse_successor(held.term)
        if held.mark.holds(epoch, identity, self.context.name):
            self.last = held.mark
            return False
        self.refuse_changed(held.mark)
        return True

    def wrote(self, epoch: int, identity: str) -> None:
        """Note that an epoch was written together with its mark."""
        self.last = Mark(epoch, identity)

    def refuse_successor(self, term: int) -> None:
        """Raise if a later start has taken the place over."""
        context = self.context
        if term > context.term:
            raise CheckpointError(
                "SINK_FENCED",
                f"{context.name}: start {term} of this job has taken over {self.place} from start {context.term}",
                hint="nothing more of this epoch was written; the process that took over continues with it",
            )

    def refuse_changed(self, mark: Mark) -> None:
        """Raise if the place has changed since this process last saw it."""
        if mark.epoch != self.last.epoch or not mark.agrees(self.last.identity):
            raise mark.lacks(self.last, self.context.name, self.place)

    def refuse_twice(self, holders: Iterable[Holder]) -> None:
        """Raise if another sink of this same start has opened the place."""
        context = self.context
        for other in holders:
            if (other.checkpoint, other.term) == (context.checkpoint_id, context.term) and other.sink != context.name:
                raise CheckpointError(
                    "FOLDER_OWNED",
                    f"the sinks {other.sink} and {context.name} both write to {self.place}",
                    hint=f"give each sink its own {self._each}; combine streams that have the same columns with union",
                )

    def empties(self, holders: Sequence[Holder]) -> bool:
        """Whether the place is emptied first, because another checkpoint or query wrote it and this is a fresh start."""
        mine, alone = self.rivals(holders)
        if mine and not (self.context.fresh and alone):
            raise self.owned(mine[0], alone=alone)
        return bool(mine)

    def rivals(self, holders: Iterable[Holder]) -> tuple[list[Holder], bool]:
        """The other writers that block this start, and whether a fresh start may empty the place."""
        context = self.context
        others = [one for one in holders if (one.checkpoint, one.query) != (context.checkpoint_id, context.query)]
        foreign = [one for one in others if one.job != context.job]
        if foreign and not self._shared:
            return foreign, False
        mine = [one for one in others if one.job == context.job]
        return mine, not foreign and all(one.made for one in mine)

    def owned(self, holder: Holder, *, alone: bool) -> HeadraceError:
        """The error for a place that another checkpoint has written; `alone`: a fresh start may empty it."""
        cure = "start with fresh=True, which empties it" if alone else self._by_hand
        sink = readable(holder.sink, self.context.name)
        return CheckpointError(
            "TABLE_OWNED",
            f"{self.place} was written by the sink {sink} of the job {holder.job}, from another checkpoint or query",
            hint=f"write to another {self._each}, continue from the checkpoint that wrote it, or {cure}",
        )
