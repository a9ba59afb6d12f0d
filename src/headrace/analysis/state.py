"""State and time: what an operator keeps, for how long, and how long it waits."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops import Program, Source
from headrace.plan import Fact, Plan, fact, order
from headrace.schema import shown


@fact("state")
def state(plan: Plan) -> Mapping[str, Fact]:
    """What each operator keeps. Cells live until they are cleared; held rows until the watermark has passed them."""
    found: dict[str, Fact] = {}
    for name, node in plan.nodes.items():
        if isinstance(node, Program):
            cells = [f"{cell.name} {cell.type}" if cell.kind != "timer" else f"{cell.name} timer" for cell in node.traced.cells]
            per = "one row" if not node.keys[0] else "one row per key"
            if not cells:
                text = "no cells" + (", held rows only" if node.order == "time" else "")
            elif _cleared(node):
                text = f"{per} while a cell is set ({', '.join(cells)})"
            else:
                text = f"{per}, which is never cleared: it grows with the number of keys ({', '.join(cells)})"
            found[name] = Fact({"cells": cells, "cleared": not cells or _cleared(node)}, text)
    return found


def _cleared(node: Program) -> bool:
    """Whether every value cell is cleared somewhere; timers end by themselves."""
    values = {cell.name for cell in node.traced.cells if cell.kind != "timer"}
    return values <= {cell for handler in node.traced.handlers for cell in _clears(handler.to_json()["body"])}


def _clears(body: list[dict[str, object]]) -> set[str]:
    found: set[str] = set()
    for statement in body:
        if statement["do"] == "clear" or (statement["do"] == "set" and str(statement["value"]).upper() == "NULL"):
            found.add(str(statement["cell"]))
        branches = statement.get("branches")
        if isinstance(branches, list):
            for _, inner in branches:
                found |= _clears(inner)
    return found


@fact("time")
def time(plan: Plan) -> Mapping[str, Fact]:
    """In which order an operator takes its rows, what that costs, and on what its result depends."""
    found: dict[str, Fact] = {}
    for name, node in plan.nodes.items():
        if not isinstance(node, Program):
            continue
        delays = [before.watermark.delay_ms for before in order([node]) if isinstance(before, Source) and before.watermark is not None]
        if node.order == "time":
            text = f"rows in event time, each held until the watermark passes it: {shown(max(delays, default=0))} behind the newest"
        elif node.clock == "processing":
            text = "rows as they come, timers by the clock of the machine: the result is not repeatable"
        else:
            text = "rows as they come" + (", event timers at the end of the epoch" if node.clock == "event" else "")
            text += ": the result depends on the order of arrival"
        found[name] = Fact({"order": node.order, "clock": node.clock}, text)
    return found


@fact("changes")
def changes(plan: Plan) -> Mapping[str, Fact]:
    """Whether rows are only added, or taken back as well. Every verb there is adds only."""
    return {name: Fact("append", "append: rows are only added") for name, node in plan.nodes.items() if isinstance(node, Source | Program)}
