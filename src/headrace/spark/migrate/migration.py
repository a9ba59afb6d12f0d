"""The report of an offline migration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Migrated:
    """One program: which of its state is `rewritten`, which is `projected` when its keys are next processed, and how much there was.

    `keys` counts its groups; `entries` those of rewritten lists, maps and keyed timers; `held` its rewritten held rows.
    """

    program: str
    rewritten: tuple[str, ...]
    projected: tuple[str, ...]
    keys: int = 0
    entries: int = 0
    held: int = 0
    bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "rewritten": list(self.rewritten), "projected": list(self.projected)}


@dataclass(frozen=True)
class Migration:
    """The report of `Job.migrate`: what was rewritten, or would be rewritten. It prints as text.

    * `job`: the name of the job.
    * `old`, `new`: the two checkpoints.
    * `programs`: `program`; `rewritten`: what was rewritten; `projected`: what is converted when a key is next processed; and the counts
      `keys`, `entries`, `held` (held rows) and `bytes`.
    * `dry_run`, `seconds`: whether nothing was written, and the duration.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> def job(amount):
        ...     class Seen(hr.Program):
        ...         amounts = hr.List(amount)
        ...
        ...         def on_event(self, e):
        ...             self.amounts.append(e.amount)
        ...             hr.emit(card=self.key.card, n=self.amounts.size())
        ...     return hr.job("seen", charges.key_by("card").process(Seen).named("amounts").write.memory())
        >>> _ = job("int").run(progress=False)
        >>> migration = job("bigint").migrate("seen-2", dry_run=True)
        >>> print(migration)
        seen: from ....headrace/seen to ...seen-2
          amounts is rewritten: amounts is a list of bigint instead of a list of int
        nothing was written
        >>> migration.to_json()["dry_run"]
        True
    """

    job: str
    old: Path
    new: Path
    programs: tuple[Migrated, ...]
    dry_run: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Returns the report as data that `json.dumps` takes."""
        return {
            "job": self.job,
            "old": str(self.old),
            "new": str(self.new),
            "programs": [one.to_json() for one in self.programs],
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        lines = [f"{self.job}: from {self.old} to {self.new}"]
        for one in self.programs:
            if one.rewritten:
                lines += [f"  {one.program} is rewritten: {words}" for words in one.rewritten]
            if one.projected:
                lines.append(f"  {one.program}, when a key is next used: {'; '.join(one.projected)}")
            if not one.rewritten and not one.projected:
                lines.append(f"  {one.program} is unchanged")
        if self.dry_run:
            lines.append("nothing was written")
        else:
            lines += [f"  {one.program}: {_amount(one)}" for one in self.programs if one.keys]
            lines.append(f"done in {self.seconds:.1f} s; continue with checkpoint={self.new}. {self.old} is kept, and marked as migrated")
        return "\n".join(lines)


def _amount(one: Migrated) -> str:
    counted = {"key": one.keys, "entry": one.entries, "held row": one.held, "byte": one.bytes}
    return ", ".join(f"{n:,} {_MANY[word] if n != 1 else word}" for word, n in counted.items() if n)


_MANY = {"key": "keys", "entry": "entries", "held row": "held rows", "byte": "bytes"}
