"""The command `headrace`: one file per command, put together here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import metadata

from headrace.cli import (
    certify,
    compare,
    completion,
    demo,
    deploy,
    diff,
    docs,
    doctor,
    error,
    explain,
    fork,
    letters,
    packages,
    plan,
    prepare,
    promote,
    replay,
    rescale,
    rewind,
    rollback,
    run,
    savepoint,
    schema,
    sql,
    state,
    status,
    stop,
    why,
)
from headrace.cli.options import in_options
from headrace.cli.parser import Parser
from headrace.errors import EXIT_CODES, HeadraceError
from headrace.interrupts import EXIT_CODE, interrupted, interruptible

COMMANDS = (
    *(run, sql, explain, plan, schema, state, letters, savepoint, why, replay),
    *(diff, compare, deploy, rescale, rollback, fork, promote, rewind, status, stop),
    *(certify, demo, doctor, error, docs, packages, prepare, completion),
)

_EXITS = """\
exit code: 0 success, 1 the job has to be changed, 2 the command is invalid, 3 the input does not fit,
4 the machine or its set-up is the cause, 5 a bug in headrace, 130 stopped by Ctrl-C or SIGTERM.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; completion scripts are made from it."""
    top = Parser(prog="headrace", description="Keep results up to date on Apache Spark.", epilog=_EXITS)
    top.add_argument("--version", action="version", version=f"headrace {version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def version() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        with interruptible():
            options = parser().parse_args(arguments)
            code: int = options.run(options)
            return code
    except HeadraceError as error:
        if interrupted():
            return EXIT_CODE
        print(in_options(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_CODE
    except BrokenPipeError:
        # the reader of the output has closed it (`headrace plan job.py | head`)
        sys.stderr.close()
        return EXIT_CODES["user"]
