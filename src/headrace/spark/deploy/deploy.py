"""Deploying a version of a job to its checkpoint: by this process, or by the one that runs the job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from headrace.jvm.share import sharing
from headrace.masking import leaving
from headrace.spark.checkpoint import channel
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.lease import heartbeat
from headrace.spark.compile.identity import Identity
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.deployment import Deployment
from headrace.spark.deploy.request import Request, nothing
from headrace.spark.deploy.sender import Sender


@leaving()
def deploy(
    job: SparkJob,
    folder: Path,
    *,
    partitions: int | None = None,
    on_change: Mapping[str, str] | None = None,
    savepoint: str | None = None,
    identity: Identity | None = None,
    dry_run: bool = False,
    share: float | None = None,
    look: Callable[[str], object] = lambda line: None,
) -> Deployment:
    """Make the checkpoint in `folder`, and the process that runs the job, continue with this version, with `partitions` tasks a level.

    `on_change`: what becomes of sinks whose rows are computed differently, one of `CHOICES`. `savepoint`: the one that the version is from.
    `identity`: as for `Request`. `share`: the part of the time for which tasks work beside a running job. `look` is called with a line for
    each step there. Refuses a change that no deploy can follow before anything is written.
    """
    began = time.monotonic()
    if not folder.is_dir():
        raise nothing(f"{folder} is not a folder", "set checkpoint= to the checkpoint of an earlier version of the job")
    request = Request(job, partitions, on_change or {}, savepoint, identity)
    works = heartbeat(folder.absolute())
    holder = works()
    if holder is not None and holder.answers:
        with sharing(share):
            deployment = Sender(request, folder.absolute(), works, look).deploy(dry_run=dry_run)
        if deployment is not None:
            return deployment
    return _deploy(request, folder, began, dry_run=dry_run)


def _deploy(request: Request, folder: Path, began: float, *, dry_run: bool) -> Deployment:
    """Deploy to a checkpoint on which no process works."""
    with request.opened(folder) as replacement:
        notices, refusals = replacement.check(dry_run=dry_run)
        switches = replacement.changed and not dry_run
        counts = replacement.switch() if switches else {}
        deployment = replacement.report(notices, time.monotonic() - began, refusals=refusals, counts=counts, dry_run=dry_run)
        if switches:
            with suppress(OSError):  # the deploy is done
                channel.note(replacement.checkpoint.folder, Command.make("deploy"), deployment.to_json())
        return deployment
