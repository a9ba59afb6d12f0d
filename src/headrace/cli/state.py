"""`headrace state show CHECKPOINT` and `headrace state query CHECKPOINT SQL`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.engine import State, Table, state
from headrace.engine.state import spelled

EPILOG = """\
Nothing is locked and nothing is changed: the job may run meanwhile. docs/state.md says what the tables show.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "state", help="look into the state of a job", description="Look into the state that a job keeps.", epilog=EPILOG
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_one in (_show, _query):
        add_one(actions)


def _show(actions: Any) -> None:
    parser = actions.add_parser(
        "show", help="which tables there are, or the rows of one", description="Show the tables of a job's state, or one of them."
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the folder in which the job keeps its state, such as .headrace/NAME")
    parser.add_argument("--table", metavar="NAME", help="show the rows of this table")
    _common(parser)
    parser.set_defaults(run=show)


def _query(actions: Any) -> None:
    parser = actions.add_parser(
        "query", help="ask the state a question in SQL", description="Run a SELECT of Spark SQL over the tables of a job's state."
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the folder in which the job keeps its state, such as .headrace/NAME")
    parser.add_argument("sql", metavar="SQL", help='such as "SELECT key.card, n FROM counts WHERE n > 100"')
    _common(parser)
    parser.set_defaults(run=query)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epoch", metavar="N", type=int, help="the state after this epoch (default: the last one)")
    parser.add_argument("--limit", metavar="N", type=_limit, default=20, help="at most so many rows (default: 20)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how rows are printed (default: text)")


def _limit(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is no number of rows")
    return int(text)


def show(asked: argparse.Namespace) -> int:
    found = state(asked.checkpoint, epoch=asked.epoch)
    if asked.table is not None:
        _print(found.table(asked.table, limit=asked.limit), asked)
    elif asked.format == "json":
        print(json.dumps(_described(found), indent=2))
    else:
        print(_summary(found))
    return 0


def query(asked: argparse.Namespace) -> int:
    _print(state(asked.checkpoint, epoch=asked.epoch).query(asked.sql, limit=asked.limit), asked)
    return 0


def _print(table: Table, asked: argparse.Namespace) -> None:
    print(json.dumps(table.to_json(), indent=2) if asked.format == "json" else table.shown(asked.limit))


def _described(found: State) -> dict[str, Any]:
    tables = [{"name": name, "columns": columns, "rows": found.count(name)} for name, columns in found.tables.items()]
    return {"job": found.job, "epochs": list(found.epochs), "epoch": found.epoch, "queries": found.queries, "tables": tables}


def _summary(found: State) -> str:
    """The epochs, then each table with its rows and columns."""
    lines = [f"{found.job}, epoch {found.epoch} (there are {spelled(found.epochs)})"]
    if len(found.queries) > 1:
        lines += [f"  query {name}: epoch {epoch}" for name, epoch in found.queries.items()]
    for name, columns in found.tables.items():
        rows = found.count(name)
        lines += ["", f"{name}: {rows:,} row{'' if rows == 1 else 's'}", f"  {columns}"]
    return "\n".join(lines)
