"""`headrace stop JOB`"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from headrace.cli import rows
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.lease import held_by
from headrace.spark.run.commands import ask


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "stop", help="stop a running job", description="Let a running job finish its epoch and stop. The next start continues from there."
    )
    rows.job(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder = Path(rows.kept(options.checkpoint)).absolute()
    holder = held_by(folder)
    ask(folder, Command.make("stop"), None)
    # a standby that takes over is another one
    while holder is not None and held_by(folder) == holder:
        time.sleep(0.1)
    return 0
