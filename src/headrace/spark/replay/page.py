"""A replay as a page: one HTML file without scripts, which loads nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from headrace.masking import masked

_BODY = "body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; background: #f6f8f9; }\n"

_STYLE = """
.headrace-replay { --panel: #fff; --line: #dde3e7; --text: #1f2d35; --soft: #5b6b75; --out: #1b7f4b; color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
.headrace-replay h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
.headrace-replay p { color: var(--soft); margin: .3rem 0 1rem; }
.headrace-replay details { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; margin-top: .6rem;
  overflow-x: auto; }
.headrace-replay summary { padding: .5rem .8rem; cursor: pointer; overflow-wrap: anywhere; }
.headrace-replay table { border-collapse: collapse; margin: 0 .8rem .6rem; font: 13px/1.45 ui-monospace, monospace; }
.headrace-replay td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; border-top: 1px solid var(--line); text-align: left;
  white-space: pre-wrap; }
.headrace-replay td:first-child, .headrace-replay td:nth-child(2) { color: var(--soft); }
.headrace-replay .emit td:last-child { color: var(--out); font-weight: 600; }
"""


class Line(NamedTuple):
    """A step: its kind, the line of the handler and its text, and what happened."""

    kind: str
    place: str
    code: str
    text: str


def page(title: str, content: str) -> str:
    """Return a page with some content."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_BODY}</style></head>\n<body>\n{content}\n</body></html>\n"
    )


def content(title: str, summary: str, calls: Iterable[tuple[str, Iterable[Line]]], notes: Iterable[str]) -> str:
    """Return the content of a page, which also stands in a notebook. `calls`: the title of each call of a handler, with its steps."""
    parts = [f"<style>{_STYLE}</style>", f"<h1>{_text(title)}</h1>", f"<p>{_text(summary)}</p>"]
    for call, lines in calls:
        parts.append(f"<details open><summary>{_text(call)}</summary><table>{''.join(map(_row, lines))}</table></details>")
    parts += [f"<p>{_text(note)}</p>" for note in notes]
    return '<div class="headrace-replay">' + "\n".join(parts) + "</div>"


def _row(line: Line) -> str:
    cells = "".join(f"<td>{_text(text)}</td>" for text in line[1:])
    return f'<tr class="{line.kind}">{cells}</tr>'


def _text(value: str) -> str:
    """Return a text for HTML, without secrets."""
    return escape(masked(value))
