"""The net rows of an epoch, staged as Parquet files, merged into a table by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.ports.weights import WEIGHT
from headrace.schema import Atomic, Struct

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

_FLOATS = ("float", "double")


def staged_rows(files: Any, paths: Sequence[str], key: Sequence[str], schema: Struct) -> Any:
    """One row of each key, as a table of pyarrow: the one that comes, or where none does the one that goes."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    rows = ds.dataset(list(paths), format="parquet", filesystem=files).to_table()
    place = pa.array(range(rows.num_rows), pa.int64())
    comes = pc.if_else(pc.greater(rows[WEIGHT], 0), place, pa.scalar(None, pa.int64()))
    # −0.0 and 0.0 are one key.
    keys = {f"k{number}": pc.add(rows[name], 0.0) if _float(schema, name) else rows[name] for number, name in enumerate(key)}
    groups = pa.table({**keys, "place": place, "comes": comes}).group_by(list(keys)).aggregate([("place", "max"), ("comes", "max")])
    return rows.take(pc.coalesce(groups["comes_max"], groups["place_max"]))


def merge(table: DeltaTable, rows: Any, key: Sequence[str], schema: Struct, said: CommitProperties) -> None:
    """Delete, update and insert in one commit. A null is a key like any other."""
    fits = " AND ".join(f"({_side('old', name, schema)} IS NOT DISTINCT FROM {_side('new', name, schema)})" for name in key)
    weight = f"new.{WEIGHT}"
    columns = {_quoted(name): f"new.{_quoted(name)}" for name in schema.names}
    merging = table.merge(rows, fits, source_alias="new", target_alias="old", commit_properties=said)
    merging = merging.when_matched_delete(f"{weight} < 0").when_matched_update(columns, f"{weight} > 0")
    merging.when_not_matched_insert(columns, f"{weight} > 0").execute()


def _side(alias: str, name: str, schema: Struct) -> str:
    column = f"{alias}.{_quoted(name)}"
    return f"({column} + 0.0)" if _float(schema, name) else column


def _float(schema: Struct, name: str) -> bool:
    kind = schema.get(name)
    return isinstance(kind, Atomic) and kind.name in _FLOATS


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
