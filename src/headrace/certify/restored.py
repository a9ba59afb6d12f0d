"""Checkpoints put back after a copy's sinks have moved on: each start must be refused with a code and change nothing, or be exact."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from headrace.certify.backups import BACKUPS, put_back
from headrace.certify.certificate import RESTORED, Tried
from headrace.certify.contents import DEAD, Contents, dead_letters, missing
from headrace.certify.copy import Copy
from headrace.certify.refused import refused
from headrace.durable.manifest import CONTROL
from headrace.engine import Job
from headrace.errors import HeadraceError
from headrace.jvm.session import jvm, session
from headrace.ops import Source, sinks_of, sources_of
from headrace.plan import Plan

BEGUN = 4
"""Epochs before the early copy is made."""

MANIFEST = "an output without its newest manifest"
"""The name of damage to a files output, in place of damage to the checkpoint."""

REFUSALS = (
    "CHECKPOINT_BEHIND",
    "CHECKPOINT_INCOMPLETE",
    "CHECKPOINT_UNREADABLE",
    "NOT_A_CHECKPOINT",
    "OUTPUT_MISSING",
    "TABLE_MISSING",
    "TABLE_REPLACED",
)
"""The codes with which a start may refuse a checkpoint or output."""

EXACT, UNNOTICED = "exact", "not noticed"
"""The outcomes of other starts: exact, or not exact but unnoticed, because the sinks concerned hold no mark of their epoch."""

STARTS = (1, 2, 1, 3, 1, 10)
"""The numbers of starts by a supervisor, from one backup to the next."""


def epochs_needed(after: Sequence[int]) -> int:
    """Return the number of input files to lay out. A backup from which a start continues uses up one; there are few, so eight are spare."""
    return BEGUN + max(after, default=0) + 8


def put_back_after(
    copied: Copy,
    folder: Path,
    partitions: int,
    after: Sequence[int],
    report: Callable[[str], object],
    backups: Iterable[str] | None = None,
) -> Iterator[Tried]:
    """Put back each of the `backups` (default: all) when the sinks are `after` epochs ahead of the early copy."""
    names = [MANIFEST, *BACKUPS] if backups is None else list(backups)
    for epochs in after:
        drill = Drill(copied, folder / f"after-{epochs}", partitions, epochs)
        try:
            for number, name in enumerate(names):
                if name == MANIFEST and drill.manifest is None:
                    continue
                result = drill.tried(name, STARTS[number % len(STARTS)], (1, epochs + 1, 2)[number % 3])
                tried = replace(result, point=f"{RESTORED} {epochs} epoch{'' if epochs == 1 else 's'}", of=name)
                outcomes = ", ".join(f"{what} {count}" for what, count in tried.outcomes.items())
                report(f"{tried.point}, {tried.of}: {outcomes}{' NOT AS PROMISED' if tried.failed or tried.lost or tried.doubled else ''}")
                yield tried
        finally:
            drill.close()


class Lane:
    """One history of a copy: a checkpoint, sinks of its own, and input that arrives file by file."""

    def __init__(self, copied: Copy, folder: Path, partitions: int) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.delivered = 0
        self._copy = copied
        self._partitions = partitions
        self._plan, self.sinks = copied.at(folder / "sinks")
        self._inputs: dict[str, list[Path]] = {}
        self._sources = sources_of(self._plan.nodes.values())
        for node in self._sources:
            name, laid = str(node.name), Path(str(node.options.get("path", "")))
            if node.connector != "files" or node.options.get("files_per_epoch") != 1:
                raise refused(f"the input of {name} cannot be fed in parts", "leave out --restore (restored=)")
            self._inputs[name] = sorted(file for file in laid.iterdir() if file.is_file())
            self._input(name).mkdir(parents=True)

    def give(self, files: int = 1) -> None:
        """Add files to the input of each source."""
        for name, laid in self._inputs.items():
            for file in laid[self.delivered : self.delivered + files]:
                shutil.copy(file, self._input(name))
        self.delivered += files

    def run(self, cut: int = 1) -> None:
        """Read the new input, `cut` files per epoch."""

        def cut_so(node: Source) -> Source:
            return replace(node, options={**node.options, "path": str(self._input(str(node.name))), "files_per_epoch": cut}, live=None)

        # read from JSON, as another process would do
        plan = Plan.from_json(self._plan.changed({source: cut_so(source) for source in self._sources}).to_json())
        try:
            Job(plan).run(checkpoint=self.checkpoint, partitions=self._partitions, flush=False, progress=False)
        finally:
            # like the end of a process: no state stays in memory or is uploaded later, when another checkpoint has been put back
            jvm(session()).org.apache.spark.sql.execution.streaming.state.StateStore.stop()

    def read(self) -> Contents:
        """Return the contents of the sinks, and the dead letters of the checkpoint."""
        contents = dict(self._copy.read(self.sinks))
        if letters := dead_letters(self.checkpoint):
            contents[DEAD] = letters
        return contents

    def close(self) -> None:
        for sink in self.sinks.values():
            # such as a server that is gone, which has been reported elsewhere
            with suppress(Exception):
                sink.discard()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _input(self, name: str) -> Path:
        return self.folder / "in" / name


class Drill:
    """A lane whose checkpoint is put back repeatedly, and an undisturbed one with the same input."""

    def __init__(self, copied: Copy, folder: Path, partitions: int, epochs: int) -> None:
        self._copy, self._folder, self._partitions = copied, folder, partitions
        self._lanes = self._read = 0
        self._unmarked = {str(sink.name) for sink in sinks_of(copied.plan.nodes.values()) if not sink.connect().traits.marks}
        self._alone = self._lane()
        self._alone.give(BEGUN + epochs)
        self._alone.run()
        self._before = self._after = self._alone.read()
        self._begin()

    @property
    def manifest(self) -> Path | None:
        """The newest manifest of a files output."""
        places = (Path(path) for sink in self._lane_now.sinks.values() if (path := getattr(sink, "path", None)) is not None)
        manifests = sorted(file for place in places for file in (place / CONTROL).glob("*.json") if file.stem.isdigit())
        return manifests[-1] if manifests else None

    def tried(self, name: str, starts: int, cut: int) -> Tried:
        """Put back one backup, start the job `starts` times with `cut` files per epoch, and compare the sinks."""
        began, lane = time.monotonic(), self._lane_now
        if lane.delivered == self._read:
            self._next()
        aside = lane.folder / "aside"
        manifest = self.manifest if name == MANIFEST else None
        if manifest is not None:
            manifest.rename(aside)
        else:
            BACKUPS[name](self._old, self._new, lane.checkpoint)
        outcomes: Counter[str] = Counter()
        failed = ""
        for _ in range(starts):
            try:
                lane.run(cut)
                outcomes[EXACT] += 1
            except HeadraceError as error:
                outcomes[error.code] += 1
                failed = failed or ("" if error.code in REFUSALS else str(error))
        went = outcomes[EXACT] > 0
        if not went:
            if manifest is not None:
                aside.rename(manifest)
            put_back(self._new, lane.checkpoint)
        expected, actual = self._after if went else self._before, lane.read()
        differing = {sink for sink in {*expected, *actual} if expected.get(sink) != actual.get(sink)}
        if differing and differing <= self._unmarked:
            outcomes[UNNOTICED] = outcomes.pop(EXACT, 0)
            actual = expected
        lost, doubled = missing(expected, actual), missing(actual, expected)
        if differing or failed:
            # the next backup begins with a correct history
            lane.close()
            self._begin()
        elif went:
            self._read = lane.delivered
            put_back(lane.checkpoint, self._new)
        return Tried("", "", starts, time.monotonic() - began, lost, doubled, failed, dict(+outcomes))

    def close(self) -> None:
        self._alone.close()
        self._lane_now.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> None:
        """Begin a new lane that has read all input of the undisturbed one, with an early and the newest copy of its checkpoint."""
        lane = self._lane_now = self._lane()
        self._old, self._new = lane.folder / "old", lane.folder / "new"
        lane.give(BEGUN)
        lane.run()
        put_back(lane.checkpoint, self._old)
        lane.give(self._alone.delivered - BEGUN)
        lane.run()
        put_back(lane.checkpoint, self._new)
        self._read = lane.delivered
        self._before = self._after

    def _next(self) -> None:
        """Add one file to the input of both lanes, and run the undisturbed one."""
        self._lane_now.give()
        self._alone.give()
        self._alone.run()
        self._before, self._after = self._after, self._alone.read()

    def _lane(self) -> Lane:
        self._lanes += 1
        return Lane(self._copy, self._folder / f"lane-{self._lanes}", self._partitions)
