"""The table of stable codes: the kind of error and whose fault it is, and what it is in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

# By whose fault a command failed; 2 is kept free because command line parsers use it for their own complaints.
EXIT_CODES = {"user": 1, "input": 3, "environment": 4, "headrace": 5}


class Code(NamedTuple):
    """One row of the table."""

    kind: str
    fault: str
    title: str
    cure: str = ""
    """The hint of an error that the kernel reports by this code."""


# One row per code, by the package that raises it; a connector registers its own. A code never changes its meaning; a page
# docs/errors/CODE.md explains it.
CODES: dict[str, Code] = {
    # schema
    "BAD_DURATION": Code("SchemaError", "user", "a duration that cannot be read"),
    "BAD_TYPE": Code("SchemaError", "user", "a schema or type that cannot be read"),
    "BAD_VALUE": Code("SchemaError", "user", "a Python value that does not fit its column's type"),
    "UNKNOWN_TIME_ZONE": Code("SchemaError", "user", "a time zone that does not exist"),
    # plan
    "NAME_CLASH": Code("PlanError", "user", "two nodes of one name"),
    "PLAN_BROKEN": Code("PlanError", "user", "a text that is no plan"),
    "PLAN_UNKNOWN_FIELD": Code("PlanError", "user", "a field of a plan that this version does not know"),
    "PLAN_UNKNOWN_OPERATOR": Code("PlanError", "user", "an operator that this version does not know"),
    "PLAN_VERSION": Code("PlanError", "user", "a plan of another format"),
    # expr
    "BAD_LITERAL": Code("PlanError", "user", "a Python value that has no literal"),
    "NOT_AN_AGGREGATE": Code("PlanError", "user", "a column or a text in the place of an aggregate"),
    "NULL_COMPARISON": Code("PlanError", "user", "a comparison with None"),
    "TRACED_BOOL": Code("PlanError", "user", "Python asked a column for a truth value"),
    "TRACED_VALUE": Code("PlanError", "user", "Python asked a column for its value"),
    "UNKNOWN_METHOD": Code("PlanError", "user", "a method that columns do not have"),
    # syntax, sql
    "BAD_STATEMENT": Code("PlanError", "user", "a statement of a script that cannot be read"),
    "UNKNOWN_NAME": Code("PlanError", "user", "a name that a script does not make"),
    # program
    "AGGREGATE_COLUMNS": Code("ProgramError", "user", "a row for an aggregate with other columns"),
    "BAD_AGGREGATE": Code("ProgramError", "user", "an hr.Aggregate whose text is no aggregate over rows"),
    "BAD_CLOCK": Code("ProgramError", "user", "a clock that does not exist"),
    "BAD_WAS": Code("ProgramError", "user", "a `was=` that gives the cell no value"),
    "BROADCAST_USE": Code("ProgramError", "user", "state of one key where that of all keys is meant, or the other way round"),
    "CELL_OPERATOR": Code("ProgramError", "user", "a cell used where its value is meant"),
    "EACH_OVER": Code("ProgramError", "user", "a loop over something without entries"),
    "EMIT_COLUMNS": Code("ProgramError", "user", "a row to emit that has no columns, or one twice"),
    "EMIT_DIFFERS": Code("ProgramError", "user", "rows of one output with different columns"),
    "FOREIGN_CELL": Code("ProgramError", "user", "a cell or output used in a program that does not have it"),
    "HANDLER_ASSIGNS": Code("ProgramError", "user", "a handler that sets an attribute of its program"),
    "HANDLER_FAILED": Code("ProgramError", "user", "a handler that raised while it was traced"),
    "HANDLER_KIND": Code("ProgramError", "user", "a handler that is no plain method"),
    "HANDLER_MISSING": Code("ProgramError", "user", "an input or timer without a handler"),
    "HANDLER_PARAMETERS": Code("ProgramError", "user", "a handler that does not take what it is called with"),
    "HANDLER_RETURNS": Code("ProgramError", "user", "a handler that returns a value"),
    "HANDLER_UNKNOWN": Code("ProgramError", "user", "a handler without an input or timer"),
    "LEAVES_WHEN": Code("ProgramError", "user", "return, raise, break, continue or yield inside a when"),
    "LET_TYPE": Code("ProgramError", "user", "a local without a type"),
    "LOOP_CHANGES": Code("ProgramError", "user", "a cell changed inside a loop over it"),
    "MIXED_CLOCKS": Code("ProgramError", "user", "timers of both clocks in one program"),
    "NAME_FROM_WHEN": Code("ProgramError", "user", "a name bound inside a when and used outside of it"),
    "NAME_RESERVED": Code("ProgramError", "user", "a name that programs use themselves"),
    "NAME_TWICE": Code("ProgramError", "user", "one name for two things in a program"),
    "NEVER_EMITTED": Code("ProgramError", "user", "an output that nothing is emitted to"),
    "NOT_A_PROGRAM": Code("ProgramError", "user", "something else where a program is expected"),
    "NO_SOURCE": Code("ProgramError", "user", "a handler whose source cannot be read"),
    "NULL_KEY": Code("ProgramError", "user", "None given as the key of a map"),
    "OUTSIDE_HANDLER": Code("ProgramError", "user", "what belongs into a handler, used elsewhere"),
    "OUT_OF_SCOPE": Code("ProgramError", "user", "a value read inside a when and used outside of it"),
    "ROW_OPERATOR": Code("ProgramError", "user", "a row used where a column is meant"),
    "STALE_VALUE": Code("ProgramError", "user", "a value of one handler used in another"),
    "TIMER_KEY": Code("ProgramError", "user", "a timer with keys used without one, or the other way round"),
    "TIMER_TIME": Code("ProgramError", "user", "a timer set to something that is not a time"),
    "TRY_IN_HANDLER": Code("ProgramError", "user", "try and when inside each other"),
    "WHEN_EXPECTED": Code("ProgramError", "user", "elsewhen or otherwise without a when before it"),
    "WHEN_WITHOUT_WITH": Code("ProgramError", "user", "a when or each that no with statement opens"),
    # ops
    "BAD_EXPECTATION": Code("PlanError", "user", "an expectation that does not say what is expected"),
    "BAD_JOIN": Code("PlanError", "user", "a join that does not say what meets"),
    "BAD_LOOKUP": Code("PlanError", "user", "a lookup that does not say what is looked up, or how"),
    "BAD_QUERY": Code("PlanError", "user", "a query that cannot be read or kept up to date"),
    "BAD_COLUMN": Code("PlanError", "user", "something that is no column where one is expected"),
    "BAD_INPUT": Code("PlanError", "user", "something that is no stream, or not keyed, where a keyed stream is expected"),
    "BAD_KEY": Code("PlanError", "user", "invalid keys"),
    "BAD_NAME": Code("PlanError", "user", "a text that cannot be a name"),
    "BAD_ORDER": Code("PlanError", "user", "an order of rows that does not exist"),
    "DUPLICATE_COLUMN": Code("PlanError", "user", "two columns of one name"),
    "NOT_A_TABLE": Code("PlanError", "user", "a stream used as a table or a list that Python holds"),
    "NO_COLUMNS": Code("PlanError", "user", "a stream without columns"),
    "BAD_EXPIRY": Code("PlanError", "user", "state is to expire where it cannot"),
    "NEVER_CLOSES": Code("PlanError", "user", "a result is to be sent when a window closes, and nothing closes"),
    "LOOKUP_CHANGES": Code("PlanError", "user", "a lookup for rows that are also taken away, in a table that may change"),
    "NO_WATERMARK": Code("PlanError", "user", "event time is needed and there is none"),
    "ORDER_CLOCK": Code("PlanError", "user", "rows in the order of event time with timers of processing time"),
    "SINK_KIND": Code("PlanError", "user", "a mode that a sink cannot write"),
    "UNION_COLUMNS": Code("PlanError", "user", "a union of streams with different columns"),
    "UNKNOWN_COLUMN": Code("PlanError", "user", "a column that does not exist"),
    "UNKNOWN_OUTPUT": Code("PlanError", "user", "an output that does not exist"),
    "UNNAMED_COLUMN": Code("PlanError", "user", "an expression where a named column is needed"),
    "WATERMARK_PLACE": Code("PlanError", "user", "a watermark that does not stand at a source"),
    "WATERMARK_TYPE": Code("PlanError", "user", "a watermark over something that is no timestamp"),
    # spec
    "YAML_CYCLE": Code("PlanError", "user", "views in YAML that read each other in a circle"),
    "YAML_INCLUDE": Code("PlanError", "user", "a file that YAML includes and that cannot be included"),
    "YAML_KEY": Code("PlanError", "user", "a key in YAML that does not exist there, or one that lacks"),
    "YAML_NAME": Code("PlanError", "user", "a name in YAML that stands for nothing, or for two things"),
    "YAML_SYNTAX": Code("PlanError", "user", "a file that is no YAML as jobs are written in it"),
    "YAML_TYPE": Code("PlanError", "user", "a value in YAML of another type than is wanted there"),
    "YAML_VARIABLE": Code("PlanError", "user", "a variable of the environment that YAML asks for and that is not there"),
    # ports
    "BAD_OPTION": Code("ConnectorError", "user", "an option of a source or sink that does not exist or fit"),
    "CONNECTOR_BROKEN": Code("ConnectorError", "environment", "a connector that cannot be loaded"),
    "SECRET_MISSING": Code("ConnectorError", "environment", "a secret that is not where it is said to be"),
    "SECRET_UNFIT": Code("ConnectorError", "environment", "a secret with characters that cannot be sent"),
    "UNKNOWN_CONNECTOR": Code("ConnectorError", "user", "a connector that does not exist"),
    # jvm
    "CONNECT_SESSION": Code("ConfigError", "user", "a Spark Connect session where a classic one is needed"),
    "JAVA_MISSING": Code("ConfigError", "environment", "no Java runtime was found"),
    "JAVA_VERSION": Code("ConfigError", "environment", "the Java runtime is too old for Spark"),
    "ARCHIVE_FAILED": Code("ConfigError", "environment", "the archive that makes starts faster could not be made"),
    "KERNEL_BUILD": Code("ConfigError", "environment", "the kernel's jar could not be built"),
    "KERNEL_OTHER": Code("ConfigError", "environment", "the session carries the kernel of another headrace"),
    "PACKAGE_DIFFERS": Code("ConfigError", "environment", "a jar that is not the one that was asked for"),
    "SESSION_RUNNING": Code("ConfigError", "user", "settings for a new session while another one runs"),
    "SESSION_START": Code("ConfigError", "environment", "Spark did not start"),
    "SPARK_VERSION": Code("ConfigError", "environment", "a Spark of another version"),
    # ports: what several connectors say; the codes of one stand beside it
    "FOLDER_OWNED": Code("CheckpointError", "user", "an output folder that another sink or checkpoint writes"),
    "FOLDER_NOT_WRITABLE": Code("ConnectorError", "environment", "a folder that cannot be written"),
    "MANIFEST_FORMAT": Code("CheckpointError", "user", "a manifest written by a later version"),
    "OUTPUT_MISSING": Code("ConnectorError", "environment", "an output file that is gone"),
    "SCHEMA_NEEDED": Code("ConnectorError", "user", "a source whose schema cannot be found by looking"),
    "ROW_REFUSED": Code("RunError", "input", "a row that a table does not take"),
    "SINK_FENCED": Code("CheckpointError", "environment", "a process that was replaced by another one"),
    "STORE_FAILED": Code("ConnectorError", "environment", "a store that cannot be read or written"),
    "TABLE_MISSING": Code("ConnectorError", "user", "a table or other place that is not there"),
    "TABLE_OWNED": Code("CheckpointError", "user", "a table that another checkpoint of the job writes"),
    "TABLE_REPLACED": Code("ConnectorError", "input", "another table where the checkpoint has read or written one"),
    "TABLE_SCHEMA": Code("ConnectorError", "user", "a table that has other columns than the stream"),
    "UNKNOWN_FILE_SYSTEM": Code("ConnectorError", "environment", "a path in a store that the session has no file system for"),
    # analysis
    "BAD_EXPRESSION": Code("PlanError", "user", "a text that Spark refuses"),
    "BAD_SYNTAX": Code("PlanError", "user", "a text that Spark cannot read"),
    "KEYS_DIFFER": Code("PlanError", "user", "inputs of a program, or sides of a join, whose keys do not fit each other"),
    "NOT_PER_ROW": Code("PlanError", "user", "an expression that does not give one value for each row"),
    "NOT_REPEATABLE": Code("PlanError", "user", "a text that gives another value each time, where rows are taken away"),
    "UNKNOWN_FUNCTION": Code("PlanError", "user", "a function that Spark does not have"),
    "TIMER_LOOP": Code("ProgramError", "user", "timers that set each other without end"),
    "WRONG_TYPE": Code("PlanError", "user", "a value of a type that does not fit"),
    # spark
    "BAD_REPAIR": Code("ConnectorError", "input", "a file of repaired rows that cannot be rows of its source"),
    "CHECKPOINT_BEHIND": Code("CheckpointError", "environment", "a checkpoint that is older than what its sinks hold"),
    "CHECKPOINT_EXISTS": Code("CheckpointError", "user", "a place for a new checkpoint where something is already"),
    "CHECKPOINT_FORMAT": Code("CheckpointError", "user", "a checkpoint written by another version"),
    "LEASE_LOST": Code("CheckpointError", "environment", "a process that was asleep while another one took over its job"),
    "CHECKPOINT_INCOMPLETE": Code("CheckpointError", "environment", "a checkpoint whose parts are missing or of different moments"),
    "CHECKPOINT_IN_USE": Code("CheckpointError", "user", "a checkpoint that another process works on"),
    "CHECKPOINT_MIGRATED": Code("CheckpointError", "user", "a checkpoint whose job goes on in one that was made of it"),
    "CHECKPOINT_OTHER_JOB": Code("CheckpointError", "user", "the checkpoint of another job"),
    "CHECKPOINT_SEALED": Code("CheckpointError", "user", "new input for a job that was run to its end"),
    "CHECKPOINT_UNREADABLE": Code("CheckpointError", "environment", "a checkpoint with a damaged file"),
    "CHECKPOINT_UNUSABLE": Code("CheckpointError", "environment", "a checkpoint folder that cannot be used"),
    "CLOCKS_MIXED": Code("PlanError", "user", "event time and processing time in one query"),
    "DEAD_LETTER_FAILED": Code("RunError", "user", "a step behind dead letters that fails"),
    "DISK_FULL": Code("RunError", "environment", "a disk without room"),
    "EXPECTATION_FAILED": Code("RunError", "input", "a row that is not as expected, where that ends the run"),
    "INPUT_GONE": Code("RunError", "environment", "a file that was there when it was listed and is gone"),
    "INTERNAL": Code("RunError", "headrace", "a fault of headrace"),
    "KEYS_MEET": Code("CheckpointError", "input", "two keys that are one in another type"),
    "LOOKUP_FAILED": Code("RunError", "environment", "an outside table that did not answer"),
    "KEY_NOT_UNIQUE": Code("RunError", "input", "a key that tells rows apart has two of them"),
    "MALFORMED_ROW": Code("RunError", "input", "a row that cannot be read, where the source says to fail"),
    "NOT_A_CHECKPOINT": Code("CheckpointError", "user", "a folder with other things in it, given as checkpoint"),
    "CANNOT_REWIND": Code("CheckpointError", "environment", "sinks that cannot be brought back to where a checkpoint stands"),
    "NO_STATE": Code("CheckpointError", "user", "a checkpoint without state, of which the state is asked for"),
    "NOTHING_TO_MIGRATE": Code("CheckpointError", "user", "a checkpoint of which no other has to be made"),
    "NOTHING_TO_REWIND": Code("CheckpointError", "user", "a checkpoint without a run, to which sinks are to be brought back"),
    "PARTITIONS_CHANGED": Code("CheckpointError", "user", "another number of partitions than the checkpoint has"),
    "REPAIRED_BEFORE": Code("CheckpointError", "user", "a file of repaired rows that was given before"),
    "ROWS_UNACCOUNTED": Code("RunError", "headrace", "rows of a program's input that are counted nowhere"),
    "RUN_FAILED": Code("RunError", "environment", "a run that ended with an error of Spark"),
    "EPOCH_UNFINISHED": Code("CheckpointError", "user", "a change of a job in the middle of an epoch that a sink holds"),
    "SETTINGS_CHANGED": Code("CheckpointError", "user", "other settings than those the checkpoint was written under"),
    "SINK_FAILED": Code("RunError", "environment", "a sink that could not write an epoch"),
    "SOURCE_WITH_DERIVED": Code("PlanError", "user", "rows of a source and rows of an operator in one input"),
    "STATE_CHANGED": Code("CheckpointError", "user", "a job whose state has changed in a way that the checkpoint cannot follow"),
    "STATE_MISMATCH": Code("CheckpointError", "environment", "state on disk that is not what job.json says"),
    "STATE_UNREADABLE": Code("CheckpointError", "environment", "state on disk that cannot be read"),
    "UNKNOWN_EPOCH": Code("CheckpointError", "user", "an epoch of which the checkpoint has no state"),
    "UNKNOWN_SOURCE": Code("CheckpointError", "user", "a source that the job does not have"),
    "UNKNOWN_TABLE": Code("CheckpointError", "user", "a table that the state does not have"),
    "WAS_FAILED": Code("RunError", "user", "an expression in `was=` that fails for a key"),
    # engine, settings, command line
    "BAD_SETTING": Code("ConfigError", "user", "a setting that does not exist or fit"),
    "FILE_FAILED": Code("PlanError", "user", "a Python file that raised while it was loaded"),
    "CHECK_FAILED": Code("PlanError", "user", "a check of a job that does not hold"),
    "FILE_KIND": Code("ConfigError", "user", "a file that is neither Python, SQL, YAML nor JSON"),
    "FILE_MISSING": Code("ConfigError", "user", "a file that is not there, or cannot be read"),
    "GUARANTEE": Code("PlanError", "user", "a sink with a weaker guarantee than required"),
    "JOB_UNKNOWN": Code("ConfigError", "user", "a job that a file does not make"),
    "NO_SINKS": Code("PlanError", "user", "a job without sinks"),
    "PACKAGE_MISSING": Code("ConfigError", "environment", "a package that is not installed"),
    "RUN_WHILE_LOADING": Code("ConfigError", "user", "run() at the top level of a file that is being loaded"),
    "UNBOUNDED": Code("PlanError", "user", "rows without end where an end is needed"),
    "UNKNOWN_PATH": Code("ConfigError", "user", "a path for a source or sink that does not exist"),
    "CANNOT_CERTIFY": Code("ConfigError", "user", "a job of which no copy can be run and compared"),
    # testing
    "CHANGES_NOT_YET": Code("PlanError", "user", "rows that are also taken away, where rows can only be added"),
    "HARNESS_USE": Code("ConfigError", "user", "a harness used in the wrong order or with a wrong name"),
    # demo
    "DEMO_DATA_MISSING": Code("ConfigError", "environment", "the demo's package of flights is not installed"),
    "DEMO_FOLDER": Code("ConfigError", "user", "a folder for the demo that holds something else"),
}

# What the reason of a dead letter begins with, where it is no error as well, as FILE_BROKEN is. Each has a page, too.
REASONS: dict[str, str] = {
    "EXPECTATION": "a row that is not as expected",
    "NEVER_ADDED": "a row that is taken away and was not there",
    "NO_AFTER": "an envelope of Debezium without the row that is added",
    "NO_BEFORE": "an envelope of Debezium without the row that is replaced or deleted",
    "NO_CHANGE": "an envelope of Debezium that changes no row",
    "NO_WEIGHT": "a word in a change column that neither adds a row nor takes it away",
    "NULL_TIME": "a row without event time",
    "ODD_AFTER": "an envelope of Debezium that deletes a row and has one after it",
    "ODD_BEFORE": "an envelope of Debezium that adds a row and has one before it",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": "a subquery that is used as a value and finds several rows",
}

_KINDS = ("PlanError", "SchemaError", "ProgramError", "ConfigError", "CheckpointError", "ConnectorError", "RunError")
_pages: dict[str, Path] = {}


def register(codes: Mapping[str, Code], pages: Path | None = None) -> None:
    """Add the codes of a connector, each with a page `CODE.md` in a folder; those of headrace's own are in its documentation.

    Called where the connector's module is imported. `headrace error CODE` shows the page, and errors are made and caught like ours.

        register({"DUCKDB_LOCKED": Code("ConnectorError", "environment", "a database that another process has open")}, folder)
        raise ConnectorError("DUCKDB_LOCKED", "shop.duckdb is open in process 4711", hint="close it there.")

    Raises ValueError for a name that is not in capitals, a kind or fault that does not exist, a code that means something else already, and
    a page that is missing.
    """
    for code, row in codes.items():
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", code):
            raise ValueError(f"the code {code!r} is not in capitals")
        if row.kind not in _KINDS or row.fault not in EXIT_CODES:
            raise ValueError(f"{code}: the kind is one of {', '.join(_KINDS)}, the fault one of {', '.join(EXIT_CODES)}")
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
    """Where the page of a code is: in our documentation, or where a connector has its pages."""
    return str(_pages.get(code, f"docs/errors/{code}.md"))
