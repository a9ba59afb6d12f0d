"""The report of a comparison of two versions of a job: the rows of each sink that differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.spark.checkpoint.savepoints import listed

EQUAL, DIFFERS, UNKNOWN = "equal", "differs", "unknown"


@dataclass(frozen=True)
class RowChange:
    """A row of a sink that differs between two versions of a job: an example in a [`SinkRows`](#SinkRows).

    * `old`, `new`: the row in each version, as JSON by column; None if it has none. Both are there for a key with a changed row.
    * `times`: how many more such rows the one version has than the other.

    Examples:
        >>> import headrace as hr
        >>> print(hr.RowChange({"card": "a", "spent": 907}, {"card": "a", "spent": 900}))
        ~ card="a", spent=907 -> 900
        >>> print(hr.RowChange(None, {"card": "b", "spent": 3}, times=2))
        + card="b", spent=3  (2 times)
        >>> hr.RowChange(None, {"card": "b", "spent": 3}).to_json()
        {'old': None, 'new': {'card': 'b', 'spent': 3}, 'times': 1}
    """

    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    times: int = 1

    def to_json(self) -> dict[str, Any]:
        """Returns the row as data that `json.dumps` takes."""
        return {
            "old": None if self.old is None else dict(self.old),
            "new": None if self.new is None else dict(self.new),
            "times": self.times,
        }

    def __str__(self) -> str:
        old, new = ({name: json.dumps(value, ensure_ascii=False) for name, value in (row or {}).items()} for row in (self.old, self.new))
        if self.old is None or self.new is None:
            sign, values = "+" if self.old is None else "-", old or new
        else:
            # a column that only the old version has comes last
            sign, values = "~", {name: _changed(old.get(name), new.get(name)) for name in {**new, **old}}
        times = f"  ({self.times:,} times)" if self.times > 1 else ""
        return f"{sign} {', '.join(f'{name}={value}' for name, value in values.items())}{times}"


@dataclass(frozen=True)
class SinkRows:
    """The rows of a sink in two versions of a job.

    * `name`: the name of the sink.
    * `verdict`: `equal`; `differs`; `new` or `dropped`: only one version has it; `unknown`: it cannot be compared.
    * `reasons`: why it cannot be compared, or why it is equal without a comparison.
    * `equal`, `only_old`, `only_new`: the number of rows that both versions have, or only one of them; None if they were not compared.
    * `key`: the columns of its key, if it has one row for each key.
    * `changed`: the number of keys with another row; their rows are also in `only_old` and `only_new`. None without a key.
    * `examples`: the first [rows that differ](#RowChange), in the order of the key or of all columns.

    Examples:
        With the difference of [`hr.RowsDiff`](#RowsDiff):

        >>> sink = rows.sinks[0]  # doctest: +SKIP
        >>> sink.verdict, sink.only_old, sink.only_new, sink.key, sink.changed  # doctest: +SKIP
        ('differs', 1, 0, ('card',), 0)
        >>> sink.to_json()["examples"]  # doctest: +SKIP
        [{'old': {'card': 'b', 'spent': 3}, 'new': None, 'times': 1}]
    """

    name: str
    verdict: str
    reasons: tuple[str, ...] = ()
    equal: int | None = None
    only_old: int | None = None
    only_new: int | None = None
    key: tuple[str, ...] = ()
    changed: int | None = None
    examples: tuple[RowChange, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the sink as data that `json.dumps` takes."""
        examples = [one.to_json() for one in self.examples]
        return {**vars(self), "reasons": list(self.reasons), "key": list(self.key), "examples": examples}

    def __str__(self) -> str:
        first = f"{self.verdict:10}{self.name}"
        why = [*self.reasons]
        if self.equal is not None:
            why.append(f"{_rows(self.equal)} equal")
            if self.verdict == DIFFERS:
                why[-1] += f", {self.only_old:,} only in the old version, {self.only_new:,} only in the new one"
            if self.changed:
                why[-1] += f"; {self.changed:,} {'key has' if self.changed == 1 else 'keys have'} another row"
        return "\n".join([f"{first}{': ' if why else ''}{'; '.join(why)}", *(f"          {one}" for one in self.examples)])


@dataclass(frozen=True)
class RowsDiff:
    """The rows that differ between two versions of a job, over the same input: `hr.compare` returns it. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `old`, `new`: what was compared, in words.
    * `epochs`: the last epoch of each streaming query whose input counts.
    * `sinks`: a [`SinkRows`](#SinkRows) for each sink.
    * `pause_seconds`: how long a running job paused while rows of its sinks were copied; None if none was running.
    * `seconds`: the duration.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 900), ("b", 3)], "card string, amount int", name="charges")
        >>> def job(limit):
        ...     spent = charges.filter(f"amount > {limit}").group_by("card").agg(spent="sum(amount)")
        ...     return hr.job("bills", spent.write.files("bills", format="json", mode="changes", name="per_card"))
        >>> _ = job(0).run(progress=False)
        >>> rows = hr.compare(job(0), job(5))
        >>> print(rows)
        bills: from ....headrace/bills to the job bills, over the rows read up to epoch 0
          differs   per_card: 1 row is equal, 1 only in the old version, 0 only in the new one
                    - card="b", spent=3
        nothing was changed; done in ... s
        >>> rows.differs, rows.to_json()["epochs"]
        (True, {'main': 0})
    """

    job: str
    checkpoint: Path
    old: str
    new: str
    epochs: Mapping[str, int]
    sinks: tuple[SinkRows, ...]
    pause_seconds: float | None
    seconds: float

    @property
    def differs(self) -> bool:
        """Whether a sink of both versions has other rows."""
        return any(one.verdict == DIFFERS for one in self.sinks)

    def to_json(self) -> dict[str, Any]:
        """Returns the differences as data that `json.dumps` takes."""
        return {
            **vars(self),
            "checkpoint": str(self.checkpoint),
            "epochs": dict(self.epochs),
            "sinks": [one.to_json() for one in self.sinks],
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        first = f"{self.job}: from {self.old} to {self.new}, over the rows read up to epoch {listed(self.epochs)}"
        paused = "" if self.pause_seconds is None else f"; the job paused for {self.pause_seconds:.1f} s"
        lines = [f"  {line}" for one in self.sinks for line in str(one).splitlines()]
        return "\n".join([first, *lines, f"nothing was changed; done in {self.seconds:.1f} s{paused}"])


def _changed(old: str | None, new: str | None) -> str:
    """Return the values of a column in the two versions of a row; None: the version has no such column."""
    return f"{old}" if old == new else f"{old or 'no column'} -> {new or 'no column'}"


def _rows(n: int) -> str:
    return f"{n:,} row{' is' if n == 1 else 's are'}"
