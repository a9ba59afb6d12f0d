"""A deploy as its sender gives it: the version and the choices, also as the arguments of a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from headrace.errors import HeadraceError
from headrace.ops import sinks_of
from headrace.plan import Plan
from headrace.plan.codec import typed
from headrace.spark.checkpoint.folder import Checkpoint, migrated, stored_in
from headrace.spark.checkpoint.savepoints import savepoint
from headrace.spark.compile.identity import Identity, as_stored
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.deploy.replacement import Replacement
from headrace.spark.run.start import in_display_names

OVERTAKEN = "DEPLOY_OVERTAKEN"


@dataclass(frozen=True)
class Request:
    """`partitions`: the tasks of each level, None for as many as before. `on_change`: what becomes of sinks with other rows. `savepoint`:
    the one that the version is from, if it is an earlier one. `identity`: that of the checkpoint that the version is from, if it is a fork.
    """

    job: SparkJob
    partitions: int | None = None
    on_change: Mapping[str, str] = field(default_factory=dict)
    savepoint: str | None = None
    identity: Identity | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "plan": self.job.original.to_json() if self.savepoint is None else None,
            "version": self.job.plan.fingerprint,
            "partitions": self.partitions,
            "on_change": dict(self.on_change),
            "savepoint": self.savepoint,
            "identity": None if self.identity is None else self.identity.to_json(),
        }

    @classmethod
    def from_json(cls, folder: Path, arguments: Mapping[str, Any]) -> Self:
        """Read the arguments of a command to the process that works on the checkpoint in `folder`. Compiles the version."""
        partitions, from_ = arguments["partitions"], arguments["savepoint"]
        # a version of headrace without `promote` gives none
        of_fork = arguments.get("identity")
        identity = None if of_fork is None else Identity.from_json(typed(of_fork, dict))
        job = compiled(Plan.from_json(arguments["plan"]), identity) if from_ is None else earlier(folder, typed(from_, str))
        for sink in sinks_of(job.plan.nodes.values()):
            if sink.connect().traits.in_process:
                raise HeadraceError(
                    "CANNOT_DEPLOY",
                    f"{job.shown(str(sink.name))} is read in the process that builds the job, and another one runs it",
                    hint="stop the job, deploy, and start it; or write to a sink that others can read",
                    site=sink.site,
                )
        choices = {str(name): typed(how, str) for name, how in typed(arguments["on_change"], Mapping).items()}
        return cls(job, None if partitions is None else typed(partitions, int), choices, from_, identity)

    def replacement(self, checkpoint: Checkpoint, home: Path | None = None) -> Replacement:
        """Return the replacement of the version in an open checkpoint. `home`: the checkpoint of which it is a copy."""
        stored = checkpoint.stored
        if checkpoint.migrated is not None:
            raise migrated(checkpoint.folder, checkpoint.migrated)
        if stored is None or not checkpoint.begun:
            raise nothing(f"no run has been started in {home or checkpoint.folder}", "run the job with this checkpoint")
        return Replacement(self.job, checkpoint, stored, self.partitions, self.on_change, home or checkpoint.folder)

    @contextmanager
    def opened(self, folder: Path, home: Path | None = None) -> Iterator[Replacement]:
        """Open a checkpoint, and give the replacement of its version. `home`: the checkpoint of which it is a copy."""
        with closing(Checkpoint(folder)) as checkpoint, self.displayed(checkpoint):
            yield self.replacement(checkpoint, home)

    @contextmanager
    def displayed(self, checkpoint: Checkpoint) -> Iterator[None]:
        """Use display names in errors."""
        try:
            yield
        except HeadraceError as problem:
            in_display_names(problem, self.job, checkpoint)
            raise


def earlier(folder: Path, name: str) -> SparkJob:
    """Return the version of a job that a savepoint of its checkpoint has."""
    stored = stored_in(savepoint(folder, name).folder)
    if stored is None:
        raise nothing(f"the savepoint {name} of {folder} has no job", "name another savepoint")
    return compiled(Plan.from_json(stored.plan), stored.identity)


def compiled(plan: Plan, identity: Identity | None) -> SparkJob:
    """Compile a plan. `identity`: that of the checkpoint which has stored it, maybe under another name or with other sinks."""
    job = compile(plan)
    return job if identity is None else replace(job, shapes=as_stored(job.shapes, identity))


def nothing(what: str, cure: str) -> HeadraceError:
    """Return the error for a checkpoint without a version that could be replaced."""
    return HeadraceError("NOTHING_TO_DEPLOY", f"{what}, so there is nothing to deploy to", hint=cure)
