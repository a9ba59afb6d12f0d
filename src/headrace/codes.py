"""The table of stable codes: the kind of error, the side at fault, and a short description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

# By the side at fault. Command line parsers use 2 for usage errors.
EXIT_CODES = {"user": 1, "input": 3, "environment": 4, "headrace": 5}


class Code(NamedTuple):
    """One row of the table of codes."""

    kind: str
    fault: str
    title: str
    cure: str = ""
    """The hint of an error that the kernel reports with this code."""


# One row per code, ordered by the package that raises it; connectors register their own. A code never changes its meaning, and has a page
# docs/errors/CODE.md.
CODES: dict[str, Code] = {
    # schema
    "BAD_DURATION": Code("SchemaError", "user", "an invalid duration"),
    "BAD_TYPE": Code("SchemaError", "user", "an invalid schema or type"),
    "BAD_VALUE": Code("SchemaError", "user", "a Python value that does not fit its column's type"),
    "UNKNOWN_TIME_ZONE": Code("SchemaError", "user", "a time zone that does not exist"),
    # plan
    "NAME_CLASH": Code("PlanError", "user", "two nodes with the same name"),
    "PLAN_BROKEN": Code("PlanError", "user", "a file or string that is not a valid plan"),
    "PLAN_UNKNOWN_FIELD": Code("PlanError", "user", "a plan with a field that this version does not know"),
    "PLAN_UNKNOWN_OPERATOR": Code("PlanError", "user", "a plan with an operator that this version does not know"),
    "PLAN_VERSION": Code("PlanError", "user", "a plan in an unsupported format"),
    # expr
    "BAD_LITERAL": Code("PlanError", "user", "a Python value that has no SQL literal"),
    "NOT_AN_AGGREGATE": Code("PlanError", "user", "a column or expression where an aggregate is required"),
    "NULL_COMPARISON": Code("PlanError", "user", "a comparison with `None`"),
    "TRACED_BOOL": Code("PlanError", "user", "a column used as a Python truth value"),
    "TRACED_VALUE": Code("PlanError", "user", "a column used as a Python value"),
    "UNKNOWN_METHOD": Code("PlanError", "user", "a method that columns do not have"),
    # syntax, sql
    "BAD_STATEMENT": Code("PlanError", "user", "an invalid statement in a SQL script"),
    "UNKNOWN_NAME": Code("PlanError", "user", "a name that the script does not define"),
    # program
    "AGGREGATE_COLUMNS": Code("ProgramError", "user", "a call of `add` whose columns do not match the `hr.Aggregate`"),
    "BAD_AGGREGATE": Code("ProgramError", "user", "an `hr.Aggregate` whose expression is not an aggregate over rows"),
    "BAD_CLOCK": Code("ProgramError", "user", "a clock that does not exist"),
    "BAD_WAS": Code("ProgramError", "user", "an invalid `was=` of a cell"),
    "BROADCAST_USE": Code("ProgramError", "user", "keyed state used for all keys, or broadcast state for one key"),
    "CELL_OPERATOR": Code("ProgramError", "user", "a cell used where its value is required"),
    "EACH_OVER": Code("ProgramError", "user", "a loop over something that has no entries"),
    "EMIT_COLUMNS": Code("ProgramError", "user", "an emitted row with no columns or a duplicate column"),
    "EMIT_DIFFERS": Code("ProgramError", "user", "rows of one output with different columns"),
    "FOREIGN_CELL": Code("ProgramError", "user", "a cell or output that is not an attribute of its program"),
    "HANDLER_ASSIGNS": Code("ProgramError", "user", "a handler that sets an attribute of its program"),
    "HANDLER_FAILED": Code("ProgramError", "user", "a handler that raised an exception during tracing"),
    "HANDLER_KIND": Code("ProgramError", "user", "a handler that is not a plain method"),
    "HANDLER_MISSING": Code("ProgramError", "user", "an input or timer without a handler"),
    "HANDLER_PARAMETERS": Code("ProgramError", "user", "a handler with the wrong parameters"),
    "HANDLER_RETURNS": Code("ProgramError", "user", "a handler that returns a value"),
    "HANDLER_UNKNOWN": Code("ProgramError", "user", "a handler without an input or timer"),
    "LEAVES_WHEN": Code("ProgramError", "user", "`return`, `raise`, `break`, `continue` or `yield` inside a `when` or `each`"),
    "LET_TYPE": Code("ProgramError", "user", "a local variable without a type"),
    "LOOP_CHANGES": Code("ProgramError", "user", "a cell changed inside a loop over it"),
    "NAME_FROM_WHEN": Code("ProgramError", "user", "a variable assigned inside a `when` and used outside it"),
    "NAME_RESERVED": Code("ProgramError", "user", "a name that programs reserve"),
    "NAME_TWICE": Code("ProgramError", "user", "one name for two things in a program"),
    "NEVER_EMITTED": Code("ProgramError", "user", "an output that no handler emits to"),
    "NOT_A_PROGRAM": Code("ProgramError", "user", "an argument that is not a state program"),
    "NO_SOURCE": Code("ProgramError", "user", "a handler whose source code cannot be read"),
    "NULL_KEY": Code("ProgramError", "user", "`None` used as the key of a map"),
    "OUTSIDE_HANDLER": Code("ProgramError", "user", "a call that is valid only inside a handler"),
    "OUT_OF_SCOPE": Code("ProgramError", "user", "a value read inside a `when` and used outside it"),
    "ROW_OPERATOR": Code("ProgramError", "user", "a row used where a column is required"),
    "STALE_VALUE": Code("ProgramError", "user", "a value of one handler used in another"),
    "TIMER_KEY": Code("ProgramError", "user", "a keyed timer used without a key, or an unkeyed timer with one"),
    "TIMER_TIME": Code("ProgramError", "user", "a timer set to something that is not a time"),
    "TRY_IN_HANDLER": Code("ProgramError", "user", "a `try` and a `when` nested in each other"),
    "WHEN_EXPECTED": Code("ProgramError", "user", "an `elsewhen` or `otherwise` that does not follow a `when`"),
    "WHEN_WITHOUT_WITH": Code("ProgramError", "user", "a `when` or `each` without a `with` statement"),
    # ops
    "BAD_EXPECTATION": Code("PlanError", "user", "an invalid expectation"),
    "BAD_HYBRID": Code("PlanError", "user", "streams that cannot be read one after the other"),
    "BAD_JOIN": Code("PlanError", "user", "an invalid join"),
    "BAD_LOOKUP": Code("PlanError", "user", "an invalid lookup"),
    "BAD_QUERY": Code("PlanError", "user", "a query that is invalid or cannot be maintained incrementally"),
    "BAD_COLUMN": Code("PlanError", "user", "an argument that is not a column"),
    "BAD_INPUT": Code("PlanError", "user", "an invalid input or argument of a method"),
    "BAD_KEY": Code("PlanError", "user", "invalid keys"),
    "BAD_NAME": Code("PlanError", "user", "an invalid name"),
    "BAD_ORDER": Code("PlanError", "user", "an invalid order of rows"),
    "DUPLICATE_COLUMN": Code("PlanError", "user", "two columns with the same name"),
    "NOT_A_TABLE": Code("PlanError", "user", "a stream used like a table or list in Python's memory"),
    "NO_COLUMNS": Code("PlanError", "user", "a stream without columns"),
    "BAD_EXPIRY": Code("PlanError", "user", "expiry of state that cannot expire"),
    "NEVER_CLOSES": Code("PlanError", "user", "a result that waits for a window to close, and the window never closes"),
    "LOOKUP_CHANGES": Code("PlanError", "user", "a stream with retractions, looked up in a table that may change"),
    "NO_WATERMARK": Code("PlanError", "user", "an operator that needs event time, and no event time"),
    "ORDER_CLOCK": Code("PlanError", "user", "event-time order in a program with processing-time timers"),
    "SINK_KIND": Code("PlanError", "user", "a mode that the sink does not support, or retractions into an append-only sink"),
    "UNION_COLUMNS": Code("PlanError", "user", "a union of streams with different columns"),
    "UNKNOWN_COLUMN": Code("PlanError", "user", "a column that does not exist"),
    "UNKNOWN_OUTPUT": Code("PlanError", "user", "an output that does not exist"),
    "UNNAMED_COLUMN": Code("PlanError", "user", "an expression without a column name"),
    "WATERMARK_PLACE": Code("PlanError", "user", "a watermark that is not at a source"),
    "WATERMARK_TYPE": Code("PlanError", "user", "a watermark on a column that is not a timestamp"),
    # spec
    "YAML_CYCLE": Code("PlanError", "user", "YAML views that depend on each other in a cycle"),
    "YAML_INCLUDE": Code("PlanError", "user", "a YAML include that cannot be included"),
    "YAML_KEY": Code("PlanError", "user", "an unknown or missing key in a job's YAML"),
    "YAML_NAME": Code("PlanError", "user", "an unknown or ambiguous name in a job's YAML"),
    "YAML_SYNTAX": Code("PlanError", "user", "a file that is not a valid YAML job"),
    "YAML_TYPE": Code("PlanError", "user", "a value of the wrong type in a job's YAML"),
    "YAML_VARIABLE": Code("PlanError", "user", "an environment variable that a job's YAML uses and that is not set"),
    # ports
    "BAD_OPTION": Code("ConnectorError", "user", "an unknown option of a source, sink or job, or an invalid value of one"),
    "CONNECTOR_BROKEN": Code("ConnectorError", "environment", "a connector that cannot be loaded"),
    "SECRET_MISSING": Code("ConnectorError", "environment", "a secret whose variable or file does not exist"),
    "SECRET_UNFIT": Code("ConnectorError", "environment", "a secret with characters that cannot be sent"),
    "UNKNOWN_CONNECTOR": Code("ConnectorError", "user", "a connector that does not exist"),
    # jvm
    "CONNECT_SESSION": Code("ConfigError", "user", "a Spark Connect session where a classic session is required"),
    "JAVA_MISSING": Code("ConfigError", "environment", "no usable Java runtime"),
    "JAVA_VERSION": Code("ConfigError", "environment", "a Java runtime that is too old for Spark"),
    "ARCHIVE_FAILED": Code("ConfigError", "environment", "a CDS archive for faster starts that could not be created"),
    "KERNEL_BUILD": Code("ConfigError", "environment", "a kernel jar that could not be compiled"),
    "KERNEL_OTHER": Code("ConfigError", "environment", "a session with the kernel of another headrace version"),
    "PACKAGE_DIFFERS": Code("ConfigError", "environment", "a downloaded jar with the wrong checksum"),
    "SESSION_RUNNING": Code("ConfigError", "user", "settings for a new session while another session runs"),
    "SESSION_START": Code("ConfigError", "environment", "a Spark session that did not start"),
    "SPARK_VERSION": Code("ConfigError", "environment", "an unsupported Spark version"),
    # ports: codes of several connectors; the codes of one connector are in its package
    "FOLDER_OWNED": Code("CheckpointError", "user", "an output folder that another sink, job or checkpoint writes"),
    "FOLDER_NOT_WRITABLE": Code("ConnectorError", "environment", "a folder or file that cannot be written"),
    "MANIFEST_FORMAT": Code("CheckpointError", "user", "a manifest of a newer version"),
    "OUTPUT_MISSING": Code("ConnectorError", "environment", "an output file or manifest that is missing or truncated"),
    "SCHEMA_NEEDED": Code("ConnectorError", "user", "a source whose schema is neither given nor found"),
    "ROW_REFUSED": Code("RunError", "input", "a row that the sink's table refuses"),
    "SINK_FENCED": Code("CheckpointError", "environment", "a process that a later start of the job has replaced"),
    "STORE_FAILED": Code("ConnectorError", "environment", "an object store or HDFS that cannot be read or written"),
    "TABLE_MISSING": Code("ConnectorError", "user", "a table or other storage place that does not exist"),
    "TABLE_OWNED": Code("CheckpointError", "user", "a table with rows that this job wrote from another checkpoint"),
    "TABLE_REPLACED": Code("ConnectorError", "input", "a table that is not the one that the checkpoint has read or written"),
    "TABLE_SCHEMA": Code("ConnectorError", "user", "a table whose columns do not fit the stream"),
    "UNKNOWN_FILE_SYSTEM": Code("ConnectorError", "environment", "a path with a scheme for which the session has no file system"),
    # analysis
    "BAD_EXPRESSION": Code("PlanError", "user", "an expression that Spark refuses"),
    "BAD_SYNTAX": Code("PlanError", "user", "a string that is not a SQL expression"),
    "KEYS_DIFFER": Code("PlanError", "user", "keys of incompatible types in a program or join"),
    "NOT_PER_ROW": Code("PlanError", "user", "an expression that does not give one value per row"),
    "NOT_REPEATABLE": Code("PlanError", "user", "a non-deterministic expression where rows are retracted or kept"),
    "UNKNOWN_FUNCTION": Code("PlanError", "user", "a function that Spark does not have"),
    "TIMER_LOOP": Code("ProgramError", "user", "timers that set each other endlessly"),
    "WRONG_TYPE": Code("PlanError", "user", "a value of the wrong type"),
    # spark
    "BAD_REPAIR": Code("ConnectorError", "input", "an invalid file of repaired rows"),
    "CHECKPOINT_BEHIND": Code("CheckpointError", "environment", "a checkpoint that is older than the rows in its sinks"),
    "CHECKPOINT_FORMAT": Code("CheckpointError", "user", "a checkpoint in an unsupported format"),
    "LEASE_LOST": Code("CheckpointError", "environment", "a process that paused while another process took over its job"),
    "CHECKPOINT_INCOMPLETE": Code("CheckpointError", "environment", "a checkpoint with missing parts, or parts copied at different times"),
    "CHECKPOINT_IN_USE": Code("CheckpointError", "user", "a checkpoint that another process uses"),
    "CHECKPOINT_MIGRATED": Code("CheckpointError", "user", "a checkpoint that was migrated to another folder"),
    "CHECKPOINT_OTHER_VERSION": Code("CheckpointError", "user", "a checkpoint of another version of a job"),
    "CHECKPOINT_OTHER_JOB": Code("CheckpointError", "user", "a checkpoint of another job"),
    "CHECKPOINT_SEALED": Code("CheckpointError", "user", "new input for a job that has run to the end of its input"),
    "CHECKPOINT_UNREADABLE": Code("CheckpointError", "environment", "a checkpoint or manifest with a damaged file"),
    "CHECKPOINT_UNUSABLE": Code("CheckpointError", "environment", "a checkpoint folder that cannot be created, read or written"),
    "CLOCKS_MIXED": Code("PlanError", "user", "event time and processing time in one program or streaming query"),
    "DEAD_LETTER_FAILED": Code("RunError", "user", "a step downstream of dead letters that failed"),
    "DISK_FULL": Code("RunError", "environment", "a full disk"),
    "EXPECTATION_FAILED": Code("RunError", "input", 'a row that violates an expectation with `on_violation="fail"`'),
    "INPUT_GONE": Code("RunError", "environment", "an input file that disappeared while it was read"),
    "INTERNAL": Code("RunError", "headrace", "a bug in headrace"),
    "KEYS_MEET": Code("CheckpointError", "input", "two keys that become equal in a new key type"),
    "LOOKUP_FAILED": Code("RunError", "environment", "a lookup table that does not answer or cannot be read"),
    "KEY_NOT_UNIQUE": Code("RunError", "input", "two rows with the same unique key"),
    "MALFORMED_ROW": Code("RunError", "input", 'a malformed row in a source with `malformed="fail"`'),
    "NOT_A_CHECKPOINT": Code("CheckpointError", "user", "a folder that is not a checkpoint"),
    "CANNOT_REWIND": Code("CheckpointError", "environment", "sinks that cannot be rewound to a checkpoint"),
    "NO_STATE": Code("CheckpointError", "user", "a state query on a checkpoint without state"),
    "CANNOT_REBUILD": Code("CheckpointError", "user", "a new version for which rows in a sink cannot be computed again"),
    "HISTORY_GONE": Code("CheckpointError", "environment", "rows that a job has read and that its sources no longer have"),
    "FORK_EXISTS": Code("CheckpointError", "user", "a fork whose name or checkpoint is in use"),
    "SINK_OF_PARENT": Code("CheckpointError", "user", "a fork that would write where its parent writes"),
    "SINK_ONLY_ADDS": Code("CheckpointError", "user", "a sink that only adds rows, and that would mix those of two versions"),
    "NOTHING_TO_DEPLOY": Code("CheckpointError", "user", "a deploy to a checkpoint that no run has written"),
    "NOTHING_TO_REWIND": Code("CheckpointError", "user", "a rewind to a checkpoint that no run has written"),
    "PARTITIONS_CHANGED": Code("CheckpointError", "user", "a number of partitions that differs from the checkpoint's"),
    "REPAIRED_BEFORE": Code("CheckpointError", "user", "a file of repaired rows that was replayed before"),
    "CANNOT_DEPLOY": Code("CheckpointError", "user", "a version that the process that runs the job cannot run"),
    "DEPLOY_OVERTAKEN": Code("CheckpointError", "environment", "a deploy to a running job that has changed while it was prepared"),
    "NOT_RUNNING": Code("CheckpointError", "user", "a command to a job that no process runs"),
    "CHECKPOINT_EXISTS": Code("CheckpointError", "user", "a checkpoint to be made where there is one already"),
    "SAVEPOINT_EXISTS": Code("CheckpointError", "user", "a second savepoint of the same name, or in the same folder"),
    "UNKNOWN_COMMAND": Code("CheckpointError", "environment", "a command that the running version of headrace does not know"),
    "UNKNOWN_SAVEPOINT": Code("CheckpointError", "user", "a savepoint that the checkpoint does not have"),
    "ROWS_UNACCOUNTED": Code("RunError", "headrace", "input rows of a program that no counter accounts for"),
    "RUN_FAILED": Code("RunError", "environment", "a run that Spark ended with an error"),
    "EPOCH_UNFINISHED": Code("CheckpointError", "user", "a job that changed in the middle of an epoch that a sink holds"),
    "SETTINGS_CHANGED": Code("CheckpointError", "user", "settings that differ from the checkpoint's"),
    "SINK_FAILED": Code("RunError", "environment", "a sink that failed to write an epoch"),
    "SOURCE_WITH_DERIVED": Code("PlanError", "user", "rows of a source and rows of an operator in one input"),
    "STATE_CHANGED": Code("CheckpointError", "user", "a change of the job that its state cannot follow"),
    "STATE_MISMATCH": Code("CheckpointError", "environment", "state on disk that does not match `job.json`"),
    "STATE_UNREADABLE": Code("CheckpointError", "environment", "state on disk that cannot be read"),
    "NO_SUCH_ROW": Code("CheckpointError", "user", "a question about a row that a result does not have"),
    "UNKNOWN_VIEW": Code("CheckpointError", "user", "a sink or operator that the job does not have"),
    "UNKNOWN_EPOCH": Code("CheckpointError", "user", "an epoch that the checkpoint does not keep, or keeps only in part"),
    "UNKNOWN_SOURCE": Code("CheckpointError", "user", "a source that the job does not have"),
    "UNKNOWN_TABLE": Code("CheckpointError", "user", "a table that the state does not have"),
    "WAS_FAILED": Code("RunError", "user", "an expression in `was=` that fails for a key"),
    # engine, settings, command line
    "BAD_SETTING": Code("ConfigError", "user", "an unknown setting, or an invalid value of one"),
    "FILE_FAILED": Code("PlanError", "user", "a job's file that raised an exception or is invalid"),
    "CHECK_FAILED": Code("PlanError", "user", "a check in a job's YAML that does not hold"),
    "FILE_KIND": Code("ConfigError", "user", "a file that is not Python, SQL, YAML or JSON"),
    "FILE_MISSING": Code("ConfigError", "user", "a file that does not exist or cannot be read"),
    "GUARANTEE": Code("PlanError", "user", "a sink with a weaker guarantee than required"),
    "JOB_UNKNOWN": Code("ConfigError", "user", "a file without the requested job, or with several jobs"),
    "NO_SINKS": Code("PlanError", "user", "a job without sinks"),
    "PACKAGE_MISSING": Code("ConfigError", "environment", "a package that is not installed"),
    "RUN_WHILE_LOADING": Code("ConfigError", "user", "a job started while its file is being loaded"),
    "UNBOUNDED": Code("PlanError", "user", "an unbounded source where rows are collected"),
    "UNKNOWN_PATH": Code("ConfigError", "user", "a path for a source or sink that does not exist"),
    "CANNOT_CERTIFY": Code("ConfigError", "user", "a job whose copies cannot be run and compared"),
    # testing
    "CHANGES_NOT_YET": Code("PlanError", "user", "retractions into an operator that takes only insertions"),
    "HARNESS_USE": Code("ConfigError", "user", "a test harness used in the wrong order or with a wrong name"),
    # demo
    "DEMO_DATA_MISSING": Code("ConfigError", "environment", "a demo without its flight data"),
    "DEMO_FOLDER": Code("ConfigError", "user", "a demo folder that holds other files"),
}

# The codes of dead letters that are not also codes of errors, as FILE_BROKEN is. Each has a page.
REASONS: dict[str, str] = {
    "EXPECTATION": "a row that violates an expectation",
    "NEVER_ADDED": "a retraction without a matching insertion",
    "NO_AFTER": "a Debezium envelope without the inserted row",
    "NO_BEFORE": "a Debezium envelope without the old row of an update or deletion",
    "NO_CHANGE": "a Debezium envelope with a missing or unsupported `op`",
    "NO_WEIGHT": "an unknown or missing word in a change column",
    "NULL_TIME": "a row without event time",
    "ODD_AFTER": "a Debezium envelope that deletes a row and has one in `after`",
    "ODD_BEFORE": "a Debezium envelope that inserts a row and has one in `before`",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": "a scalar subquery that returns several rows",
}

# Earlier code -> the code that now means the same.
RENAMED = {"MIXED_CLOCKS": "CLOCKS_MIXED"}

_KINDS = ("PlanError", "SchemaError", "ProgramError", "ConfigError", "CheckpointError", "ConnectorError", "RunError")
_pages: dict[str, Path] = {}


def register(codes: Mapping[str, Code], pages: Path | None = None) -> None:
    """Add the codes of a connector, each with a page `CODE.md` in the folder `pages`.

    The connector's module calls this at import. `headrace error CODE` shows the page, and errors are raised and caught like built-in ones.

        register({"DUCKDB_LOCKED": Code("ConnectorError", "environment", "a database that another process has open")}, folder)
        raise ConnectorError("DUCKDB_LOCKED", "shop.duckdb is open in process 4711", hint="close it there")

    Raises ValueError for a name that is not in capitals, an unknown kind or fault, a code with another meaning, and a missing page.
    """
    for code, row in codes.items():
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", code):
            raise ValueError(f"the code {code!r} must have only capitals, digits and underscores, as in DUCKDB_LOCKED")
        for name, value, known in (("kind", row.kind, _KINDS), ("fault", row.fault, EXIT_CODES)):
            if value not in known:
                raise ValueError(f"the code {code}: `{name}` cannot be {value!r}; it is one of: {', '.join(known)}")
        if code in REASONS or CODES.get(code, row) != row:
            raise ValueError(f"the code {code} is taken")
        if pages is not None and not (pages / f"{code}.md").is_file():
            raise ValueError(f"the code {code} has no page {pages / f'{code}.md'}")
    for code, row in codes.items():
        if code not in CODES:
            CODES[code] = row
            if pages is not None:
                _pages[code] = pages / f"{code}.md"


def page_of(code: str) -> str:
    """Return the path of the page of a code, in the documentation or in a connector's folder."""
    return str(_pages.get(code, f"docs/errors/{code}.md"))
