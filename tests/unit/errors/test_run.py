"""Errors of runs: checkpoints that do not belong, what ended a query, rows that are missing."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.analysis.clocks import clocks
from headrace.analysis.schemas import Schemas
from headrace.errors import HeadraceError
from headrace.jvm.store import hadoop_version
from headrace.ops import Program
from headrace.plan import Plan
from headrace.plan.meaning import MEANING
from headrace.spark.checkpoint.folder import Checkpoint
from headrace.spark.compile.feeds import Feed, Feeds
from headrace.spark.compile.identity import Identity
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.levels import cut
from headrace.spark.compile.lower import Lowering
from headrace.spark.compile.times import judged
from headrace.spark.run.failures import failure
from headrace.spark.run.start import begin
from headrace.spark.run.summary import InputCounts, prove
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int, ts timestamp", name="charges").watermark("ts", "1 minute")


class Sums(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        hr.emit(card=self.key.card, n=self.n.get(), ts=e.ts)


class Remind(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: hr.Row) -> None:
        self.due.set(hr.expr("current_timestamp()"))
        hr.emit(card=self.key.card, ts=e.ts)

    def on_due(self, at: hr.Column) -> None:
        hr.emit(card=self.key.card, ts=at)


def plan_of(stream: hr.Stream) -> Plan:
    return Plan.of("fraud", [stream.write.memory(name="out")._use()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The checkpoint of a job `fraud` that has run."""
    one = Checkpoint(tmp_path / "c")
    one.store("fraud", {"nodes": []}, dict(MEANING), 4, Identity())
    one.query("main").joinpath("offsets").mkdir(parents=True)
    one.close()
    return one.folder


def job(name: str, **settings: str) -> SparkJob:
    plan = Plan(name, {}, (), settings)
    return SparkJob(Lowering(plan, Schemas({}, {}, {}, {}, {}, frozenset(), {}), Feeds(plan, {})), plan, (), (), ())


def test_checkpoint_of_another_job(folder: Path) -> None:
    check_error(
        """
        CHECKPOINT_OTHER_JOB: <folder> is the checkpoint of job fraud, but this is job sums
          hint: give each job a folder of its own; if you renamed the job, keep the old name in hr.job(...), or start over with fresh=True
          more: headrace error CHECKPOINT_OTHER_JOB
        """,
        lambda: begin(job("sums"), folder),
        hide={str(folder): "<folder>"},
    )


def test_checkpoint_under_other_settings(folder: Path) -> None:
    check_error(
        """
        SETTINGS_CHANGED: settings that affect results differ from those of the checkpoint: spark.sql.session.timeZone was UTC and is Europe/Berlin
          hint: restore the old values, or start over with fresh=True
          more: headrace error SETTINGS_CHANGED
        """,
        lambda: begin(job("fraud", **{"spark.sql.session.timeZone": "Europe/Berlin"}), folder),
    )


def test_checkpoint_with_other_partitions(folder: Path) -> None:
    check_error(
        """
        PARTITIONS_CHANGED: the checkpoint has 4 partitions, not 8
          hint: write partitions=4 or leave it out; `headrace rescale FILE --partitions 8` changes it
          more: headrace error PARTITIONS_CHANGED
        """,
        lambda: begin(job("fraud"), folder, partitions=8),
    )


def test_one_query_with_two_clocks() -> None:
    plan = plan_of(charges.key_by("card").process(Sums, time="ts").key_by("card").process(Remind, order="arrival"))
    check_error(
        """
        CLOCKS_MIXED: charges.Sums.Remind uses processing time and is downstream of charges.Sums, which uses event time; one Spark query has one clock
          at test_run.py:*: plan = plan_of(charges.key_by("card").process(Sums, time="ts").key_by("card").process(Remind, order="arrival"))
          hint: use one clock, or write the first result to files and read them in a second job; clock="event" is the default
          more: headrace error CLOCKS_MIXED
        """,
        lambda: cut(plan, clocks(plan)),
    )


