"""`headrace deploy FILE --beside NAME` and `headrace promote NAME`: a version as a fork, which may take the place of its parent later."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from headrace.engine.fork import fork, named
from headrace.engine.job import Job
from headrace.engine.paths import at_places_of, with_paths
from headrace.engine.state import stored_job
from headrace.errors import HeadraceError
from headrace.jvm.share import checked, sharing
from headrace.ops import sinks_of
from headrace.plan import Plan, displayed
from headrace.spark.checkpoint import savepoints
from headrace.spark.checkpoint.ancestors import ancestors, line
from headrace.spark.checkpoint.forked import origin
from headrace.spark.deploy.deploy import deploy
from headrace.spark.deploy.deployment import Deployment
from headrace.spark.deploy.fork import Fork
from headrace.spark.deploy.request import compiled
from headrace.spark.run.commands import take_savepoint


def deploy_beside(
    job: Job,
    name: str,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    partitions: int | None = None,
    on_change: Mapping[str, str] | None = None,
    dry_run: bool = False,
    share: float | None = None,
) -> tuple[Fork, dict[str, str]]:
    """Make a fork that continues from a job's present state as another version, under a `name`. Returns the report, and the new paths of
    sinks by their names.

    A sink with a path at which the job writes gets that path with the name appended.
    """
    home = job.checkpoint(checkpoint).absolute()
    stored_job(home)
    jobs = line(home)
    sinks = [sink for sink in sinks_of(job.plan.nodes.values()) if "path" in sink.options and any(one.at(sink.connect()) for one in jobs)]
    moved = {str(sink.name): f"{str(sink.options['path']).rstrip('/')}-{name}" for sink in sinks}
    version = named(job.with_paths(moved), name)
    moment = f"beside-{secrets.token_hex(4)}"
    take_savepoint(home, moment)
    try:
        with sharing(checked(share)):
            report = fork(home, version, at=moment, partitions=partitions, on_change=on_change, dry_run=dry_run)
    finally:
        savepoints.delete(home, moment)
    return replace(report, savepoint=None), moved


def promote(
    folder: Path,
    *,
    paths: Mapping[str, str],
    on_change: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Callable[[str, str], object] = lambda job, line: None,
) -> Deployment:
    """Deploy the version of the fork whose checkpoint is `folder` to its parent. Its sinks write where those of the parent do.

    `paths`: further places of sources and sinks, by name. `progress` is called with the name of the parent and a line for each step.
    """
    stored = stored_job(folder)
    home = origin(folder)
    if home is None:
        hint = "name a fork, by its name or its checkpoint: headrace fork, or headrace deploy --beside, makes one"
        raise HeadraceError("NOTHING_TO_DEPLOY", f"{folder} is not the checkpoint of a fork, so there is nothing to promote", hint=hint)
    parent = stored_job(home)
    if parent.id not in (one.id for one in ancestors(folder)):
        raise HeadraceError(
            "CHECKPOINT_OTHER_JOB",
            f"{home} is not the checkpoint any more from which {stored.job} was forked",
            hint="deploy the file of the fork to the job that shall run it: headrace deploy FILE",
        )
    plan = with_paths(at_places_of(Plan.from_json(stored.plan), Plan.from_json(parent.plan)), paths)
    _refuse_sinks_of_fork(plan, folder, stored.job)
    plan = Plan(parent.job, plan.nodes, plan.sinks, plan.settings)
    with displayed(plan):
        return deploy(
            compiled(plan, stored.identity),
            home,
            on_change=on_change,
            identity=stored.identity,
            dry_run=dry_run,
            look=lambda line: progress(parent.job, line),
        )


def _refuse_sinks_of_fork(plan: Plan, folder: Path, name: str) -> None:
    """Refuse sinks at the places of the fork: those that the parent lacks, or writes in another form."""
    fork = line(folder)[0]
    for sink in sinks_of(plan.nodes.values()):
        connected = sink.connect()
        if fork.at(connected) is not None and not (connected.traits.displays or connected.traits.in_process):
            raise HeadraceError(
                "FOLDER_OWNED",
                f"{sink.name} would write to {connected.location}, where the fork {name} writes",
                hint=f"give it another place, --path {sink.name}=PATH, or deploy a file in which it has one",
                site=sink.site,
            )
