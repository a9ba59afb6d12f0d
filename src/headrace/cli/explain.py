"""`headrace explain FILE`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.cli import load


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "explain", help="describe a job", description="Print a job's operators, state, time and the guarantee of each sink."
    )
    load.arguments(parser)
    parser.add_argument("--verbose", action="store_true", help="each operator with its columns, state, place and reasons")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    explained = load.job(options).explain(verbose=options.verbose)
    print(json.dumps(explained.to_json(), indent=2) if options.json else explained)
    return 0
