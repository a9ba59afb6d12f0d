"""Corrections of sinks in places that need no server, read by independent readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.engine import corrected

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.full
def test_sqlite(tmp_path: Path) -> None:
    corrected.check(tmp_path, lambda rows, place: rows.write.jdbc(f"sqlite:{tmp_path}/shop.db", place, key="k", name="sums"), 3)


@pytest.mark.full
def test_delta(tmp_path: Path) -> None:
    corrected.check(tmp_path, lambda rows, place: rows.write.delta(str(tmp_path / "delta" / place), key="k", name="sums"))


@pytest.mark.full
def test_iceberg(tmp_path: Path) -> None:
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    corrected.check(tmp_path, lambda rows, place: rows.write.iceberg(f"shop.{place}", key="k", name="sums", catalog=catalog))


@pytest.mark.full
def test_iceberg_while_the_job_runs(tmp_path: Path) -> None:
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    corrected.check_running(tmp_path, lambda rows, place: rows.write.iceberg(f"shop.{place}", key="k", name="sums", catalog=catalog))
