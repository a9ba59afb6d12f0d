"""One job in Python, as a script of SQL and in YAML: one fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr

QUERY = "SELECT card, count(*) AS n, sum(amount) AS spent FROM charges WHERE amount > 0 GROUP BY card"
LARGE = "SELECT card, spent FROM spend WHERE spent > 100"

SCRIPT = f"""
SET job = 'spending';
CREATE SOURCE charges (card string, amount decimal(10,2), ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '5' MINUTES)
WITH (connector = 'files', path = 'in', format = 'json');
CREATE VIEW spend AS {QUERY};
CREATE VIEW large AS {LARGE};
CREATE SINK spend_out WITH (connector = 'files', path = 'out/spend', format = 'json', mode = 'changes');
CREATE SINK large_out WITH (connector = 'files', path = 'out/large', format = 'json', mode = 'changes');
INSERT INTO spend_out SELECT * FROM spend;
INSERT INTO large_out SELECT * FROM large;
"""

YAML = f"""
job: spending
sources:
  charges:
    connector: files
    path: in
    format: json
    schema: card string, amount decimal(10,2), ts timestamp
    watermark: {{column: ts, delay: 5 minutes}}
views:
  spend: {QUERY}
  large: {LARGE}
sinks:
  spend_out: {{from: spend, connector: files, path: out/spend, format: json, mode: changes}}
  large_out: {{from: large, connector: files, path: out/large, format: json, mode: changes}}
"""


def python() -> hr.Job:
    charges = hr.read.files("in", format="json", schema="card string, amount decimal(10,2), ts timestamp", name="charges")
    spend = hr.sql(QUERY, charges=charges.watermark("ts", "5 minutes")).named("spend")
    large = hr.sql(LARGE, spend=spend).named("large")
    return hr.job(
        "spending",
        spend.write.files("out/spend", format="json", mode="changes", name="spend_out"),
        large.write.files("out/large", format="json", mode="changes", name="large_out"),
    )


def test_three_forms_are_one_job(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes on from the checkpoint of the one before."""
    monkeypatch.chdir(tmp_path)
    Path("job.sql").write_text(SCRIPT, encoding="utf-8")
    Path("job.yaml").write_text(YAML, encoding="utf-8")
    jobs = [python(), hr.load("job.sql"), hr.load("job.yaml")]
    assert len({job.plan.fingerprint for job in jobs}) == 1
    Path("in").mkdir()
    for number, job in enumerate(jobs, 1):
        rows = [{"card": card, "amount": 30 * number, "ts": f"2026-01-01 00:0{number}:00"} for card in "ab"]
        Path(f"in/{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        job.run(checkpoint="checkpoint", flush=False, progress=False)
    net: dict[str, int] = {}
    for file in hr.committed_files("out/large"):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            key = f"{row['card']} {row['spent']}"
            net[key] = net.get(key, 0) + (1 if row["_change"] == "insert" else -1)
    assert {key for key, n in net.items() if n} == {"a 180.0", "b 180.0"}
