"""`headrace doctor`"""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli import load, rows
from headrace.cli.options import in_options
from headrace.durable.sums import CURE
from headrace.errors import EXIT_CODES, HeadraceError
from headrace.load import KINDS

if TYPE_CHECKING:
    from headrace.engine.examination import Examination
    from headrace.jvm.doctor import Check


EPILOG = """\
A name or a folder gives the checkpoint only. With the FILE of the job, its sinks are checked, too, which starts Spark.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="check the installation, or whether a checkpoint is intact",
        description="Check what headrace needs on this machine, or a checkpoint.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "checkpoint",
        metavar="JOB",
        nargs="?",
        type=_subject,
        help="the name of a job, the folder in which it keeps its state, or its FILE: check that checkpoint instead",
    )
    load.options(parser)
    parser.add_argument(
        "--checkpoint", dest="folder", metavar="FOLDER", help="with a FILE, where the job keeps its state (default: .headrace/NAME)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run, complain=parser.error)


def run(options: argparse.Namespace) -> int:
    if not isinstance(options.checkpoint, Path) and (options.job or options.path or options.named or options.folder):
        options.complain("--job, --path, --as and --checkpoint need the FILE of a job")
    return _machine(options) if options.checkpoint is None else _checkpoint(options)


def _subject(text: str) -> str | Path:
    """Return the file of a job as a path, or the folder of a checkpoint as text."""
    return Path(text) if Path(text).suffix in KINDS and not Path(text).is_dir() else rows.checkpoint(text)


def _checkpoint(options: argparse.Namespace) -> int:
    from headrace.engine.examination import examine, examine_job

    if isinstance(options.checkpoint, Path):
        options.file = options.checkpoint
        examination = examine_job(load.job(options), options.folder)
    else:
        examination = examine(Path(rows.kept(options.checkpoint)).absolute())
    if options.json:
        print(json.dumps(examination.to_json(), indent=2))
    else:
        print(f"job {examination.job}, checkpoint {examination.folder}")
        if examination.holder is not None:
            print(f"{examination.holder} works on it now: files that it is writing may look truncated")
        for query, epoch in examination.next_epochs.items():
            comes = f"repeats epoch {epoch}" if query in examination.again else f"begins epoch {epoch}"
            print(f"{'       ' if examination.problems else 'ok     '}  query {query}: the next start {comes}")
        _sinks(examination)
        for problem in examination.problems:
            print(f"DAMAGED  {problem}")
        if examination.problems:
            print(f"         cure: {CURE}")
    if examination.sound:
        return 0
    return EXIT_CODES["environment"] if examination.refusal is None else examination.refusal.exit_code


def _sinks(examination: Examination) -> None:
    """Print whether the sinks hold what the checkpoint has written, or that they were not examined."""
    if examination.refusal is not None:
        print("REFUSED  the next start:")
        print(textwrap.indent(str(in_options(examination.refusal)), "         "))
    elif examination.losses:
        for loss in examination.losses:
            print("LOST     from a sink:")
            print(textwrap.indent(str(in_options(loss)), "         "))
    elif examination.compared:
        print("ok       sinks: they hold what the checkpoint has written")
    elif not examination.problems:
        print("         sinks: not checked; a start is refused if one holds other epochs than the checkpoint")
        if examination.holder is None:
            print("         headrace doctor FILE, with the file that defines the job, checks them")


def _connectors_of_spark() -> list[Check]:
    """Return a check for each of Spark's own connectors that has another version than Spark."""
    from headrace import ports
    from headrace.jvm.compile import spark_version
    from headrace.jvm.doctor import Check

    try:
        spark = spark_version()
    except (HeadraceError, ImportError):
        return []  # another check reports it
    versions = {
        name: version
        for name, needed in ports.packages().items()
        for group, _, version in (jar.coordinate.split(":") for jar in needed.jars)
        if group == "org.apache.spark" and version != spark
    }
    return [
        Check(name, True, f"Spark's connector {version} on Spark {spark}: the latest that Maven Central has for it", required=False)
        for name, version in versions.items()
    ]


def _machine(options: argparse.Namespace) -> int:
    from headrace.jvm.doctor import checks

    results = [*checks(), *_connectors_of_spark()]
    if options.json:
        print(json.dumps([check.to_json() for check in results], indent=2))
    else:
        for check in results:
            print(f"{'ok     ' if check.ok else 'MISSING' if check.required else 'without'}  {check.name}: {check.found}")
            if check.cure and not check.ok:
                print(f"         cure: {check.cure}")
    return EXIT_CODES["environment"] if any(check.required and not check.ok for check in results) else 0
