"""`headrace sql [FILE]`"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from headrace.client.client import Client
from headrace.client.output import FORMATS, Output
from headrace.durable import named
from headrace.interrupts import EXIT_CODE
from headrace.load import job_name, script
from headrace.syntax.script import statements
from headrace.syntax.statements import Run, Statement, lasting

EPILOG = """\
A script's statements run in order; its INSERTs into sinks form one job, which runs at the end. With -e, FILE does not run, but its names
are known. Without FILE and -e this is a prompt, or reads a script from standard input. `headrace docs sql` lists the statements.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "sql", help="run a SQL script, or open a prompt", description="Run a SQL script, or open a SQL prompt.", epilog=EPILOG
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a SQL script")
    parser.add_argument("-e", "--execute", metavar="SQL", action="append", default=[], help="run these statements; may be repeated")
    parser.add_argument("--output", choices=FORMATS, default="table", help="how results are printed (default: table)")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="where the job keeps its state (default: .headrace/NAME)")
    parser.add_argument("--every", metavar="DURATION", help='start an epoch this often, such as "10 seconds"')
    parser.add_argument("--fresh", action="store_true", help="remove the checkpoint and what the sinks wrote, and start over")
    parser.add_argument(
        "--flush",
        action=argparse.BooleanOptionalAction,
        help="at the end of bounded input, handle held rows, close windows, fire timers and seal the job (default), or keep them",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress while the job runs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    output = Output(options.output)
    file = None if options.file is None else named.existing(options.file)
    client = Client(output, job="sql" if file is None else job_name(file))
    if options.execute:
        return _answer(client, file, options.execute)
    if file is not None:
        return _whole(client, script(file), options)
    if sys.stdin.isatty():
        from headrace.client.prompt import prompt

        return prompt(output)
    return _whole(client, statements(sys.stdin.read(), "<stdin>"), options)


def _answer(client: Client, place: Path | None, texts: list[str]) -> int:
    """Run only the texts of `-e`; of the file, only the statements that define something."""
    known = () if place is None else script(place)
    ended = client.run(statement for statement in known if lasting(statement))
    for text in texts:
        ended = client.run(statements(text, "<sql>")) and ended
    return 0 if ended else EXIT_CODE


def _whole(client: Client, script: tuple[Statement, ...], options: argparse.Namespace) -> int:
    """Run a script, then its job. RUN statements are skipped, because they would run the job twice."""
    ended = client.run(one for one in script if not isinstance(one, Run))
    if not ended or not client.catalogue.sinks():
        return 0 if ended else EXIT_CODE
    summary = client.run_job(
        checkpoint=options.checkpoint,
        every=options.every,
        fresh=options.fresh,
        flush=options.flush,
        progress=False if options.quiet else None,
    )
    return EXIT_CODE if summary.stopped else 0
