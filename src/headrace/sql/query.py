"""hr.sql and hr.from_dataframe: any query of Spark as a stream."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, PlanError, here
from headrace.jvm.lift import lift_frame, lift_sql
from headrace.ops.asof import version_time, versions
from headrace.ops.stream import Stream
from headrace.ops.time import event_time
from headrace.plan.meaning import meaning
from headrace.sql.tree import Reader
from headrace.sql.view import streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sql(query: str, /, **tables: Stream) -> Stream:
    """The result of a Spark SQL query over streams, kept up to date. Starts the session, as Spark reads the query.

    Each keyword is the name of a table in the query. After every epoch the result is what Spark's batch engine would answer over all rows
    so far; rows that are no longer in it are taken away.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 7), ("a", 2), ("b", 5)], "card string, amount int", name="charges")
    >>> spent = hr.sql("SELECT card, sum(amount) AS spent FROM charges GROUP BY card", charges=charges)
    >>> sorted(hr.collect(spent).rows())
    [('a', 9), ('b', 5)]
    """
    if not isinstance(query, str) or not query.strip():
        hint = 'hr.sql("SELECT ... FROM t", t=stream)'
        raise PlanError("BAD_QUERY", f"hr.sql was given {query!r}, which is no query", hint=hint, site=here())
    wrong = next((name for name, stream in tables.items() if not isinstance(stream, Stream)), None)
    if wrong is not None:
        hint = f"keywords of hr.sql are tables: hr.sql(..., {wrong}=stream)"
        raise PlanError("BAD_INPUT", f"the table `{wrong}` of hr.sql is {tables[wrong]!r}, which is no stream", hint=hint, site=here())
    schemas = {name: stream.schema.ddl for name, stream in tables.items()}
    rows = {name: versions(stream._node) for name, stream in tables.items()}
    times = {name: time for name, node in rows.items() if (time := version_time(node, event_time(node))) is not None}
    return _read(lift_sql(query, schemas, meaning(), times), tables, query)


def from_dataframe(frame: DataFrame) -> Stream:
    """The stream that a DataFrame over `stream.as_dataframe()` describes, kept up to date as a query is."""
    return _read(lift_frame(frame), streams(), None)


def _read(answer: Mapping[str, Any], tables: Mapping[str, Stream], query: str | None) -> Stream:
    if "tree" not in answer:
        raise _refused(answer, query)
    site = here()
    for text in answer["warnings"]:
        warnings.warn_explicit(f"hr.sql: {text}", UserWarning, site.file if site else "headrace", site.line if site else 0)
    return Stream(Reader({name: stream._node for name, stream in tables.items()}, here()).node(answer["tree"]))


def _refused(answer: Mapping[str, Any], query: str | None) -> HeadraceError:
    """What is wrong with a query, where, and what to write instead."""
    if "refused" in answer:
        found = answer["refused"]
        place = _place(found, query) or (f", in `{found['text']}`" if found.get("text") else "")
        return PlanError("BAD_QUERY", f"{found['what']} cannot be kept up to date{place}", hint=found.get("cure"), site=here())
    found = answer["error"]
    hint = _AS_OF if re.search(r"(?i)\bSYSTEM_TIME\s+AS\s+OF\b", query or "") else None
    return PlanError("BAD_QUERY", f"Spark refuses the query{_place(found, query)}: {_plain(found['message'])}", hint=hint, site=here())


_AS_OF = "write it with the verb: orders.join_asof(rates, on='pair', time=('ts', 'at'))"


def _place(found: Mapping[str, Any], query: str | None) -> str:
    """The line and column of a query, with its text from there on."""
    line, column = found.get("line"), found.get("column")
    if query is None or line is None or column is None:
        return ""
    lines = query.splitlines()
    text = lines[line - 1][column - 1 :].strip() if 0 < line <= len(lines) else ""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f" at line {line}, column {column}" + (f": `{shown}`" if shown else "")


def _plain(message: str) -> str:
    """Spark's sentence without its class, SQLSTATE and picture of the text."""
    message = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", message.strip())
    # Behind a colon at the end of a line Spark draws its plan.
    message = re.split(r":[ \t]*\n", message)[0]
    return re.sub(r"\s*\n\s*", " ", re.split(r"\s*(?:== SQL|== DataFrame|SQLSTATE:)", message)[0]).strip().rstrip(".;")
