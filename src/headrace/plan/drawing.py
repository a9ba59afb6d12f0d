"""A plan drawn as SVG in layers from left to right, without a library."""

from __future__ import annotations

import html

from headrace.plan.display import DisplayNames
from headrace.plan.node import Node, Role
from headrace.plan.plan import Plan
from headrace.plan.walk import depths

_HEIGHT, _GAP_X, _GAP_Y, _EDGE = 44, 56, 18, 12
_LETTER = 6.7  # the mean width of a letter at 12 px
_FILL = {
    Role.SOURCE: "#e3f2fd",
    Role.SINK: "#e8f5e9",
    Role.STATEFUL: "#fff3e0",
    Role.LOOKUP: "#ede7f6",
    Role.STATELESS: "#f5f5f5",
    Role.OUTPUT: "#fce4ec",
}


def svg(plan: Plan, shown: DisplayNames) -> str:
    """Return the drawing of a plan: a box for each node, an arrow for each input."""
    layers = _layers(plan)
    widths = [max(_width(node, shown) for node in layer) for layer in layers]
    rows = max(len(layer) for layer in layers) if layers else 0
    height = rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _EDGE
    boxes: dict[Node, tuple[float, float, float]] = {}
    left = float(_EDGE)
    for layer, width in zip(layers, widths, strict=True):
        top = (height - (len(layer) * (_HEIGHT + _GAP_Y) - _GAP_Y)) / 2
        for node in layer:
            boxes[node] = (left, top, width)
            top += _HEIGHT + _GAP_Y
        left += width + _GAP_X
    total = left - _GAP_X + _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height:.0f}" viewBox="0 0 {total:.0f} {height:.0f}"'
        ' font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#607d8b"/></marker></defs>',
    ]
    parts.extend(_arrow(boxes[before], boxes[node]) for node in boxes for before in node.inputs)
    parts.extend(_box(node, shown, *boxes[node]) for node in boxes)
    return "".join(parts) + "</svg>"


def drawn(plan: Plan) -> str:
    """Return the drawing of a plan with display names."""
    return svg(plan, DisplayNames.of(plan))


def _layers(plan: Plan) -> list[list[Node]]:
    """Return nodes by their distance from the sources; within a layer, by the mean place of their inputs, so that few arrows cross."""
    layers: dict[int, list[Node]] = {}
    for node, depth in depths(plan.nodes.values()).items():
        layers.setdefault(depth, []).append(node)
    ordered = [layers[depth] for depth in sorted(layers)]
    places: dict[Node, float] = {}
    for layer in ordered:
        layer.sort(key=lambda node: sum(places[before] for before in node.inputs) / max(len(node.inputs), 1))
        places.update((node, float(place)) for place, node in enumerate(layer))
    return ordered


def _clipped(text: str) -> str:
    return text if len(text) <= 36 else text[:35] + "…"


def _width(node: Node, shown: DisplayNames) -> float:
    return max(len(_clipped(shown(node.name))), len(_clipped(node.describe())), 8) * _LETTER + 20


def _box(node: Node, shown: DisplayNames, left: float, top: float, width: float) -> str:
    name, says = html.escape(_clipped(shown(node.name))), html.escape(_clipped(node.describe()))
    tip = html.escape(f"{shown(node.name)}: {node.describe()}" + (f" ({node.site})" if node.site else ""))
    return (
        f'<g><title>{tip}</title><rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{_HEIGHT}" rx="6" '
        f'fill="{_FILL[node.role]}" stroke="#90a4ae"/>'
        f'<text x="{left + 10:.0f}" y="{top + 18:.0f}" font-weight="bold" fill="#263238">{name}</text>'
        f'<text x="{left + 10:.0f}" y="{top + 35:.0f}" fill="#546e7a">{says}</text></g>'
    )


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    x1, y1 = start[0] + start[2], start[1] + _HEIGHT / 2
    x2, y2 = end[0], end[1] + _HEIGHT / 2
    bend = (x2 - x1) / 2
    return (
        f'<path d="M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2 - 2:.0f} {y2:.0f}" '
        'fill="none" stroke="#607d8b" marker-end="url(#tip)"/>'
    )
