"""Incremental state programs and queries in Python, on Apache Spark.

A plan of streams runs nothing. `hr.collect` and `hr.show` run it for bounded input; `hr.job` writes its results to sinks. The import loads
neither Spark nor sqlglot; each name is loaded at its first use.

Examples:
    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900), ("b", 7)], "card string, amount int", name="charges")
    >>> hr.collect(charges.filter("amount > 500")).rows()
    [('a', 900)]
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.client.show import show
    from headrace.durable.manifest import committed_files
    from headrace.engine.building import job
    from headrace.engine.collect import collect
    from headrace.engine.committed import committed_paths
    from headrace.engine.compare import compare
    from headrace.engine.diff import diff
    from headrace.engine.fork import fork
    from headrace.engine.job import Job
    from headrace.engine.letters import Letters, letters
    from headrace.engine.portable import export_savepoint, import_savepoint
    from headrace.engine.replay import replay
    from headrace.engine.state import State, state
    from headrace.engine.table import Table
    from headrace.engine.why import why
    from headrace.errors import (
        CheckpointError,
        ConfigError,
        ConnectorError,
        HeadraceError,
        PlanError,
        ProgramError,
        RunError,
        SchemaError,
    )
    from headrace.expr import Column, case, col, expr, f, lit, struct
    from headrace.jvm.session import session
    from headrace.load import load
    from headrace.ops.read import read
    from headrace.ops.sessions import sessions
    from headrace.ops.stream import Grouped, Keyed, Stream
    from headrace.ops.tables import lookup
    from headrace.ops.window import cumulate, hop, tumble
    from headrace.ops.write import Sink
    from headrace.plan import Plan
    from headrace.ports.secrets import secret
    from headrace.program import (
        Aggregate,
        Broadcast,
        List,
        Local,
        Map,
        Output,
        Program,
        Timer,
        Value,
        each,
        elsewhen,
        emit,
        let,
        now,
        otherwise,
        reject,
        watermark,
        when,
    )
    from headrace.program.row import Row
    from headrace.schema import days, hours, minutes, seconds
    from headrace.spark.checkpoint.savepoints import Savepoint
    from headrace.spark.deploy.deployment import Deployment, Diff, Verdict
    from headrace.spark.deploy.fork import Fork
    from headrace.spark.deploy.rewind import Rewinding
    from headrace.spark.deploy.rows_diff import RowChange, RowsDiff, SinkRows
    from headrace.spark.portable.contents import Portable
    from headrace.spark.replay.report import Replay, ReplayCall, ReplayStep
    from headrace.spark.run.run import Run
    from headrace.spark.run.summary import Summary
    from headrace.spark.why.report import Why, WhyRow, WhyRows, WhyStep
    from headrace.sql.query import from_dataframe, sql

__version__ = "0.1.0"

# Public name -> its module.
_PUBLIC = {
    name: module
    for module, names in {
        "headrace.durable.manifest": "committed_files",
        "headrace.client.show": "show",
        "headrace.engine.collect": "collect",
        "headrace.engine.committed": "committed_paths",
        "headrace.engine.compare": "compare",
        "headrace.engine.diff": "diff",
        "headrace.engine.fork": "fork",
        "headrace.engine.job": "Job",
        "headrace.engine.building": "job",
        "headrace.engine.letters": "Letters letters",
        "headrace.engine.portable": "export_savepoint import_savepoint",
        "headrace.engine.replay": "replay",
        "headrace.engine.state": "State state",
        "headrace.engine.table": "Table",
        "headrace.engine.why": "why",
        "headrace.errors": "CheckpointError ConfigError ConnectorError HeadraceError PlanError ProgramError RunError SchemaError",
        "headrace.expr": "Column case col expr f lit struct",
        "headrace.jvm.session": "session",
        "headrace.load": "load",
        "headrace.ops.read": "read",
        "headrace.ops.sessions": "sessions",
        "headrace.ops.broadcast": "broadcast",
        "headrace.ops.stream": "Grouped Keyed Stream",
        "headrace.ops.tables": "lookup",
        "headrace.ops.window": "cumulate hop tumble",
        "headrace.ops.write": "Sink",
        "headrace.plan": "Plan",
        "headrace.ports.secrets": "secret",
        "headrace.program": "Aggregate Broadcast List Local Map Output Program Timer Value"
        " each elsewhen emit let now otherwise reject watermark when",
        "headrace.program.row": "Row",
        "headrace.schema": "days hours minutes seconds",
        "headrace.spark.deploy.rewind": "Rewinding",
        "headrace.spark.deploy.rows_diff": "RowChange RowsDiff SinkRows",
        "headrace.spark.replay.report": "Replay ReplayCall ReplayStep",
        "headrace.spark.why.report": "Why WhyRow WhyRows WhyStep",
        "headrace.spark.portable.contents": "Portable",
        "headrace.spark.run.run": "Run",
        "headrace.spark.checkpoint.savepoints": "Savepoint",
        "headrace.spark.deploy.deployment": "Deployment Diff Verdict",
        "headrace.spark.deploy.fork": "Fork",
        "headrace.spark.run.summary": "Summary",
        "headrace.sql.query": "from_dataframe sql",
    }.items()
    for name in names.split()
}

__all__ = [
    "Aggregate",
    "Broadcast",
    "CheckpointError",
    "Column",
    "ConfigError",
    "ConnectorError",
    "Deployment",
    "Diff",
    "Fork",
    "Grouped",
    "HeadraceError",
    "Job",
    "Keyed",
    "Letters",
    "List",
    "Local",
    "Map",
    "Output",
    "Plan",
    "PlanError",
    "Portable",
    "Program",
    "ProgramError",
    "Replay",
    "ReplayCall",
    "ReplayStep",
    "Rewinding",
    "Row",
    "RowChange",
    "RowsDiff",
    "Run",
    "RunError",
    "Savepoint",
    "SchemaError",
    "Sink",
    "SinkRows",
    "State",
    "Stream",
    "Summary",
    "Table",
    "Timer",
    "Value",
    "Verdict",
    "Why",
    "WhyRow",
    "WhyRows",
    "WhyStep",
    "broadcast",
    "case",
    "col",
    "collect",
    "committed_files",
    "committed_paths",
    "compare",
    "cumulate",
    "days",
    "diff",
    "each",
    "elsewhen",
    "emit",
    "export_savepoint",
    "expr",
    "f",
    "fork",
    "from_dataframe",
    "hop",
    "hours",
    "import_savepoint",
    "job",
    "let",
    "letters",
    "lit",
    "load",
    "lookup",
    "minutes",
    "now",
    "otherwise",
    "read",
    "reject",
    "replay",
    "seconds",
    "secret",
    "session",
    "sessions",
    "show",
    "sql",
    "state",
    "struct",
    "tumble",
    "watermark",
    "when",
    "why",
]


def load_ipython_extension(shell: Any) -> None:
    """Load the notebook extension: `%load_ext headrace`."""
    import_module("headrace.client.notebook").load(shell)


class _Package(ModuleType):
    """The class of this package: `hr.expr` and `hr.load` are functions, although submodules of these names are imported too."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds a submodule in its package, which would hide the function of that name.
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*_PUBLIC, *(name for name in super().__dir__() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        suggestion = _meant(name)
        raise AttributeError(f"headrace has no {name}" + (f"; did you mean {suggestion}?" if suggestion else ""))
    from headrace.interrupts import held, interruptible

    with interruptible(), held():
        # A plan needs its operators and the analyses, which register when they are imported.
        import_module("headrace.analysis")
        value = getattr(import_module(module), name)
    setattr(sys.modules[__name__], name, value)
    return value


def _meant(name: str) -> str | None:
    from importlib.util import find_spec

    # Python also looks up submodules here before it imports them; nothing may be loaded for those.
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is not None:
        return None
    from headrace.words import public

    stream = import_module("headrace.ops.stream").Stream
    return public(name, _PUBLIC, [verb for verb in dir(stream) if not verb.startswith("_")])


sys.modules[__name__].__class__ = _Package
