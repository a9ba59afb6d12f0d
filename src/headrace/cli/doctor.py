"""`headrace doctor`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli import rows
from headrace.durable.sums import CURE
from headrace.errors import EXIT_CODES, HeadraceError

if TYPE_CHECKING:
    from headrace.jvm.doctor import Check


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="say what is installed, what is missing and how to fix it; or whether a checkpoint is whole",
        description="Look at all that headrace needs, or at a checkpoint.",
    )
    parser.add_argument(
        "checkpoint",
        metavar="JOB",
        nargs="?",
        type=rows.checkpoint,
        help="the name of a job, or the folder in which it keeps its state: look at that checkpoint instead",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    return _machine(asked) if asked.checkpoint is None else _checkpoint(asked)


def _checkpoint(asked: argparse.Namespace) -> int:
    from headrace.engine.examination import examine

    seen = examine(Path(asked.checkpoint).absolute())
    if asked.json:
        print(json.dumps(seen.to_json(), indent=2))
    else:
        print(f"job {seen.job}, checkpoint {seen.folder}")
        if seen.holder is not None:
            print(f"{seen.holder} works on it now: what it is writing may look cut off")
        for query, epoch in seen.next_epochs.items():
            comes = f"does epoch {epoch} again" if query in seen.again else f"begins epoch {epoch}"
            print(f"{'ok     ' if seen.sound else '       '}  query {query}: the next start {comes}")
        for problem in seen.problems:
            print(f"DAMAGED  {problem}")
        if seen.problems:
            print(f"         cure: {CURE}")
    return 0 if seen.sound else EXIT_CODES["environment"]


def _connectors_of_spark() -> list[Check]:
    """Spark's own connectors, where they are of another version than Spark."""
    from headrace import ports
    from headrace.jvm.compile import spark_version
    from headrace.jvm.doctor import Check

    try:
        spark = spark_version()
    except (HeadraceError, ImportError):
        return []  # said already
    found = {
        name: version
        for name, needed in ports.packages().items()
        for group, _, version in (jar.coordinate.split(":") for jar in needed.jars)
        if group == "org.apache.spark" and version != spark
    }
    return [
        Check(name, True, f"Spark's connector {version} on Spark {spark}: the latest that Maven Central has for it", required=False)
        for name, version in found.items()
    ]


def _machine(asked: argparse.Namespace) -> int:
    from headrace.jvm.doctor import checks

    found = [*checks(), *_connectors_of_spark()]
    if asked.json:
        print(json.dumps([check.to_json() for check in found], indent=2))
    else:
        for check in found:
            print(f"{'ok     ' if check.ok else 'MISSING' if check.required else 'without'}  {check.name}: {check.found}")
            if check.cure and not check.ok:
                print(f"         cure: {check.cure}")
    return EXIT_CODES["environment"] if any(check.required and not check.ok for check in found) else 0
