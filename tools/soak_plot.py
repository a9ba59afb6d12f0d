"""Stores the measurements of tests/faults/soak.py as docs/results/soak.json, and draws them as docs/results/soak.svg.

`python tools/soak_plot.py FOLDER` takes the measurements of the soak that ran in FOLDER; without a folder it only redraws.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
RESULTS = ROOT / "docs" / "results" / "soak.json"
DRAWING = RESULTS.with_suffix(".svg")

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 190, 56, 14, 34, 26
PANELS = (
    ("files of the checkpoint", lambda end: end["files"]),
    ("size of the checkpoint, MB", lambda end: end["bytes"] / 1e6),
    ("from one epoch to the next, ms", lambda end: end["median"]),
    ("from a start to its first epoch, s", lambda end: end["start"]),
)
"""Each panel with its value at the end of a process."""


def drawing(ends: Sequence[dict[str, Any]]) -> str:
    """Four panels over the epoch at which a process was stopped (a disc) or killed (a ring)."""
    panels = [
        f'<g transform="translate({WIDTH * (place % 2)} {HEIGHT * (place // 2)})">{panel(title, ends, [value(end) for end in ends])}</g>'
        for place, (title, value) in enumerate(PANELS)
    ]
    size = f'width="{2 * WIDTH}" height="{2 * HEIGHT}" viewBox="0 0 {2 * WIDTH} {2 * HEIGHT}"'
    white = '<rect width="100%" height="100%" fill="#fff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">{white}{"".join(panels)}</svg>\n'


def panel(title: str, ends: Sequence[dict[str, Any]], values: Sequence[float]) -> str:
    from headrace.demo.svg import ceiling, short

    top, last = ceiling(max(values)), ceiling(max(end["epoch"] for end in ends))
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = [f'<text x="{LEFT}" y="20" font-weight="bold">{escape(title)}</text>']
    for share in (0, 0.5, 1):
        y, x = TOP + down * (1 - share), LEFT + across * share
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(top * share)}</text>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{short(last * share)}</text>')
    for end, value in zip(ends, values, strict=True):
        x, y = LEFT + across * end["epoch"] / last, TOP + down * (1 - value / top)
        fill = "#fff" if end["how"] == "kill" else "#1565c0"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="#1565c0" stroke-width="1.5"/>')
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[1:]:
        RESULTS.write_text(json.dumps(json.loads((Path(sys.argv[1]) / "ends.json").read_text()), indent=1) + "\n", encoding="utf-8")
    DRAWING.write_text(drawing(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
