"""`headrace demo`"""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="run the demo: a year of flights and its delays",
        description="Replay all flights from New York in 2013 and follow how delays are handed from flight to flight.",
    )
    parser.add_argument("--out", metavar="FOLDER", default="headrace-demo", help="where the results go (default: headrace-demo)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    # imported here, since no other command needs its plots and data
    from headrace.demo import main

    code: int = main(options.out)
    return code
