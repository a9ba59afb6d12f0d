"""A job is compiled once, and what Spark said of a plan stays with it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from headrace.analysis import schemas
from headrace.jvm import compile as kernel
from headrace.jvm.locale import utf8_environment
from headrace.plan import Plan
from headrace.plan.meaning import meant
from headrace.spark.compile import job as compiling

pytestmark = pytest.mark.usefixtures("spark")

ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often Spark checks a plan, and how often a job is compiled."""
    counts: Counter[str] = Counter()
    check, compilation = schemas._ask, compiling._compiled

    def checked(plan: Plan, origin: schemas._Checked) -> schemas._Checked:
        counts["checked"] += 1
        return check(plan, origin)

    def compiled(plan: Plan) -> object:
        counts["compiled"] += 1
        return compilation(plan)

    monkeypatch.setattr(schemas, "_ask", checked)
    monkeypatch.setattr(compiling, "_compiled", compiled)
    return counts


def charges() -> hr.Stream:
    return hr.read.memory([("a", 1), ("b", 600)], "card string, amount int", name="charges")


def test_a_job_is_compiled_when_it_is_made(times: Counter[str], tmp_path: Path) -> None:
    job = hr.job("large", charges().filter("amount > 500").select("card").write.memory())
    job.explain(verbose=True)
    for folder in ("one", "another"):
        assert job.run(checkpoint=tmp_path / folder, progress=False).rows == 2
    assert times == {"checked": 1, "compiled": 1}


def test_a_plan_that_a_rule_changes_is_checked_again(times: Counter[str], tmp_path: Path) -> None:
    spent = charges().group_by("card").agg(spent="sum(amount)").filter("card <> 'a'")
    job = hr.job("spent", spent.write.memory())
    assert "rewritten by the rules" in str(job.explain(verbose=True))
    job.run(checkpoint=tmp_path, progress=False)
    assert times == {"checked": 2, "compiled": 1}


def test_a_job_that_was_loaded_is_compiled_when_it_is_used(times: Counter[str], tmp_path: Path) -> None:
    stored = hr.job("large", charges().write.console()).plan.to_json()
    times.clear()
    job = hr.Job(Plan.from_json(stored))
    assert not times
    job.explain()
    job.explain(verbose=True)
    assert times == {"checked": 1, "compiled": 1}


def test_a_script_hands_its_compiled_job_on(times: Counter[str], tmp_path: Path) -> None:
    file = tmp_path / "job.sql"
    rows = tmp_path / "in"
    rows.mkdir()
    (rows / "1.json").write_text('{"a": 1}\n', encoding="utf-8")
    file.write_text(
        f"CREATE SOURCE rows (a INT) WITH (connector = 'files', path = '{rows}', format = 'json');"
        "CREATE SINK out WITH (connector = 'memory'); INSERT INTO out SELECT a FROM rows",
        encoding="utf-8",
    )
    job = hr.load(file)
    times.clear()
    assert job.run(checkpoint=tmp_path / "state", progress=False).rows == 1
    assert not times


def test_jobs_do_not_drive_each_other_out(times: Counter[str]) -> None:
    jobs = [hr.job(f"job_{n}", charges().filter(f"amount > {n}").write.memory()) for n in range(8)]
    times.clear()
    for job in jobs:
        job.explain(verbose=True)
    assert not times


def test_a_job_runs_in_another_thread_than_it_was_made_in(times: Counter[str], tmp_path: Path) -> None:
    job = hr.job("large", charges().write.memory())
    summaries: list[hr.Summary] = []
    thread = threading.Thread(target=lambda: summaries.append(job.run(checkpoint=tmp_path, progress=False)))
    thread.start()
    thread.join()
    assert [one.rows for one in summaries] == [2]
    assert times == {"checked": 1, "compiled": 1}


def test_a_stream_asks_for_its_schema_once(times: Counter[str]) -> None:
    stream = charges().with_columns(at="TIMESTAMP '2026-01-01 00:00:00'")
    assert [stream.schema.ddl for _ in range(2)] == ["card string, amount int, at timestamp"] * 2
    stream.explain()
    stream.select("card")
    assert times["checked"] == 1
    with meant({ZONE: "Asia/Tokyo", "spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        assert stream.schema.ddl.endswith("at timestamp_ntz")
    assert times["checked"] == 2


@pytest.mark.full
def test_a_job_outlives_the_session_it_was_made_in(tmp_path: Path) -> None:
    kernel.kernel_jar()  # building it says so on the terminal
    script = f"""
        import headrace as hr
        spark = hr.session(master="local[1]")
        charges = hr.read.memory([("a", 1), ("b", 600)], "card string, amount int", name="charges")
        job = hr.job("large", charges.group_by("card").agg(n="count(*)").write.memory())
        spark.stop()
        print(job.run(checkpoint={str(tmp_path / "one")!r}, progress=False).rows)
        hr.session().stop()
        print(job.run(checkpoint={str(tmp_path / "another")!r}, progress=False).rows)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **utf8_environment()},
        timeout=240,
        check=False,
    )
    assert done.stdout.split() == ["2", "2"], done.stderr
