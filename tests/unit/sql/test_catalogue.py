"""What a script says of sources, sinks and settings, as far as no query has to be read by Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.plan import Plan
from headrace.settings import settings
from headrace.sql.catalogue import Catalogue
from headrace.syntax.script import statements
from tests.installed import READABLE, WRITABLE
from tests.unit.errors import check_error

CHARGES = "CREATE SOURCE charges (card STRING) WITH (connector = 'files', path = 'in', format = 'json');"


def catalogue_of(script: str) -> Catalogue:
    catalogue = Catalogue()
    for statement in statements(script, "job.sql"):
        catalogue.add(statement)
    return catalogue


def test_a_source_is_what_python_reads() -> None:
    catalogue = catalogue_of(
        """
        CREATE SOURCE prices (id INT, tag STRING, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '2' MINUTES)
        WITH (connector = 'files', path = 'in', format = 'csv', options.sep = ';', change_format = 'upsert', key = 'id, tag', idle = '1 hour');
        """
    )
    read = hr.read.files(
        "in",
        format="csv",
        schema="id int, tag string, price int, ts timestamp",
        options={"sep": ";"},
        change_format="upsert",
        key=["id", "tag"],
        name="prices",
    ).watermark("ts", "2 minutes", idle="1 hour")
    assert Plan.of("", [catalogue.streams["prices"]._node]).fingerprint == Plan.of("", [read._node]).fingerprint


def test_names_are_compared_without_case_and_can_be_replaced() -> None:
    catalogue = catalogue_of(
        CHARGES + "CREATE OR REPLACE SOURCE Charges (amount INT) WITH (connector = 'files', path = 'in', format = 'json')"
    )
    assert {name: stream.columns for name, stream in catalogue.streams.items()} == {"Charges": ("amount",)}
    assert catalogue_of(CHARGES + "DROP SOURCE CHARGES; DROP VIEW IF EXISTS other").created == {}


def test_what_cannot_replace_leaves_what_was_there() -> None:
    catalogue = catalogue_of(CHARGES + "CREATE SINK out WITH (connector = 'memory');")
    for text in ("CREATE OR REPLACE SOURCE charges WITH (connector = 'no')", "CREATE OR REPLACE SINK out WITH (connector = 'no')"):
        with pytest.raises(hr.ConnectorError):
            catalogue.add(statements(text)[0])
    assert (list(catalogue.created), list(catalogue.streams)) == (["charges", "out"], ["charges"])


def test_settings_of_runs_and_of_meaning() -> None:
    catalogue = catalogue_of(
        "SET job = 'x'; SET every = 5 seconds; SET 'spark.sql.ansi.enabled' = FALSE; SET spark.sql.timestamptype = timestamp_ntz"
    )
    assert catalogue.settings == {"job": "x", "every": "5 seconds"}
    assert catalogue.meaning == {"spark.sql.ansi.enabled": "false", "spark.sql.timestampType": "TIMESTAMP_NTZ"}


def test_what_a_script_says_of_runs_gives_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    script = {"every": "5 seconds", "partitions": "3"}
    assert (settings("x", script).every, settings("x", script).partitions, settings("x", script, every="1 second").every) == (5000, 3, 1000)
    monkeypatch.setenv("HEADRACE_EVERY", "2 seconds")
    (tmp_path / "headrace.toml").write_text("[job]\npartitions = 4\n")
    assert (settings("x", script).every, settings("x", script).partitions) == (2000, 4)
    check_error(
        """
        BAD_SETTING: the setting partitions in the script cannot be '0': expected a whole number from 1 to 100,000
          hint: write a whole number from 1 to 100,000. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: settings("x", {"partitions": "0"}),
    )


