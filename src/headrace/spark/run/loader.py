"""The tables of lookups that are not asked key by key, loaded in the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace import ops
from headrace.errors import HeadraceError
from headrace.jvm.frames import java_frame
from headrace.jvm.session import session
from headrace.masking import masked
from headrace.ports import Lookup, LookupContext
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import Query


class Loader:
    """Loads tables by the names of their lookups: called by the JVM when an epoch begins and a table is not there, or too old."""

    def __init__(self, tables: Mapping[str, tuple[Lookup, LookupContext]]) -> None:
        self._tables = tables

    def load(self, name: str) -> Any:
        """The call from the JVM: the frame, or a text that says why there is none."""
        try:
            connected, context = self._tables[name]
            return java_frame(connected.load(session(), context))
        except HeadraceError as problem:
            return problem.message
        except BaseException as problem:
            # Anything that leaves this method would be a Java trace.
            return masked(f"{type(problem).__name__}: {problem}")

    def state(self, name: str) -> str | None:
        """What tells the table as it is now from what it was. A failure is for `load` to tell of."""
        try:
            return self._tables[name][0].state()
        except Exception:
            return None

    class Java:
        # the interface by which py4j lets the JVM call this object
        implements = ("headrace.lookup.TableLoader",)


def context_of(job: SparkJob, node: ops.Lookup) -> LookupContext:
    """What a lookup may know of the job."""
    return LookupContext(str(node.name), tuple(theirs for _, theirs in node.keys), job.time_zone)


def lookups_of(job: SparkJob, query: Query) -> tuple[dict[str, dict[str, Any]], Loader]:
    """How the tables of lookups are asked, and what loads those that are not."""
    asks: dict[str, dict[str, Any]] = {}
    whole: dict[str, tuple[Lookup, LookupContext]] = {}
    for node in query.looked_up:
        connected, name = node.connect(), str(node.name)
        context = context_of(job, node)
        if connected.traits.whole:
            whole[name] = (connected, context)
        else:
            asks[name] = connected.ask(context)
    return asks, Loader(whole)