def test_source_and_derived_rows_in_one_input() -> None:
    plan = plan_of(charges.key_by("card").process(Sums, time="ts"))
    (node,) = (node for node in plan.nodes.values() if isinstance(node, Program))
    check_error(
        """
        SOURCE_WITH_DERIVED: the input `event` of charges.Sums mixes rows of a source with rows of an operator
          at test_run.py:*: plan = plan_of(charges.key_by("card").process(Sums, time="ts"))
          hint: give the operator's rows an input of their own: .process(P, derived=stream.key_by(...)). Only rows of a source can be late, so the two must be in separate inputs.
          more: headrace error SOURCE_WITH_DERIVED
        """,
        lambda: judged(
            plan, node, "event", [Feed("charges", "main"), Feed(str(node.name), "main")], ".process(P, derived=stream.key_by(...))"
        ),
    )


def test_rows_that_are_missing() -> None:
    check_error(
        """
        ROWS_UNACCOUNTED: the input `event` of charges.Sums got 10 rows: 8 handled, 0 late, 1 dead-lettered, 0 held; 1 is missing
          hint: this is a bug in headrace: do not rely on the results of this run. Please report it with `job.json` and the folder `record/` of the checkpoint.
          more: headrace error ROWS_UNACCOUNTED
        """,
        lambda: prove((InputCounts("charges.Sums", "event", 10, 8, 0, 1, 0),)),
    )


def ended(condition: str | None, message: str, *, kind: str = "headrace.HeadraceKernelException", **more: Any) -> str:
    """What the kernel says of a query that ended."""
    return json.dumps({"class": kind, "condition": condition, "message": message, "trace": message, "node": None, "site": None, **more})


@pytest.mark.parametrize(
    "cause",
    ['UnsupportedFileSystemException: No FileSystem for scheme "abfss"', "Class a.fs.azurebfs.SecureAzureBlobFileSystem not found"],
)
def test_a_file_system_that_the_session_has_not(cause: str) -> None:
    check_error(
        """
        UNKNOWN_FILE_SYSTEM: out: the session has no file system for abfss://
          hint: add its jar to the session: hr.session(conf={"spark.jars.packages": "org.apache.hadoop:hadoop-azure:<version>"})
          more: headrace error UNKNOWN_FILE_SYSTEM
        """,
        failure(ended("SINK_WRITE", "a task failed", node="out", trace=f"a task failed\nCaused by: org.apache.{cause}"), None),
        hide={hadoop_version(): "<version>"},
    )


@pytest.mark.parametrize(
    "cause", ["IOException: the header is too long: 65552 bytes", "IOException: the header is too long: 65552 bytes\n\tat a.B.c(B.java:1)"]
)
def test_a_wrapped_error_is_reported_with_its_cause(cause: str) -> None:
    check_error(
        """
        RUN_FAILED: An error occurred during loading state; caused by IOException: the header is too long: 65552 bytes
          hint: fix the cause and start again: the run continues after the last committed epoch
          more: headrace error RUN_FAILED
        """,
        failure(ended("CANNOT_DO", "An error occurred during loading state.", cause=cause), None),
    )


def test_a_cause_that_the_message_has_is_not_repeated() -> None:
    error = failure(ended("CANNOT_DO", "Job aborted: java.io.IOException: no route", cause="IOException: no route"), None)
    assert error.message == "Job aborted: java.io.IOException: no route"


def test_malformed_row() -> None:
    check_error(
        """
        MALFORMED_ROW: charges: field amount: cannot read 'x' as INT at charges/a.json, position 17: {"amount": "x"}
          hint: correct the input, or send such rows to the dead letters: malformed="dead_letter"
          more: headrace error MALFORMED_ROW
        """,
        failure(
            ended(
                "MALFORMED_ROW",
                'charges: field amount: cannot read \'x\' as INT at charges/a.json, position 17: {"amount": "x"}',
                node="charges",
            ),
            None,
        ),
    )


