"""`headrace status JOB`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headrace.cli import rows
from headrace.spark.checkpoint.channel import Command
from headrace.spark.run.commands import ask


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "status", help="show what a running job is doing", description="Print the status and the counts of a running job as JSON."
    )
    rows.job(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(json.dumps(ask(Path(rows.kept(options.checkpoint)), Command.make("status"), None), indent=2))
    return 0
