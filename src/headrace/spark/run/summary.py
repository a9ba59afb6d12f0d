"""The summary of a run, with the proof that no row of a program's input was lost."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.ops.operator import operator
from headrace.plan import DisplayNames, Node, order
from headrace.ports import aside
from headrace.spark.checkpoint.record import Totals


@dataclass(frozen=True)
class InputCounts:
    """The rows of one input of a program, over the life of the checkpoint: each was handled, late or dead, or is held.

    `filtered` rows were dropped by a filter on their way to the input; they are not among its rows. `feeders` are the nodes that the rows
    come from: the dead letter of a row without a key or event time is theirs.
    """

    program: str
    input: str
    rows_in: int
    handled: int
    late: int
    dead: int
    held: int
    filtered: int = 0
    feeders: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        return self.rows_in - self.handled - self.late - self.dead - self.held

    def to_json(self) -> dict[str, int]:
        return {
            "filtered": self.filtered,
            "in": self.rows_in,
            "handled": self.handled,
            "late": self.late,
            "dead": self.dead,
            "held": self.held,
        }


@dataclass(frozen=True)
class SourceCounts:
    """The counts of all that a source has read, over the life of the checkpoint.

    `rows` passed on; `malformed` could not be read; `skipped` are blank lines and comments; `tombstones` are skipped records without a
    value. `broken` counts whole files that could not be read, with `broken_files="skip"`, or that changed after they were read: their
    former content is among `read`, nothing of the current one.
    """

    name: str
    read: int
    malformed: int
    skipped: int = 0
    tombstones: int = 0
    broken: int = 0

    @property
    def rows(self) -> int:
        return self.read - self.malformed - self.skipped - self.tombstones

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "rows": self.rows}


@dataclass(frozen=True)
class ExpectationCounts:
    """How many rows of a stream met an expectation and how many did not, over the life of the checkpoint.

    Only current rows count: a retracted row does not.
    """

    stream: str
    name: str
    on_violation: str
    passed: int
    violated: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class LookupCounts:
    """The counts of a lookup, over the life of the checkpoint.

    `hits` counts the rows whose answer was cached, `asked` the keys that were looked up, in so many `requests` (retries included) that took
    `seconds` in all, and `missed` the rows without a match.
    """

    name: str
    hits: int
    asked: int
    requests: int
    missed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Summary:
    """What a run did, returned by `Job.run` and `Run.wait`. It prints as a table.

    Of this run:

    * `rows`, `epochs`, `seconds`, `new_dead_letters`: rows read, committed epochs, duration, dead letters that no stream read.
    * `stopped`: whether it was stopped before its end.
    * `sealed`: whether bounded input has ended for good, so that the job takes no new input.

    Over the life of the checkpoint:

    * `sources`: `name`, `read`, `rows` (passed on), `malformed`, `skipped` (blank lines, comments), `tombstones`, `broken` (whole files).
    * `inputs`: `program`, `input`, `rows_in` (`in` in `to_json` and `Harness.metrics`), `filtered` (before the input), `handled`, `late`,
      `dead` and `held`.
    * `lookups`: `name`, `hits` (rows answered from the cache), `asked` (keys requested), `requests` (repeated ones too), `missed` (rows
      without a match) and `seconds` (of all requests).
    * `expectations`: `stream`, `name`, `on_violation`, `passed` and `violated` of the rows present.
    * `sinks`: the rows written, by sink.
    * `dead_letters`: the number of dead letters in each folder: rows that no stream read or a sink could not write.

    `job` is the job's name; `names` maps the names stored in the checkpoint to the names shown ([names](../../concepts/plans.md#names)).

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("b", 900)], "card string, amount int", name="charges")
        >>> summary = hr.job("counted", charges.filter("amount > 500").write.memory()).run(progress=False)
        >>> print(summary)
        counted: 2 rows in 1 epoch, ...
          source   read  malformed
          charges     2          0
          sink            rows
          charges.memory     1
        >>> summary.sources[0].read, summary.sinks, summary.rows_per_second > 0
        (2, {'charges.memory': 1}, True)
        >>> summary.to_json()["dead_letters"].values()
        dict_values([0])
    """

    job: str
    sources: tuple[SourceCounts, ...]
    inputs: tuple[InputCounts, ...]
    sinks: Mapping[str, int]
    dead_letters: Mapping[str, int]
    rows: int
    epochs: int
    seconds: float
    sealed: bool
    stopped: bool
    expectations: tuple[ExpectationCounts, ...] = ()
    lookups: tuple[LookupCounts, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    new_dead_letters: int = 0

    @property
    def rows_per_second(self) -> float:
        """Rows read per second of this run."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Returns the summary as data that `json.dumps` takes."""
        return {
            "job": self.job,
            "rows": self.rows,
            "epochs": self.epochs,
            "seconds": round(self.seconds, 3),
            "sources": [one.to_json() for one in self.sources],
            "inputs": [{"program": one.program, "input": one.input, **one.to_json()} for one in self.inputs],
            "lookups": [one.to_json() for one in self.lookups],
            "expectations": [one.to_json() for one in self.expectations],
            "sinks": dict(self.sinks),
            "dead_letters": dict(self.dead_letters),
            "new_dead_letters": self.new_dead_letters,
            "sealed": self.sealed,
            "stopped": self.stopped,
        }

    def __str__(self) -> str:
        return "\n".join(_text(self))

    def __repr__(self) -> str:
        return f"<Summary {_text(self)[0]}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def counts_of(
    totals: Totals, programs: Mapping[int, tuple[str, Mapping[int, str]]], feeders: Mapping[tuple[str, str], tuple[str, ...]] | None = None
) -> tuple[InputCounts, ...]:
    """Return the counts of the inputs; `programs` maps an op id to its name and to the names of its sides, `feeders` a program and an input
    to the nodes that its rows come from.
    """
    return tuple(
        InputCounts(
            name,
            side_name,
            rows_in=totals.of_input(op, side, "in"),
            **{metric: totals.of_input(op, side, metric) for metric in ("handled", "late", "dead", "held", "filtered")},
            feeders=(feeders or {}).get((name, side_name), ()),
        )
        for op, (name, sides) in sorted(programs.items(), key=lambda item: item[1][0])
        for side, side_name in sorted(sides.items())
    )


