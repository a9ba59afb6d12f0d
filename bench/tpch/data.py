"""The rows of TPC-H, made once by `tpchgen-cli` and kept in `.headrace/bench`. Making them is not measured."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from typing import Any

from bench.environments import CACHE
from bench.tpch.tables import SCHEMAS


def tables(scale: float) -> dict[str, Any]:
    """Arrow tables by name."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = CACHE / f"tpch-{scale:g}"
    if not folder.exists():
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        subprocess.run([program(), "parquet", "-s", f"{scale:g}", f"--output-dir={fresh}"], check=True, capture_output=True)
        fresh.rename(folder)
    read = {name: parquet.read_table(folder / f"{name}.parquet") for name in SCHEMAS}
    # Spark does not read Arrow's string views
    return {name: table.cast(pa.schema([_plain(field) for field in table.schema])) for name, table in read.items()}


def _plain(field: Any) -> Any:
    import pyarrow as pa

    return pa.field(field.name, pa.string() if field.type == pa.string_view() else field.type)


def program() -> str:
    """Return the path of `tpchgen-cli`: where pip put it, which need not be on the PATH."""
    path = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if path is None:
        raise RuntimeError("tpchgen-cli is missing: pip install tpchgen-cli")
    return path
