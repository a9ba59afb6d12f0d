"""What a program does for one key, by the rows that the job has read.

plan ─► the program with its steps, over the rows of the key ─► a shadow run ─► its steps, call by call

No sink and no checkpoint changes: all is done in the folder `candidate`, as for a comparison.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.ops.program import Program
from headrace.program.rerun import Rerun
from headrace.program.tracing import Tracing, tracing_of
from headrace.schema import row_text
from headrace.schema.values import zone
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.correction import under
from headrace.spark.deploy.reread import Reread, reread
from headrace.spark.replay.past import Past
from headrace.spark.replay.report import Replay, ReplayCall
from headrace.spark.replay.steps import Steps
from headrace.spark.replay.variants import Question, Variant, Variants
from headrace.spark.replay.words import Words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = dict[str, tuple[Mapping[str, Any], ...]]


@leaving()
def replay(
    question: Question,
    home: Path,
    compiled: Callable[[Mapping[str, Any]], SparkJob],
    look: Callable[[str], object],
    debug: Callable[..., object] | None,
) -> Replay:
    """Answer a question about the job whose checkpoint is `home`. `compiled` compiles its stored plan. `look` is called with a line for
    each step, `debug` with each handler and its arguments.
    """
    with answering(home, compiled, [question], look, debugs=debug is not None) as answers:
        return answers.of(0, debug)


@contextmanager
def answering(
    home: Path,
    compiled: Callable[[Mapping[str, Any]], SparkJob],
    questions: Sequence[Question],
    look: Callable[[str], object],
    *,
    debugs: bool = False,
) -> Iterator[Answers]:
    """Handle the rows again that the job has read, for some questions. `debugs`: the handlers are to be run in Python, too."""
    began = time.monotonic()

    def variants(job: SparkJob, place: Path) -> Variants:
        wanted = Variants(job, questions, place / "replay")
        for one in wanted.of if debugs else ():
            tracing(job, one.program)
        return wanted

    with reread(home, compiled, variants, "rows to handle", look, partitions=1) as read, under(read.settings) as spark:
        yield Answers(spark, read, questions, home, began)


class Answers:
    """The answers to questions, from what was captured."""

    def __init__(self, spark: SparkSession, read: Reread[Variants], questions: Sequence[Question], home: Path, began: float) -> None:
        self._spark, self._read, self._questions, self._home, self._began = spark, read, questions, home, began

    def of(self, number: int, debug: Callable[..., object] | None = None) -> Replay:
        """Return the answer to a question by its number. Raises NO_SUCH_ROW if no row has the key. `debug`: as for `replay`."""
        question, handled, job = self._questions[number], self._read.wanted.of[number], self._read.job
        name = job.shown(str(handled.program.name))
        whole = self._steps(handled.program, handled.whole)
        rejected = whole.rejected(question.most)
        _check(question, name, whole, any_row=bool(whole.counts[0] or rejected))
        steps = whole if handled.partial is None else self._steps(handled.program, handled.partial)
        lost, gained = ({}, {}) if handled.partial is None else _differences(whole.emitted(), steps.emitted())
        rows, timers = steps.counts
        calls, words = steps.calls(question.most), Words(handled.program.traced)
        if debug is not None and calls:
            unsteady = job.schemas.unsteady.keys() | job.schemas.timed.keys()
            rerun = Rerun(tracing(job, handled.program), Past(steps), steady=str(handled.program.name) not in unsteady)
            with rerun.opened():
                for call in calls:
                    rerun.run(call, debug)
        shown = tuple(map(words.call, calls))
        return Replay(
            job=job.plan.job,
            checkpoint=self._home,
            program=name,
            key=calls[0][0].values.get("key", {}) if calls else dict(question.key),
            rows=rows,
            timers=timers,
            calls=shown,
            emitted=_emitted(shown),
            rejected=rejected if handled.partial is None else steps.rejected(question.most),
            without=question.without,
            lost=lost,
            gained=gained,
            epochs=self._read.epochs,
            pause_seconds=self._read.pause,
            seconds=time.monotonic() - self._began,
        )

    def _steps(self, program: Program, variant: Variant) -> Steps:
        return Steps(self._spark, program.traced, variant, zone(self._read.job.time_zone), is_little=self._read.is_little)


def _check(question: Question, name: str, steps: Steps, *, any_row: bool) -> None:
    """Raise unless the rows in question are there."""
    of = f" with {row_text(question.key)}" if question.key else ""
    if not any_row:
        hint = "a row counts that is there when all rows which the job has read are computed again"
        raise HeadraceError("NO_SUCH_ROW", f"{name} has no row{of}", hint=hint)
    if question.without is not None and not steps.has(question.without):
        hint = "a replay of all rows shows their numbers; a row that was rejected has a number, too, but changes nothing"
        raise HeadraceError("NO_SUCH_ROW", f"{name} has no row {question.without:,}{of}", hint=hint)


def tracing(job: SparkJob, program: Program) -> Tracing:
    """Return how this process has traced a program. Raises NO_SOURCE if it has not."""
    known = tracing_of(program.traced, program.program, tuple(name for name, _ in program.keys[0]))
    if known is None:
        raise HeadraceError(
            "NO_SOURCE",
            f"the code of {job.shown(str(program.name))} is not in this process, or it has changed since the job ran",
            hint="pass the job itself instead of the folder of its checkpoint; on the command line, the file with the job: --pdb job.py",
        )
    return known


def _emitted(calls: tuple[ReplayCall, ...]) -> Rows:
    """Return the rows that some calls emitted, by the name of the output."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for step in (step for call in calls for step in call.steps if step.what == "emit"):
        rows.setdefault(step.name, []).append(step.row or {})
    return {output: tuple(some) for output, some in rows.items()}


def _differences(of: Mapping[str, list[dict[str, Any]]], other: Mapping[str, list[dict[str, Any]]]) -> tuple[Rows, Rows]:
    """Return the rows that only the first or only the second has, by the name of the output."""

    def only(mine: Mapping[str, list[dict[str, Any]]], theirs: Mapping[str, list[dict[str, Any]]]) -> Rows:
        rows: Rows = {}
        for output, some in mine.items():
            left, kept = Counter(map(json.dumps, theirs.get(output, ()))), []
            for row in some:
                left.subtract([json.dumps(row)])
                if left[json.dumps(row)] < 0:
                    kept.append(row)
            if kept:
                rows[output] = tuple(kept)
        return rows

    return only(of, other), only(other, of)
