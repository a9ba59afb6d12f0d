"""`headrace error [CODE]`: the page of an error, in the terminal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headrace.cli import pages
from headrace.codes import CODES, REASONS, RENAMED, page_of
from headrace.ports.registry import load_all
from headrace.spelling import suggestion


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "error",
        help="explain an error: its cause and its fix",
        description="Print the page of the code of an error or of a dead letter, or list all codes.",
    )
    parser.add_argument(
        "code",
        metavar="CODE",
        nargs="?",
        help="the code at the beginning of an error or of a dead letter's reason (default: list all codes)",
    )
    parser.set_defaults(run=run, complain=parser.error)


def run(options: argparse.Namespace) -> int:
    code = "" if options.code is None else options.code.strip("`:[]").upper()
    code = RENAMED.get(code, code)
    if code not in CODES and code not in REASONS:
        load_all()
    if options.code is None:
        titles = {**REASONS, **{name: row.title for name, row in CODES.items()}}
        width = max(map(len, titles))
        for name, title in sorted(titles.items()):
            print(f"{name:{width}}  {title}")
        return 0
    if code not in CODES and code not in REASONS:
        all_of_them = "`headrace error` lists all codes; those in [brackets] are Spark's"
        options.complain(f"unknown error code {options.code}: {suggestion(code, [*CODES, *REASONS], all_of_them)}")
    pages.show(page(code), "errors")
    return 0


def page(code: str) -> str:
    """Return the page of a code as Markdown."""
    places = (*(folder / f"{code}.md" for folder in pages.ERRORS), Path(page_of(code)))
    file = next(place for place in places if place.is_file())
    return file.read_text(encoding="utf-8")
