"""A copy of a job that reads the beginnings of its sources and writes to temporary places."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from headrace import ports
from headrace.certify.contents import Contents, counted
from headrace.certify.refused import refused
from headrace.jvm.session import session
from headrace.ops import Sink, Source, sinks_of, sources_of
from headrace.ops.sink import options_of
from headrace.plan import Plan
from headrace.schema import Struct
from headrace.spark.compile.job import compile

Reader: TypeAlias = Callable[[ports.Sink, Struct], Iterable[Sequence[Any]]]
"""Returns the rows in a sink, as `ports.Sink.contents` does."""


@dataclass(frozen=True)
class Copy:
    """A job that can be run repeatedly, each time with other sinks. `left_out` has the reasons why sinks are not in it, and `instead` the
    systems that others write in place of their own.
    """

    plan: Plan
    schemas: Mapping[str, Struct]
    left_out: Mapping[str, str]
    instead: Mapping[str, str]
    servers: Mapping[str, str]
    readers: Mapping[str, Reader]

    def at(self, folder: Path) -> tuple[Plan, dict[str, ports.Sink]]:
        """Return the plan that writes below a folder, and its sinks."""
        moved: dict[str, ports.Sink] = {}
        id = uuid.uuid4().hex[:6]

        def move(node: Sink) -> Sink:
            moved_sink = node.connect().elsewhere(_place(node, folder, id, self.servers, node.mode))
            if moved_sink is None:
                raise TypeError(f"{node.connector} can be written elsewhere once, and not again")
            moved_sink.on_refused = node.connect().on_refused
            moved[str(node.name)] = moved_sink
            return replace(node, connector=moved_sink.connector, options=options_of(moved_sink), live=moved_sink)

        return self.plan.changed({sink: move(sink) for sink in sinks_of(self.plan.nodes.values())}), moved

    def read(self, sinks: dict[str, ports.Sink]) -> Contents:
        """Return the contents of the sinks."""
        return {name: counted(self._rows(name, sink, of), of.names) for name, sink in sinks.items() for of in [self.schemas[name]]}

    def _rows(self, name: str, sink: ports.Sink, schema: Struct) -> Iterable[Sequence[Any]]:
        reader = self.readers.get(sink.connector)
        mode = next(node.mode for node in sinks_of(self.plan.nodes.values()) if node.name == name)
        return ports.rows_in(sink, session(), schema, mode) if reader is None else reader(sink, schema)


def copy(
    plan: Plan, folder: Path, *, rows: int, epochs: int, servers: Mapping[str, str], readers: Mapping[str, Reader] | None = None
) -> Copy:
    """Copy a plan: the copy reads about the first `rows` rows of each source, which are kept below a folder."""
    trial = folder / "trial"
    kept, left_out, instead = [], {}, {}
    for node in sinks_of(plan.nodes[name] for name in plan.sinks):
        trial_sink = node.connect().elsewhere(_place(node, trial, "trial", servers, node.mode))
        if trial_sink is None:
            left_out[str(node.name)] = _why(node)
            continue
        kept.append(node)
        if trial_sink.system != node.connect().system:
            instead[str(node.name)] = f"{trial_sink.system} instead of {node.connect().system}"
    if not kept:
        raise refused(
            f"none of its sinks ({', '.join(left_out)}) can write to a temporary folder or table",
            "add a files sink, for example: stream.write.files(...)",
        )

    def shorten(node: Source) -> Source:
        whole = node.connect()
        beginning = whole.beginning(session(), _place(node, folder, "beginning", servers), rows, epochs)
        if beginning is None and not whole.traits.bounded:
            raise refused(
                f"{node.name} is unbounded, and {node.connector} cannot read a bounded beginning of it", "read a bounded part of it"
            )
        return node if beginning is None else replace(node, connector=beginning.connector, options=beginning.options(), live=beginning)

    written = Plan.of(plan.job, kept, plan.settings)
    short = written.changed({source: shorten(source) for source in sources_of(written.nodes.values())})
    of = compile(short).schemas.of
    return Copy(short, {name: of[name] for name in short.sinks}, left_out, instead, servers, readers or {})


def _why(node: Sink) -> str:
    implemented = type(node.connect()).elsewhere is not ports.Sink.elsewhere
    return f"{node.connector} cannot be written elsewhere{f' without --server {node.connector}=ADDRESS' if implemented else ''}"


def _place(node: Sink | Source, folder: Path, id: str, servers: Mapping[str, str], mode: str = "append") -> ports.Elsewhere:
    name = re.sub(r"\W", "_", str(node.name))
    folder.mkdir(parents=True, exist_ok=True)
    return ports.Elsewhere(f"headrace_{id}_{name}", folder / name, servers.get(node.connector), mode)
