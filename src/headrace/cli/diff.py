"""`headrace diff OLD NEW`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headrace.cli.options import as_options
from headrace.cli.rows import checkpoint
from headrace.engine import Job, diff
from headrace.load import KINDS, load

EPILOG = """\
OLD and NEW are each a Python, SQL or YAML file with a job, a plan in a JSON file, the name of a job that has run, or the folder of a
checkpoint or savepoint. The exit code is 1 if NEW cannot continue from OLD.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "diff",
        help="compare two versions of a job",
        description="Show what would become of each part of OLD if NEW took its place. Changes nothing.",
        epilog=EPILOG,
    )
    parser.add_argument("old", metavar="OLD", help="the earlier version")
    parser.add_argument("new", metavar="NEW", help="the later version")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    difference = diff(_version(options.old), _version(options.new))
    print(json.dumps(difference.to_json(), indent=2) if options.json else as_options(str(difference)))
    return 1 if difference.refusals else 0


def _version(text: str) -> Job | str:
    return load(text) if Path(text).suffix in KINDS and not Path(text).is_dir() else checkpoint(text)
