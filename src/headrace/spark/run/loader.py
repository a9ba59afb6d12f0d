"""The tables of lookups that are not queried key by key, loaded in the driver."""

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
    """Loads tables by the names of their lookups. The JVM calls it when an epoch begins and a table is missing, or too old."""

    def __init__(self, tables: Mapping[str, tuple[Lookup, LookupContext]]) -> None:
        self._tables = tables

    def load(self, name: str) -> Any:
        """Called by the JVM: the DataFrame, or a text with the reason why there is none."""
        try:
            connected, context = self._tables[name]
            return java_frame(connected.load(session(), context))
        except HeadraceError as problem:
            return problem.message
        except BaseException as problem:
            # An exception that left this method would become a Java trace.
            return masked(f"{type(problem).__name__}: {problem}")

    def state(self, name: str) -> str | None:
        """Return a value that changes with the table. A failure is left for `load` to report."""
        try:
            return self._tables[name][0].state()
        except Exception:
            return None

    class Java:
        # py4j's declaration of the interface through which the JVM calls this object
        implements = ("headrace.lookup.TableLoader",)


def context_of(job: SparkJob, node: ops.Lookup) -> LookupContext:
    """Return the context of a lookup: what it may know about the job."""
    return LookupContext(str(node.name), tuple(theirs for _, theirs in node.keys), job.time_zone)


def lookups_of(job: SparkJob, query: Query) -> tuple[dict[str, dict[str, Any]], Loader]:
    """Return how to query the tables of lookups, and a loader for those that are loaded whole."""
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
