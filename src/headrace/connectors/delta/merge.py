"""The net rows of an epoch, merged into a table by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.connectors.delta.table import carry
from headrace.connectors.lake.staged import is_float
from headrace.ports.weights import WEIGHT
from headrace.schema import Struct

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable


def merge(
    table: DeltaTable, rows: Any, key: Sequence[str], schema: Struct, commit_properties: CommitProperties, *, whole: bool = False
) -> None:
    """Delete, update and insert in one commit. Null is a key like any other. `whole`: rows with other keys are deleted too."""
    fits = " AND ".join(f"({_side('old', name, schema)} IS NOT DISTINCT FROM {_side('new', name, schema)})" for name in key)
    weight = f"new.{WEIGHT}"
    columns = {_quoted(name): f"new.{_quoted(name)}" for name in schema.names}
    merging = table.merge(rows, fits, source_alias="new", target_alias="old", commit_properties=commit_properties)
    merging = merging.when_matched_delete(f"{weight} < 0").when_matched_update(columns, f"{weight} > 0")
    if whole:
        merging = merging.when_not_matched_by_source_delete()
    metrics = merging.when_not_matched_insert(columns, f"{weight} > 0").execute()
    if not metrics["num_target_files_added"] and not metrics["num_target_files_removed"]:
        # deltalake does not commit a merge that changes no file
        carry(table, commit_properties)


def _side(alias: str, name: str, schema: Struct) -> str:
    column = f"{alias}.{_quoted(name)}"
    return f"({column} + 0.0)" if is_float(schema, name) else column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
