"""`headrace state ...`: commands on the state of a job, one file per subcommand."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import query, show

COMMANDS = (show, query)


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "state", help="inspect the state of a job", description="Work with the state of a job."
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(parts)
