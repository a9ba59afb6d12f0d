"""`headrace docs [PAGE]`: a page of the documentation, in the terminal."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import pages
from headrace.spelling import suggestion


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "docs",
        help="print a page of the documentation, such as settings",
        description="Print a page of the documentation, or list all pages.",
    )
    parser.add_argument("page", metavar="PAGE", nargs="?", help="such as settings or connectors/kafka (default: list all pages)")
    parser.set_defaults(run=run, complain=parser.error)


def run(options: argparse.Namespace) -> int:
    known = pages.names()
    if options.page is None:
        width = max(map(len, known))
        for name, title in known.items():
            print(f"{name:{width}}  {title}")
        return 0
    name = options.page.removeprefix("docs/").removesuffix(".md").lower()
    shortcuts = pages.shortcuts()
    name = shortcuts.get(name.rstrip("/"), name)
    if name not in known:
        options.complain(f"there is no page {options.page}: {suggestion(name, [*shortcuts, *known], '`headrace docs` lists all pages')}")
    pages.show(pages.text(name), name.rpartition("/")[0])
    return 0
