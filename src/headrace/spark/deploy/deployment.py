"""The reports of a comparison of two versions of a job, and of a deploy: a verdict for each operator, source and sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT, EVOLVED, MOVED, REBUILT, CORRECTED, REPLACED = "kept", "evolved", "moved", "rebuilt", "corrected", "replaced"
NEW, DROPPED, REFUSED = "new", "dropped", "refused"

WAITS = "it did not get its rows of the last deploy so far"
"""The reason for the correction of a sink that is otherwise as before."""

RETRACT, REPLACE, FROM_NOW = "retract", "replace", "from now"
CHOICES = (RETRACT, REPLACE, FROM_NOW)
"""What becomes of a sink whose rows are computed differently: it gets the difference, all rows instead of its own, or the rows from now on.
"""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a part of a job in another version.

    * `part`: `operator`, `source` or `sink`; `name`: its name.
    * `verdict`: `kept`; `evolved`: its state is converted; `moved`: its state, unchanged, gets another place; `rebuilt`: its state is of no
      use, and is made anew from the rows that the job has read; `corrected`: the sink gets the difference between its rows and those of
      this version; `replaced`: the sink gets all rows of this version instead of its own; `new`: also made from the rows read, unless the
      reasons say otherwise; `dropped`; `refused`: this version cannot use its state.
    * `reasons`: what has changed, in words.
    * `keys`, `bytes`: the keys of an operator whose state a deploy has written, and its size; else 0. Where state stays as it is, only the
      keys are known.
    * `entries`, `held`: the entries of cells and the held rows that it has converted.
    * `read`: the rows that are read again for an operator.
    * `inserted`, `retracted`: the rows with which a deploy has corrected a sink, or replaced its rows.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> job = hr.job("all", charges.write.memory(name="all"))
        >>> source, sink = hr.diff(job, job).verdicts
        >>> print(sink)
        kept      sink     all
        >>> sink.to_json()["reasons"]
        []
    """

    part: str
    name: str
    verdict: str
    reasons: tuple[str, ...] = ()
    keys: int = 0
    entries: int = 0
    held: int = 0
    bytes: int = 0
    read: int = 0
    inserted: int = 0
    retracted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the verdict as data that `json.dumps` takes."""
        return {**vars(self), "reasons": list(self.reasons)}

    def __str__(self) -> str:
        read = {"row read again": self.read, "row inserted": self.inserted, "row retracted": self.retracted}
        counted = {"key": self.keys, "entry": self.entries, "held row": self.held, **read}
        amount = ", ".join(_amount(n, one) for one, n in counted.items() if n)
        why = "; ".join((*self.reasons, *([amount] if amount else [])))
        return f"{self.verdict:10}{self.part:9}{self.name}{': ' + why if why else ''}"


@dataclass(frozen=True)
class Diff:
    """The difference between two versions of a job: what would become of each part. `hr.diff` returns it; it prints as text.

    * `old`, `new`: what was compared, in words.
    * `verdicts`: a [`Verdict`](#Verdict) for each source, each operator that keeps state, and each sink.
    * `refusals`: why the new version cannot continue from the old one; empty if it can.
    * `notices`: a line for each part that begins empty or is computed differently from now on.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> def job(*views):
        ...     return hr.job("spending", *(view.write.memory(name=name) for name, view in views))
        >>> spent = ("per_card", charges.group_by("card").agg(spent="sum(amount)").named("spent"))
        >>> sizes = ("per_size", charges.group_by("amount").agg(n="count(*)").group_by("n").agg(k="count(*)").named("sizes"))
        >>> print(hr.diff(job(spent), job(spent, sizes)))
        from the job spending to the job spending
          kept      source   charges
          kept      operator spent
          new       operator aggregate(charges)
          new       operator sizes
          kept      sink     per_card
          new       sink     per_size
          ...
        >>> hr.diff(job(spent), job(spent)).to_json()["refusals"]
        []
    """

    old: str
    new: str
    verdicts: tuple[Verdict, ...]
    refusals: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as data that `json.dumps` takes."""
        return {
            "old": self.old,
            "new": self.new,
            "verdicts": [one.to_json() for one in self.verdicts],
            "refusals": list(self.refusals),
            "notices": list(self.notices),
        }

    def __str__(self) -> str:
        parts = (f"  {line}" for line in (*self.verdicts, *self.notices))
        return "\n".join([f"from {self.old} to {self.new}", *parts, *map("refused: {}".format, self.refusals)])


@dataclass(frozen=True)
class Deployment:
    """The report of `Job.deploy`: what has become, or would become, of each part of the job. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `diff`: a [`Diff`](#Diff) of the two versions; `verdicts` are its verdicts.
    * `partitions`: the number of tasks of each level from now on; `before`: that of the earlier version.
    * `dry_run`: whether it was only a preview.
    * `seconds`: the duration.
    * `unchanged`: whether there is nothing to do: a run can continue from the checkpoint as it is, and a running job is this version.
    * `pause_seconds`: how long a running job paused for the switch; None if none was running.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 900)], "card string, amount int", name="charges")
        >>> spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
        >>> job = hr.job("spending", spent.write.memory(name="per_card"))
        >>> _ = job.run(progress=False, partitions=1)
        >>> deployment = job.deploy(partitions=3, dry_run=True)
        >>> print(deployment)
        spending: would be deployed to ....headrace/spending
          kept      source   charges
          moved     operator spent: 3 partitions instead of 1
          kept      sink     per_card
        nothing was changed
        >>> [one.verdict for one in deployment.verdicts], deployment.to_json()["partitions"]
        (['kept', 'moved', 'kept'], 3)
    """

    job: str
    checkpoint: Path
    diff: Diff
    partitions: int
    before: int
    dry_run: bool
    seconds: float
    unchanged: bool = False
    pause_seconds: float | None = None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of `diff`."""
        return self.diff.verdicts

    def to_json(self) -> dict[str, Any]:
        """Returns the report as data that `json.dumps` takes."""
        return {
            "job": self.job,
            "checkpoint": str(self.checkpoint),
            "partitions": self.partitions,
            "before": self.before,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "unchanged": self.unchanged,
            "pause_seconds": self.pause_seconds,
            "diff": self.diff.to_json(),
        }

    def __str__(self) -> str:
        if self.unchanged:
            return f"{self.job}: {self.checkpoint} can continue with this version as it is"
        done = "cannot be deployed" if self.diff.refusals else "would be deployed" if self.dry_run else "was deployed"
        goes_on = "the next run continues" if self.pause_seconds is None else f"the job paused for {self.pause_seconds:.1f} s and continues"
        end = "nothing was changed" if self.dry_run else f"done in {self.seconds:.1f} s; {goes_on} with this version"
        return "\n".join([f"{self.job}: {done} to {self.checkpoint}", *str(self.diff).splitlines()[1:], end])


def _amount(n: int, one: str) -> str:
    first, _, rest = one.partition(" ") if not one.startswith("held") else (one, "", "")
    many = "entries" if first == "entry" else f"{first}s"
    return f"{n:,} {one if n == 1 else f'{many} {rest}'.rstrip()}"


def restored(data: Mapping[str, Any]) -> Deployment:
    """Return the report of `Deployment.to_json`."""
    diff = data["diff"]
    verdicts = tuple(Verdict(**{**one, "reasons": tuple(one["reasons"])}) for one in diff["verdicts"])
    difference = Diff(diff["old"], diff["new"], verdicts, tuple(diff["refusals"]), tuple(diff["notices"]))
    return Deployment(**{**data, "checkpoint": Path(data["checkpoint"]), "diff": difference})
