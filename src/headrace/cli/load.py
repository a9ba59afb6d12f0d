"""The FILE of a job on the command line, shared by all commands that load one: its options, and the job with replaced paths."""

from __future__ import annotations

import argparse

from headrace.engine import Job
from headrace.engine.fork import named
from headrace.errors import HeadraceError
from headrace.load import load


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python, SQL or YAML file that defines a job, or a plan in a JSON file")
    options(parser)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with a FILE."""
    parser.add_argument("--job", metavar="NAME", help="the job, if the file defines several")
    path(parser)
    parser.add_argument("--as", dest="named", metavar="NAME", help="another name for the job, such as that of its fork")


def path(parser: argparse.ArgumentParser) -> None:
    """Add the option for other paths."""
    parser.add_argument(
        "--path",
        metavar="NAME=PATH",
        action="append",
        default=[],
        help="another path for this source or sink; may be repeated",
    )


def job(options: argparse.Namespace) -> Job:
    """Return the job that the command line names."""
    loaded = load(options.file, job=options.job)
    others = paths(options)
    moved = loaded.with_paths(others) if others else loaded
    return moved if options.named is None else named(moved, options.named)


def paths(options: argparse.Namespace) -> dict[str, str]:
    """Return the other paths of sources and sinks that the command line names."""
    paths: dict[str, str] = {}
    for text in options.path:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            hint = "write the name of a source or sink and its path: --path charges=other/folder"
            raise HeadraceError("BAD_SETTING", f"--path expects NAME=PATH, got `{text}`", hint=hint)
        paths[name] = path
    return paths
