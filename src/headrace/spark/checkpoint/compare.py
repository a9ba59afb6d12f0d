"""A comparison of a job with the checkpoint from which it is to continue, before anything is changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError, Site
from headrace.ops import lookups_of, sources_of
from headrace.ops.feeding import over
from headrace.ops.sink import restored_sink
from headrace.plan import Node, Plan, order
from headrace.plan.codec import without_sites
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import Identity, identify, together
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.compile.relocation import relocate


def with_frozen_schemas(job: SparkJob, stored: Stored | None) -> SparkJob:
    """Replace inferred schemas by those of the first start: files added since may look different."""
    known = {node["name"]: node for node in (stored.plan["nodes"] if stored is not None else ()) if node.get("inferred")}
    looked = {
        str(node.name): node.schema
        for node in sources_of(job.plan.nodes.values())
        if node.inferred and known.get(str(node.name), {}).get("connector") == node.connector
    }
    other = {name: known[name]["schema"] for name, schema in looked.items() if known[name]["schema"] != schema}
    if not other:
        return job

    nodes = job.original.nodes.values()
    frozen: dict[Node, Node] = {node: over(node, other) for node in nodes}
    frozen |= {node: replace(node, schema=other[str(node.name)], live=None) for node in sources_of(nodes) if str(node.name) in other}
    try:
        return compile(job.original.changed(frozen).renamed())
    except HeadraceError as error:
        # The plan was written for the columns that are inferred now, for example with `*`.
        schemas = "; ".join(f'{name} with schema="{schema}"' for name, schema in other.items())
        hint = (
            f"the files of {', '.join(other)} had other columns at the first start, and the job keeps using those. Declare them: {schemas}"
        )
        raise HeadraceError(error.code, error.message, hint=hint, site=error.site, also=error.also) from None


_DEPLOY = "`headrace deploy FILE` moves the state to where this version needs it, and --dry-run shows how; fresh=True starts over"
_REBUILD = "`headrace deploy FILE` makes the state anew from the rows read so far, if that is possible; "


def identified(job: SparkJob, stored: Stored | None, folder: Path) -> tuple[Identity, dict[str, str]]:
    """Number all operators and sinks. Refuses a checkpoint from which this job cannot continue."""
    if stored is None:
        return identify(Identity(), job.shapes)
    refuse_other_job(job, stored, folder)
    try:
        return identify(stored.identity, job.shapes)
    except HeadraceError as error:
        if relocate(stored.identity, job.shapes).errors:
            all = [HeadraceError(one.code, one.message, hint=f"{_REBUILD}{one.hint}", site=one.site) for one in (error, *error.also)]
            raise together(all) from None
        raise together([HeadraceError(one.code, one.message, hint=_DEPLOY, site=one.site) for one in (error, *error.also)]) from None


def refuse_other_job(job: SparkJob, stored: Stored, folder: Path) -> None:
    """Refuse the checkpoint of another job, and one under other settings."""
    if stored.job != job.plan.job:
        raise HeadraceError(
            "CHECKPOINT_OTHER_JOB",
            f"{folder} is the checkpoint of job {stored.job}, but this is job {job.plan.job}",
            hint="give each job a folder of its own; if you renamed the job, keep the old name in hr.job(...), "
            "or start over with fresh=True",
        )
    refuse_other_settings(job, stored)


def refuse_other_settings(job: SparkJob, stored: Stored) -> None:
    """Refuse settings that would change the meaning of what is stored."""
    changed = [
        f"{name} was {stored.settings.get(name)} and is {value}"
        for name, value in job.settings.items()
        if stored.settings.get(name) != value
    ]
    if changed:
        raise HeadraceError(
            "SETTINGS_CHANGED",
            f"settings that affect results differ from those of the checkpoint: {'; '.join(changed)}",
            hint="restore the old values, or start over with fresh=True",
        )


def read_otherwise(stored: Identity, identity: Identity) -> set[str]:
    """Return the operators and sinks whose rows take other steps than in the previous version."""
    before = {name: entry.shape for query in stored.queries for name, entry in query.live().items()}
    now = {name: entry.shape for query in identity.queries for name, entry in query.live().items()}
    return {name for name, shape in now.items() if name in before and not shape.reads_like(before[name])}


def refuse_in_mid_epoch(plan: Plan, before: Mapping[str, Any], holders: Mapping[str, int], otherwise: Collection[str] = ()) -> None:
    """Refuse changes upstream of sinks that hold an interrupted epoch, in whole or in part. `holders`: these sinks, each with that epoch.

    They keep what they have, while the state and the other sinks would get what the changed version computes. In a sink that takes an epoch
    in parts, rows would also move to other parts. `before`: the plan that began the epoch. `otherwise`: the result of `read_otherwise`,
    since plans do not include the rows of a constant table.
    """
    known, now = ({node["name"]: node for node in without_sites(json.loads(json.dumps(one)))["nodes"]} for one in (before, plan.to_json()))
    for sink, epoch in holders.items():
        if sink not in now:
            raise _unfinished(sink, epoch, f"{sink} was removed")
        for node in order([plan.nodes[sink]]):
            name = str(node.name)
            if name in known and (known[name] == now[name] or _lays_out(known[name]) == _lays_out(now[name])):
                continue
            raise _unfinished(sink, epoch, f"{name} {'was changed' if name in known else 'was added'}", node.site)
        for node in order([plan.nodes[sink]]):
            tables = [lookup for lookup in lookups_of(order([node])) if lookup.repeatable]
            if str(node.name) in otherwise and tables:
                rows = " or ".join(str(lookup.name) for lookup in tables)
                raise _unfinished(sink, epoch, f"the constant rows of {rows} were changed", tables[0].site)


def _unfinished(sink: str, epoch: int, change: str, site: Site | None = None) -> HeadraceError:
    return HeadraceError(
        "EPOCH_UNFINISHED",
        f"{sink}: epoch {epoch} was interrupted, and {change} since",
        hint="nothing was changed: run the version that wrote the checkpoint once, so that it finishes the epoch, then this one; "
        "or start over with fresh=True",
        site=site,
    )


def _lays_out(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a node that decides its rows and their tasks. Not all options of a sink do, nor does the size of a source's
    epochs, which is already logged for an interrupted one.
    """
    if node["op"] == "source":
        return {**node, "options": {name: value for name, value in node["options"].items() if not name.endswith("_per_epoch")}}
    if node["op"] != "sink":
        return node
    return {**node, "options": restored_sink(node["connector"], node["options"]).lays_out()}
