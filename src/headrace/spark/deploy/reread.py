"""The rows that a job has read, read again beside it, up to a moment between two epochs: what a question about them is answered from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from headrace.spark.checkpoint import candidate
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.cut import begun, cut
from headrace.spark.deploy.request import Request
from headrace.spark.deploy.shadow import Ends
from headrace.spark.run.summary import many

_LITTLE = 16 << 20
"""The bytes of captured rows up to which one task is enough, and compiling and planning would take most of the time."""

_OF_LITTLE = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.files.minPartitionNum": "1",
}


class Wanted(Protocol):
    """What is computed of the rows. `place`: the folder below which the rows of its ends are."""

    place: Path

    @property
    def ends(self) -> Ends: ...


W = TypeVar("W", bound=Wanted)


@dataclass(frozen=True)
class Reread(Generic[W]):
    """The rows are read again. `wanted`: what was computed of them. `epochs`: the last epoch of each streaming query whose input counts.
    `partitions`: the tasks of each level. `is_little`: what was computed fits in memory. `pause`: the seconds for which a running job
    paused; None if none was running.
    """

    job: SparkJob
    wanted: W
    epochs: Mapping[str, int]
    partitions: int
    is_little: bool
    pause: float | None

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings under which Spark works on what was computed."""
        execution = _OF_LITTLE if self.is_little else {"spark.sql.shuffle.partitions": str(self.partitions)}
        return {**self.job.settings, **execution}


@contextmanager
def reread(
    home: Path,
    compiled: Callable[[Mapping[str, Any]], SparkJob],
    wanted: Callable[[SparkJob, Path], W],
    needs: str,
    look: Callable[[str], object],
    partitions: int | None = None,
) -> Iterator[Reread[W]]:
    """Read the rows again that the job has read, whose checkpoint is `home`. No sink and no checkpoint changes: all is done in the folder
    `candidate`, which is removed at the end.

    Args:
        home: The checkpoint.
        compiled: Compiles its stored plan.
        wanted: What is computed of them for a version, whose rows are below a folder; called twice.
        needs: What is missing before the first epoch has ended, in words.
        look: Called with a line for each step.
        partitions: The tasks of each level; None for those of the job.
    """
    begun(home, needs)
    with candidate.claim(home) as place:
        while True:
            before = begun(home, needs)
            job = compiled(before.plan)
            wanted(job, place)  # refuses before anything is read
            pause = cut(job, home)
            with Request(job, partitions).opened(place / candidate.CUT, home=home) as replacement:
                if replacement.stored.plan != before.plan:
                    continue  # another version has started meanwhile
                old, computed = replacement.comparison.old, wanted(replacement.job, place)
                look(f"reading {many(old.rows, 'row')} again")
                replacement.shadow(place / candidate.SHADOW, look, computed.ends).finish(old.totals)
                epochs = {name: origin.epoch for name, origin in replacement.origins.items()}
                is_little = sum(file.stat().st_size for file in computed.place.rglob("*.parquet")) <= _LITTLE
                yield Reread(replacement.job, computed, epochs, replacement.partitions, is_little, pause)
                return
