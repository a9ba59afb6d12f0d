"""hr.sql and hr.from_dataframe: Spark queries as streams."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, PlanError, here, standing
from headrace.jvm.frames import is_frame
from headrace.jvm.lift import lift_frame, lift_sql
from headrace.jvm.messages import sentence
from headrace.jvm.session import unregistered
from headrace.ops.asof import version_time, versions
from headrace.ops.facts.carried import CHANGES, CLOSE
from headrace.ops.facts.time import event_time
from headrace.ops.operator import operator
from headrace.ops.stream import Stream
from headrace.ops.tables import Table
from headrace.ops.tree import Tree
from headrace.ops.view import streams
from headrace.ops.window import between
from headrace.plan import order
from headrace.plan.meaning import meaning
from headrace.spelling import suggestion
from headrace.syntax import Emit, quote, streaming
from headrace.syntax.statements import CreateFunction, Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sql(query: str, /, **tables: Stream | Table) -> Stream:
    """Returns the result of a Spark SQL query over streams, kept up to date. Starts the session, because Spark parses the query.

    After every epoch the result equals that of the same query in batch over all rows so far; rows that left it are retracted. [Supported
    queries](../../guides/queries.md#supported-queries) lists what a query may contain. Beyond Spark SQL it supports:

    * `TUMBLE`, `HOP`, `CUMULATE` and `SESSION` in `FROM` ([syntax](../../guides/windows.md#in-sql)). Spark's `window` and `session_window`
      are supported too.
    * `EMIT ON WINDOW CLOSE` at the end: results of windows are emitted once, when the window closes, and unmatched rows of [interval
      joins](../../guides/joins.md#interval-joins) once, when no match can come. `EMIT WITH DELAY INTERVAL '1' MINUTE BEFORE WATERMARK`
      instead: changed results are also emitted each time the watermark passes a full minute before the window closes.
    * `JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON …`: an [as-of join](../../guides/joins.md#in-sql). With `current_timestamp()` instead,
      a [lookup](../../guides/lookups.md) in an external table.
    * `SELECT /*+ EXPIRES('7 days') */`: joins and aggregates of this `SELECT` forget groups without new rows for that long in event time.

    Args:
        query: One query in Spark SQL.
        **tables: The streams, and external tables of `hr.lookup`, by their names in the query.

    Raises:
        PlanError: `BAD_QUERY` if Spark rejects the query or it cannot be kept up to date, with line, column and a hint; `UNKNOWN_FUNCTION`
            if a function does not exist; `BAD_INPUT` if a keyword is neither a stream nor a table; `NEVER_CLOSES` if `EMIT` is in a query
            without windows or interval joins.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 2), ("b", 5)], "card string, amount int", name="charges")
        >>> spent = hr.sql("SELECT card, sum(amount) AS spent FROM charges GROUP BY card", charges=charges)
        >>> sorted(hr.collect(spent).rows())
        [('a', 9), ('b', 5)]
    """
    if not isinstance(query, str) or not query.strip():
        hint = 'hr.sql("SELECT ... FROM t", t=stream)'
        raise PlanError("BAD_QUERY", f"hr.sql expects a query, got {query!r}", hint=hint, site=here())
    wrong = next((name for name, stream in tables.items() if not isinstance(stream, Stream | Table)), None)
    if wrong is not None:
        hint = f"pass tables as keywords: hr.sql(..., {wrong}=stream)"
        raise PlanError("BAD_INPUT", f"the table `{wrong}` of hr.sql must be a stream, not {tables[wrong]!r}", hint=hint, site=here())
    outside = {name: table for name, table in tables.items() if isinstance(table, Table)}
    return _lifted(query, {name: stream for name, stream in tables.items() if isinstance(stream, Stream)}, query, outside=outside)


def of_script(
    query: Part,
    tables: Mapping[str, Stream],
    functions: Sequence[str],
    known: Sequence[str],
    expires_ms: int | None = None,
    outside: Mapping[str, Table] | None = None,
) -> Stream:
    """Returns the stream of a query of a script. Errors point to the lines and columns of the script.

    `functions` are the texts after CREATE FUNCTION of the functions it may call, `known` are all names that it could read. Its joins and
    aggregates forget a group after `expires_ms` without rows, unless the query has a hint of its own.
    """
    with standing(query.site, query.at):
        return _lifted(query.text, tables, None, functions, known, expires_ms, outside)


def check_function(function: CreateFunction, before: Sequence[str]) -> None:
    """Refuses a function that no query could call; it may call the functions `before` it."""
    functions = (*before, function.definition.text)
    # The values of the arguments do not matter, as only the body is checked.
    call = f"{quote(function.name)}({', '.join(f'CAST(NULL AS {kind})' for kind in function.types)})"
    answer = lift_sql("SELECT 1", {}, meaning(), {}, functions)
    answer = lift_sql(f"SELECT {call} AS called", {}, meaning(), {}, functions) if "tree" in answer else answer
    if "tree" in answer:
        return
    error = answer.get("error", {})
    wrong = function.body
    if error.get("class", "").startswith("PARSE"):
        # The definition begins in the second line of the statement that Spark parsed.
        answer, wrong = {"error": {**error, "line": (error["line"] or 1) - 1}}, function.definition
    with standing(wrong.site, wrong.at):
        raise _refused(answer, None)


def _lifted(
    query: str,
    tables: Mapping[str, Stream],
    shown: str | None,
    functions: Sequence[str] = (),
    known: Sequence[str] | None = None,
    expires_ms: int | None = None,
    outside: Mapping[str, Table] | None = None,
) -> Stream:
    """Returns the stream of a query over streams and external tables. `shown` is the text that errors quote; None for no quotes."""
    text, emit = streaming(query)
    early = 0 if emit is None or emit.early is None else between(emit.early, CLOSE)
    schemas = _schemas(tables) | {name: table.connected.schema.ddl for name, table in (outside or {}).items()}
    missing = (
        None if known is None else (f"use a source or view of the script: {', '.join(known)}" if known else "create a source or view first")
    )
    answer = lift_sql(text, schemas, meaning(), _times(tables), functions, missing, [*(outside or {})])
    if "tree" not in answer:
        raise _refused(answer, shown, tables if known is None else known)
    stream = _read(answer, tables, shown, CHANGES if emit is None else CLOSE, early, expires_ms, outside)
    if emit is not None and not any(node.sent_at_close for node in map(operator, order([stream._node]))):
        hint = 'add one to this query, or set it where it is defined: .window(..., emit="close") or .join(..., emit="close")'
        raise PlanError("NEVER_CLOSES", f"{_emit_clause(emit)} needs a query with windows or an interval join", hint=hint, site=here())
    return stream


def _emit_clause(emit: Emit) -> str:
    return "EMIT ON WINDOW CLOSE" if emit.early is None else "EMIT WITH DELAY"


def _schemas(tables: Mapping[str, Stream]) -> dict[str, str]:
    return {name: stream.schema.ddl for name, stream in tables.items()}


def _times(tables: Mapping[str, Stream]) -> dict[str, str]:
    """Returns for each table, if it has one, the column with the time from which a row is valid."""
    rows = {name: versions(stream._node) for name, stream in tables.items()}
    return {name: time for name, node in rows.items() if (time := version_time(node, event_time(node))) is not None}


def from_dataframe(frame: DataFrame) -> Stream:
    """Returns the stream that a PySpark DataFrame over `stream.as_dataframe()` describes, kept up to date.

    Args:
        frame: A DataFrame made of one or more streams by PySpark's methods. It may not read other tables or use Python UDFs.

    Raises:
        PlanError: `BAD_QUERY` if the query cannot be kept up to date; `UNKNOWN_FUNCTION` if a function does not exist.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 2)], "card string, amount int", name="charges")
        >>> frame = charges.as_dataframe().groupBy("card").sum("amount")
        >>> hr.from_dataframe(frame.withColumnRenamed("sum(amount)", "spent"))
        <Stream aggregate(charges): card, spent>
    """
    if not is_frame(frame):
        hint = "derive it from stream.as_dataframe(), in the session that hr.session() returns"
        raise PlanError(
            "BAD_QUERY", f"hr.from_dataframe expects a DataFrame of PySpark, got {type(frame).__name__}", hint=hint, site=here()
        )
    return _read(lift_frame(frame), streams(), None)


def _read(
    answer: Mapping[str, Any],
    tables: Mapping[str, Stream],
    query: str | None,
    emit: str = CHANGES,
    early_ms: int = 0,
    expires_ms: int | None = None,
    outside: Mapping[str, Table] | None = None,
) -> Stream:
    if "tree" not in answer:
        raise _refused(answer, query, tables)
    site = here()
    for text in answer["warnings"]:
        warnings.warn_explicit(f"hr.sql: {text}", UserWarning, site.file if site else "headrace", site.line if site else 0)
    nodes = {name.lower(): stream._node for name, stream in tables.items()}
    beside = {name.lower(): table for name, table in (outside or {}).items()}
    return Stream(Tree(answer["tree"], nodes, beside, here(), emit, early_ms, expires_ms).read())


def _refused(answer: Mapping[str, Any], query: str | None, tables: Collection[str] = ()) -> HeadraceError:
    """Returns the error for a query: problem, place and hint. Without `query`, the place is the error's site and not in the message."""
    problem = answer.get("refused") or answer["error"]
    line = problem.get("line")
    site = here(line, problem.get("column"))
    place = "" if query is None else _place(problem, query)
    if "refused" in answer:
        placed = place or (line is not None and site is not None and site.column)
        place = place or (f", in `{problem['text']}`" if problem.get("text") and not placed else "")
        cure = problem.get("cure")
        unknown = _UNKNOWN.fullmatch(problem["what"])
        if unknown and unknown[1].lower() in (name.lower() for name in tables):
            cure = "leave out STREAM: every table is a stream here"
            return PlanError("BAD_QUERY", f"STREAM before a table cannot be kept up to date{place}", hint=cure, site=site)
        if unknown and cure:
            message = f"there is no table `{unknown[1]}`{place}"
            return PlanError("BAD_QUERY", message, hint=suggestion(unknown[1], tables, cure), site=site)
        return PlanError("BAD_QUERY", f"{problem['what']} cannot be kept up to date{place}", hint=cure, site=site)
    if problem["class"].startswith("UNRESOLVED_ROUTINE"):
        name = problem["parameters"].get("routineName", "").replace("`", "")
        return PlanError("UNKNOWN_FUNCTION", f"Spark has no function `{name}`{place}", hint=unregistered(name), site=site)
    hint = _AS_OF if re.search(r"(?i)\bSYSTEM_TIME\s+AS\s+OF\b", query or "") else _column_meant(problem)
    return PlanError("BAD_QUERY", f"Spark refuses the query{place}: {sentence(problem['message'])}", hint=hint, site=site)


def _column_meant(problem: Mapping[str, Any]) -> str | None:
    """Returns a hint with the nearest of the columns that Spark proposes for an unknown one."""
    if not problem["class"].startswith("UNRESOLVED_COLUMN"):
        return None
    name, proposed = (problem.get("parameters", {}).get(one, "").replace("`", "") for one in ("objectName", "proposal"))
    return suggestion(name, proposed.split(", ")) or None


_UNKNOWN = re.compile("the table (.*), which is not one of the given streams,?")
_AS_OF = "use the verb: orders.join_asof(rates, on='pair', time=('ts', 'at'))"


def _place(problem: Mapping[str, Any], query: str) -> str:
    """Returns the line and column in a query, with its text from there on."""
    line, column = problem.get("line"), problem.get("column")
    if line is None or column is None:
        return ""
    lines = query.splitlines()
    text = lines[line - 1][column - 1 :].strip() if 0 < line <= len(lines) else ""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f" at line {line}, column {column}" + (f": `{shown}`" if shown else "")
