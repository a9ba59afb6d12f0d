"""`headrace packages`"""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import Any

from headrace import ports
from headrace.errors import ConnectorError
from headrace.packages import Packages


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "packages",
        help="what connectors need beside Spark, and fetching it",
        description="Say what connectors need beside Spark, whether it is there and where it lies; fetch jars before a job needs them.",
    )
    verbose = {"action": "store_true", "help": "a line for each module and jar, with its place"}
    parser.add_argument("--verbose", **verbose)
    parser.set_defaults(run=show)
    verbs = parser.add_subparsers(metavar="VERB")
    listing = verbs.add_parser("list", help="what is needed and what is there (as without a verb)")
    listing.add_argument("--verbose", **verbose, default=argparse.SUPPRESS)
    listing.set_defaults(run=show)
    adding = verbs.add_parser("add", help="fetch and build what a connector needs")
    adding.add_argument("name", nargs="+", metavar="NAME", help="one of the list")
    adding.set_defaults(run=fetch)


def show(asked: argparse.Namespace) -> int:
    for name, needed in ports.packages().items():
        parts = _parts(name, needed)
        if not asked.verbose:
            print(_line(name, parts))
            continue
        for what, there, cure in parts:
            print(f"{'there  ' if there else 'MISSING'}  {name}: {what}")
            if not there:
                print(f"         cure: {cure}")
    return 0


def _line(name: str, parts: list[tuple[str, bool, str]]) -> str:
    """Whether all is there that a connector needs, and how to get the rest."""
    cures = dict.fromkeys(cure for _, there, cure in parts if not there)
    if not cures:
        return f"there    {name}"
    missing = sum(not there for _, there, _ in parts)
    return f"MISSING  {name}: {missing} of {len(parts)} part{'' if len(parts) == 1 else 's'}; cure: {'; '.join(cures)}"


def fetch(asked: argparse.Namespace) -> int:
    from headrace.jvm.packages import provide

    known = ports.packages()
    for name in asked.name:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise ConnectorError(
                "UNKNOWN_CONNECTOR", f"no connector needs packages named `{name}`", hint=f"{hint}There are: {', '.join(known) or 'none'}"
            )
    for name in asked.name:
        for jar in provide(known[name]):
            print(jar)
    return 0


def _parts(name: str, needed: Packages) -> list[tuple[str, bool, str]]:
    """Each thing that is needed with its place, whether it is there, and how to get it."""
    from headrace.jvm import fetch
    from headrace.jvm.packages import installed

    extra = f'"headrace[{needed.extra}]"' if needed.extra else ""
    found = [(f"Python module {module}", installed(module), f"pip install {extra or module}") for module in needed.modules]
    jars = [(f"{jar.coordinate} in {fetch.place(jar)}", fetch.there(jar), f"headrace packages add {name}") for jar in needed.jars]
    return found + jars
