"""The failure that ended a query as an error of headrace; the Java trace goes to a file."""

from __future__ import annotations

import datetime as dt
import errno
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.durable import private
from headrace.durable.atomic import replace
from headrace.durable.sums import CURE
from headrace.errors import CODES, HeadraceError, Site
from headrace.jvm.messages import first_lines
from headrace.jvm.session import jvm, log_file, session
from headrace.jvm.store import cure, lacking
from headrace.masking import masked
from headrace.ports.registry import load_all
from headrace.spark.checkpoint.examine import whole
from headrace.spark.checkpoint.folder import unusable

# Conditions of the kernel, with headrace's code and cure. The cures of connectors' own conditions are declared with their codes.
_KNOWN: Mapping[str, tuple[str, str | None]] = {
    "KEYS_MEET": ("KEYS_MEET", "keep the old key type; the state of two keys cannot be merged"),
    "KEY_NOT_UNIQUE": ("KEY_NOT_UNIQUE", "name columns that identify each row, or keep one row per key: .top(1, by=..., per=...)"),
    "LOOKUP_FAILED": ("LOOKUP_FAILED", None),
    "EXPECTATION_FAILED": (
        "EXPECTATION_FAILED",
        'nothing of its epoch is written. Repair the input, or send such rows to the dead letters: on_violation="dead_letter".',
    ),
    "MALFORMED_ROW": ("MALFORMED_ROW", 'correct the input, or send such rows to the dead letters: malformed="dead_letter"'),
    "DEAD_LETTER_FAILED": (
        "DEAD_LETTER_FAILED",
        "steps after a dead_letter output must not fail: use try_cast and similar functions there",
    ),
    "MEMORY_SOURCE_LOST": ("ROWS_GONE", "rows in memory are lost with their process: start over with fresh=True, or write them to files"),
    "KEY_COLLATION": ("WRONG_TYPE", "key by something that is compared byte by byte: lower(name), or the column collated as UTF8_BINARY"),
    "ORDER_TYPE": ("WRONG_TYPE", 'leave out the column, or convert it to a string: select("...", d="to_json(column)")'),
    "QUERY_FAILED": ("BAD_EXPRESSION", "use try_divide, try_cast and similar functions, which give null instead of an error"),
    "SINK_COMMIT": ("SINK_FAILED", "fix the cause and start again: the epoch is written again"),
    "SINK_SCHEMA": ("WRONG_TYPE", 'give the column a type that the format supports: with_columns(d="to_json(column)")'),
    "SINK_WRITE": ("SINK_FAILED", "fix the cause and start again: the epoch is written again"),
    "SOURCE_SCHEMA": ("WRONG_TYPE", "declare the schema that the files have; to change a type, cast after the source"),
    "STATE_LAYOUT": ("STATE_MISMATCH", "start the newer version of the job, or start over with fresh=True"),
    "CHECKPOINT_UNREADABLE": ("CHECKPOINT_UNREADABLE", CURE),
    "CHECKPOINT_INCOMPLETE": ("CHECKPOINT_INCOMPLETE", CURE),
    "TABLE_REPLACED": ("TABLE_REPLACED", "start over with fresh=True, or restore the table that it read"),
    "TIMER_LOOP": ("TIMER_LOOP", "in the handler of a timer, set timers later than its own time: self.again.set(at + hr.seconds(1))"),
    "WAS_FAILED": (
        "WAS_FAILED",
        "correct the expression, for example with try_add or coalesce, and start again: no state is lost, and converted keys keep theirs",
    ),
    "STATE_OF_ANOTHER_LEVEL": ("STATE_MISMATCH", "restore the whole checkpoint from a backup, or start over with fresh=True"),
}
_FULL = re.compile(r"No space left on device|File too large|Disk quota exceeded|Not enough space|SQLITE_FULL|The table '[^']*' is full")
# Spark's messages about checkpoint files that it cannot read; a file that it cannot write is another matter.
_DAMAGED = re.compile(
    r"CANNOT_LOAD_STATE_STORE\.(?!FAILED_TO_GET_CHANGELOG_WRITER)|CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"
    r"|STDS_FAILED_TO_READ_|/_stateSchema/\S+ does not exist|\(latestId: "
)
_LOG_BYTES = 1 << 20
# For a lookup whose connector knows no better one.
_LOOKUP = "check the table, its server or files, and the options of the lookup"
_MORE = 'raise Spark\'s memory (on a cluster also spark.executor.memory) with hr.session(conf={"spark.driver.memory": "4g"})'
_MEMORY = re.compile(r"Java heap space|GC overhead limit exceeded")
_LOST_FILE = re.compile(
    r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\] Encountered error while reading file (.+?)\. File does not exist.*", re.DOTALL
)
_DENIED = re.compile(r"(/[^:\n]+) \(Permission denied\)")
_GONE = re.compile(r"FileNotFoundException|FAILED_READ_FILE\.FILE_NOT_EXIST|PATH_NOT_FOUND")


