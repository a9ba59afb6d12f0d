"""Golden plans are read, and there is one for every operator, statement, cell and connector of the present formats."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headrace.ops  # noqa: F401  # registers the nodes
from headrace.durable.segments import FORMAT as MANIFEST
from headrace.plan import Plan
from headrace.plan.codec import FORMAT as PLAN
from headrace.plan.naming import by_rule
from headrace.plan.node import REGISTRY
from headrace.ports.registry import connectors
from headrace.program.cell import Cell
from headrace.program.statement import Statement
from headrace.spark.checkpoint.folder import FORMAT as CHECKPOINT
from tests import golden

NOW = golden.GOLDEN / str(CHECKPOINT)


@pytest.mark.parametrize("file", golden.plans(), ids=lambda file: str(file.relative_to(golden.GOLDEN)))
def test_a_golden_plan_is_read(file: Path) -> None:
    plan = Plan.from_json(json.loads(file.read_text(encoding="utf-8")))
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.to_json() == plan.to_json()
    assert again.fingerprint == plan.fingerprint
    assert [node.columns for node in again.nodes.values()] == [node.columns for node in plan.nodes.values()]
    assert plan.sinks


@pytest.mark.parametrize("file", golden.plans(), ids=lambda file: str(file.relative_to(golden.GOLDEN)))
def test_the_names_of_a_golden_plan_stay(file: Path) -> None:
    """Under them a checkpoint knows the state of operators: made anew by rule, they are those that were stored."""
    plan = Plan.from_json(json.loads(file.read_text(encoding="utf-8")))
    nodes = plan.nodes.values()
    again = plan.rewritten({node: lambda node: replace(node, name=None) for node in nodes if by_rule(node, nodes)})
    assert set(again.nodes) == set(plan.nodes)


@pytest.mark.parametrize("file", golden.plans(), ids=lambda file: str(file.relative_to(golden.GOLDEN)))
def test_a_golden_plan_keeps_its_fields(file: Path) -> None:
    """What a kind of node got later is not written for those that do without, or their fingerprints and names would change."""
    data = json.loads(file.read_text(encoding="utf-8"))
    assert [set(node) for node in Plan.from_json(data).to_json()["nodes"]] == [set(node) | {"site"} for node in data["nodes"]]


def texts_under(name: str, value: Any) -> set[str]:
    """All texts under a field of this name."""
    if isinstance(value, dict):
        here = {value[name]} if isinstance(value.get(name), str) else set()
        return here.union(*(texts_under(name, item) for item in value.values()))
    return set().union(*(texts_under(name, item) for item in value)) if isinstance(value, list) else set()


def kinds(cls: type[Any]) -> list[type[Any]]:
    return [cls, *(kind for sub in cls.__subclasses__() for kind in kinds(sub))]


def test_there_are_golden_files_of_the_present_formats() -> None:
    everything = json.loads((NOW / "plans" / "everything.json").read_text(encoding="utf-8"))
    assert everything["format"] == PLAN
    stored = [json.loads(file.read_text(encoding="utf-8")) for file in NOW.glob("checkpoints/*/checkpoint/job.json")]
    assert {job["format"] for job in stored} == {CHECKPOINT}
    owners = [json.loads(file.read_text(encoding="utf-8")) for file in NOW.glob("checkpoints/*/result/*/_headrace/*.json")]
    assert {one["format"] for one in owners} == {MANIFEST}


def test_the_golden_plans_have_everything() -> None:
    plan = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((NOW / "plans").glob("*.json"))]
    assert set(REGISTRY) - {"example"} == texts_under("op", plan)
    assert {name for name, entry in connectors().items() if entry.value.startswith("headrace.")} == texts_under("connector", plan)
    assert {kind.do for kind in kinds(Statement) if hasattr(kind, "do")} == texts_under("do", plan)
    assert {kind.kind for kind in kinds(Cell) if hasattr(kind, "kind")} <= texts_under("kind", plan)


def test_golden_files_name_no_place_of_the_machine_that_wrote_them() -> None:
    for file in NOW.rglob("*.json"):
        text = file.read_text(encoding="utf-8")
        assert "/home/" not in text and str(Path.cwd()) not in text, file
