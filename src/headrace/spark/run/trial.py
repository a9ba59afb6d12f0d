"""A trial of what an epoch does with a source or lookup, before anything is changed: it fails by what the user can fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headrace import ports
from headrace.errors import ConnectorError, HeadraceError
from headrace.jvm.frames import java_map
from headrace.jvm.messages import first_lines
from headrace.jvm.session import jvm, session
from headrace.masking import masked
from headrace.ops import Lookup, Source
from headrace.schema import Struct
from headrace.spark.compile.job import SparkJob
from headrace.spark.run.failures import of_java
from headrace.spark.run.loader import context_of
from headrace.spark.run.outlets import at
from headrace.syntax import quote

_TEXTS = ("json", "csv")


def try_reader(job: SparkJob, source: Source, reader: Mapping[str, Any]) -> None:
    """Raise BAD_OPTION for options with which no line of a source can be read."""
    if reader["kind"] not in _TEXTS:
        return
    name, beside = str(source.name), reader.get("beside", ())
    schema = Struct(tuple(field for field in job.schemas.of[name].fields if field.name not in beside))
    options = java_map(session(), reader.get("options", {}))
    why = jvm(session()).headrace.query.Trial.lines(reader["kind"], schema.ddl, options, bool(reader.get("records")), job.time_zone)
    if why is not None:
        raise ConnectorError(
            "BAD_OPTION", f"{name} cannot be read with its options: {first_lines(str(why))}", hint="correct the option, or leave it out"
        )


def try_source(job: SparkJob, source: Source) -> None:
    """Raise why a source cannot be read from its beginning."""
    with TemporaryDirectory() as nothing, at(source):  # nobody needs what it records here
        _, reader = source.connect().scan(session(), ports.SourceContext(str(source.name), Path(nothing), job.time_zone))
        try_reader(job, source, reader)


def try_lookup(job: SparkJob, lookup: Lookup) -> None:
    """Raise LOOKUP_FAILED for a table that is missing or cannot be read. One that is loaded whole is read to its end."""
    connected, context = lookup.connect(), context_of(job, lookup)
    if connected.traits.whole:
        try:
            frame = connected.load(session(), context).select(*(quote(name) for name in connected.schema.names))
            frame.write.format("noop").mode("overwrite").save()
        except HeadraceError as problem:
            raise _failed(lookup, problem.message) from None
        except Exception as problem:
            raise _failed(lookup, _message(problem)) from None
        return
    ask, spark = connected.ask(context), session()
    key = Struct(tuple(field for field in connected.schema.fields if field.name in context.key))
    options = java_map(spark, ask["options"])
    why = jvm(spark).headrace.query.Trial.lookup(context.name, ask["class"], key.ddl, connected.schema.ddl, options, job.time_zone)
    if why is not None:
        raise _failed(lookup, first_lines(str(why)))


def _message(problem: Exception) -> str:
    known = of_java(problem, None)
    return known.message if known is not None else f"{type(problem).__name__}: {problem}"


def _failed(lookup: Lookup, why: str) -> HeadraceError:
    return HeadraceError(
        "LOOKUP_FAILED",
        f"{lookup.name}: the lookup failed: {masked(why)}",
        hint="nothing was removed: fix the table or its address, and start again",
    )
