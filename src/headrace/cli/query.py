"""`headrace state query JOB SQL`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import rows
from headrace.engine import state


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "query",
        help="query the state in SQL",
        description="Run a SELECT of Spark SQL over the tables of a job's state.",
        epilog=rows.EPILOG,
    )
    rows.arguments(parser)
    parser.add_argument("sql", metavar="SQL", help='such as "SELECT key.card, n FROM counts WHERE n > 100"')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(rows.printed(state(rows.kept(options.checkpoint), epoch=options.epoch).query(options.sql, limit=options.limit), options))
    return 0
