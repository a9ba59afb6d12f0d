"""`headrace plan FILE`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.cli import load


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "plan", help="print a job's plan", description="Print the plan of a job as JSON; `headrace run` and `hr.load` read it."
    )
    load.arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(json.dumps(load.job(options).plan.to_json(), indent=2))
    return 0