def test_a_name_that_is_not_there() -> None:
    check_error(
        """
        UNKNOWN_NAME: the script has nothing called chrges
          at job.sql:2:1: DROP SOURCE chrges
          hint: did you mean charges? It has: charges
          more: headrace error UNKNOWN_NAME
        """,
        lambda: catalogue_of(CHARGES + "\nDROP SOURCE chrges"),
    )
    check_error(
        """
        UNKNOWN_NAME: the script has nothing called out
          at job.sql:1:1: INSERT INTO out SELECT 1
          hint: CREATE it first
          more: headrace error UNKNOWN_NAME
        """,
        lambda: catalogue_of("INSERT INTO out SELECT 1"),
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("CREATE SOURCE charges WITH (connector = 'rate')", "`charges` already exists, created at job.sql:1:1", "choose another name, or write CREATE OR REPLACE"),
        ("CREATE OR REPLACE SINK charges WITH (connector = 'memory')", "`charges` is a source, not a sink", "choose another name"),
        ("DROP VIEW charges", "`charges` is a source, not a view", "DROP SOURCE charges"),
        ("INSERT INTO charges SELECT 1", "`charges` is a source, not a sink", "insert into a sink that CREATE SINK defines"),
        ("CREATE SINK out WITH (path = 'out')", "out needs a connector", f"WITH (connector = 'files', ...); there are: {WRITABLE}"),
        ("CREATE SOURCE ticks WITH (connector = 'rate', rows_per_second = 1, idle = '1 s')", "idle needs a watermark", "add WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS"),
    ],
)  # fmt: skip
def test_what_does_not_fit(text: str, message: str, hint: str) -> None:
    expected = [f"BAD_STATEMENT: {message}", f"  at job.sql:2:1: {text}", f"  hint: {hint}", "  more: headrace error BAD_STATEMENT"]
    check_error("\n".join(expected), lambda: catalogue_of(f"{CHARGES}\n{text}"))


def test_a_sink_that_nothing_is_written_to() -> None:
    check_error(
        """
        BAD_STATEMENT: nothing is written to the sink out
          at job.sql:1:1: CREATE SINK out WITH (connector = 'memory')
          hint: INSERT INTO out SELECT ..., or drop it
          more: headrace error BAD_STATEMENT
        """,
        lambda: catalogue_of("CREATE SINK out WITH (connector = 'memory')").sinks(),
    )


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("SET spark.sql.shuffle.partitions = 3", "BAD_SETTING", "a script cannot set spark.sql.shuffle.partitions", "there are: job, checkpoint, every, partitions, metrics_port, state.expires, spark.sql.ansi.enabled, spark.sql.session.timeZone, spark.sql.timestampType, spark.sql.caseSensitive; set other Spark settings with hr.session or in spark-defaults.conf"),
        ("SET state.expires = soon", "BAD_DURATION", "state.expires cannot be 'soon': it is not a duration", 'write "5 minutes", "1 hour 30 minutes" or datetime.timedelta(minutes=5); units are milliseconds, seconds, minutes, hours, days and weeks'),
        ("SET spark.sql.ansi.enabled = perhaps", "BAD_SETTING", "spark.sql.ansi.enabled cannot be 'perhaps'", "it is true or false"),
        ("SET spark.sql.session.timeZone = Mars", "UNKNOWN_TIME_ZONE", "there is no time zone `Mars`", "use a name like Europe/Stockholm or UTC; on a machine without time zone data, `pip install tzdata`"),
        ("CREATE SINK s WITH (connector = 'files', path = 'x', format = 'xml')", "BAD_OPTION", "write.files: format cannot be 'xml'", "It is one of: json, csv, parquet, orc, avro"),
        ("CREATE SINK s WITH (connector = 'memory', mode = 'change')", "BAD_OPTION", "write.memory: mode cannot be 'change'", "did you mean 'changes'? It is one of: append, upsert, changes"),
        ("CREATE SOURCE s (a strin) WITH (connector = 'files', path = 'x', format = 'json')", "BAD_TYPE", "the schema `a strin` cannot be read: no type `strin`, did you mean `string`?", 'a schema looks like "card string, amount decimal(10,2), ts timestamp"'),
        ("CREATE SOURCE s (WATERMARK FOR value AS value) WITH (connector = 'rate', rows_per_second = 1)", "WATERMARK_TYPE", "a watermark needs a timestamp column, and `value` of s is bigint", "give it the type timestamp in the schema: value timestamp"),
        ("CREATE SOURCE s WITH (connector = 'xyz')", "UNKNOWN_CONNECTOR", "there is no connector `xyz`", f"hr.read has: {READABLE}"),
    ],
)  # fmt: skip
def test_errors_of_others_name_the_statement(text: str, code: str, message: str, hint: str) -> None:
    expected = [f"{code}: {message}", f"  at job.sql:1:1: {text}", f"  hint: {hint}", f"  more: headrace error {code}"]
    check_error("\n".join(expected), lambda: catalogue_of(text))


def test_settings_of_meaning_stand_before_the_queries() -> None:
    check_error(
        """
        BAD_SETTING: spark.sql.ansi.enabled is set too late
          at job.sql:2:1: SET spark.sql.ansi.enabled = false
          hint: set it before the first view, function and sink: it changes the meaning of their SQL
          more: headrace error BAD_SETTING
        """,
        lambda: catalogue_of("CREATE SINK out WITH (connector = 'memory');\nSET spark.sql.ansi.enabled = false"),
    )
