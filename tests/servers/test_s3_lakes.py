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

STORAGE = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ALLOW_HTTP": "true"}


def of_delta(s3: S3, folder: Path, table: str) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of a table, and the files that it names."""
    from deltalake import DeltaTable

    opened = DeltaTable(f"s3://{BUCKET}/{folder.name}/{table}", storage_options={**STORAGE, "AWS_ENDPOINT_URL": s3.address})
    return opened.to_pyarrow_table().to_pylist(), {within(uri, folder) for uri in opened.file_uris()}


def of_iceberg(s3: S3, folder: Path, table: str) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of a table, and the files that it names."""
    from pyiceberg.catalog import load_catalog

    settings = {"s3.endpoint": s3.address, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    scan = load_catalog("default", type="sql", uri=f"sqlite:///{folder}/catalog.db", **settings).load_table(f"db.{table}").scan()
    return scan.to_arrow().to_pylist(), {within(task.file.file_path, folder) for task in scan.plan_files()}


def within(address: str, folder: Path) -> str:
    return address.partition(f"/{folder.name}/")[2]


@pytest.mark.parametrize("lake", ["delta", "iceberg"])
@pytest.mark.parametrize("point", ["before sink commit@out#2:kill", "in sink commit@summed#2:kill"])
def test_killed_at_a_point(s3: S3, tmp_path: Path, point: str, lake: str) -> None:
    rows, place = lay_out(tmp_path), f"s3://{BUCKET}/{tmp_path.name}"
    assert start(s3, tmp_path, lake, place, point) == -signal.SIGKILL, (tmp_path / "log").read_text()[-3000:]
    assert start(s3, tmp_path, lake, place) == 0, (tmp_path / "log").read_text()[-3000:]
    look = of_delta if lake == "delta" else of_iceberg
    content, named = look(s3, tmp_path, "rows")
    assert Counter((row["k"], row["id"]) for row in content) == Counter(rows)
    lying = {file for file in s3.names(tmp_path.name) if file.endswith(".parquet") and "/rows/" in f"/{file}"}
    assert lying == named, "files that belong to nobody"
    summed, _ = look(s3, tmp_path, "sums")
    groups = {k: [number for key, number in rows if key == k] for k, _ in rows}
    assert sorted((row["k"], row["n"], row["s"]) for row in summed) == sorted((k, len(all), sum(all)) for k, all in groups.items())
    assert not [file for file in s3.names(tmp_path.name) if "_headrace/staging" in file]
