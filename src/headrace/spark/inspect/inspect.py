"""The calls into the kernel that decode state and query it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from headrace.analysis.faults import Fault, error_of
from headrace.errors import HeadraceError
from headrace.jvm.frames import Rows, decoded, java_session
from headrace.jvm.session import jvm, session
from headrace.ops.relational import stateful
from headrace.ports.paths import escaped
from headrace.schema import Struct, parse_schema
from headrace.schema.values import zone
from headrace.spark.checkpoint.folder import Stored, query_folder
from headrace.spark.compile import lower
from headrace.spark.inspect.parts import Inspection, KeptText, PortableStateText, StateText, StoreStateText
from headrace.spark.inspect.tables import Kept
from headrace.spark.run.failures import of_java
from headrace.spelling import suggestion

T = TypeVar("T")


class Inspected:
    """The tables of stored state, in a session of their own. Reads nothing until rows are requested.

    `state`: where the state of an operator lies, in stores of so many `partitions`. `folder` is for errors.
    """

    def __init__(
        self, folder: Path, stored: Stored, operators: Sequence[Kept], state: Callable[[Kept], StateText], partitions: int
    ) -> None:
        self._folder = folder
        self._zone = zone(stored.settings["spark.sql.session.timeZone"])
        request = document(stored, operators, state, partitions)
        spark = session()
        kernel = jvm(spark).headrace.inspect.Inspect
        self._tables = self._called(lambda: kernel.open(java_session(spark), request))
        self.schemas: dict[str, Struct] = {name: parse_schema(ddl) for name, ddl in json.loads(self._tables.schemas()).items()}

    def count(self, name: str) -> int:
        """Return the number of rows in a table."""
        return int(self._called(lambda: self._tables.count(name)))

    def table(self, name: str, limit: int | None) -> tuple[Rows, Struct]:
        """Return the rows of a table, in the order of its columns, up to a limit."""
        return self._rows(lambda: self._tables.table(name, -1 if limit is None else limit))

    def query(self, sql: str, limit: int | None) -> tuple[Rows, Struct]:
        """Return the rows of a query over the tables, up to a limit."""
        fault = self._tables.fault(sql)
        if fault is not None:
            raise self._refused(json.loads(fault))
        return self._rows(lambda: self._tables.query(sql, -1 if limit is None else limit))

    def write(self, name: str, to: Path) -> None:
        """Write the rows of a table to a folder, as Parquet files."""
        self._called(lambda: self._tables.write(name, str(to)))

    def _rows(self, ask: Callable[[], Any]) -> tuple[Rows, Struct]:
        return decoded(self._called(ask), self._zone)

    def _called(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as problem:
            error = of_java(problem, None)
            if error is None:
                raise
            raise unreadable(self._folder, error) from None

    def _refused(self, problem: Mapping[str, Any]) -> HeadraceError:
        """Return the error of a query, worded as for texts of a plan."""
        if problem["class"].startswith("TABLE_OR_VIEW_NOT_FOUND"):
            return unknown_table(problem["parameters"].get("relationName", "").replace("`", ""), self.schemas)
        words = {word.lower() for word in re.findall(r"\w+", problem["text"])}
        columns = {field.name: field for name, schema in self.schemas.items() if name.lower() in words for field in schema.fields}
        error = error_of(Fault.from_json(problem, None, Struct(tuple(columns.values()))))
        if error.code == "BAD_SYNTAX":
            error.hint = "write one SELECT of Spark SQL over the tables of the state"
        return error


def unknown_table(name: str, tables: Mapping[str, Struct]) -> HeadraceError:
    """Return the error for a table that the state does not have."""
    hint = suggestion(name, tables, f"it has: {', '.join(tables)}")
    return HeadraceError("UNKNOWN_TABLE", f"the state has no table {name}", hint=hint)


def unreadable(folder: Path, error: HeadraceError) -> HeadraceError:
    """Return the error that stopped the reading of a state, as STATE_UNREADABLE unless it has a more precise code."""
    if error.code not in ("RUN_FAILED", "INPUT_GONE", "CHECKPOINT_UNREADABLE"):
        return error
    return HeadraceError(
        "STATE_UNREADABLE",
        f"the state in {folder} cannot be read: {error.message}",
        hint="a running job deletes its oldest epochs: try again. "
        "A checkpoint that was moved can be read after its job has started in the new place.",
    )


def in_stores(folder: Path, at: Mapping[str, int]) -> Callable[[Kept], StateText]:
    """Return where state lies in a checkpoint; `at` is the epoch of each query."""
    return lambda one: StoreStateText(checkpoint=str(query_folder(folder, one.query)), epoch=at[one.query], level=one.entry.shape.level)


def in_files(folder: Path) -> Callable[[Kept], StateText]:
    """Return where state lies in a portable savepoint; `folder`: that of its state."""
    return lambda one: PortableStateText(files=escaped(folder))


def document(stored: Stored, operators: Sequence[Kept], state: Callable[[Kept], StateText], partitions: int) -> str:
    """Return the kernel's document: the operators whose tables are requested, and where their state lies."""
    inspection = Inspection(
        settings=dict(stored.settings),
        partitions=partitions,
        operators=tuple(
            KeptText(operator=lower.kept(stateful(one.node), one.entry), state=state(one), called=one.name) for one in operators
        ),
    )
    return json.dumps(inspection.to_json())
