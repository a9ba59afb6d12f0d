"""The paths of rows to the inputs of operators and sinks, each row with the row at the beginning of its path, its root.

A path begins at a source, a lookup or an operator, and its steps are those of the job, so the kernel computes them. The rows of a path are
captured in a shadow run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from headrace.ops import Sink
from headrace.ops.change_words import weight
from headrace.ops.changes import CHANGE
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import CHANGES
from headrace.ops.facts.outputs import MAIN
from headrace.ops.facts.provenance import OfPair
from headrace.ops.facts.reading import Wanted
from headrace.ops.operator import Stepwise, operator
from headrace.plan import Generate, Locate, Node, Project, Role, Step, Weigh
from headrace.spark.compile.feeds import Feed
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.capture import Capture, Dropping
from headrace.spark.deploy.shadow import Ends
from headrace.syntax import quote

ROOT = "_headrace_root"
"""The column with the root of a row."""

FILE, POSITION = "_headrace_file", "_headrace_position"
"""The fields of a root with its place in the input, if it is a row of a source."""


class _Unplanned(Stepwise):
    """A node of a shadow run that no plan has."""

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class _Rooted(_Unplanned):
    """The rows at the end of a path, with their roots."""

    path: tuple[Step, ...]
    names: tuple[str, ...]
    """Its columns, without the root."""

    op = "rooted"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.names, ROOT)

    def steps(self) -> tuple[Step, ...]:
        located = (Locate(locate=(FILE, POSITION), place=self.place),) if self.input.role is Role.SOURCE else ()
        fields = ", ".join(f"'{n}', {quote(name)}" for n, name in enumerate(_of_root(self.input)))
        root = f"named_struct({fields})"
        items = (*((name, quote(name)) for name in self.input.columns), (ROOT, root))
        ordered = tuple((name, quote(name)) for name in self.columns)  # a generator's columns come after the root
        return (*located, Project(project=items, place=self.place), *map(_kept, self.path), Project(project=ordered, place=self.place))


@dataclass(frozen=True, eq=False, repr=False)
class Net(_Unplanned):
    """The rows behind a stream that shows their changes."""

    op = "net"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.input.columns if name != CHANGE)

    def steps(self) -> tuple[Step, ...]:
        items = tuple((name, quote(name)) for name in self.columns)
        return Weigh(weigh=weight(CHANGE, keyed=False), place=self.place), Project(project=items, place=self.place)


def result(sink: Sink) -> Node:
    """Return the node with the rows of a sink."""
    return Net(sink.input, site=sink.site) if operator(sink.input).shows_changes else sink.input


def _of_root(root: Node) -> tuple[str, ...]:
    return (*root.columns, FILE, POSITION) if root.role is Role.SOURCE else root.columns


def _kept(step: Step) -> Step:
    """Return a step that keeps the root. Failures are reported by the run of the job, not here."""
    return replace(step, project=(*step.project, (ROOT, ROOT))) if isinstance(step, Project) else step


@dataclass(frozen=True)
class Route:
    """A path that ends in a stream. `root`: the node at its beginning; `rows`: what was captured."""

    root: Node
    rows: Capture
    repeats: bool
    """Whether one root may give several rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a root, the place behind the others."""
        return _of_root(self.root)


class Paths:
    """The paths behind some nodes of a job, whose rows are captured below the folder `place`. `targets`: the nodes by the names of their
    views, each with its query.
    """

    def __init__(self, job: SparkJob, targets: Mapping[str, tuple[Node, str]], place: Path) -> None:
        self._job, self.place = job, place
        self.views = {view: node for view, (node, _) in targets.items()}
        self.into: dict[Node, tuple[Route, ...]] = {}
        """The paths into each stream, by its node: the targets, and those that operators on the way read."""
        self._sinks: dict[Sink, str] = {}
        self._rows: dict[str, Capture] = {}
        query_of: dict[Node, str] = {one: query.name for query in job.queries for one in (*query.operators, *query.looked_up)}
        streams = [*targets.values()]
        while streams:
            stream, query = streams.pop()
            if stream not in self.into:
                self.into[stream] = tuple(self._route(stream, feed, query) for feed in self._feeds(stream) if feed.output == MAIN)
                streams += [(before, query_of[one.root]) for one in self.into[stream] for before in read_by(one.root)]
                # how often a root is there is only known of its own rows
                streams += [(one.root, query) for one in self.into[stream] if one.repeats]

    @property
    def ends(self) -> Ends:
        """The ends of the shadow run that captures the rows."""
        return Ends(self._sinks, frozenset(), self._rows)

    def _feeds(self, stream: Node) -> tuple[Feed, ...]:
        feeds = self._job.at.feeds
        return tuple(feed.then(*stream.steps()) for feed in feeds.into(stream.input)) if isinstance(stream, Net) else feeds.into(stream)

    def _route(self, stream: Node, feed: Feed, query: str) -> Route:
        root = self._job.plan.nodes[feed.producer]
        number = len(self._rows)
        rows = self._rows[f"why {number}"] = Capture(Dropping(), self.place / f"{number}")
        rooted = _Rooted(root, feed.steps, stream.columns, site=stream.site)
        self._sinks[Sink(rooted, rows.connector, {}, CHANGES, rows, name=f"why {number}", site=stream.site)] = query
        return Route(root, rows, any(isinstance(step, Generate) for step in feed.steps))


def read_by(root: Node) -> tuple[Node, ...]:
    """Return the inputs of a root in which the rows are that gave its own."""
    match operator(root).provenance:
        case None:
            return ()
        case OfPair():
            return root.inputs[:2]
    return root.inputs[:1]  # without the seed of an aggregate
