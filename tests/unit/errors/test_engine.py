"""Errors of jobs, tables and the harness: what is refused before Spark is needed."""

from __future__ import annotations

import math
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.engine import Job, Table
from headrace.engine.building import of_script
from headrace.plan import Plan
from headrace.schema import parse_schema
from headrace.settings import settings
from headrace.sql.catalogue import Catalogue
from headrace.testing import Harness
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int", name="charges")


def unchecked_job(*sinks: Any) -> Job:
    """A job whose types nobody has looked at, which needs no session."""
    return Job(Plan.of("fraud", [sink._use() for sink in sinks]))


def test_job_without_sinks() -> None:
    check_error(
        """
        NO_SINKS: the job fraud has no sinks
          at test_engine.py:*: lambda: hr.job("fraud"),
          hint: pass at least one: hr.job("name", stream.write.files(...))
          more: headrace error NO_SINKS
        """,
        lambda: hr.job("fraud"),
    )


def test_script_without_sinks() -> None:
    check_error(
        """
        NO_SINKS: the job fraud writes nothing
          at test_engine.py:*: lambda: of_script("fraud", Catalogue()),
          hint: create a sink and insert into it: CREATE SINK out WITH (connector = 'console'); INSERT INTO out SELECT ...
          more: headrace error NO_SINKS
        """,
        lambda: of_script("fraud", Catalogue()),
    )


def test_job_of_a_stream() -> None:
    check_error(
        """
        NO_SINKS: the job fraud expects sinks, got <Stream charges: card, amount>
          at test_engine.py:*: lambda: hr.job("fraud", charges),  # type: ignore[arg-type]
          hint: write the stream to a sink: stream.write.files(...)
          more: headrace error NO_SINKS
        """,
        lambda: hr.job("fraud", charges),  # type: ignore[arg-type]
    )


def test_sink_with_a_weaker_guarantee() -> None:
    job = unchecked_job(charges.write.console(name="screen"))
    check_error(
        """
        GUARANTEE: screen is not written exactly once, but at least once: a repeated epoch is printed again
          at test_engine.py:*: job = unchecked_job(charges.write.console(name="screen"))
          hint: use an exactly-once sink, such as stream.write.files(...); job.explain() shows the reasons for each sink
          more: headrace error GUARANTEE
        """,
        lambda: job.require("exactly once"),
    )


def test_guarantee_that_does_not_exist() -> None:
    job = unchecked_job(charges.write.memory())
    check_error(
        """
        GUARANTEE: a guarantee cannot be 'at most twice'
          at test_engine.py:*: lambda: job.require("at most twice"),
          hint: write "exactly once"
          more: headrace error GUARANTEE
        """,
        lambda: job.require("at most twice"),
    )


def test_path_for_a_source_without_one() -> None:
    job = unchecked_job(charges.write.files("out", format="json", name="copy"))
    check_error(
        """
        UNKNOWN_PATH: the job fraud has no source or sink `charges` with a path
          hint: sources and sinks with a path: copy
          more: headrace error UNKNOWN_PATH
        """,
        lambda: job.with_paths({"charges": "elsewhere"}),
    )


def test_collecting_no_stream() -> None:
    check_error(
        """
        BAD_INPUT: hr.collect expects a stream, got 3
          at test_engine.py:*: lambda: hr.collect(3),  # type: ignore[arg-type]
          hint: pass a stream: hr.collect(hr.read.files(...))
          more: headrace error BAD_INPUT
        """,
        lambda: hr.collect(3),  # type: ignore[arg-type]
    )


def test_showing_no_stream() -> None:
    check_error(
        """
        BAD_INPUT: hr.show expects a stream, got 3
          at test_engine.py:*: lambda: hr.show(3),  # type: ignore[arg-type]
          hint: pass a stream: hr.show(hr.read.files(...))
          more: headrace error BAD_INPUT
        """,
        lambda: hr.show(3),  # type: ignore[arg-type]
    )


def test_collecting_rows_without_end() -> None:
    check_error(
        """
        UNBOUNDED: rate is unbounded, so its rows cannot be collected
          at test_engine.py:*: lambda: hr.collect(hr.read.rate(5).filter("value > 3")),
          hint: hr.show(stream) shows rows as they arrive; or run a job with a sink: hr.job("name", stream.write.files(...)).run()
          more: headrace error UNBOUNDED
        """,
        lambda: hr.collect(hr.read.rate(5).filter("value > 3")),
    )


def test_table_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_error(
        """
        PACKAGE_MISSING: .to_arrow() needs the package pyarrow, which is not installed
          hint: install pyarrow and pandas: pip install 'headrace[arrow]'; or use .rows(), which needs neither
          more: headrace error PACKAGE_MISSING
        """,
        lambda: Table([("a", 1)], parse_schema("card string, amount int")).to_arrow(),
    )


def test_argument_that_does_not_fit() -> None:
    check_error(
        """
        BAD_SETTING: `partitions` cannot be 0: expected a whole number from 1 to 100,000
          at test_engine.py:*: lambda: settings("fraud", partitions=0),
          hint: write a whole number from 1 to 100,000. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: settings("fraud", partitions=0),
    )


def test_variable_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PROGRESS", "maybe")
    check_error(
        """
        BAD_SETTING: the environment variable HEADRACE_PROGRESS cannot be 'maybe': expected true or false
          hint: write true or false. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: settings("fraud"),
    )


