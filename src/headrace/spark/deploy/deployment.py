"""The report of a deploy: a verdict for each operator, source and sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEPT, EVOLVED, MOVED, NEW, DROPPED = "kept", "evolved", "moved", "new", "dropped"


@dataclass(frozen=True)
class Verdict:
    """What becomes of a part of a job.

    * `part`: `operator`, `source` or `sink`; `name`: its name.
    * `verdict`: `kept`; `evolved`: its state is converted; `moved`: its state, unchanged, gets another place; `new`; `dropped`.
    * `reasons`: what has changed, in words.
    * `keys`, `entries`, `held`, `bytes`: the size of the state that was written anew; 0 in a dry run.
    """

    part: str
    name: str
    verdict: str
    reasons: tuple[str, ...] = ()
    keys: int = 0
    entries: int = 0
    held: int = 0
    bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the verdict as data that `json.dumps` takes."""
        return {**vars(self), "reasons": list(self.reasons)}

    def __str__(self) -> str:
        counted = {"key": self.keys, "entry": self.entries, "held row": self.held}
        amount = ", ".join(_amount(n, one) for one, n in counted.items() if n)
        why = "; ".join((*self.reasons, *([amount] if amount else [])))
        return f"{self.verdict:8}{self.part:9}{self.name}{': ' + why if why else ''}"


@dataclass(frozen=True)
class Deployment:
    """The report of `Job.deploy`: what becomes, or would become, of each part of the job. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `verdicts`: a [`Verdict`](#Verdict) for each operator that keeps state, each source and each sink.
    * `partitions`: the number of tasks of each level from now on; `before`: that of the earlier version.
    * `notices`: a line for each part that begins empty or is computed differently from now on.
    * `dry_run`, `seconds`: whether nothing was changed, and the duration.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
        >>> job = hr.job("spending", spent.write.memory(name="per_card"))
        >>> _ = job.run(progress=False, partitions=1)
        >>> deployment = job.deploy(partitions=3, dry_run=True)
        >>> print(deployment)
        spending: would be deployed to ....headrace/spending
          kept    source   charges
          moved   operator spent: 3 partitions instead of 1
          kept    sink     per_card
        nothing was changed
        >>> deployment.to_json()["partitions"]
        3
    """

    job: str
    checkpoint: Path
    verdicts: tuple[Verdict, ...]
    partitions: int
    before: int
    dry_run: bool
    seconds: float
    notices: tuple[str, ...] = field(default_factory=tuple)

    @property
    def unchanged(self) -> bool:
        """Whether the checkpoint needs no change, so that a run can continue from it as it is."""
        return self.before == self.partitions and all(one.verdict == KEPT for one in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """Returns the report as data that `json.dumps` takes."""
        return {
            "job": self.job,
            "checkpoint": str(self.checkpoint),
            "verdicts": [one.to_json() for one in self.verdicts],
            "partitions": self.partitions,
            "before": self.before,
            "notices": list(self.notices),
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        if self.unchanged:
            return f"{self.job}: {self.checkpoint} can continue with this version as it is"
        done = "would be deployed" if self.dry_run else "was deployed"
        lines = [f"{self.job}: {done} to {self.checkpoint}"]
        lines += [f"  {one}" for one in self.verdicts]
        lines += [f"  {line}" for line in self.notices]
        lines.append("nothing was changed" if self.dry_run else f"done in {self.seconds:.1f} s; the next run continues with this version")
        return "\n".join(lines)


def _amount(n: int, one: str) -> str:
    many = {"entry": "entries"}.get(one, f"{one}s")
    return f"{n:,} {one if n == 1 else many}"