def test_step_behind_dead_letters() -> None:
    check_error(
        """
        DEAD_LETTER_FAILED: charges.dead_letter.select: failed on a dead letter: CAST_INVALID_INPUT
          at job.py:*
          hint: steps after a dead_letter output must not fail: use try_cast and similar functions there
          more: headrace error DEAD_LETTER_FAILED
        """,
        failure(
            ended(
                "DEAD_LETTER_FAILED",
                "failed on a dead letter: CAST_INVALID_INPUT",
                node="charges.dead_letter.select",
                site="job.py:12",
            ),
            None,
        ),
        hide={"job.py:12": "job.py:*"},
    )


def test_timers_without_end() -> None:
    check_error(
        """
        TIMER_LOOP: timers of charges.Ring have fired 1000000 times without time advancing
          hint: in the handler of a timer, set timers later than its own time: self.again.set(at + hr.seconds(1))
          more: headrace error TIMER_LOOP
        """,
        failure(ended("TIMER_LOOP", "timers of charges.Ring have fired 1000000 times without time advancing"), None),
    )


def test_state_of_another_level() -> None:
    check_error(
        """
        STATE_MISMATCH: the checkpoint's state and its job.json are from different versions of the job: the state has a timer of operator 3 in level 1, and the job has no such operator
          hint: restore the whole checkpoint from a backup, or start over with fresh=True
          more: headrace error STATE_MISMATCH
        """,
        failure(
            ended(
                "STATE_OF_ANOTHER_LEVEL",
                "the checkpoint's state and its job.json are from different versions of the job: the state has a timer of operator 3 in level 1, and the job has no such operator",
            ),
            None,
        ),
    )


def test_file_that_is_gone() -> None:
    check_error(
        """
        INPUT_GONE: the file charges/a.parquet was deleted or renamed while it was read
          hint: restore the file and start again. Keep files until the job has read them.
          more: headrace error INPUT_GONE
        """,
        failure(
            ended(
                "FAILED_READ_FILE.FILE_NOT_EXIST",
                "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file charges/a.parquet. File does not exist. SQLSTATE: KD001",
                kind="org.apache.spark.SparkException",
            ),
            None,
        ),
    )


def test_file_that_may_not_be_opened(tmp_path: Path) -> None:
    """Java reports a refused access as a file that was not found."""
    check_error(
        """
        RUN_FAILED: /srv/charges/a.json cannot be opened: permission denied
          hint: give the user that runs Spark access to it and start again: no row is lost or duplicated. The Java stack trace is in <folder>/errors.log
          more: headrace error RUN_FAILED
        """,
        failure(
            ended(
                "FAILED_READ_FILE.NO_HINT",
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///srv/charges/a.json. SQLSTATE: KD001",
                kind="org.apache.spark.SparkException",
                trace="org.apache.spark.SparkException: in /srv/charges: java.io.FileNotFoundException: file:/srv/charges/a.json (Permission denied)",
            ),
            tmp_path / "errors.log",
        ),
        hide={str(tmp_path): "<folder>"},
    )


def test_full_disk_below_spark() -> None:
    check_error(
        """
        DISK_FULL: alerts: cannot write out/part-0.json: No space left on device
          hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
          more: headrace error DISK_FULL
        """,
        failure(ended("SINK_WRITE", "cannot write out/part-0.json: No space left on device", node="alerts"), None),
    )


def test_full_disk_in_a_sink() -> None:
    check_error(
        """
        DISK_FULL: alerts: No space left on device: out/_headrace/0.json
          hint: free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated
          more: headrace error DISK_FULL
        """,
        failure(ended("SINK_COMMIT", "-"), None, OSError(errno.ENOSPC, "No space left on device", "out/_headrace/0.json"), "alerts"),
    )


