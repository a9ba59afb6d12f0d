"""Explain: a plan and what is known about it, as text, JSON and a drawing."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.plan.drawing import svg
from headrace.plan.facts import Fact, facts, names
from headrace.plan.plan import Plan


@dataclass(frozen=True)
class Explanation:
    """A plan explained. Printed it is text; a notebook draws it. `asked` is the plan that it was made of."""

    plan: Plan
    facts: Mapping[str, Mapping[str, Fact]]
    notes: tuple[str, ...]
    asked: Plan

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "job": self.plan.job,
            "fingerprint": self.asked.fingerprint,
            "nodes": [
                {
                    "name": name,
                    "op": node.op,
                    "role": node.role.value,
                    "describe": node.describe(),
                    "inputs": [before.name for before in node.inputs],
                    "columns": list(node.columns),
                    "site": None if node.site is None else str(node.site),
                    "facts": {title: found[name].to_json() for title, found in self.facts.items() if name in found},
                }
                for name, node in self.plan.nodes.items()
            ],
            "sinks": list(self.plan.sinks),
            "notes": list(self.notes),
        }

    def _repr_svg_(self) -> str:
        return svg(self.plan)

    def _repr_html_(self) -> str:
        return f"<div>{svg(self.plan)}<pre>{html.escape(text(self))}</pre></div>"


def explain(
    plan: Plan,
    *,
    only: Sequence[str] | None = None,
    more: Mapping[str, Mapping[str, Fact]] | None = None,
    notes: Sequence[str] = (),
    asked: Plan | None = None,
) -> Explanation:
    """A plan with what the analyses say of it (`only` some of them) and `more` facts that the caller has.

    `asked` is the plan as it was written, where `plan` is what a rewrite made of it.
    """
    found = {name: facts(plan, name) for name in (names() if only is None else only)}
    return Explanation(plan, {**found, **(more or {})}, tuple(notes), asked or plan)


def text(explanation: Explanation) -> str:
    """The lines that explain prints: each node with its inputs, its place and its facts."""
    plan = explanation.plan
    title = f"job {plan.job}" if plan.job else "plan"
    lines = [f"{title}  (fingerprint {explanation.asked.fingerprint[:12]})", ""]
    for name, node in plan.nodes.items():
        reads = ", ".join(str(before.name) for before in node.inputs)
        head = f"{name} = {node.describe()}" if node.op == "source" else f"{name} = {reads} > {node.describe()}"
        lines.append(head + (f"    [{node.site}]" if node.site else ""))
        if node.columns and name not in explanation.facts.get("schema", {}):
            lines.append(f"    columns: {', '.join(node.columns)}")
        lines.extend(f"    {label}: {found[name].text}" for label, found in explanation.facts.items() if name in found)
    lines.extend(["", *explanation.notes] if explanation.notes else [])
    return "\n".join(lines)
