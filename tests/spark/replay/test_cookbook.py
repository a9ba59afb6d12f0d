"""The programs of the cookbook, replayed for all keys of random rows: what they emit, also in a debugger, and without one of the rows.

The job reads its rows in several epochs, the replay at once. Every program there handles rows in the order of time, so what it emits is
the same, byte for byte. What it emits without a row is compared with a job whose input lacks it.
"""

from __future__ import annotations

import bdb
import builtins
import datetime as dt
import json
import linecache
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.connectors import beginnings
from headrace.ops import sources_of
from headrace.ops.program import Program
from headrace.plan import order
from headrace.schema import parse_schema, plain
from headrace.schema.values import rows_from_internal, rows_to_internal
from headrace.spark.compile.job import compile
from headrace.spark.replay.replay import answering
from headrace.spark.replay.variants import Question
from tests.docs.test_examples import COOKBOOK, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.replay.report import Replay

EPOCHS = 3
COPIES = 2
RECIPES = [page for page in COOKBOOK if any("hr.Program" in code for kind, code, _ in blocks(page) if kind == "python")]
SAMPLE = ("order.md",)
"""The recipes of `make test`."""

Rows = list[tuple[Any, ...]]


@dataclass
class Recipe:
    """A page with random rows: its programs by name. `sources`: the rows of each, by its name."""

    page: Path
    folder: Path
    sources: dict[str, Rows] = field(default_factory=dict)
    schemas: dict[str, str] = field(default_factory=dict)
    programs: dict[str, hr.Stream] = field(default_factory=dict)

    def run(self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, left_out: dict[str, Counter[str]] | None = None) -> None:
        """Run the code of the page. `left_out`: rows, as JSON, by their source."""
        shown: list[hr.Stream] = []

        def read(rows: Rows, schema: str, name: str) -> hr.Stream:
            self.schemas[name] = schema
            known = self.sources.setdefault(name, several(rows, random.Random(f"{self.page.name} {name}")))
            less = (left_out or {}).get(name, Counter())
            kept = [row for row in known if less.subtract([text(row, schema)]) or less[text(row, schema)] < 0]
            folder = self.folder / name
            beginnings.of_rows(spark, typed(kept, schema), parse_schema(schema), folder, EPOCHS)
            return hr.read.files(folder, format="parquet", schema=schema, files_per_epoch=1, name=name)

        monkeypatch.setattr(type(hr.read), "memory", staticmethod(read), raising=False)
        monkeypatch.setattr(hr, "show", shown.append)
        names: dict[str, Any] = {"__name__": "__main__"}
        for kind, code, line in blocks(self.page):
            if kind == "python":
                exec(block(self.page, code, line), names)
        streams = [*shown, *(value for value in names.values() if isinstance(value, hr.Stream))]
        programs = {id(stream._node): stream for stream in streams if isinstance(stream._node, Program)}
        self.programs = {f"program {number}": stream.named(f"program {number}") for number, stream in enumerate(programs.values())}


def block(page: Path, code: str, line: int) -> Any:
    """Compile a block under the name of a file with its source, which handlers are read from."""
    file, source = f"<{page.name}:{line}>", "\n" * (line - 1) + code
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return builtins.compile(source, file, "exec")


def several(rows: Rows, rng: random.Random) -> Rows:
    """Return copies of rows for more keys, some of them more than once, at other times, in the order of time."""
    more: Rows = []
    for copy in range(COPIES):
        for row in [*rows, *rng.choices(rows, k=2 * len(rows))]:
            first = row[0] if copy == 0 else f"{row[0]}{copy}" if isinstance(row[0], str) else row[0] + 1000 * copy
            moved = dt.datetime.fromisoformat(row[-1]) + dt.timedelta(seconds=rng.choice([0, 0, 1, 20, 61, 600, 5000]))
            more.append((first, *row[1:-1], str(moved)))
    return sorted(more, key=lambda row: row[-1])


def typed(rows: Iterable[tuple[Any, ...]], schema: str) -> Rows:
    columns = parse_schema(schema)
    return rows_from_internal(rows_to_internal(list(rows), columns, dt.UTC), columns, dt.UTC)


def text(row: tuple[Any, ...], schema: str) -> str:
    """Return a row as JSON."""
    columns = parse_schema(schema)
    return json.dumps(plain(typed([row], schema)[0], columns), sort_keys=True)


def outputs(stream: hr.Stream) -> dict[str, hr.Stream]:
    node = stream._node
    assert isinstance(node, Program)
    names = [one.name for one in node.traced.outputs if one.columns]
    return {name: stream if name == "main" else stream.output(name) for name in names}


