"""What the doctor looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.jvm import doctor, java


def named(name: str) -> doctor.Check:
    return next(check for check in doctor.checks() if check.name == name)


def test_a_machine_on_which_these_tests_run_is_well() -> None:
    assert [check for check in doctor.checks() if check.required and not check.ok] == []


def test_what_is_missing_has_a_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "_packaged", lambda: None)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    missing = [check for check in doctor.checks() if not check.ok]
    assert [check.name for check in missing][:3] == ["pyspark", "Java", "bash"]
    assert all(check.cure for check in missing)


def test_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.launch, "machine_memory", lambda: 2 << 30)
    check = named("memory")
    assert (check.ok, check.found) == (False, "2,048 MB")


def test_the_last_log_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    assert named("log").found == "Spark has not been started yet"
    (tmp_path / "log").mkdir()
    for name in ("spark-20260101-000000-7.log", "spark-20260102-000000-3.log"):
        (tmp_path / "log" / name).touch()
    assert named("log").found.endswith("spark-20260102-000000-3.log")


def test_as_json() -> None:
    assert set(named("Python").to_json()) == {"name", "ok", "found", "cure", "required"}
