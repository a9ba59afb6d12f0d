"""`headrace schema`: the JSON schema of jobs in YAML."""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace import spec


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "schema",
        help="print the JSON schema of jobs in YAML",
        description="Print the JSON schema of jobs in YAML, with the connectors that are installed, for editors.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print(json.dumps(spec.schema(), indent=2))
    return 0