def keys_of(stream: hr.Stream) -> list[dict[str, Any]]:
    """Return the keys of the main input of a program."""
    node = stream._node
    assert isinstance(node, Program)
    table = hr.collect(hr.Stream(node.streams[0]).select(**dict(node.keys[0])).distinct())
    return [plain(row, table.schema) for row in table.rows()]


def emitted(job: str, programs: dict[str, hr.Stream], folder: Path) -> tuple[hr.Job, dict[str, Counter[str]]]:
    """Run programs as a job, and return what each emits, as JSON with the name of the output."""
    sinks = {
        (name, output): one.write.memory(name=f"{name} {output}") for name, all in programs.items() for output, one in outputs(all).items()
    }
    built = hr.job(job, *sinks.values())
    built.run(checkpoint=folder, progress=False)
    rows: dict[str, Counter[str]] = {name: Counter() for name in programs}
    for (name, output), sink in sinks.items():
        schema = compile(built.plan).schemas.of[f"{name} {output}"]
        rows[name].update(as_json(output, plain(row, schema)) for row in sink.rows())
    return built, rows


def as_json(output: str, row: Any) -> str:
    return json.dumps([output, dict(row)])


def of_replays(replays: Iterable[Replay]) -> Counter[str]:
    return Counter(as_json(output, row) for one in replays for output, rows in one.emitted.items() for row in rows)


def source_row(recipe: Recipe, program: Program, call: Any) -> tuple[str, str]:
    """Return the source of the row of a call, and the row there, as JSON."""
    stream = program.stream(call.handler.removeprefix("on_"))
    (source,) = sources_of(order([stream]))
    schema, name = recipe.schemas[str(source.name)], str(source.name)
    same = (row for row in recipe.sources[name] if json.loads(text(row, schema)).items() <= dict(call.row).items())
    return name, text(next(same), schema)


class Stepping(bdb.Bdb):
    """A debugger that stops at every line of the user's."""

    def __init__(self) -> None:
        super().__init__(skip=["headrace.*", "pyspark.*", "py4j.*"])
        self.lines = 0

    def user_line(self, frame: FrameType) -> None:
        self.lines += frame.f_code.co_filename.startswith("<")
        self.set_step()


@pytest.mark.parametrize(
    "page", [page if page.name in SAMPLE else pytest.param(page, marks=pytest.mark.full) for page in RECIPES], ids=lambda page: page.name
)
def test_replayed(page: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(page, tmp_path / "rows")
    recipe.run(spark, monkeypatch)
    job, rows = emitted("cookbook", recipe.programs, tmp_path / "whole")
    keys = {name: keys_of(stream) for name, stream in recipe.programs.items()}
    rng = random.Random(page.name)
    asked = [Question(name, key, rng.choice([1, 2]), 1000) for name, all in keys.items() for key in all]
    asked = [whole for one in asked for whole in (replace(one, without=None), one)]
    left_out: dict[str, dict[str, Counter[str]]] = {name: {} for name in keys}
    partial: dict[str, Counter[str]] = {name: Counter() for name in keys}
    version = compile(job.plan)
    with answering((tmp_path / "whole").absolute(), lambda stored: version, asked, print) as answers:
        for name, some in keys.items():
            program = recipe.programs[name]._node
            assert isinstance(program, Program)
            places = [place for place, one in enumerate(asked) if one.program == name and one.without is None]
            replays = [answers.of(place) for place in places]
            assert of_replays(replays) == rows[name]
            assert len(some) == len(replays)
            for place, replay in [*zip(places, replays, strict=True)][: 1 if page.name in SAMPLE else None]:
                debugger = Stepping()
                assert answers.of(place, debugger.runcall).emitted == replay.emitted
                assert debugger.lines > len(replay.calls)
            for place, replay in zip(places, replays, strict=True):
                number = min(asked[place + 1].without or 0, replay.rows)
                if number < (asked[place + 1].without or 0):
                    partial[name] += of_replays([replay])
                    continue
                call = next(call for call in replay.calls if call.number == number)
                source, row = source_row(recipe, program, call)
                left_out[name].setdefault(source, Counter())[row] += 1
                without = answers.of(place + 1)
                assert [one.number for one in without.calls if one.number is not None] == [
                    one.number for one in replay.calls if one.number not in (None, number)
                ]
                partial[name] += of_replays([without])
    for name in keys if page.name not in SAMPLE else [*keys][:1]:
        less = Recipe(page, tmp_path / f"less {name}", recipe.sources)
        less.run(spark, monkeypatch, left_out[name])
        _, others = emitted("without", {name: less.programs[name]}, tmp_path / f"without {name}")
        assert partial[name] == others[name], name