def source_counts(totals: Totals, name: str) -> SourceCounts:
    """Return the counts of a source."""
    return SourceCounts(name, *(totals.of_source(name, metric) for metric in ("read", "malformed", "skipped", "tombstones", "broken")))


def expectations_of(totals: Totals, sinks: Iterable[Node]) -> tuple[ExpectationCounts, ...]:
    """Return the counts of all expectations upstream of some sinks."""
    return tuple(
        ExpectationCounts(
            str(node.name),
            name,
            on_violation,
            *(totals.of_source(str(node.name), f"{outcome} {name}") for outcome in ("passed", "violated")),
        )
        for node in map(operator, order(sinks))
        for name, on_violation in node.expected.items()
    )


def lookups_of(totals: Totals, lookups: Mapping[int, str]) -> tuple[LookupCounts, ...]:
    """Return the counts of lookups; `lookups` maps numbers to names."""
    counts = []
    for op, name in lookups.items():
        hits, keys, requests, missed, micros = (
            totals.of_input(op, 0, metric) for metric in ("hits", "asked", "requests", "missed", "micros")
        )
        counts.append(LookupCounts(name, hits, keys, requests, missed, round(micros / 1e6, 3)))
    return tuple(counts)


def prove(inputs: tuple[InputCounts, ...]) -> None:
    """Check that rows in = handled + late + dead + held. Anything else is a fault of headrace, and is reported as one."""
    for one in inputs:
        if one.lost:
            raise HeadraceError(
                "ROWS_UNACCOUNTED",
                f"the input `{one.input}` of {one.program} got {one.rows_in} rows: {one.handled} handled, {one.late} late, "
                f"{one.dead} dead-lettered, {one.held} held; {_difference(one.lost)}",
                hint="this is a bug in headrace: do not rely on the results of this run. "
                "Please report it with `job.json` and the folder `record/` of the checkpoint.",
            )


