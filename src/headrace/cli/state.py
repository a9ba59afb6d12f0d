"""`headrace state ...`: what is done with the state of a job while it does not run, one file per sub-command."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import migrate

COMMANDS = (migrate,)


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "state", help="rewrite the state of a job", description="Work on the state of a job that does not run."
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(parts)
