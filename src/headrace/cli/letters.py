"""`headrace letters ...`: shows the dead letters of a job, exports them for repair, and replays them."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import rows
from headrace.cli.numbers import whole
from headrace.engine.letters import letters

EPILOG = """\
Nothing is locked: the job may run meanwhile. `headrace docs contracts` describes the way from a letter to a row.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "letters", help="show the dead letters of a job, or feed them back repaired", description="Work with the dead letters of a job."
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _show(parts)
    _export(parts)
    _replay(parts)


def _show(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "show", help="show them, oldest first", description="Show the dead letters of a job.", epilog=EPILOG
    )
    rows.job(parser)
    _some(parser)
    parser.add_argument("--limit", metavar="N", type=whole(), default=20, help="show at most this many (default: 20)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the output format (default: text)")
    parser.set_defaults(run=show)


def _export(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "export",
        help="write the rows of a source's letters into a file, to be repaired",
        description="Write the rows of a source's letters into a file, as the source would read them.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("file", metavar="FILE", help="the file to write")
    _some(parser, needed=True)
    parser.set_defaults(run=export)


def _replay(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "replay",
        help="feed a repaired file to a source, each of its rows once",
        description="Feed a file of repaired rows to a source: the job reads them with its next epoch, or when it next runs.",
        epilog=EPILOG,
    )
    rows.job(parser)
    parser.add_argument("file", metavar="FILE", help="the repaired file")
    parser.add_argument("--source", metavar="NAME", required=True, help="the source whose rows they are")
    parser.add_argument("--again", action="store_true", help="even if this file was replayed before")
    parser.set_defaults(run=replay)


def _some(parser: argparse.ArgumentParser, *, needed: bool = False) -> None:
    parser.add_argument("--source", metavar="NAME", required=needed, help="of this source")
    parser.add_argument("--reason", metavar="TEXT", help="whose reason contains this text")


def show(options: argparse.Namespace) -> int:
    print(
        rows.printed(
            letters(rows.kept(options.checkpoint)).table(source=options.source, reason=options.reason, limit=options.limit), options
        )
    )
    return 0


def export(options: argparse.Namespace) -> int:
    exported = letters(rows.kept(options.checkpoint)).export(options.source, options.file, reason=options.reason)
    print(f"{exported.rows:,} row{'' if exported.rows == 1 else 's'} of {options.source} in {options.file}")
    for count, nodes, sinks in exported.reached:
        failed = f"{count:,} row{'' if count == 1 else 's'} that failed in {', '.join(nodes)}"
        print(f"{failed} may have reached {', '.join(sinks)} on another path: a replay feeds {'it' if count == 1 else 'them'} there again")
    for why, count in exported.left_out.items():
        print(f"{count:,} letter{'' if count == 1 else 's'} left out: {why}")
    return 0


def replay(options: argparse.Namespace) -> int:
    count = letters(rows.kept(options.checkpoint)).replay(options.source, options.file, again=options.again)
    print(f"{count:,} row{'' if count == 1 else 's'} for {options.source}, to be read with the next epoch, or when the job next runs;")
    print("if the watermark has passed their time, they are late")
    return 0
