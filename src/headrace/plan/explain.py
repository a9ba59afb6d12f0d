"""Explain: a plan and what is known about it, as text, JSON and a drawing."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.plan.display import DisplayNames
from headrace.plan.drawing import svg
from headrace.plan.facts import Fact, facts, names
from headrace.plan.node import Node, Role
from headrace.plan.plan import Plan

_MORE = "explain(verbose=True), headrace explain --verbose or EXPLAIN EXTENDED adds columns, reasons and the place of each operator."
_SHOWN, _WIDTH = 3, 160


@dataclass(frozen=True)
class Explanation:
    """An explained plan: printed, a summary or with `verbose` all facts; drawn in a notebook. `original` is the plan before rewrites."""

    plan: Plan
    facts: Mapping[str, Mapping[str, Fact]]
    notes: tuple[str, ...]
    original: Plan
    verbose: bool = False

    @cached_property
    def shown(self) -> DisplayNames:
        """The display names of its nodes."""
        return DisplayNames.of(self.plan)

    def __str__(self) -> str:
        return details(self) if self.verbose else summary(self)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON, for programs."""
        return {
            "job": self.plan.job,
            "fingerprint": self.original.fingerprint,
            "nodes": [
                {
                    "name": name,
                    "op": node.op,
                    "role": node.role.value,
                    "describe": node.describe(),
                    "inputs": [before.name for before in node.inputs],
                    "columns": list(node.columns),
                    "site": None if node.site is None else str(node.site),
                    "facts": {title: by_node[name].to_json() for title, by_node in self.facts.items() if name in by_node},
                }
                for name, node in self.plan.nodes.items()
            ],
            "sinks": list(self.plan.sinks),
            "notes": list(self.notes),
        }

    def _repr_svg_(self) -> str:
        return svg(self.plan, self.shown)

    def _repr_html_(self) -> str:
        return f"<div>{svg(self.plan, self.shown)}<pre>{html.escape(str(self))}</pre></div>"


def explain(
    plan: Plan,
    *,
    only: Sequence[str] | None = None,
    more: Mapping[str, Mapping[str, Fact]] | None = None,
    notes: Sequence[str] = (),
    original: Plan | None = None,
    verbose: bool = False,
) -> Explanation:
    """Return a plan with the facts of the analyses (with `only`, of some) and `more` facts that the caller has.

    `original` is the plan as it was written, if `plan` is the result of a rewrite.
    """
    all_facts = {name: facts(plan, name) for name in (names() if only is None else only)}
    return Explanation(plan, {**all_facts, **(more or {})}, tuple(notes), original or plan, verbose)


def summary(explanation: Explanation) -> str:
    """Return the head, and a line for each stateful operator and lookup."""
    shown = explanation.shown
    operators = [node for node in explanation.plan.nodes.values() if node.role in (Role.LOOKUP, Role.STATEFUL)]
    lines = ["", *(_clipped(f"{shown(node.name)} = {node.describe()}{_at(node)}") for node in operators)] if operators else []
    return "\n".join([*_head(explanation), *lines, "", _MORE])


def details(explanation: Explanation) -> str:
    """Return the head, and each node with its inputs, its place and its facts."""
    shown, plan = explanation.shown, explanation.plan
    lines = [*_head(explanation), ""]
    for name, node in plan.nodes.items():
        reads = ", ".join(shown(before.name) for before in node.inputs)
        head = f"{shown(name)} = {node.describe()}" if node.role is Role.SOURCE else f"{shown(name)} = {reads} > {node.describe()}"
        lines.append(head + _at(node))
        if node.columns and name not in explanation.facts.get("schema", {}):
            lines.append(f"    columns: {', '.join(node.columns)}")
        lines.extend(f"    {label}: {shown.text(by_node[name].text)}" for label, by_node in explanation.facts.items() if name in by_node)
    lines.extend(["", *map(shown.text, explanation.notes)] if explanation.notes else [])
    return "\n".join(lines)


def _head(explanation: Explanation) -> list[str]:
    """Return what the plan reads, writes, keeps and waits for, in at most ten lines."""
    shown, plan = explanation.shown, explanation.plan
    roles = {role: [node for node in plan.nodes.values() if node.role is role] for role in Role}
    lines = [_title(explanation)]
    lines += _some("source", (f"{shown(node.name)}: {_headed(explanation, node, 'rows')}" for node in roles[Role.SOURCE]))
    lines += _some("sink", (f"{shown(node.name)}: {_headed(explanation, node, 'guarantee')}" for node in roles[Role.SINK]))
    grows = [f"{shown(name)} {fact.value}" for name, fact in _of(explanation, "state") if str(fact.value).startswith("grows")]
    if roles[Role.STATEFUL] and "state" in explanation.facts:
        lines += _line("state", f"without bound: {_few(grows)}" if grows else "bounded")
    for title, label in (("order", "delay"), ("dead letters", "dead")):
        alike: dict[str, list[str]] = {}
        for name, fact in _of(explanation, title):
            alike.setdefault(shown.text(fact.text), []).append(shown(name))
        groups = [f"{_few(names, ', ')}: {text}" for text, names in alike.items()]
        lines += _line(label, groups[0] + (f" ({len(groups) - 1} more)" if groups[1:] else "")) if groups else []
    return lines


def _title(explanation: Explanation) -> str:
    job = explanation.plan.job
    return f"{f'job {job}' if job else 'plan'}  (fingerprint {explanation.original.fingerprint[:12]})"


def _of(explanation: Explanation, title: str) -> Iterable[tuple[str, Fact]]:
    return explanation.facts.get(title, {}).items()


def _headed(explanation: Explanation, node: Node, title: str) -> str:
    """Return a source or a sink in a few words, and the head of one of its facts."""
    fact = explanation.facts.get(title, {}).get(str(node.name))
    return node.describe() + (f", {_first(fact.text).partition(':')[0]}" if fact is not None else "")


def _some(label: str, texts: Iterable[str]) -> list[str]:
    """Return the first of several, a line each, and how many more there are."""
    entries = list(texts)
    lines = [line for text in entries[:_SHOWN] for line in _line(label, text)]
    if len(entries) > _SHOWN:
        lines[-1] += f"; {len(entries) - _SHOWN} more"
    return lines


def _line(label: str, text: str) -> list[str]:
    return [_clipped(f"  {label:<6}  {text}")]


def _few(texts: Sequence[str], between: str = "; ") -> str:
    """Return the first of several in one line, and how many more there are."""
    return between.join([*texts[:_SHOWN], *([f"{len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else [])])


def _first(text: str) -> str:
    return text.partition("; ")[0]


def _at(node: Node) -> str:
    return f"    [{node.site}]" if node.site else ""


def _clipped(line: str) -> str:
    """Cut a line for a terminal; elsewhere it stays whole, as readers may search for its end."""
    return line if len(line) <= _WIDTH or not sys.stdout.isatty() else f"{line[: _WIDTH - 1]}…"
