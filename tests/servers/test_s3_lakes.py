"""Tables of Delta and Iceberg in a store that speaks S3, written by a job that is killed and read by their own readers."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.servers.s3 import BUCKET, KEY, S3, SECRET
from tests.servers.test_s3_files import lay_out, start

pytestmark = pytest.mark.full

TOLD = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ALLOW_HTTP": "true"}


def of_delta(s3: S3, folder: Path, name: str) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of the table, and the files that it names."""
    from deltalake import DeltaTable

    table = DeltaTable(f"s3://{BUCKET}/{name}", storage_options={**TOLD, "AWS_ENDPOINT_URL": s3.address})
    return table.to_pyarrow_table().to_pylist(), {path.partition(f"/{name}/")[2] for path in table.file_uris()}


def of_iceberg(s3: S3, folder: Path, name: str) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of the table, and the files that it names."""
    from pyiceberg.catalog import load_catalog

    told = {"s3.endpoint": s3.address, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    scan = load_catalog("default", type="sql", uri=f"sqlite:///{folder}/catalog.db", **told).load_table("db.rows").scan()
    return scan.to_arrow().to_pylist(), {task.file.file_path.partition(f"/{name}/")[2] for task in scan.plan_files()}


@pytest.mark.parametrize("lake", ["delta", "iceberg"])
@pytest.mark.parametrize("point", ["before sink commit@out#2:kill", "in sink commit@out#2:kill"])
def test_killed_at_a_point(s3: S3, tmp_path: Path, point: str, lake: str) -> None:
    rows, name = lay_out(tmp_path), tmp_path.name
    place = f"s3://{BUCKET}/{name}"
    assert start(s3, tmp_path, lake, place, point) == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
    assert start(s3, tmp_path, lake, place) == 0, (tmp_path / "log").read_text()[-3000:]
    found, named = (of_delta if lake == "delta" else of_iceberg)(s3, tmp_path, name)
    assert Counter((row["k"], row["id"]) for row in found) == Counter(rows)
    assert {file for file in s3.names(name) if file.endswith(".parquet")} == named, "files that belong to nobody"
