"""A package of somebody else brings a connector by its entry point alone: it is read, written and looked up in like headrace's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.plan import Plan
from tests.spark.conformance.lines import installed

YAML = """
job: tray
sources:
  orders: {connector: tray, folder: in, schema: "id int, k string"}
lookups:
  names: {connector: tray, folder: names, schema: "k string, name string"}
views:
  named:
    from: orders
    steps:
      - lookup: {table: names, on: k}
sinks:
  out: {from: named, connector: tray, folder: out}
"""


def test_a_connector_of_another_package(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, lines in {"in": [{"id": 1, "k": "a"}, {"id": 2, "k": "b"}], "names": [{"k": "a", "name": "Ann"}]}.items():
        Path(folder).mkdir()
        Path(folder, "some.json").write_text("\n".join(map(json.dumps, lines)))
    Path("job.yaml").write_text(YAML)
    with installed("tray", "tests.spark.tray", tmp_path):
        orders = hr.read.tray(str(tmp_path / "in"), schema="id int, k string", name="orders")
        names = hr.lookup.tray(str(tmp_path / "names"), schema="k string, name string", name="names")
        job = hr.job("tray", orders.lookup(names, on="k").named("named").write.tray(str(tmp_path / "out"), name="out"))
        assert job.explain().to_json()["nodes"][-1]["facts"]["guarantee"]["value"] == "exactly once"
        stored = Plan.from_json(json.loads(json.dumps(job.plan.to_json())))
        assert stored.fingerprint == job.plan.fingerprint
        assert hr.load("job.yaml").plan.nodes.keys() == job.plan.nodes.keys()
        job.run(progress=False)
    rows = [json.loads(line) for file in Path("out").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(rows, key=lambda row: row["id"]) == [{"id": 1, "k": "a", "name": "Ann"}, {"id": 2, "k": "b", "name": None}]
