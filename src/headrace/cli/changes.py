"""`--on-change`: what becomes of sinks whose rows are computed differently by a new version."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.spark.deploy.deployment import CHOICES


def argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on-change",
        metavar="SINK=HOW",
        action="append",
        default=[],
        help="what a sink gets whose rows are computed differently: retract (the difference), replace (all rows "
        'instead of its own) or "from now" (no earlier rows); repeatable',
    )


def report(job: str) -> Callable[[str], None]:
    """Return a function that prints the steps of a deploy to a running job."""
    return lambda line: print(f"{job}: {line}", file=sys.stderr, flush=True)


def choices(options: argparse.Namespace) -> dict[str, str]:
    """Return what the command line says of each sink."""
    chosen: dict[str, str] = {}
    for text in options.on_change:
        name, equals, how = text.partition("=")
        if not (name and equals and how):
            hint = f'write the name of a sink and one of: {", ".join(CHOICES)}; for example --on-change "alerts=from now"'
            raise HeadraceError("BAD_SETTING", f"--on-change expects SINK=HOW, got `{text}`", hint=hint)
        chosen[name] = how
    return chosen
