"""The mark of a job in a sink: the last epoch written there, and that epoch's identity.

Numbers alone do not tell histories apart: a checkpoint that was restored from a backup reuses epoch numbers for other rows.
The identity of an epoch is drawn once, when its offsets are logged, and a replay keeps it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

# The hash that keeps stored names distinct; it is not meant for people.
HASH = re.compile(r"-[0-9a-f]{6}(?:[0-9a-f]{2})?(?![\w-])")


def readable(name: str, known: str = "") -> str:
    """Return a stored name without its hash, for messages where no plan provides display names; `known` stays unchanged.

    >>> readable("upserts-3e4becd6.jdbc"), readable("spent")
    ('upserts.jdbc', 'spent')
    """
    return name if name == known else HASH.sub("", name)


@dataclass(frozen=True)
class Mark:
    """The last epoch that a sink holds (-1 for none), and its identity (empty if a version without identities wrote it).

    `exists`: whether the folder, table or topic itself is there. `fades`: the place drops marks after some days and also marks epochs
    without rows, so the last mark may be of an earlier or later epoch than the last rows. `claimed`: the place has a note of this
    checkpoint, which may be without an epoch.

    >>> Mark(3, "5f1c").holds(3, "5f1c", "best"), Mark(2, "77ab").holds(3, "5f1c", "best"), Mark(3).holds(3, "5f1c", "best")
    (True, False, True)
    """

    epoch: int = -1
    identity: str = ""
    exists: bool = True
    fades: bool = False
    claimed: bool = field(default=False, compare=False, repr=False)

    def agrees(self, identity: str) -> bool:
        """Return whether this may be the epoch of that identity. A sink may store only the beginning of an identity; if one of the two is
        empty, the epoch numbers decide.
        """
        return self.identity.startswith(identity) or identity.startswith(self.identity)

    def holds(self, epoch: int, identity: str, sink: str) -> bool:
        """Return whether the sink has the epoch already. Raises CHECKPOINT_BEHIND for an epoch of another history, or for a later one."""
        if self.epoch < epoch:
            return False
        if self.epoch == epoch and self.agrees(identity):
            return True
        raise HeadraceError(
            "CHECKPOINT_BEHIND",
            f"{sink} holds epoch {self.epoch} of another history, but this job was about to write its own epoch {epoch}",
            hint="nothing was written: two copies of one checkpoint have written to this sink. "
            "Stop the other job, or give this one another sink.",
        )

    def lacks(self, written: Mark, sink: str, place: str) -> HeadraceError:
        """Return the error for a place that ends with this mark although the job has written `written`."""
        holds = f"ends with {named(self.epoch)}" if self.epoch >= 0 else "holds no epoch of this job"
        return HeadraceError(
            "TABLE_REPLACED" if self.exists else "TABLE_MISSING",
            f"{sink}: {place} {holds}, but the job has written epoch {written.epoch} there"
            if self.exists
            else f"{sink}: {place} no longer exists, but the job has written to it up to epoch {written.epoch}",
            hint="restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. "
            "Nothing was changed.",
        )


def named(epoch: int) -> str:
    """Return an epoch in words.

    >>> named(3), named(-1)
    ('epoch 3', 'no epoch')
    """
    return f"epoch {epoch}" if epoch >= 0 else "no epoch"
