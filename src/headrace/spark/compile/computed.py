"""Cells whose first value is computed from those of the previous version. Spark checks their texts when a job meets a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headrace.analysis.faults import Fault, error_of
from headrace.errors import HeadraceError, Site
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.ops import stateful_of
from headrace.ops.relational import Stateful
from headrace.schema import Struct
from headrace.spark.compile.identity import Entry, QueryIdentity, together
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.layout import Cell, Layout
from headrace.spelling import suggestion


@dataclass(frozen=True)
class ComputedCell:
    """A computed cell of a program, and the layout that its text reads."""

    node: str
    cell: Cell
    before: Layout
    site: Site | None

    @property
    def readable(self) -> tuple[Cell, ...]:
        """The cells that a text can read: those with one value per key."""
        return tuple(cell for cell in self.before.cells if cell.computable)


def check_computed(job: SparkJob, queries: Iterable[QueryIdentity]) -> None:
    """Refuses texts that give no value for their cell from the cells of the previous version; all of them in one error."""
    cells = {f"{one.node}.{one.cell.name}/{number}": one for number, one in enumerate(_computed_cells(job, queries))}
    if not cells:
        return
    nodes = [
        {
            "id": place,
            "site": None if one.site is None else str(one.site),
            "computed": {
                "cell": one.cell.name,
                "type": one.cell.type,
                "text": one.cell.computed,
                "from": [[cell.name, cell.type] for cell in one.readable],
            },
        }
        for place, one in cells.items()
    ]
    spark = session()
    request = json.dumps({"settings": dict(job.settings), "nodes": nodes})
    faults = json.loads(jvm(spark).headrace.check.Check.check(java_session(spark), request))["errors"]
    errors = [_refused(cells[fault["node"]], Fault.from_json(fault, None, Struct(()))) for fault in faults]
    if errors:
        raise together(errors)


def _computed_cells(job: SparkJob, queries: Iterable[QueryIdentity]) -> Iterator[ComputedCell]:
    operators = {str(node.name): node for node in stateful_of(job.plan.nodes.values())}
    for query in queries:
        for entry in query.live().values():
            if (node := operators.get(entry.shape.name)) is not None:
                yield from _of(node, entry)


def _of(node: Stateful, entry: Entry) -> Iterator[ComputedCell]:
    sites = {cell.id: declared.site for cell, declared in zip(entry.layouts[-1].cells, node.cells, strict=True)}
    for before, layout in zip(entry.layouts, entry.layouts[1:], strict=False):
        for cell in layout.cells:
            if cell.computed is not None:
                # computed even if it was removed since: others may be computed from it
                yield ComputedCell(entry.shape.name, cell, before, sites.get(cell.id) or node.site)


_CONSTANT = "use the clock and random numbers in handlers only: a first value must not depend on when its key is next used"


def _refused(computed: ComputedCell, fault: Fault) -> HeadraceError:
    fault = replace(fault, node=f"{computed.node}.{computed.cell.name}")
    text = f", in `{computed.cell.computed}`"
    if fault.condition == "NON_DETERMINISTIC":
        message, hint = f"{fault.node}: {fault.message}{text}", _CONSTANT
    elif fault.condition.startswith("UNRESOLVED_COLUMN"):
        message, hint = _unknown(computed, fault, text)
    else:
        error = error_of(fault)
        message, hint = error.message, error.hint or "compute the first value from the cells of the previous version"
    return HeadraceError("BAD_WAS", message, hint=hint, site=computed.site)


def _unknown(computed: ComputedCell, fault: Fault, text: str) -> tuple[str, str]:
    """Return the message and hint for a name that is no cell of the previous version, or one that an expression cannot read."""
    name = fault.parameters.get("objectName", "").replace("`", "")
    first = name.partition(".")[0].lower()
    kept = next((cell for cell in computed.before.cells if cell.name.lower() == first and cell not in computed.readable), None)
    if kept is not None:
        return (
            f"{fault.node}: the cell {kept.name} is {kept.description}, which an expression cannot read{text}",
            "an expression reads values and timers without keys; a handler reads all cells",
        )
    names = {cell.name.lower(): cell.name for cell in computed.readable}
    has = f"it had: {', '.join(names.values())}" if names else "it had none that an expression can read"
    return f"{fault.node}: the previous version had no cell `{name}`{text}", suggestion(first, names.values(), has)
