"""The FILE of a job on the command line, shared by all commands that load one: its options, and the job with replaced paths."""

from __future__ import annotations

import argparse

from headrace.engine import Job
from headrace.errors import HeadraceError
from headrace.load import load


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python, SQL or YAML file that defines a job, or a plan in a JSON file")
    options(parser)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with a FILE."""
    parser.add_argument("--job", metavar="NAME", help="the job, if the file defines several")
    parser.add_argument(
        "--path",
        metavar="SOURCE=PATH",
        action="append",
        default=[],
        help="another path for this source or sink; may be repeated",
    )


def job(asked: argparse.Namespace) -> Job:
    """Return the job that the command line names."""
    found = load(asked.file, job=asked.job)
    paths: dict[str, str] = {}
    for text in asked.path:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise HeadraceError("BAD_SETTING", f"--path {text} has no source and path", hint="write --path charges=other/folder.")
        paths[name] = path
    return found.with_paths(paths) if paths else found
