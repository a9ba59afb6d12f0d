"""Exporting: a savepoint, whose state lies in Spark's stores, as a portable one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from headrace.durable import private
from headrace.errors import HeadraceError
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.spark.checkpoint.copying import copy
from headrace.spark.checkpoint.folder import Stored, query_folder, stored_in
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import newest_term
from headrace.spark.checkpoint.savepoints import FILE as SAVEPOINT
from headrace.spark.checkpoint.savepoints import Savepoint
from headrace.spark.checkpoint.schema_paths import readable
from headrace.spark.deploy.beside import LOG, beside, reveal
from headrace.spark.deploy.parts import ExportText
from headrace.spark.deploy.stores import Origin
from headrace.spark.inspect.inspect import Inspected, in_files, unreadable
from headrace.spark.inspect.tables import kept
from headrace.spark.portable.contents import CHECKPOINT, STATE, TABLES, Operator, Portable, contents, write
from headrace.spark.run.failures import of_java, reason_of


def export(savepoint: Savepoint, to: Path) -> Portable:
    """Write a savepoint as a portable one to the folder `to`, which must not exist."""
    to = to.absolute()
    if to.exists():
        raise HeadraceError("SAVEPOINT_EXISTS", f"{to} exists already", hint="choose another folder, or remove that one first")
    stored = stored_in(savepoint.folder)
    if stored is None:
        raise unreadable_job(savepoint.folder)
    with beside(to, _unwritable) as fresh:
        private.folder(fresh)
        copy(savepoint.folder, fresh / CHECKPOINT, state=False, links=False)
        (fresh / CHECKPOINT / SAVEPOINT).unlink()
        (fresh / CHECKPOINT / f"lock.{newest_term(savepoint.folder)}").touch()
        operators = _state(savepoint.folder, stored, fresh)
        tables = _tables(savepoint.folder, stored, operators, fresh)
        for checksum in [*(fresh / STATE).rglob(".*.crc"), *(fresh / TABLES).rglob(".*.crc")]:
            checksum.unlink()  # each file's SHA-256 is in the description
        about = {key: value for key, value in savepoint.to_json().items() if key not in ("folder", "pinned")}
        write(fresh, about, operators, tables)
        reveal(fresh, to)
    return contents(to).portable


def unreadable_job(folder: Path) -> HeadraceError:
    """Return the error for a checkpoint without `job.json`."""
    return HeadraceError("NOT_A_CHECKPOINT", f"{folder} has no job.json", hint="name a savepoint that headrace savepoint list shows")


def _unwritable(folder: Path, problem: OSError) -> HeadraceError:
    what = f"the portable savepoint {folder} cannot be written: {reason_of(problem)}"
    return HeadraceError("FOLDER_NOT_WRITABLE", what, hint="choose another folder, or give this user the right to write there")


def _state(folder: Path, stored: Stored, to: Path) -> dict[str, Operator]:
    """Write the state of all operators. Returns those that have some, by their stored names."""
    names = {entry.op: entry.shape.name for query in stored.identity.queries for entry in query.entries}
    with ExitStack() as views:
        stores = []
        for query in stored.identity.queries:
            place = query_folder(folder, query.name)
            epoch = logged(place, "commits")
            if epoch >= 0:
                stores.append(Origin(query, views.enter_context(readable(place)), epoch, stored.partitions).text(set(names)))
        request = ExportText(from_=tuple(stores), to=str(to / STATE), settings=dict(stored.settings))
        spark = session()
        try:
            answer = json.loads(jvm(spark).headrace.deploy.Export.run(java_session(spark), json.dumps(request.to_json())))
        except Exception as problem:
            error = of_java(problem, to / LOG)
            if error is None:
                raise
            # a full disk, for example, is not the fault of the state
            raise (unreadable(folder, error) if error.code in ("INPUT_GONE", "CHECKPOINT_UNREADABLE") else error) from None
    return {names[one["op"]]: Operator(one["op"], one["keys"], one["pages"], one["bytes"]) for one in answer}


def _tables(folder: Path, stored: Stored, operators: Mapping[str, Operator], to: Path) -> dict[str, str]:
    """Write the tables of the exported state. Returns the columns of each, as DDL."""
    there = [one for one in kept(stored) if one.entry.shape.name in operators]
    if not there:
        return {}
    inspected = Inspected(folder, stored, there, in_files(to / STATE), partitions=1)
    for name in inspected.schemas:
        inspected.write(name, to / TABLES / name)
    return {name: schema.ddl for name, schema in inspected.schemas.items()}
