"""What the handlers of a program did for a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.schema import row_text
from headrace.spark.checkpoint.savepoints import listed
from headrace.spark.replay.page import Line, content, page
from headrace.spark.run.summary import many


@dataclass(frozen=True)
class ReplayStep:
    """A step of a handler: one of those of a [`ReplayCall`](#ReplayCall).

    * `what`: `read`, `set`, `clear`, `append`, `add`, `replace` and `remove` for a cell; `when` and `otherwise` for a branch; `entry` of a
      loop; `let` of a local; `emit`.
    * `line`, `code`: the line of the handler, and its text if the file is here.
    * `name`: the cell, the output, or the condition.
    * `key`: the key of an entry or timer. `before`, `value`: the value before and after, but not of aggregates; of `when` whether the
      branch was taken.
    * `row`: the row that is added to an aggregate or emitted; the parts of an entry.

    Examples:
        >>> import headrace as hr
        >>> step = hr.ReplayStep("set", "job.py:11", "self.wins.set(wins + 1)", "wins", before=None, value=1)
        >>> print(step)
        job.py:11: wins: null -> 1
        >>> step.text, step.to_json()["value"]
        ('wins: null -> 1', 1)
    """

    what: str
    line: str | None
    code: str
    name: str
    key: Any = None
    before: Any = None
    value: Any = None
    row: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the step as data that `json.dumps` takes."""
        return {**vars(self), "row": self.row and dict(self.row)}

    def __str__(self) -> str:
        return f"{self.line}: {self.text}" if self.line else self.text

    @property
    def text(self) -> str:
        """The step as a line, without its place."""
        name = self.name if self.key is None else f"{self.name}[{_shown(self.key)}]"
        value, row = _shown(self.value), row_text(self.row or {})
        change = f"{name}: {_shown(self.before)} -> {value}"
        match self.what:
            case "read":
                return f"{name} is {value}"
            case "when":
                return f"when {name}: {'yes' if self.value else 'no'}"
            case "otherwise":
                return "otherwise: yes"
            case "let":
                return f"{name} = {value}"
            case "append":
                return f"{name}: + {value}"
            case "add":
                return f"{name}: + {row}"
            case "clear" if self.before is None:
                return f"{name}: cleared"
            case "entry":
                return f"{name}: {row}"
            case "emit":
                return f"emit {'' if name == 'main' else f'{name}: '}{row}"
        return change


@dataclass(frozen=True)
class ReplayCall:
    """A handler that ran for a row or a timer of the key: one of those of a [`Replay`](#Replay).

    * `handler`: its name, such as `on_event`.
    * `number`: the number of the row among those of the key, from 1, in which rejected ones count; None for a timer.
    * `row`: the columns of the row; for a timer `at`, and `key` if the timer has keys.
    * `steps`: what the handler did.

    Examples:
        >>> import headrace as hr
        >>> emit = hr.ReplayStep("emit", "job.py:13", "", "main", row={"player": "ada", "wins": 2})
        >>> call = hr.ReplayCall("on_event", 3, {"player": "ada", "won": False}, (emit,))
        >>> print(call)
        row 3, on_event: player="ada", won=false
          job.py:13: emit player="ada", wins=2
        >>> call.title, call.to_json()["number"]
        ('row 3, on_event: player="ada", won=false', 3)
    """

    handler: str
    number: int | None
    row: Mapping[str, Any]
    steps: tuple[ReplayStep, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the call as data that `json.dumps` takes."""
        return {**vars(self), "row": dict(self.row), "steps": [one.to_json() for one in self.steps]}

    @property
    def title(self) -> str:
        """The row or timer, and the handler."""
        what = "timer" if self.number is None else f"row {self.number:,}"
        return f"{what}, {self.handler}: {row_text(self.row)}"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {step}" for step in self.steps)])


@dataclass(frozen=True)
class Replay:
    """The steps of a program's handlers for one key, as `hr.replay` returns them. It prints as text.

    * `job`, `checkpoint`: the name of the job and its checkpoint.
    * `program`, `key`: the program, and the values of its key.
    * `rows`, `timers`: how many rows and timers of the key were handled, without those that were rejected.
    * `calls`: the [calls of handlers](#ReplayCall) for the last of them, in their order.
    * `emitted`: the rows that they emitted, by the name of the output.
    * `rejected`: rows and timers whose handler failed or called `hr.reject`, so that they changed nothing: the reason and the row.
    * `without`: the number of the row that was left out; None if none was. `lost`, `gained`: the rows that are emitted only with it, and
      only without it, by the name of the output.
    * `epochs`: the last epoch of each streaming query whose input counts.
    * `pause_seconds`: how long a running job paused while its position was copied; None if none was running.
    * `seconds`: the duration.

    Examples:
        >>> import headrace as hr
        >>> class Count(hr.Program):
        ...     n = hr.Value("int", default=0)
        ...
        ...     def on_event(self, e):
        ...         self.n.set(self.n.get() + 1)
        ...         hr.emit(n=self.n.get())
        >>> games = hr.read.memory([("ada",), ("bob",), ("ada",)], "player string", name="games")
        >>> job = hr.job("counts", games.key_by("player").process(Count).write.memory(name="out"))
        >>> _ = job.run(progress=False)
        >>> replay = hr.replay(job, {"player": "ada"})
        >>> replay.rows, replay.emitted["main"], replay.calls[1].steps[-1].what
        (2, ({'n': 1}, {'n': 2}), 'emit')
        >>> replay.to_json()["program"], replay.page()[:15]
        ('games.Count', '<!doctype html>')
    """

    job: str
    checkpoint: Path
    program: str
    key: Mapping[str, Any]
    rows: int
    timers: int
    calls: tuple[ReplayCall, ...]
    emitted: Mapping[str, tuple[Mapping[str, Any], ...]]
    rejected: tuple[tuple[str, str], ...]
    without: int | None
    lost: Mapping[str, tuple[Mapping[str, Any], ...]]
    gained: Mapping[str, tuple[Mapping[str, Any], ...]]
    epochs: Mapping[str, int]
    pause_seconds: float | None = field(compare=False)
    seconds: float = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the replay as data that `json.dumps` takes."""
        rows = {"emitted": self.emitted, "lost": self.lost, "gained": self.gained}
        return {
            **vars(self),
            "checkpoint": str(self.checkpoint),
            "key": dict(self.key),
            "calls": [one.to_json() for one in self.calls],
            "rejected": [{"reason": reason, "row": row} for reason, row in self.rejected],
            **{name: {output: [*map(dict, some)] for output, some in one.items()} for name, one in rows.items()},
            "epochs": dict(self.epochs),
            "seconds": round(self.seconds, 3),
        }

    def page(self) -> str:
        """Returns an HTML page with the steps beside the code. A notebook shows its content."""
        return page(self._title, self._repr_html_())

    def _repr_html_(self) -> str:
        calls = ((call.title, (Line(one.what, one.line or "", one.code, one.text) for one in call.steps)) for call in self.calls)
        return content(self._title, ", ".join([self._summary, *self._earlier]), calls, self._notes)

    def __str__(self) -> str:
        lines = [f"{self._title}, {self._summary}", *(f"  {more}" for more in self._earlier)]
        lines += [f"  {line}" for call in self.calls for line in str(call).splitlines()]
        lines += [f"  {note}" for note in self._notes]
        paused = "" if self.pause_seconds is None else f"; the job paused for {self.pause_seconds:.1f} s"
        return "\n".join([*lines, f"nothing was changed; done in {self.seconds:.1f} s{paused}"])

    @property
    def _title(self) -> str:
        return f"{self.job}: {self.program}{f' for {row_text(self.key)}' if self.key else ''}"

    @property
    def _summary(self) -> str:
        timers = f" and {many(self.timers, 'timer')}" if self.timers else ""
        without = "" if self.without is None else f", without row {self.without:,}"
        return f"{many(self.rows, 'row')}{timers}{without}, after epoch {listed(self.epochs)}"

    @property
    def _earlier(self) -> tuple[str, ...]:
        """How many calls came before those that are shown, if any did."""
        more = self.rows + self.timers - len(self.calls)
        return (f"... {more:,} before",) if more else ()

    @property
    def _notes(self) -> tuple[str, ...]:
        notes = [f"changed nothing: {reason}: {row}" for reason, row in self.rejected]
        for word, rows in (("no longer emitted", self.lost), ("emitted instead", self.gained)):
            notes += [f"{word}{_of(output)}: {row_text(row)}" for output, some in rows.items() for row in some]
        same = self.without is not None and not (self.lost or self.gained)
        return (*notes, *([f"without row {self.without:,} the same rows are emitted"] if same else []))


def _of(output: str) -> str:
    return "" if output == "main" else f" to {output}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
