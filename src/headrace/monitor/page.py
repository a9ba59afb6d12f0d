"""The status page of a run: one HTML file without scripts, which loads nothing else and refreshes itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape, unescape

from headrace.masking import masked
from headrace.plan import Explanation
from headrace.schema import shown as duration
from headrace.spark.run.snapshot import Snapshot

_REFRESH = 5
"""The seconds between two refreshes."""

_STYLE = """
:root { color-scheme: light dark; --back: #f6f8f9; --panel: #fff; --line: #dde3e7; --text: #1f2d35; --soft: #5b6b75; --good: #1b7f4b;
  --busy: #9a6700; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12181c; --panel: #1b2328; --line: #313c43; --text: #e3eaee; --soft: #9aabb5; --good: #5cc98f; --busy: #e0b04a;
    --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
header { display: flex; align-items: baseline; gap: .8rem; flex-wrap: wrap; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
.status { border: 1px solid; border-radius: 1rem; padding: 0 .7rem; font-weight: 600; color: var(--busy); }
.running, .finished { color: var(--good); }
.failed { color: var(--bad); }
.soft { color: var(--soft); }
section, dl > div, .wide { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; }
section { padding: .7rem 1rem; margin-top: 1rem; }
.error { border-color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1rem 0 0; }
dl > div { padding: .5rem .8rem; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.wide { overflow-x: auto; padding: .3rem .8rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { text-align: left; }
tr + tr > td { border-top: 1px solid var(--line); }
pre { margin: 0; padding: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
.drawing { background: #fff; margin-bottom: .6rem; }
"""


def page(now: Snapshot, plan: Explanation) -> str:
    """Return the page of a run."""
    summary = now.summary
    parts = [
        f"<header><h1>{_text(summary.job)}</h1>"
        f'<span class="status {_text(now.status)}">{_text(now.status)}</span>'
        f'<span class="soft">for {_text(_duration(summary.seconds))}</span></header>',
        *_error(now),
        _figures(now),
        *(f"<section>{_text(notice)}</section>" for notice in now.notices),
        *_tables(now),
        f'<h2>Plan</h2><div class="wide drawing">{_drawing(plan)}</div><div class="wide"><pre>{_text(plan)}</pre></div>',
        '<p class="soft">Counts of rows are over the life of the checkpoint. <a href="/metrics">metrics</a>'
        ' <a href="/status.json">status.json</a></p>',
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="{_REFRESH}"><meta name="viewport" content="width=device-width">'
        f"<title>{_text(summary.job)}: {_text(now.status)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _text(value: object) -> str:
    """Return a text for HTML, without secrets."""
    return escape(masked(str(value)))


def _error(now: Snapshot) -> Iterable[str]:
    if now.error is not None:
        hint = f"<pre>{_text(now.error.hint)}</pre>" if now.error.hint else ""
        yield f'<section class="error"><b>{_text(now.error.code)}</b><pre>{_text(now.error.message)}</pre>{hint}</section>'


def _figures(now: Snapshot) -> str:
    progress = now.progress
    figures = {
        "rows in this run": f"{progress.rows:,}",
        "rows per second": f"{progress.rows_per_second:,.0f}",
        "epochs in this run": f"{progress.epochs:,}",
        "last epoch": _duration(progress.epoch_ms / 1000),
        "keys with state": f"{progress.state_keys:,}",
        "watermark": None if progress.watermark is None else f"{progress.watermark:%Y-%m-%d %H:%M:%S} UTC",
        "lag": None if progress.lag is None else _duration(progress.lag),
        "files to read": None if progress.outstanding is None else f"{progress.outstanding:,}",
    }
    cells = (f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in figures.items() if value is not None)
    return f"<dl>{''.join(cells)}</dl>"


def _tables(now: Snapshot) -> Iterable[str]:
    summary, shown = now.summary, now.shown
    yield from _table(
        "Sources",
        ("source", "read", "malformed", "skipped", "broken files"),
        [(shown(one.name), one.read, one.malformed, one.skipped + one.tombstones, one.broken) for one in summary.sources],
    )
    yield from _table(
        "Operators",
        ("input", "rows", "handled", "late", "dead", "held"),
        [(_input(shown(one.program), one.input), one.rows_in, one.handled, one.late, one.dead, one.held) for one in summary.inputs],
    )
    yield from _table("State", ("operator", "keys"), [(shown(name), keys) for name, keys in now.state_keys.items()])
    yield from _table(
        "Lookups",
        ("lookup", "hits", "keys", "requests", "missed", "seconds"),
        [(shown(one.name), one.hits, one.asked, one.requests, one.missed, round(one.seconds, 1)) for one in summary.lookups],
    )
    yield from _table(
        "Expectations",
        ("expectation", "passed", "violated"),
        [(f"{shown(one.stream)}: {one.name}", one.passed, one.violated) for one in summary.expectations],
    )
    yield from _table("Sinks", ("sink", "rows"), [(shown(name), rows) for name, rows in summary.sinks.items()])
    yield from _table("Dead letters", ("folder", "rows"), [(folder, rows) for folder, rows in summary.dead_letters.items() if rows])


def _table(title: str, head: Sequence[str], rows: Sequence[tuple[str | float, ...]]) -> Iterable[str]:
    if not rows:
        return
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    lines = ("".join(f"<td>{_text(cell if isinstance(cell, str) else f'{cell:,}')}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    yield f'<h2>{title}</h2><div class="wide"><table><tr>{names}</tr>{body}</table></div>'


def _input(operator: str, name: str) -> str:
    return operator if name == "event" else f"{operator}.{name}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(int(seconds) * 1000)


def _drawing(plan: Explanation) -> str:
    """Return the drawing of the plan; secrets are masked in its texts, before they are escaped."""
    return re.sub(r">([^<]+)<", lambda part: f">{_text(unescape(part[1]))}<", plan._repr_svg_())
