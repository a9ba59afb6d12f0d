"""`headrace why JOB VIEW`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headrace import engine
from headrace.cli import changes, rows
from headrace.cli.numbers import whole
from headrace.engine.asking import MOST
from headrace.engine.state import stored_job

EPILOG = """\
All rows that the job has read are read again, up to a moment between two epochs; a running job goes on. `headrace docs why` has more.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "why",
        help="show the rows of the sources that gave a row of a result",
        description="Show why a row is in a result: the rows of the sources that gave it. Changes nothing.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("view", metavar="VIEW", help="the name of a sink, or of an operator of a query")
    parser.add_argument(
        "--row",
        metavar="JSON",
        type=rows.values,
        default={},
        help="""values of some of its columns, such as '{"card": "a"}' (default: any row)""",
    )
    parser.add_argument(
        "--rows", metavar="N", type=whole(least=1, most=MOST), default=20, help="show at most this many rows of a source (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    home = Path(rows.kept(options.checkpoint)).absolute()
    answer = engine.why(home, options.view, options.row, rows=options.rows, progress=changes.report(stored_job(home).job))
    print(json.dumps(answer.to_json(), indent=2) if options.json else answer)
    return 0
