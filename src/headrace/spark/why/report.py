"""The answer to why a row is in a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.schema import row_text
from headrace.spark.checkpoint.savepoints import listed
from headrace.spark.run.summary import many


@dataclass(frozen=True)
class WhyRow:
    """A row of a source that a result comes from: one of a [`WhyRows`](#WhyRows).

    * `row`: its columns, as JSON.
    * `file`, `position`: where it was read: a file and the byte of its line in it, or the number of its row; a Kafka partition and its
      offset. None if the source does not tell.
    * `line`: the number of its line, if the file is here and has lines.
    * `times`: how many such rows count.

    Examples:
        >>> import headrace as hr
        >>> row = hr.WhyRow({"card": "a", "amount": 3}, "charges/monday.json", 41, 2)
        >>> print(row)
        charges/monday.json, line 2: card="a", amount=3
        >>> row.to_json()["position"]
        41
    """

    row: Mapping[str, Any]
    file: str | None = None
    position: int | None = None
    line: int | None = None
    times: int = 1

    def to_json(self) -> dict[str, Any]:
        """Returns the row as data that `json.dumps` takes."""
        return {**vars(self), "row": dict(self.row)}

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}, {self._where}: "
        return f"{place}{row_text(self.row)}{f'  ({self.times:,} times)' if self.times > 1 else ''}"

    @property
    def _where(self) -> str:
        return f"line {self.line:,}" if self.line is not None else f"position {self.position}"


@dataclass(frozen=True)
class WhyRows:
    """The rows of a source that a result comes from; or, if `ends` is true, rows of an operator that depend on all that came before.

    * `name`, `description`: the source or operator.
    * `count`: how many rows there are; `rows` has the first of them.

    Examples:
        >>> import headrace as hr
        >>> some = hr.WhyRows("charges", "2 files", 1200, (hr.WhyRow({"card": "a", "amount": 3}),))
        >>> print(some)
        charges: 2 files  (1,200 rows)
          card="a", amount=3
          ... 1,199 more
        >>> some.to_json()["count"]
        1200
    """

    name: str
    description: str
    count: int
    rows: tuple[WhyRow, ...]
    ends: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the rows as data that `json.dumps` takes."""
        return {**vars(self), "rows": [one.to_json() for one in self.rows]}

    def __str__(self) -> str:
        kind = "; its rows depend on what came before" if self.ends else ""
        more = self.count - len(self.rows)
        lines = [f"{self.name}: {self.description}  ({many(self.count, 'row')}{kind})", *(f"  {row}" for row in self.rows)]
        return "\n".join([*lines, f"  ... {more:,} more"] if more else lines)


@dataclass(frozen=True)
class WhyStep:
    """An operator between a result and its sources.

    * `name`, `description`: the operator.
    * `rows`: how many of its rows are explained, by `inputs` rows of what it reads.
    * `witnesses`: if some of several rows are enough, such as one with the maximum, how many there were. None: all rows count.

    Examples:
        >>> import headrace as hr
        >>> step = hr.WhyStep("largest", "aggregate by card: max(amount) AS largest", 1, 1, witnesses=800)
        >>> print(step)
        largest: aggregate by card: max(amount) AS largest  (1 row from 1, enough of 800)
        >>> step.to_json()["witnesses"]
        800
    """

    name: str
    description: str
    rows: int
    inputs: int
    witnesses: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the step as data that `json.dumps` takes."""
        return dict(vars(self))

    def __str__(self) -> str:
        enough = "" if self.witnesses is None else f", enough of {self.witnesses:,}"
        return f"{self.name}: {self.description}  ({many(self.rows, 'row')} from {self.inputs:,}{enough})"


@dataclass(frozen=True)
class Why:
    """Why a row is in a result: `hr.why` returns it. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `view`, `row`: the sink or operator, and its row as JSON.
    * `matching`: how many different rows match what was asked; this is the first of them. `times`: how often it is there.
    * `steps`: the [operators](#WhyStep) on the way back, from the result on.
    * `sources`: the [rows of each source](#WhyRows) that gave it: these rows alone give this row again. Empty if none did.
    * `outside`: what else it depends on, in words: the answers of tables that were looked up.
    * `epochs`: the last epoch of each streaming query whose input counts.
    * `pause_seconds`: how long a running job paused while its position was copied; None if none was running.
    * `seconds`: the duration.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 3), ("a", 4)], "card string, amount int", name="charges")
        >>> job = hr.job("largest", charges.group_by("card").agg(largest="max(amount)").named("largest").write.memory(name="out"))
        >>> _ = job.run(progress=False)
        >>> why = hr.why(job, "out")
        >>> why.row, why.steps[0].witnesses, dict(why.sources[0].rows[0].row)
        ({'card': 'a', 'largest': 4}, 2, {'card': 'a', 'amount': 4})
        >>> why.to_json()["view"]
        'out'
    """

    job: str
    checkpoint: Path
    view: str
    row: Mapping[str, Any]
    matching: int
    times: int
    steps: tuple[WhyStep, ...]
    sources: tuple[WhyRows, ...]
    outside: tuple[str, ...]
    epochs: Mapping[str, int]
    pause_seconds: float | None = field(compare=False)
    seconds: float = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the answer as data that `json.dumps` takes."""
        return {
            **vars(self),
            "checkpoint": str(self.checkpoint),
            "row": dict(self.row),
            "steps": [one.to_json() for one in self.steps],
            "sources": [one.to_json() for one in self.sources],
            "outside": list(self.outside),
            "epochs": dict(self.epochs),
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        others = f", the first of {self.matching:,} rows that match" if self.matching > 1 else ""
        lines = [f"{self.job}: why {self.view} has {row_text(self.row)}{others}, after epoch {listed(self.epochs)}"]
        lines += [f"  {step}" for step in self.steps]
        lines += [f"  {line}" for source in self.sources for line in str(source).splitlines()]
        if not self.sources:
            lines.append("  no row of a source gave it: an aggregate without groups has a row although nothing came")
        lines += [f"  it also depends on {what}" for what in self.outside]
        paused = "" if self.pause_seconds is None else f"; the job paused for {self.pause_seconds:.1f} s"
        return "\n".join([*lines, f"nothing was changed; done in {self.seconds:.1f} s{paused}"])
