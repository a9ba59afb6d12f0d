"""The engine: jobs and their runs."""

from headrace.engine.beside import deploy_beside, promote
from headrace.engine.building import job
from headrace.engine.collect import collect
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

__all__ = [
    "Deployment",
    "Diff",
    "Fork",
    "Job",
    "Letters",
    "Portable",
    "Replay",
    "ReplayCall",
    "ReplayStep",
    "Rewinding",
    "RowChange",
    "RowsDiff",
    "Run",
    "Savepoint",
    "SinkRows",
    "State",
    "Summary",
    "Table",
    "Verdict",
    "Why",
    "WhyRow",
    "WhyRows",
    "WhyStep",
    "collect",
    "compare",
    "deploy_beside",
    "diff",
    "export_savepoint",
    "fork",
    "import_savepoint",
    "job",
    "letters",
    "promote",
    "replay",
    "state",
    "why",
]
