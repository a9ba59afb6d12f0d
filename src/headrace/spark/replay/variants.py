"""The program of a key as it is replayed: its rows alone, with its steps, and once more without one of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.ops import Sink
from headrace.ops.facts.kind import APPEND
from headrace.ops.facts.outputs import DEAD_LETTER
from headrace.ops.filter import Filter
from headrace.ops.output import OutputOf
from headrace.ops.program import Program
from headrace.plan import Node
from headrace.program.stepped import STEPS, Point, stepped
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.capture import Capture, Dropping
from headrace.spark.deploy.shadow import Ends
from headrace.spark.replay.named import key_of, program_of


@dataclass(frozen=True)
class Question:
    """`program`: the name of the program; None if the job has only one. `key`: the values of its key, by column. `without`: the number of a
    row that is left out. `most`: the most calls of handlers in the answer.
    """

    program: str | None
    key: Mapping[str, Any]
    without: int | None
    most: int


@dataclass(frozen=True)
class Variant:
    """A way to handle the rows. `steps`, `rejected`: what is captured of its steps and its dead letters."""

    points: tuple[Point, ...]
    steps: Capture
    rejected: Capture


@dataclass(frozen=True)
class Handled:
    """A program as a question asks for it. `whole`: over all rows of the key. `partial`: without one of them, if one is left out."""

    program: Program
    whole: Variant
    partial: Variant | None


class Variants:
    """What some questions ask for, captured below the folder `place`."""

    def __init__(self, job: SparkJob, questions: Iterable[Question], place: Path) -> None:
        self._job, self.place = job, place
        self._sinks: dict[Sink, str] = {}
        self._rows: dict[str, Capture] = {}
        self.of = [self._handled(number, question) for number, question in enumerate(questions)]
        """What each question asks for."""

    @property
    def ends(self) -> Ends:
        return Ends(self._sinks, frozenset(), self._rows)

    def _handled(self, number: int, question: Question) -> Handled:
        program = program_of(self._job, question.program)
        key = key_of(self._job, program, question.key)
        streams = tuple(
            stream if name in program.broadcast else _of_key(stream, columns, key)
            for stream, name, columns in zip(program.streams, program.names, program.keys, strict=True)
        )
        of_key = replace(program, name=f"{program.name} for question {number}", streams=streams)
        partial = None if question.without is None else self._variant(of_key, program, question.without)
        return Handled(program, self._variant(of_key, program, None), partial)

    def _variant(self, of_key: Program, program: Program, without: int | None) -> Variant:
        emitted = {one.name: self._job.schemas.output(str(program.name), one.name) for one in program.traced.outputs}
        parts = stepped(program.traced, emitted, keyed=bool(program.keys[0]), without=without)
        name = str(of_key.name) if without is None else f"{of_key.name} without row {without}"
        node = replace(of_key, name=name, traced=parts.program, time=None)  # a column of the steps could have that name
        query = next(query.name for query in self._job.queries if program in query.operators)
        steps, letters = (self._captured(OutputOf(node, output), query) for output in (STEPS, DEAD_LETTER))
        return Variant(parts.points, steps, letters)

    def _captured(self, output: Node, query: str) -> Capture:
        number = len(self._rows)
        rows = self._rows[f"replay {number}"] = Capture(Dropping(), self.place / f"{number}")
        self._sinks[Sink(output, rows.connector, {}, APPEND, rows, name=f"replay {number}")] = query
        return rows


def _of_key(stream: Node, columns: Iterable[tuple[str, str]], key: Mapping[str, str]) -> Node:
    """Return the rows of a stream that have a key. `columns`: its columns, with their texts over the stream."""
    conditions = tuple(f"({text}) <=> {key[name]}" for name, text in columns)
    return Filter(stream, conditions, site=stream.site) if conditions else stream
