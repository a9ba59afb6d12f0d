"""A version at the places of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.engine.paths import at_places_of

pytestmark = pytest.mark.usefixtures("spark")

CHARGES = "card string, amount int"


def plan(read: Path, write: str, **options: object) -> hr.Plan:
    charges = hr.read.files(read, format="json", schema=CHARGES, name="charges")
    return hr.job("spent", charges.write.files(write, format="parquet", name="all", **options)).plan  # type: ignore[arg-type]  # any options


def test_places_change_and_nothing_else(tmp_path: Path) -> None:
    fork = plan(tmp_path / "sample", "out/all-v2", options={"compression": "zstd"}, on_refused="fail")
    parent = plan(tmp_path / "in", "out/all", options={"compression": "snappy"})
    assert (
        at_places_of(fork, parent).fingerprint
        == plan(tmp_path / "in", "out/all", options={"compression": "zstd"}, on_refused="fail").fingerprint
    )
    assert at_places_of(parent, parent).fingerprint == parent.fingerprint


def test_topics_move_without_their_columns(tmp_path: Path) -> None:
    charges = hr.read.files(tmp_path / "in", format="json", schema=CHARGES, name="charges")

    def to(topic: str, servers: str, columns: list[str]) -> hr.Plan:
        return hr.job("spent", charges.write.kafka(topic, servers=servers, columns=columns, name="all")).plan

    moved = at_places_of(to("spent-v2", "v2:9092", ["card", "amount"]), to("spent", "prod:9092", ["card"]))
    assert moved.fingerprint == to("spent", "prod:9092", ["card", "amount"]).fingerprint
