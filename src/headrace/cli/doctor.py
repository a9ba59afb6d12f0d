"""`headrace doctor`"""

from __future__ import annotations

import argparse
import json
from typing import Any

from headrace.errors import EXIT_CODES


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor", help="say what is installed, what is missing and how to fix it", description="Look at all that headrace needs."
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    from headrace.jvm.doctor import checks

    found = checks()
    if asked.json:
        print(json.dumps([check.to_json() for check in found], indent=2))
    else:
        for check in found:
            print(f"{'ok     ' if check.ok else 'MISSING' if check.required else 'without'}  {check.name}: {check.found}")
            if check.cure and not check.ok:
                print(f"         cure: {check.cure}")
    return EXIT_CODES["environment"] if any(check.required and not check.ok for check in found) else 0
