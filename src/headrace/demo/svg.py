"""Four small plots as inline SVG. Their colours are the page's CSS variables, so they follow its light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape

WIDTH = 920
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 14, 30


@dataclass(frozen=True)
class Series:
    """Values with one name and one CSS colour."""

    name: str
    color: str
    values: Sequence[float]


def columns(
    labels: Sequence[str], series: Sequence[Series], unit: str, *, mirrored: bool = False, height: int = 260, suffix: str = ""
) -> str:
    """Plot columns side by side; with `mirrored` the second series hangs below the axis, for comparison with the first."""
    top = ceiling(max(max(s.values) for s in series))
    parts, step = [], (WIDTH - LEFT - RIGHT) / len(labels)
    inner = height - TOP - BOTTOM
    zero = TOP + inner / 2 if mirrored else TOP + inner
    reach = inner / 2 if mirrored else inner
    for value in ticks(top, 2 if mirrored else 4):
        for sign in (1, -1) if mirrored and value else (1,):
            parts.append(grid(zero - sign * value / top * reach, short(value) + suffix))
    across = 1 if mirrored else len(series)
    wide = step * (0.72 if across == 1 else 0.8) / across
    for number, s in enumerate(series):
        down = mirrored and number == 1
        for index, value in enumerate(s.values):
            x = LEFT + step * index + (step - wide * across) / 2 + (0 if mirrored else wide * number)
            tall = value / top * reach
            y = zero if down else zero - tall
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" rx="1.5" fill="var({s.color})">'
                f"<title>{escape(labels[index])}: {number_of(value)} {escape(unit)} {escape(s.name)}</title></rect>"
            )
    parts += [axis_label(LEFT + step * (i + 0.5), height - 10, label) for i, label in enumerate(labels)]
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}" class="axis"/>')
    return figure(parts, height, series)


def lines(labels: Sequence[str], series: Sequence[Series], unit: str, *, height: int = 260) -> str:
    """Plot a line with points per series, from zero; values are fractions of one."""
    top = ceiling(max(max(s.values) for s in series))
    step, inner = (WIDTH - LEFT - RIGHT) / len(labels), height - TOP - BOTTOM
    parts = [grid(TOP + inner - value / top * inner, percent(value)) for value in ticks(top, 4)]
    for s in series:
        points = [(LEFT + step * (i + 0.5), TOP + inner - value / top * inner) for i, value in enumerate(s.values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="var({s.color})" stroke-width="2.5"/>')
        for (x, y), label, value in zip(points, labels, s.values, strict=True):
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="var({s.color})"><title>{escape(label)}: {percent(value)} {escape(unit)}, '
                f'{escape(s.name)}</title></circle><text x="{x:.1f}" y="{y - 11:.1f}" class="value">{percent(value)}</text>'
            )
    parts += [axis_label(LEFT + step * (i + 0.5), height - 10, label) for i, label in enumerate(labels)]
    return figure(parts, height, series)


def bars(rows: Sequence[tuple[str, float, str]], color: str, *, left: int = 190) -> str:
    """Plot a bar per row: its label, its value and the text at its end."""
    top, tall = max(value for _, value, _ in rows), 27
    parts = []
    for index, (label, value, caption) in enumerate(rows):
        y, wide = 4 + index * tall, value / top * (WIDTH - left - 230)
        parts.append(f'<text x="{left - 10}" y="{y + 14}" class="row">{escape(label)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{wide:.1f}" height="19" rx="2" fill="var({color})"/>')
        parts.append(f'<text x="{left + wide + 8:.1f}" y="{y + 14}" class="said">{escape(caption)}</text>')
    return figure(parts, tall * len(rows) + 4, ())


def calendar(days: dict[date, float], title: Callable[[date], str]) -> str:
    """Plot a year of squares, one per day, in columns of weeks; a deeper colour is a larger value."""
    first = min(days)
    monday = first - timedelta(days=first.weekday())
    size, top = 16.6, max(days.values())
    parts = [f'<text x="30" y="{22 + size * (i + 0.72):.1f}" class="row">{name}</text>' for i, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"))]
    for day, value in days.items():
        week, weekday = divmod((day - monday).days, 7)
        x, y = 38 + week * size, 22 + weekday * size
        if day.day == 1:
            parts.append(f'<text x="{x:.1f}" y="14" class="said">{day:%b}</text>')
        # the square root spreads the ordinary days; a linear scale would show only the ten worst
        depth = math.sqrt(value / top)
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size - 2:.1f}" height="{size - 2:.1f}" rx="2" class="day" '
            f'style="--depth:{depth * 100:.0f}%"><title>{escape(title(day))}</title></rect>'
        )
    return figure(parts, round(24 + size * 7), ())


def figure(parts: Sequence[str], height: int, series: Sequence[Series]) -> str:
    keys = "".join(f'<span><i style="background:var({s.color})"></i>{escape(s.name)}</span>' for s in series)
    legend = f'<div class="legend">{keys}</div>' if keys else ""
    return f'{legend}<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'


def grid(y: float, text: str) -> str:
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        f'<text x="{LEFT - 10}" y="{y + 4:.1f}" class="row">{escape(text)}</text>'
    )


def axis_label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" class="label">{escape(text)}</text>'


def ceiling(value: float) -> float:
    """Return the next round number: 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 or 10 times a power of ten.

    >>> ceiling(54_685), ceiling(0.66)
    (60000.0, 0.8)
    """
    power = 10.0 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value))


def ticks(top: float, count: int) -> list[float]:
    return [top * i / count for i in range(count + 1)]


def short(value: float) -> str:
    """
    >>> short(54_000), short(1_500), short(120)
    ('54k', '1.5k', '120')
    """
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def number_of(value: float) -> str:
    return f"{value:,.0f}"


def percent(value: float) -> str:
    """
    >>> percent(0.5793), percent(0.0182)
    ('58 %', '1.8 %')
    """
    return f"{value * 100:.1f} %" if 0 < value < 0.1 else f"{value * 100:.0f} %"
