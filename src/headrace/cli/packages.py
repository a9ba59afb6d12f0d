"""`headrace packages`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace import ports
from headrace.errors import ConnectorError
from headrace.packages import Packages
from headrace.spelling import suggestion


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "packages",
        help="list and fetch the packages of connectors",
        description="List the packages that connectors need in addition to Spark, and where they are; fetch jars before a job needs them.",
    )
    detail = "a line for each module and jar, with its path"
    parser.add_argument("--verbose", action="store_true", help=detail)
    parser.set_defaults(run=show)
    verbs = parser.add_subparsers(metavar="VERB")
    listing = verbs.add_parser("list", help="list what is needed and what is there (the default)")
    listing.add_argument("--verbose", action="store_true", help=detail, default=argparse.SUPPRESS)
    listing.set_defaults(run=show)
    adding = verbs.add_parser("add", help="fetch and build the packages of a connector")
    adding.add_argument("name", nargs="+", metavar="NAME", help="a name of the list")
    adding.set_defaults(run=fetch)


def show(options: argparse.Namespace) -> int:
    for name, needed in ports.packages().items():
        parts = _parts(name, needed)
        if not options.verbose:
            print(_line(name, parts))
            continue
        for what, there, cure in parts:
            print(f"{'there  ' if there else 'MISSING'}  {name}: {what}")
            if not there:
                print(f"         cure: {cure}")
    return 0


def _line(name: str, parts: list[tuple[str, bool, str]]) -> str:
    """Return a line: whether a connector has all it needs, and how to get the rest."""
    cures = dict.fromkeys(cure for _, there, cure in parts if not there)
    if not cures:
        return f"there    {name}"
    missing = sum(not there for _, there, _ in parts)
    return f"MISSING  {name}: {missing} of {len(parts)} part{'' if len(parts) == 1 else 's'}; cure: {'; '.join(cures)}"


def fetch(options: argparse.Namespace) -> int:
    from headrace.jvm.packages import provide

    known = ports.packages()
    for name in options.name:
        if name not in known:
            hint = suggestion(name, known, f"there are: {', '.join(known) or 'none'}")
            raise ConnectorError("UNKNOWN_CONNECTOR", f"no connector has packages named `{name}`", hint=hint)
    for name in options.name:
        for jar in provide(known[name]):
            print(jar)
    return 0


def _parts(name: str, needed: Packages) -> list[tuple[str, bool, str]]:
    """Return each needed part with its place, whether it exists, and how to get it."""
    from headrace.jvm import fetch
    from headrace.jvm.packages import installed

    extra = f'"headrace[{needed.extra}]"' if needed.extra else ""
    modules = [(f"Python module {module}", installed(module), f"pip install {extra or module}") for module in needed.modules]
    jars = [(f"{jar.coordinate} in {fetch.place(jar)}", fetch.there(jar), f"headrace packages add {name}") for jar in needed.jars]
    return modules + jars
