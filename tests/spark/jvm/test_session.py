"""The session: made, taken, refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from headrace.jvm import compile as kernel
from headrace.jvm import java
from headrace.jvm import session as module
from headrace.jvm.locale import utf8_environment
from headrace.jvm.session import session
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_running_session_is_taken(spark: SparkSession) -> None:
    assert session() is spark
    assert session(spark, master="local[2]", conf={"spark.ui.enabled": False}) is spark
    # A session beside it has its own settings and the same JVM.
    other = spark.newSession()
    assert session(other) is other


def test_the_kernel_is_in_it(spark: SparkSession) -> None:
    assert module._carried(spark) == kernel.kernel().key


def test_classes_are_loaded_ahead(spark: SparkSession, tmp_path: Path) -> None:
    """Those of a list, whatever else it names."""
    names = ["no.such.Class", "org.apache.spark.ml.clustering.LDA", "org.apache.spark.ml.fpm.PrefixSpan"]
    (tmp_path / "classes.txt").write_text("".join(f"{name}\n" for name in names))
    loaded = module.jvm(spark).java.lang.management.ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount
    before = loaded()
    module.jvm(spark).headrace.Preload.begin(str(tmp_path / "classes.txt")).join()
    assert loaded() >= before + 2


def test_nothing_listens_beyond_this_machine(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_other_settings_than_the_running_session_has(spark: SparkSession) -> None:
    check_error(
        """
        SESSION_RUNNING: expected spark.master = local[7], but the running session has local[2]
          hint: stop the running session first, or pass no settings
          more: headrace error SESSION_RUNNING
        """,
        lambda: session(master="local[7]"),
    )
    check_error(
        """
        SESSION_RUNNING: expected spark.x = 1, but the running session has none
          hint: set it where that session is created
          more: headrace error SESSION_RUNNING
        """,
        lambda: session(spark, conf={"spark.x": 1}),
    )


def test_a_kernel_of_another_headrace(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_attached", set())
    monkeypatch.setattr(module, "kernel", lambda: kernel.Unit("4.3.0", (("a.scala", b""),)))
    check_error(
        """
        KERNEL_OTHER: the session has the kernel <old>, but this headrace needs 137af0ec1d9eb0b6
          hint: start a new session (and remove an old headrace jar from spark.jars)
          more: headrace error KERNEL_OTHER
        """,
        session,
        hide={kernel.kernel().key: "<old>", kernel.Unit("4.3.0", (("a.scala", b""),)).key: "137af0ec1d9eb0b6"},
    )


def test_a_connect_session() -> None:
    class Remote:
        __module__ = "pyspark.sql.connect.session"

    check_error(
        """
        CONNECT_SESSION: a session of pyspark.sql.connect has no JVM in reach, but headrace needs a classic session
          hint: pass one created with SparkSession.builder.config("spark.api.mode", "classic"), or none: headrace then creates one
          more: headrace error CONNECT_SESSION
        """,
        lambda: session(Remote()),  # type: ignore[arg-type]
    )


def test_a_process_set_up_for_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    check_error(
        """
        CONNECT_SESSION: this process is set up for Spark Connect, but headrace needs a classic session
          hint: start Python without SPARK_REMOTE and without a Connect session; for a cluster, use hr.session(master=...) or pass it a session
          more: headrace error CONNECT_SESSION
        """,
        session,
    )


def test_a_spark_home_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    check_error(
        """
        SPARK_VERSION: there is no Spark with Scala 2.13 in <folder>
          hint: unset SPARK_HOME to use the Spark of the package pyspark, which headrace needs anyway
          more: headrace error SPARK_VERSION
        """,
        kernel.spark_version,
        hide={str(tmp_path): "<folder>"},
    )


def test_a_session_of_another_version() -> None:
    check_error(
        """
        SPARK_VERSION: the session has Spark 4.0.1, but the package pyspark is <version>
          hint: use the same version on both sides; headrace supports Spark 4.2 and 4.3
          more: headrace error SPARK_VERSION
        """,
        lambda: module._same_version("4.0.1", "the session"),
        hide={pyspark.__version__: "<version>"},
    )


def test_a_spark_that_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.2")
    check_error(
        """
        SPARK_VERSION: SPARK_HOME has Spark 4.1.2, but headrace supports Spark 4.2 and 4.3
          hint: pip install "pyspark>=4.2,<4.4"
          more: headrace error SPARK_VERSION
        """,
        lambda: module._same_version("4.1.2", "SPARK_HOME"),
    )


def run(script: str) -> subprocess.CompletedProcess[str]:
    kernel.kernel_jar()  # building it says so on the terminal
    home = java.find().home  # plain PySpark finds no Java by itself where that comes from a package
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **utf8_environment(), **({"JAVA_HOME": str(home)} if home else {})},
        timeout=240,
        check=False,
    )


@pytest.mark.full
def test_a_session_that_plain_pyspark_made_gets_the_kernel_after_a_restart_too() -> None:
    done = run("""
        from pyspark.sql import SparkSession
        import headrace.jvm.session as s
        for _ in range(2):
            plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
            taken = s.session()
            print(taken is plain, s._carried(taken) == s.kernel().key, any("headrace-kernel" in jar for jar in taken._jsc.sc().listJars().mkString(",").split(",")))
            plain.stop()
        ours = s.session(master="local[1]")
        print(ours.range(3).count())
        ours.stop()
    """)
    assert done.stdout.split() == ["True", "True", "True"] * 2 + ["3"], done.stderr


def test_spark_does_not_start() -> None:
    done = run(
        """
        from headrace.errors import HeadraceError
        from headrace.jvm.session import session
        try:
            session(master="local[1]", conf={"spark.driver.memory": "1"})
        except HeadraceError as error:
            print(error)
    """
    )
    log = done.stdout.partition("the log is in ")[2].partition(";")[0]
    check_error(
        """
        SESSION_START: Spark did not start on local[1]: Too small maximum heap
          hint: the log is in <log>; `headrace doctor` checks Java, memory, disk and the rest
          more: headrace error SESSION_START
        """,
        done.stdout,
        hide={log: "<log>"},
    )


@pytest.mark.full
def test_options_of_spark_submit_win(tmp_path: Path) -> None:
    script = tmp_path / "submitted.py"
    script.write_text(
        "import headrace as hr\n"
        "spark = hr.session()\n"
        "print('HERE', spark.sparkContext.master, spark.conf.get('spark.sql.session.timeZone'), spark.conf.get('spark.ui.enabled'))\n"
        "print(hr.collect(hr.read.memory([('a', 1)], 'card string, n int')).rows())\n",
        encoding="utf-8",
    )
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    runtime = java.find()
    environment = {**os.environ, **({"JAVA_HOME": str(runtime.home)} if runtime.home else {}), "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3] / "src")
    options = ["--master", "local[1]", "--conf", "spark.sql.session.timeZone=Europe/Berlin"]
    done = subprocess.run([submit, *options, script], env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["HERE local[1] Europe/Berlin false", "[('a', 1)]"]


def test_the_terminal_stays_quiet() -> None:
    """But for PySpark's warning about pandas 3, which is a matter of those who use it: for its first call into the JVM, PySpark imports its tests."""
    done = run("""
        import sys
        import warnings
        import pandas
        pandas.__version__ = "3.0.0"
        warnings.simplefilter("always")
        from headrace.jvm.session import log_file, session
        spark = session(master="local[1]")
        try:
            spark.sql("SELECT raise_error('in a task')").collect()
        except Exception:
            pass
        assert "in a task" in log_file().read_text(encoding="utf-8")
        print("quiet", file=sys.stderr, flush=True)
        spark.range(2).toPandas()
        spark.stop()
    """)
    before, _, after = done.stderr.partition("quiet\n")
    assert (done.stdout, before, done.returncode) == ("", "", 0), done.stderr
    warned = [line for line in after.splitlines() if "PySpark does not yet fully support pandas" in line]
    assert len(warned) == 1 and "/pyspark/testing/utils.py" not in warned[0], done.stderr
