"""A job and the checkpoint that it is to go on from, compared before anything is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.ops import Source
from headrace.plan import Node
from headrace.spark.checkpoint import Stored
from headrace.spark.identity import Identity, identify
from headrace.spark.job import SparkJob, compile


def with_frozen_schemas(job: SparkJob, stored: Stored | None) -> SparkJob:
    """Schemas that were found by looking are those of the first start: files that came since may look otherwise."""
    found = {node["name"]: node for node in (stored.plan["nodes"] if stored is not None else ()) if node.get("inferred")}

    def frozen(node: Node) -> Node:
        known = found.get(str(node.name))
        if not isinstance(node, Source) or not node.inferred or known is None or known["connector"] != node.connector:
            return node
        return node if known["schema"] == node.schema else replace(node, schema=known["schema"], live=None)

    plan = job.plan.changed(frozen)
    return job if plan.fingerprint == job.plan.fingerprint else compile(plan)


def identified(job: SparkJob, stored: Stored | None, folder: Path, *, offline: bool = False) -> tuple[Identity, dict[str, str]]:
    """Numbers for all operators and sinks; refuses a checkpoint that this job cannot go on from (`offline`: once it is rewritten)."""
    if stored is None:
        return identify(Identity(), job.shapes)
    if stored.job != job.plan.job:
        raise HeadraceError(
            "CHECKPOINT_OTHER_JOB",
            f"{folder} is the checkpoint of job {stored.job}, and this is job {job.plan.job}",
            hint="give each job a folder of its own; a renamed job keeps its old name in hr.job(...) or starts over with fresh=True.",
        )
    changed = [
        f"{name} was {stored.settings.get(name)} and is {value}"
        for name, value in job.settings.items()
        if stored.settings.get(name) != value
    ]
    if changed:
        raise HeadraceError(
            "SETTINGS_CHANGED",
            f"settings that change what the job means are not those of the checkpoint: {'; '.join(changed)}",
            hint="set them as they were, or start over with fresh=True.",
        )
    return identify(stored.identity, job.shapes, offline=offline)