def failure(
    report: str, log: Path | None, committing: BaseException | None = None, sink: str | None = None, *, again: bool = False
) -> HeadraceError:
    """Return the error for a query that ended with `report` (the kernel's JSON). `committing`: the exception raised in the sink of this
    name. `again`: the epoch had been interrupted before.
    """
    fault = json.loads(report)
    where = _written(log, fault["trace"])
    if isinstance(committing, HeadraceError):
        return committing
    if committing is not None:
        return _of_sink(committing, sink, where)
    condition, message = fault["condition"], first_lines(fault["message"])
    site = Site.parse(fault["site"]) if fault.get("site") else None
    node = f"{fault['node']}: " if fault.get("node") and not message.startswith(f"{fault['node']}:") else ""
    if _FULL.search(fault["trace"]):
        return full(f"{node}{message}", site)
    if (scheme := lacking(fault["trace"])) is not None:
        return HeadraceError("UNKNOWN_FILE_SYSTEM", f"{node}the session has no file system for {scheme}://", hint=cure(scheme), site=site)
    if condition in _KNOWN:
        code, hint = _KNOWN[condition]
        if condition == "LOOKUP_FAILED":
            fault["hint"] = f"{fault.get('hint') or _LOOKUP}. No row is lost: the next start repeats the epoch."
        return HeadraceError(code, f"{node}{message}", hint=fault.get("hint") or hint, site=site)
    if condition in ("INTERNAL", "KERNEL_DOCUMENT"):
        return HeadraceError("INTERNAL", f"{node}{message}", hint=f"this is a bug in headrace; please report it{where}", site=site)
    # the condition may be of a connector that this process has not loaded
    load_all()
    if condition in CODES:
        return HeadraceError(condition, f"{node}{message}", hint=fault.get("hint") or CODES[condition].cure or None, site=site)
    if _DAMAGED.search(fault["trace"]):
        return _damaged(log, f"{node}{message}", where)
    if (denied := _DENIED.search(fault["trace"])) is not None:
        hint = f"give the user that runs Spark access to it and start again: no row is lost or duplicated{where}"
        return HeadraceError("RUN_FAILED", f"{node}{denied[1]} cannot be opened: permission denied", hint=hint, site=site)
    if (condition and _GONE.search(condition)) or _GONE.search(fault["class"]):
        message = _LOST_FILE.sub(r"the file \1 was deleted or renamed while it was read", message)
        hint = "restore the file and start again. Keep files until the job has read them."
        return HeadraceError("INPUT_GONE", f"{node}{message}", hint=hint, site=site)
    cause = first_lines(fault.get("cause") or "")
    if cause and (cause.partition(": ")[2] or cause) not in message:
        message = f"{message}; caused by {cause}"
    hint = onward(again, f"{fault['class']}: {message}") + where
    return HeadraceError("RUN_FAILED", f"{node}{message}", hint=hint, site=site)


