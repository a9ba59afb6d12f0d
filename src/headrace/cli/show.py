"""`headrace state show JOB`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.cli import rows
from headrace.engine import State, state
from headrace.engine.state import spelled


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


def run(asked: argparse.Namespace) -> int:
    found = state(rows.kept(asked.checkpoint), epoch=asked.epoch)
    if asked.table is not None:
        print(rows.printed(found.table(asked.table, limit=asked.limit), asked))
    else:
        print(json.dumps(_described(found), indent=2) if asked.format == "json" else _summary(found))
    return 0


def _described(found: State) -> dict[str, Any]:
    tables = [{"name": name, "columns": columns, "rows": found.count(name)} for name, columns in found.tables.items()]
    return {"job": found.job, "epochs": list(found.epochs), "epoch": found.epoch, "queries": found.queries, "tables": tables}


def _summary(found: State) -> str:
    """Return the epochs, then each table with its number of rows and its columns."""
    lines = [f"{found.job}, epoch {found.epoch} (of {spelled(found.epochs)})"]
    if len(found.queries) > 1:
        lines += [f"  query {name}: epoch {epoch}" for name, epoch in found.queries.items()]
    for name, columns in found.tables.items():
        n = found.count(name)
        lines += ["", f"{name}: {n:,} row{'' if n == 1 else 's'}", f"  {columns}"]
    return "\n".join(lines)
