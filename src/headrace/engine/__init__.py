"""The engine: jobs and their runs."""

from headrace.engine.collect import collect
from headrace.engine.job import Job, job
from headrace.engine.letters import Letters, letters
from headrace.engine.state import State, state
from headrace.engine.table import Table
from headrace.spark.migrate.migration import Migration
from headrace.spark.migrate.rewind import Rewinding
from headrace.spark.run.run import Run
from headrace.spark.run.summary import Summary

__all__ = ["Job", "Letters", "Migration", "Rewinding", "Run", "State", "Summary", "Table", "collect", "job", "letters", "state"]
