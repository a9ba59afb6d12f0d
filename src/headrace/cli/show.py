"""`headrace state show JOB`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.cli import rows
from headrace.engine import State, state
from headrace.spelling import ranges


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "show",
        help="list the tables of the state, or show the rows of one",
        description="Show the tables of a job's state, or one of them.",
        epilog=rows.EPILOG,
    )
    rows.arguments(parser)
    parser.add_argument("--table", metavar="NAME", help="show the rows of this table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    opened = state(rows.kept(options.checkpoint), epoch=options.epoch)
    if options.table is not None:
        print(rows.printed(opened.table(options.table, limit=options.limit), options))
    else:
        print(json.dumps(_described(opened), indent=2) if options.format == "json" else _summary(opened))
    return 0


def _described(opened: State) -> dict[str, Any]:
    tables = [{"name": name, "columns": columns, "rows": opened.count(name)} for name, columns in opened.tables.items()]
    return {"job": opened.job, "epochs": list(opened.epochs), "epoch": opened.epoch, "queries": opened.queries, "tables": tables}


def _summary(opened: State) -> str:
    """Return the epochs, then each table with its number of rows and its columns."""
    lines = [f"{opened.job}, epoch {opened.epoch} (of {ranges(opened.epochs)})"]
    if len(opened.queries) > 1:
        lines += [f"  query {name}: epoch {epoch}" for name, epoch in opened.queries.items()]
    for name, columns in opened.tables.items():
        n = opened.count(name)
        lines += ["", f"{name}: {n:,} row{'' if n == 1 else 's'}", f"  {columns}"]
    return "\n".join(lines)
