"""Feeds: the paths of rows from a source, or an output of an operator or lookup, to a consumer, as the steps on the way.

Stateless nodes exist only as steps of feeds. A union is several feeds into one consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from headrace.ops import lookups_of, outputs_of
from headrace.ops.operator import operator, stepwise
from headrace.plan import Generate, Node, Plan, Project, Role, Step
from headrace.schema import Struct
from headrace.syntax import plain_name, quote, references


@dataclass(frozen=True)
class Feed:
    """One path, from the output `output` of the source, lookup or operator `producer`."""

    producer: str
    output: str
    steps: tuple[Step, ...] = ()

    def then(self, *more: Step) -> Feed:
        return Feed(self.producer, self.output, (*self.steps, *more))


class Feeds:
    """The feeds of each node of a plan; `schemas` are the checked schemas, by node."""

    def __init__(self, plan: Plan, schemas: Mapping[str, Struct]) -> None:
        self.plan = plan
        self.schemas = schemas
        self.lookups = {str(node.name): node for node in lookups_of(plan.nodes.values())}
        self.outputs = {str(node.name): node for node in outputs_of(plan.nodes.values())}
        self.of = cache(self._of)

    def into(self, node: Node) -> tuple[Feed, ...]:
        """Return the feeds that end in this node's rows."""
        # Start at the sources, so that no chain of nodes is too long for Python's stack.
        for before in self.plan.nodes.values():
            if before is node:
                break
            if before.role is not Role.SINK:
                self.of(str(before.name))
        return self.of(str(node.name))

    def before_lookups(self, node: Node) -> tuple[Feed, ...]:
        """Return the feeds of a node from its sources and operators: a lookup becomes a step that adds columns."""
        return tuple(longer for feed in self.into(node) for longer in self._before_lookup(feed))

    def _before_lookup(self, feed: Feed) -> tuple[Feed, ...]:
        node = self.lookups.get(feed.producer)
        if node is None or feed.output == "dead_letter":
            return (feed,)
        call = f"{node.verb}({', '.join(text for text, _ in node.keys)})"
        generated = Generate(generate=call, names=tuple(name for name, _ in node.given), outer=False, place=node.place)
        added = (generated,) if feed.output == "main" else ()
        return tuple(Feed(one.producer, one.output, (*one.steps, *added, *feed.steps)) for one in self.before_lookups(node.input))

    def _of(self, name: str) -> tuple[Feed, ...]:
        node = self.plan.nodes[name]
        if node.role in (Role.SOURCE, Role.LOOKUP, Role.STATEFUL):
            return (Feed(name, "main"),)
        if (output := self.outputs.get(name)) is not None:
            return (Feed(str(output.input.name), output.output),)
        if len(node.inputs) > 1:
            return tuple(feed for before in node.inputs for feed in self._aligned(str(before.name), node))
        steps, before = stepwise(node).steps(), self.of(str(node.inputs[0].name))
        return tuple(feed.then(*_again(steps, before[:place].count(feed))) for place, feed in enumerate(before))

    def _aligned(self, branch: str, node: Node) -> tuple[Feed, ...]:
        """Return a branch of a union, in the union's order of columns and with its types."""
        has, wants = self.schemas[branch], self.schemas[str(node.name)]
        if [(f.name, f.type) for f in has.fields] == [(f.name, f.type) for f in wants.fields]:
            return self.of(branch)
        items = tuple((f.name, quote(f.name) if has.get(f.name) == f.type else f"CAST({quote(f.name)} AS {f.type})") for f in wants.fields)
        step = Project(project=items, place=operator(node).place)
        return tuple(feed.then(step) for feed in self.of(branch))


def _again(done: tuple[Step, ...], times: int) -> tuple[Step, ...]:
    """Mark the steps of rows that take the same path once more, as in a union of a stream with itself."""
    return tuple(replace(step, place=replace(step.place, way=times)) for step in done) if times else done


def lineage(feed: Feed, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the lineage of these columns (None: all of them) at the end of a feed: all texts back to the producer, in a fixed order.

    Two versions of a job with equal lineages compute the same values from the same rows. A text that sqlglot cannot read counts as using
    every column before it.

    >>> from headrace.plan import Place
    >>> place = Place(node="charges.select", site=None)
    >>> project = Project(project=(("card", "upper(c)"), ("amount", "amount")), place=place)
    >>> lineage(Feed("charges", "main", (project,)), ("card",))
    ('card = upper(c)', 'c of charges')
    """
    lines: list[str] = []
    wanted = None if columns is None else _lower(columns)
    for step in reversed(feed.steps):
        if isinstance(step, Project):
            texts = {name.lower(): text for name, text in step.project}
            used: list[str] | None = []
            for name in texts if wanted is None else wanted:
                text = texts.get(name, name)
                if (plain_name(text) or "").lower() != name:
                    lines.append(f"{name} = {text}")
                used = _with(used, text)
            wanted = None if wanted is None else used
        elif isinstance(step, Generate):
            produced = _lower(step.names)
            if wanted is None or set(produced) & set(wanted):
                lines.append(f"{', '.join(step.names)} = {step.generate}")
                wanted = _with(None if wanted is None else [name for name in wanted if name not in produced], step.generate)
    place = feed.producer if feed.output == "main" else f"{feed.producer}.{feed.output}"
    return (*lines, *(f"{name} of {place}" for name in (["*"] if wanted is None else wanted)))


def _lower(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.lower() for name in names))


def _with(names: list[str] | None, text: str) -> list[str] | None:
    """Return these columns and those that a text uses; None means all."""
    used = references(text)
    return None if names is None or used is None else _lower([*names, *(path[0] for path in used)])