def _difference(lost: int) -> str:
    """Return the words for the rows that an input lacks, or has too many of."""
    return f"{abs(lost)} too many" if lost < 0 else f"{lost} {'is' if lost == 1 else 'are'} missing"


def _text(summary: Summary) -> list[str]:
    shown = DisplayNames(summary.names)
    lines = [f"{summary.job}: {_first(summary)}"]
    of_sources = [
        "read",
        "malformed",
        *(name for name in ("skipped", "tombstones", "broken") if any(getattr(one, name) for one in summary.sources)),
    ]
    lines += _table(
        ("source", *of_sources), [(shown(one.name), *(f"{getattr(one, name):,}" for name in of_sources)) for one in summary.sources]
    )
    counts = ["in", "handled", "late", "dead", "held"]
    if any(one.filtered for one in summary.inputs):
        counts.insert(0, "filtered")
    lines += _table(
        ("program input", *counts),
        [(_input(one, shown), *(f"{one.to_json()[name]:,}" for name in counts)) for one in summary.inputs],
    )
    lines += _table(
        ("lookup", "hits", "asked", "requests", "missed", "seconds"),
        [
            (shown(one.name), *(f"{n:,}" for n in (one.hits, one.asked, one.requests, one.missed)), f"{one.seconds:,.1f}")
            for one in summary.lookups
        ],
    )
    lines += _table(
        ("expectation", "passed", "violated"),
        [(f"{shown(one.stream)}: {one.name}", f"{one.passed:,}", f"{one.violated:,}") for one in summary.expectations],
    )
    lines += _table(("sink", "rows"), [(shown(name), f"{rows:,}") for name, rows in summary.sinks.items()])
    return [*lines, *_dead(summary, shown)]


def _first(summary: Summary) -> str:
    """Describe in a line what this run did."""
    letters = summary.new_dead_letters
    if not summary.rows and not letters and not summary.stopped and not (summary.sealed and summary.epochs):
        sealed = ", and the job is sealed: it takes no new input" if summary.sealed else ""
        return f"nothing new to read{sealed}. fresh=True (--fresh) removes the checkpoint and what the sinks wrote, and reads all again."
    rate = summary.rows_per_second
    speed = f" ({rate:,.{0 if rate >= 10 else 1}f} rows/s)" if summary.rows else ""
    read = (
        f"{many(summary.rows, 'row') if summary.rows else 'no new rows'} in {many(summary.epochs, 'epoch')}, {summary.seconds:.1f} s{speed}"
    )
    ends = [many(letters, "new dead letter")] if letters else []
    ends += ["sealed"] if summary.sealed else ["stopped"] if summary.stopped else []
    return ", ".join((read, *ends))


def many(count: int, what: str) -> str:
    """Return a count with its noun.

    >>> many(1, "epoch"), many(2000, "row")
    ('1 epoch', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _input(one: InputCounts, shown: DisplayNames) -> str:
    return shown(one.program) if one.input == "event" else f"{shown(one.program)}.{one.input}"


def _dead(summary: Summary, shown: DisplayNames) -> Iterator[str]:
    """Yield lines about where the failed rows are, and how to read them."""
    for one in summary.inputs:
        if one.dead:
            feeders = " and ".join(f'{shown(name)}.output("dead_letter")' for name in one.feeders)
            keyless = f"those without a key or event time are in {feeders}, " if feeders else ""
            yield f'  dead rows of {_input(one, shown)}: {keyless}those that failed in {shown(one.program)}.output("dead_letter")'
    for folder, rows in summary.dead_letters.items():
        if rows:
            of = f" of {shown(Path(folder).name)}" if Path(folder).parent.name == aside.FOLDER else ""
            yield f"  {many(rows, 'dead letter')}{of} in {folder}"
    if sum(summary.dead_letters.values()):
        checkpoint = Path(next(iter(summary.dead_letters))).parents[1]
        job = summary.job if checkpoint == Path(".headrace", summary.job).absolute() else checkpoint
        yield f"  headrace letters show {shlex.quote(str(job))} lists them"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Plain columns, so that the text reads the same in a terminal, a log and a test."""
    if not rows:
        return []
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *rows]
    ]
