"""The metrics and the status page of a run that lives."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import headrace as hr
from headrace import cli
from tests.spark.engine import jobs
from tests.spark.engine.test_deploy_running import job, put, running, until

pytestmark = pytest.mark.usefixtures("spark")

Samples = dict[tuple[str, ...], float]


def fetch(run: hr.Run, path: str) -> str:
    with urllib.request.urlopen(f"{run.metrics_url}{path}", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def scraped(run: hr.Run) -> Samples:
    """The values by name and the texts of their labels."""
    families = text_string_to_metric_families(fetch(run, "/metrics"))
    return {(one.name, *(one.labels[label] for label in sorted(one.labels))): one.value for family in families for one in family.samples}


def port_of(run: hr.Run) -> int:
    assert run.metrics_url is not None
    return int(run.metrics_url.rpartition(":")[2])


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_before_and_after_a_deploy(tmp_path: Path) -> None:
    put(tmp_path, 0)
    state = tmp_path / "state"
    with running(job(tmp_path, 10), state, partitions=2, metrics_port=0) as run:
        until(lambda: run.progress.rows == 50 and run.progress.epoch_ms > 0)
        before = scraped(run)
        assert before["headrace_source_read_rows_total", "sums", "rows"] == 50
        assert before["headrace_state_keys", "sums", "sums"] == before["headrace_state_keys", "sums", "stays"] == 5
        assert (
            before["headrace_sink_written_rows_total", "sums", "out"]
            == before["headrace_sink_written_rows_total", "sums", "stays_out"]
            == 5
        )
        assert before["headrace_input_rows_total", "input", "sums", "stays"] == 50
        assert before["headrace_epochs_total", "sums"] == 1 and before["headrace_last_epoch_duration_seconds", "sums"] > 0
        assert before["headrace_run_status", "sums", "running"] == 1 and before["headrace_run_failed", "sums"] == 0
        page = fetch(run, "/")
        assert "v &gt; 10" in page and "<h1>sums</h1>" in page and "<svg" in page
        assert json.loads(fetch(run, "/status.json"))["sinks"] == {"out": 5, "stays_out": 5}

        job(tmp_path, 40).deploy(checkpoint=state)
        put(tmp_path, 1)
        until(lambda: run.progress.rows == 100)
        after = scraped(run)
        assert after["headrace_source_read_rows_total", "sums", "rows"] == run.metrics["sources"][0]["read"] == 100
        assert after["headrace_input_rows_total", "input", "sums", "stays"] == 100
        assert after["headrace_epochs_total", "sums"] == run.progress.epochs >= 2
        assert after["headrace_sink_written_rows_total", "sums", "out"] == run.metrics["sinks"]["out"] > 5
        page = fetch(run, "/")
        assert "v &gt; 40" in page and "v &gt; 10" not in page
    assert is_free(port_of(run))


def test_what_only_some_jobs_have(tmp_path: Path) -> None:
    jobs.put(
        tmp_path / "in",
        "0.json",
        [("a", "0.50", jobs.minute(1)), ("a", "900.00", jobs.minute(2)), ("b", "7.00", jobs.minute(30)), "{broken"],
    )
    with running(jobs.fraud(tmp_path, follow=True), tmp_path / "state", metrics_port=0) as run:
        until(lambda: run.progress.watermark is not None)
        jobs.put(tmp_path / "in", "1.json", [("b", "7.00", jobs.minute(3))])
        until(lambda: run.metrics["inputs"][0]["late"] == 1)
        values = scraped(run)
        assert values["headrace_input_late_rows_total", "event", "fraud", "alerts"] == 1
        assert values["headrace_source_malformed_rows_total", "fraud", "charges"] == 1
        assert values["headrace_dead_letters_total", "dead_letters/main", "fraud"] == 1
        assert values["headrace_input_held_rows", "event", "fraud", "alerts"] == 1
        mark = run.progress.watermark
        assert mark is not None and values["headrace_watermark_timestamp_seconds", "fraud"] == mark.timestamp()
        assert values["headrace_watermark_lag_seconds", "fraud"] > 0 and values["headrace_outstanding_files", "fraud"] == 0


def test_it_answers_while_an_epoch_takes_long() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(rows: Any, epoch: int) -> None:
        begun.set()
        assert go_on.wait(300)

    rows = hr.read.memory([(1,), (2,)], "n int", name="rows")
    run = hr.job("slow", rows.write.foreach_batch(slow, name="out")).start(progress=False, fresh=True, metrics_port=0)
    try:
        assert begun.wait(300)
        values = scraped(run)
        assert (values["headrace_run_status", "slow", "running"], values["headrace_epochs_total", "slow"]) == (1, 0)
        assert "<h1>slow</h1>" in fetch(run, "/") and json.loads(fetch(run, "/status.json"))["status"] == "running"
    finally:
        go_on.set()
        run.wait()
    with pytest.raises(urllib.error.URLError):
        fetch(run, "/metrics")


def test_a_run_that_fails_closes_it(tmp_path: Path) -> None:
    jobs.put(tmp_path / "in", "0.json", ["{broken"])
    run = jobs.fraud(tmp_path, malformed="fail").start(checkpoint=tmp_path / "state", progress=False, metrics_port=0)
    with pytest.raises(hr.RunError, match="MALFORMED_ROW"):
        run.wait()
    assert is_free(port_of(run))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_port_in_use_changes_nothing(tmp_path: Path, fresh: bool) -> None:
    jobs.put(tmp_path / "in", "0.json", [("a", "0.50", jobs.minute(1)), ("a", "900.00", jobs.minute(1, 30))])
    state = tmp_path / "state"
    jobs.fraud(tmp_path).run(checkpoint=state, progress=False, flush=False)
    before = {**jobs.files(state), **jobs.files(tmp_path / "out")}
    locks = sorted(path.name for path in state.glob("lock*"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for folder in (state, tmp_path / "new"):
            with pytest.raises(hr.ConfigError, match=r"BAD_SETTING: `metrics_port` cannot be [0-9]+: the port is in use on 127\.0\.0\.1"):
                jobs.fraud(tmp_path).start(checkpoint=folder, progress=False, fresh=fresh, metrics_port=taken.getsockname()[1])
    assert {**jobs.files(state), **jobs.files(tmp_path / "out")} == before
    assert sorted(path.name for path in state.glob("lock*")) == locks
    assert not (tmp_path / "new").exists()


def test_a_refused_start_releases_the_port(tmp_path: Path) -> None:
    jobs.put(tmp_path / "in", "0.json", [("a", "0.50", jobs.minute(1))])
    state = tmp_path / "state"
    jobs.fraud(tmp_path).run(checkpoint=state, progress=False, partitions=2, flush=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(hr.CheckpointError, match="PARTITIONS_CHANGED"):
        jobs.fraud(tmp_path).run(checkpoint=state, progress=False, partitions=3, metrics_port=port)
    assert is_free(port)


def test_without_the_setting_there_is_no_address() -> None:
    rows = hr.read.memory([(1,)], "n int", name="rows")
    run = hr.job("without", rows.write.memory()).start(progress=False, fresh=True)
    run.wait()
    assert run.metrics_url is None


def test_by_the_command_line_and_in_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "copy.sql"
    script.write_text(
        "CREATE SOURCE rows (n INT) WITH (connector = 'files', path = 'in', format = 'json');\n"
        "CREATE SINK out WITH (connector = 'files', path = 'out', format = 'json');\n"
        "INSERT INTO out SELECT n FROM rows;\n"
    )
    put(tmp_path, 0)
    assert cli.main(["run", str(script), "--quiet", "--metrics-port", "0"]) == 0
    assert "copy: status and metrics at http://127.0.0.1:" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["run", str(script), "--quiet", "--metrics-port", str(port)]) == 1
        assert f"BAD_SETTING: --metrics-port cannot be {port}: the port is in use on 127.0.0.1\n" in capsys.readouterr().err
        script.write_text(f"SET metrics_port = {port};\n{script.read_text()}")
        assert cli.main(["run", str(script), "--quiet"]) == 1
        assert (
            f"BAD_SETTING: the setting metrics_port in the script cannot be {port}: the port is in use on 127.0.0.1\n"
            in capsys.readouterr().err
        )
        assert cli.main(["run", str(script), "--quiet", "--metrics-port", "off"]) == 0