def test_sink_that_raised(tmp_path: Path) -> None:
    log = tmp_path / "errors.log"
    problem = PermissionError(errno.EACCES, "Permission denied", "out/0.json")
    error = failure(ended("SINK_COMMIT", "-", trace="a trace of Java"), log, problem, "alerts")
    check_error(
        """
        SINK_FAILED: alerts could not be written: PermissionError: [Errno 13] Permission denied: 'out/0.json'
          hint: fix the cause and start again: the epoch is written again. The Java stack trace is in <folder>/errors.log
          more: headrace error SINK_FAILED
        """,
        error,
        hide={str(tmp_path): "<folder>"},
    )
    assert error.__cause__ is problem
    assert log.read_text(encoding="utf-8").endswith(" UTC\na trace of Java\n")


def test_error_of_ours_in_a_sink_stays_as_it_is() -> None:
    raised = HeadraceError("FUNCTION_FAILED", "the function failed")
    assert failure(ended("SINK_COMMIT", "-"), None, raised, "alerts") is raised


def test_anything_else_that_spark_says(tmp_path: Path) -> None:
    check_error(
        """
        RUN_FAILED: Java heap space
          hint: raise Spark's memory (on a cluster also spark.executor.memory) with hr.session(conf={"spark.driver.memory": "4g"}) and start again: the run continues after the last committed epoch. The Java stack trace is in <folder>/errors.log
          more: headrace error RUN_FAILED
        """,
        failure(
            ended(None, "Java heap space\n\tat java.base/java.util.Arrays.copyOf(Arrays.java:1)", kind="java.lang.OutOfMemoryError"),
            tmp_path / "errors.log",
        ),
        hide={str(tmp_path): "<folder>"},
    )


def test_an_epoch_that_fails_again_is_reported_as_such() -> None:
    check_error(
        """
        RUN_FAILED: Java heap space
          hint: an earlier start failed in this epoch, too, and each start repeats it: raise Spark's memory (on a cluster also spark.executor.memory) with hr.session(conf={"spark.driver.memory": "4g"})
          more: headrace error RUN_FAILED
        """,
        failure(ended(None, "Java heap space", kind="java.lang.OutOfMemoryError"), None, again=True),
    )


@pytest.mark.parametrize("message", ["Metaspace", "Cannot reserve 4096 bytes of direct buffer memory", "unable to create native thread"])
def test_memory_that_is_not_the_heap(message: str) -> None:
    error = failure(ended(None, message, kind="java.lang.OutOfMemoryError"), None)
    assert error.hint == "fix the cause and start again: the run continues after the last committed epoch"


def test_lookup_that_failed() -> None:
    told = 'orders.lookup_t: the lookup failed: column "password" does not exist'
    again = ". No row is lost: the next start repeats the epoch."
    assert failure(ended("LOOKUP_FAILED", told), None).hint == f"check the table, its server or files, and the options of the lookup{again}"
    assert failure(ended("LOOKUP_FAILED", told, hint="check token= of the lookup"), None).hint == f"check token= of the lookup{again}"


def test_fault_of_headrace(tmp_path: Path) -> None:
    check_error(
        """
        INTERNAL: charges.select: the steps give 3 columns, but their consumer expects 2
          hint: this is a bug in headrace; please report it. The Java stack trace is in <folder>/errors.log
          more: headrace error INTERNAL
        """,
        failure(
            ended("INTERNAL", "the steps give 3 columns, but their consumer expects 2", node="charges.select"),
            tmp_path / "errors.log",
        ),
        hide={str(tmp_path): "<folder>"},
    )


def test_the_oldest_traces_go(tmp_path: Path) -> None:
    log = tmp_path / "errors.log"
    for number in range(40):
        failure(ended(None, "x", trace=f"trace {number}\n" + "\tat somewhere\n" * 5000), log)
    text = log.read_text(encoding="utf-8")
    assert len(text) <= 1 << 20
    assert text.startswith("--- ")
    assert "trace 39\n" in text
