"""The net rows of an epoch that tasks have staged as Parquet files for a sink with a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.ports.weights import WEIGHT
from headrace.schema import Atomic, Struct


def staged_rows(files: Any, paths: Sequence[str], key: Sequence[str], schema: Struct) -> Any:
    """One row per key, as a pyarrow table: the inserted one, or else the retracted one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    rows = ds.dataset(list(paths), format="parquet", filesystem=files).to_table()
    place = pa.array(range(rows.num_rows), pa.int64())
    comes = pc.if_else(pc.greater(rows[WEIGHT], 0), place, pa.scalar(None, pa.int64()))
    # −0.0 and 0.0 are one key.
    keys = {f"k{number}": pc.add(rows[name], 0.0) if is_float(schema, name) else rows[name] for number, name in enumerate(key)}
    groups = pa.table({**keys, "place": place, "comes": comes}).group_by(list(keys)).aggregate([("place", "max"), ("comes", "max")])
    return rows.take(pc.coalesce(groups["comes_max"], groups["place_max"]))


def is_float(schema: Struct, name: str) -> bool:
    kind = schema.get(name)
    return isinstance(kind, Atomic) and kind.name in ("float", "double")
