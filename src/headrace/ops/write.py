"""stream.write: sinks by the names of their connectors."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from headrace.errors import HeadraceError, Site
from headrace.ops.columns import label
from headrace.ops.signatures import described, names
from headrace.ops.sink import refuse, sink
from headrace.plan import Node
from headrace.plan.naming import valid_name
from headrace.ports import sink_class
from headrace.ports.options import build
from headrace.ports.registry import names_with, unnamed


class Sink:
    """The end of a stream, to pass to `hr.job(name, *sinks)`.

    `stream.write.<connector>(…)` returns it. It writes only as a part of a job: headrace warns about a sink that is not passed to a job.
    Every connector also takes:

    * `name`: the name of the sink in plans, metrics and checkpoints.
    * `mode`: what the sink receives: `"append"` (new rows), `"upsert"` (the newest row of each key) or `"changes"` (every change). By
      default it follows from the stream and the connector's `key`. With `"changes"`, an append-only connector writes each change as a row
      with `insert` or `delete` in the column `_change` ([sinks of changes](../../guides/queries.md#sinks-of-changes)). A stream that the
      connector cannot write in its mode raises `SINK_KIND`.
    * `on_refused`: what happens to a row that the sink cannot write: `"dead_letter"`, or `"fail"`, which ends the run. `console`,
      `foreach_batch` and `memory` do not have it.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> sink = charges.write.console(rows=5)
        >>> sink
        <Sink charges to console (5 rows)>
        >>> hr.job("copy", sink)
        <Job copy: charges.console>
    """

    def __init__(self, node: Node, connected: Any, stream: Node | None = None) -> None:
        self._node = node
        self._connected = connected
        self._of = label(stream or node.inputs[0])
        self._unused = weakref.finalize(self, _warn, self._of, node.verb, node.site, HeadraceError.total)

    def __repr__(self) -> str:
        return f"<Sink {self._of} to {self._node.describe()}>"

    def _use(self) -> Node:
        """Return the node, for a job that takes this sink."""
        self._unused.detach()
        return self._node

    def __getattr__(self, name: str) -> Any:
        # Users also reach what a connector's object offers beyond the trait, such as the rows of a memory sink.
        if name.startswith("_") or name not in getattr(type(self._connected), "shows", ()):
            raise AttributeError(f"a {self._node.verb} sink has no {name}")
        return getattr(self._connected, name)


class Write:
    """The sinks, by connector: `stream.write.<connector>(…)` returns a sink. `dir(stream.write)` lists the connectors.

    `Sink` describes the parameters that all have: `name`, `mode` and `on_refused`.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def __dir__(self) -> list[str]:
        return list(names_with("Sink"))

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise unnamed("Sink")

    def __getattr__(self, connector: str) -> Callable[..., Sink]:
        if connector.startswith("_"):
            raise AttributeError(connector)
        cls = sink_class(connector)
        node = self._node

        def write(*arguments: Any, name: str | None = None, mode: str | None = None, on_refused: str | None = None, **options: Any) -> Sink:
            connected = build(cls, f"write.{connector}", arguments, options, names(cls, "Sink"))
            if on_refused is not None:
                refuse(connected, on_refused)
            return Sink(sink(node, connected, mode, None if name is None else valid_name(name)), connected, node)

        described(write, connector, cls, "Sink", Sink)
        return write


def _warn(stream: str, connector: str, site: Site | None, errors: int) -> None:
    """Warn of a sink that no job took, unless there were new errors: `errors` is their number when the sink was made."""
    import warnings

    if HeadraceError.total != errors or getattr(sys, "last_value", None) is not None:
        return
    message = f"{stream}.write.{connector}(...) was never passed to hr.job(...), so it writes nothing"
    # At the user's line: the place where the sink is collected means nothing.
    warnings.warn_explicit(message, UserWarning, site.file if site else "headrace", site.line if site else 0)