def onward(again: bool, message: str = "") -> str:
    """Return the hint for a failure of unknown cause; `again`: the epoch was interrupted before, too."""
    cure = _MORE if _MEMORY.search(message) else "fix the cause"
    if again:
        return f"an earlier start failed in this epoch, too, and each start repeats it: {cure}"
    return f"{cure} and start again: the run continues after the last committed epoch"


def _damaged(log: Path | None, message: str, where: str) -> HeadraceError:
    """Return the error for state or logs that cannot be read, with the damaged file if it is found."""
    queries = [] if log is None else sorted((log.parent / "queries").glob("*"))
    damage = next((damage for query in queries for damage in whole(query)), None)
    return damage.error() if damage is not None else HeadraceError("CHECKPOINT_UNREADABLE", message, hint=f"{CURE}{where}")


def full(message: str, site: Site | None = None) -> HeadraceError:
    """Return the error for a full disk."""
    return HeadraceError(
        "DISK_FULL",
        message,
        hint="free space for the checkpoint, the output and Spark's temporary folder, and start again: no row is lost or duplicated",
        site=site,
    )


def unwritable(folder: Path, problem: OSError) -> HeadraceError:
    """Return the error for a folder of checkpoints that cannot be written: for a full disk, or another one."""
    reason = reason_of(problem)
    no_room = problem.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) or "No space left on device" in reason
    return full(f"{folder} cannot be written: {reason}") if no_room else unusable(folder, reason)


def reason_of(problem: OSError) -> str:
    """Return what the system says about a failure; of several, as of a copied folder, the first."""
    several = problem.args[0] if isinstance(problem, shutil.Error) else None
    return str(several[0][2]) if several else problem.strerror or str(problem)


def gone(problem: BaseException) -> bool:
    """Return whether a call failed because the JVM has ended: with py4j's own error, which has no Java trace."""
    name, text = type(problem).__name__, str(problem)
    broken = name == "Py4JError" and text.startswith("An error occurred while calling") and "Trace:" not in text
    return broken or name == "Py4JNetworkError" or isinstance(problem, ConnectionError | EOFError)


def of_java(problem: Exception, log: Path | None) -> HeadraceError | None:
    """Return the error for an exception of the JVM outside a running query; None if it is not from there."""
    java = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    if java is None:
        return None
    return failure(jvm(session()).headrace.query.Trouble.json(java), log)


def ending(problem: Exception, errors: Path, *, again: bool) -> HeadraceError:
    """Return the error for what ended a run outside its queries: the JVM's end, an exception in it, or a fault of headrace."""
    if isinstance(problem, HeadraceError):
        return problem
    if gone(problem):
        log = log_file()
        return HeadraceError("RUN_FAILED", "Spark's JVM has ended", hint=onward(again) + (f". The JVM's log is in {log}" if log else ""))
    return of_java(problem, errors) or HeadraceError(
        "INTERNAL", f"{type(problem).__name__}: {problem}", hint="this is a bug in headrace; please report it", cause=problem
    )


def _of_sink(problem: BaseException, sink: str | None, where: str) -> HeadraceError:
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return full(f"{sink or 'the record'}: {problem.strerror}: {problem.filename}")
    return HeadraceError(
        "SINK_FAILED",
        f"{sink or 'the record'} could not be written: {type(problem).__name__}: {problem}",
        hint=f"fix the cause and start again: the epoch is written again{where}",
        cause=problem,
    )


def _written(log: Path | None, trace: Any) -> str:
    """Append a trace to the log, which loses its oldest ones at a megabyte. Returns the hint's sentence about the log's place."""
    if log is None:
        return ""
    try:
        with private.file(log).open("a", encoding="utf-8") as file:
            file.write(masked(f"--- {dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S} UTC\n{trace}\n"))
        if log.stat().st_size > _LOG_BYTES:
            newest = log.read_bytes()[-_LOG_BYTES // 2 :].decode(errors="replace")
            replace(log, newest[newest.find("\n--- ") + 1 :])
    except OSError:
        # The disk may be full, and that is then what is being reported.
        return ""
    return f". The Java stack trace is in {log}"
