"""Started: the queries of a job that runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from headrace.plan import Explanation
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.explained import explained
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.query import RunningQuery


@dataclass
class Started:
    """The queries of a job, running on an open checkpoint; `release` closes its sinks once they have ended.

    `sealed`: the checkpoint was read to its end before and nothing new has come, so there are no queries. `notices`: the lines that a start
    prints (`Ready`).
    """

    job: SparkJob
    checkpoint: Checkpoint
    queries: list[RunningQuery]
    release: Callable[[], None]
    sealed: bool = False
    notices: tuple[str, ...] = ()
    letters_before: int = 0
    """The dead letters of its queries, and its sinks, before this start."""
    at: float = field(default_factory=time.monotonic)
    """When they were started."""

    @cached_property
    def explanation(self) -> Explanation:
        """The plan that runs, explained."""
        return explained(self.job)

    def end(self) -> None:
        """Stop the queries and close the sinks; the checkpoint stays open."""
        for query in self.queries:
            query.handle.stop()
        self.release()

    def close(self) -> None:
        """Close the sinks and the checkpoint, once the queries have ended."""
        try:
            self.release()
        finally:
            self.checkpoint.close()
