"""A replay as a page: one HTML file without scripts, which loads nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from headrace.masking import masked

_STYLE = """
:root { color-scheme: light dark; --back: #f6f8f9; --panel: #fff; --line: #dde3e7; --text: #1f2d35; --soft: #5b6b75; --out: #1b7f4b; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12181c; --panel: #1b2328; --line: #313c43; --text: #e3eaee; --soft: #9aabb5; --out: #5cc98f; }
}
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
p { color: var(--soft); margin: .3rem 0 1rem; }
details { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; margin-top: .6rem; overflow-x: auto; }
summary { padding: .5rem .8rem; cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 0 .8rem .6rem; font: 13px/1.45 ui-monospace, monospace; }
td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; border-top: 1px solid var(--line); white-space: pre-wrap; }
td:first-child, td:nth-child(2) { color: var(--soft); }
.emit td:last-child { color: var(--out); font-weight: 600; }
"""


class Line(NamedTuple):
    """A step: its kind, the line of the handler and its text, and what happened."""

    kind: str
    place: str
    code: str
    text: str


def page(title: str, summary: str, calls: Iterable[tuple[str, Iterable[Line]]], notes: Iterable[str]) -> str:
    """Return a page. `calls`: the title of each call of a handler, with its steps."""
    parts = [f"<h1>{_text(title)}</h1>", f"<p>{_text(summary)}</p>"]
    parts += [
        f"<details open><summary>{_text(call)}</summary><table>{''.join(map(_row, lines))}</table></details>" for call, lines in calls
    ]
    parts += [f"<p>{_text(note)}</p>" for note in notes]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _row(line: Line) -> str:
    cells = "".join(f"<td>{_text(text)}</td>" for text in line[1:])
    return f'<tr class="{line.kind}">{cells}</tr>'


def _text(value: str) -> str:
    """Return a text for HTML, without secrets."""
    return escape(masked(value))
