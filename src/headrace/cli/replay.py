"""`headrace replay JOB`"""

from __future__ import annotations

import argparse
import json
from bdb import BdbQuit
from collections.abc import Callable
from pathlib import Path
from pdb import Pdb
from typing import Any

from headrace import engine
from headrace.cli import changes, rows
from headrace.cli.numbers import whole
from headrace.durable import atomic
from headrace.engine.asking import MOST
from headrace.engine.state import stored_job
from headrace.load import load

EPILOG = """\
All rows that the job has read are read again, up to a moment between two epochs; a running job goes on. `headrace docs replay` has more.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "replay",
        help="show what a program did for a key, step by step",
        description="Run a program again for one key, and show each row, timer, change of a cell and emitted row. Changes nothing.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the name of the program (default: the only one of the job)")
    parser.add_argument("--key", metavar="JSON", type=rows.values, default={}, help="""the values of the key, such as '{"card": "c29"}'""")
    parser.add_argument("--without", metavar="N", type=whole(least=1), help="leave out the row of the key with this number")
    parser.add_argument(
        "--rows",
        metavar="N",
        type=whole(least=1, most=MOST),
        default=20,
        help="show at most this many rows and timers, the last (default: 20)",
    )
    parser.add_argument("--pdb", metavar="FILE", help="run the handlers in Python's debugger, as FILE, the file of the job, defines them")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--html", metavar="PAGE", help="write a page with the steps to this file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    home = Path(rows.kept(options.checkpoint)).absolute()
    name = stored_job(home).job
    job = None if options.pdb is None else load(options.pdb, job=name)
    try:
        replay = engine.replay(
            home,
            options.key,
            options.program,
            without=options.without,
            rows=options.rows,
            debug=None if job is None else _Debugger().call,
            progress=changes.report(name),
        )
    except BdbQuit:
        return 0
    if options.html is not None:
        atomic.replace(Path(options.html), replay.page())
    print(json.dumps(replay.to_json(), indent=2) if options.json else replay)
    return 0


class _Debugger(Pdb):
    """Python's debugger, which stops at the lines of the user's files only."""

    def __init__(self) -> None:
        super().__init__(skip=["headrace.*", "pyspark.*", "py4j.*"])
        self._is_left = False

    def set_quit(self) -> None:
        self._is_left = True
        super().set_quit()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function. Raises BdbQuit if the user leaves the debugger."""
        self.runcall(function, *arguments)
        if self._is_left:
            raise BdbQuit