def test_duration_that_cannot_be_read() -> None:
    check_error(
        """
        BAD_SETTING: `every` cannot be 'soon': it is not a duration
          at test_engine.py:*: lambda: settings("fraud", every="soon"),
          hint: write "10 seconds", or a number of seconds, at most 365 days; 0 starts an epoch as soon as the last one ends. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: settings("fraud", every="soon"),
    )


def test_unknown_setting_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headrace.toml").write_text('[job.fraud]\ncheckpont = "state"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    check_error(
        """
        BAD_SETTING: [job.fraud] of headrace.toml has an unknown setting checkpont
          hint: did you mean `checkpoint`? Settings: checkpoint, every, lease, metrics_host, metrics_port, partitions, progress
          more: headrace error BAD_SETTING
        """,
        lambda: settings("fraud"),
    )


def test_checkpoint_on_another_file_system() -> None:
    check_error(
        """
        BAD_SETTING: `checkpoint` cannot be 's3://bucket/fraud': a checkpoint must be a local path, not a URI
          at test_engine.py:*: lambda: settings("fraud", checkpoint="s3://bucket/fraud"),
          hint: name a folder on a local disk or mounted volume. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        lambda: settings("fraud", checkpoint="s3://bucket/fraud"),
    )


def test_harness_with_an_unknown_source() -> None:
    with Harness() as h:
        h.source("charges", "card string, amount int")
        check_error(
            """
            HARNESS_USE: the harness has no source `charge`
              at test_engine.py:*: lambda: h.commit({"charge": [("+", ("a", 1))]}),
              hint: did you mean `charges`? It has: charges
              more: headrace error HARNESS_USE
            """,
            lambda: h.commit({"charge": [("+", ("a", 1))]}),
        )


def test_harness_that_collects_nothing() -> None:
    with Harness() as h:
        h.source("charges", "card string, amount int")
        check_error(
            """
            HARNESS_USE: no stream is collected
              at test_engine.py:*: lambda: h.commit({"charges": [("+", ("a", 1))]}),
              hint: before the first commit, call out = h.collect(stream)
              more: headrace error HARNESS_USE
            """,
            lambda: h.commit({"charges": [("+", ("a", 1))]}),
        )


def test_harness_with_a_row_that_is_no_change() -> None:
    with Harness() as h:
        h.source("charges", "card string, amount int")
        check_error(
            """
            HARNESS_USE: expected a change, got ('a', 1)
              at test_engine.py:*: lambda: h.commit({"charges": [("a", 1)]}),
              hint: write ("+", row) for an insertion, ("-", row) for a retraction
              more: headrace error HARNESS_USE
            """,
            lambda: h.commit({"charges": [("a", 1)]}),
        )


def test_harness_that_is_closed() -> None:
    with Harness() as h:
        pass
    check_error(
        """
        HARNESS_USE: the harness is closed
          at test_engine.py:*: lambda: h.finish(),
          hint: use it inside its `with` block
          more: headrace error HARNESS_USE
        """,
        lambda: h.finish(),
    )


def test_a_row_is_taken_away_from_a_source_of_rows_that_are_added() -> None:
    with Harness() as h:
        h.source("charges", "card string, amount int")
        check_error(
            """
            HARNESS_USE: the source `charges` is insert-only
              at test_engine.py:*: lambda: h.commit({"charges": [("-", ("a", 1))]}),
              hint: make it a source with retractions: h.source("charges", ..., changes=True)
              more: headrace error HARNESS_USE
            """,
            lambda: h.commit({"charges": [("-", ("a", 1))]}),
        )


def test_a_flag_that_is_neither_true_nor_false() -> None:
    job = unchecked_job(charges.write.console())
    check_error(
        """
        BAD_SETTING: fresh cannot be 'false'
          at test_engine.py:*: lambda: job.run(fresh="false"),  # type: ignore[arg-type]
          hint: write fresh=True or fresh=False
          more: headrace error BAD_SETTING
        """,
        lambda: job.run(fresh="false"),  # type: ignore[arg-type]
    )
    others: list[dict[str, Any]] = [{"flush": "no"}, {"standby": 1}, {"progress": "yes"}, {"fresh": None}]
    for more in others:
        with pytest.raises(hr.HeadraceError, match="BAD_SETTING"):
            job.run(**more)
        with pytest.raises(hr.HeadraceError, match="BAD_SETTING"):
            job.start(**more)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("every", [-1, "-1", "-1 seconds", math.nan, "nan", math.inf, 10**20, "366 days", "99999999999999 days", 0.0001, True, "", "soon"]),
        ("every", [timedelta(days=366), timedelta(seconds=-1), timedelta(microseconds=1), []]),
        ("partitions", [0, -1, math.nan, math.inf, 1.5, "1.5", 10**20, 100_001, True, "", "x", "²", []]),
        ("lease", [0, "0", -5, "0.5 seconds", math.nan, 10**30, "999999999 days"]),
        ("progress", [2, "maybe", None, ""]),
        ("checkpoint", ["", "a\0b", 5]),
    ],
)
def test_numbers_that_are_none(name: str, values: list[Any]) -> None:
    for value in values:
        if value is not None:
            with pytest.raises(hr.HeadraceError, match=f"BAD_SETTING: `{name}` cannot be "):
                settings("fraud", **{name: value})


def test_a_number_is_one_of_seconds() -> None:
    assert [settings("fraud", every=one).every for one in (0, "0", "10", 2.5, "2.5", "365 days")] == [
        0,
        0,
        10_000,
        2500,
        2500,
        31_536_000_000,
    ]
