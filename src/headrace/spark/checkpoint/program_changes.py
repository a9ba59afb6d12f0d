"""Programs and cells that begin empty on a checkpoint with a past, or that get other rows from now on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.durable.marks import readable
from headrace.errors import HeadraceError
from headrace.plan import Node
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.compile.shapes import PROGRAM


def otherwise(operators: Iterable[Node], old: QueryIdentity, now: QueryIdentity, epoch: int, other: Mapping[str, str]) -> Iterator[str]:
    """Yield notices about programs that take rows as they come, and now get other rows."""
    before, after = old.live(), now.live()
    for node in operators:
        name = str(node.name)
        if name not in before or after[name].shape.kind != PROGRAM:
            continue
        if not after[name].shape.reads_like(before[name].shape):
            yield f"{name} receives differently computed rows from epoch {epoch + 1} on"
        elif name in other:
            yield f"{name} receives differently read rows from epoch {epoch + 1} on: {other[name]}"


def replaced(old: QueryIdentity, now: QueryIdentity, operators: Iterable[Node]) -> Iterator[HeadraceError]:
    """Yield an error if a program is gone and another is new: it may only have lost its name, and with it its state."""
    before, after = old.live(), now.live()
    gone = (name for name, entry in before.items() if name not in after and entry.shape.kind == PROGRAM)
    lost = sorted(name for name in gone if name == readable(name))
    new = [
        node for node in operators if str(node.name) not in before and after[str(node.name)].shape.kind == PROGRAM and not node.by_content
    ]
    if lost and new:
        hint = f'nothing was changed: if it was renamed, keep its state with .named("{lost[0]}"); `headrace deploy FILE` drops the state'
        message = f"{new[0].name} is new, and {lost[0]} is gone, whose state would be lost"
        yield HeadraceError("STATE_CHANGED", message, hint=hint, site=new[0].site)


def begun(old: QueryIdentity, now: QueryIdentity, operators: Iterable[Node], epoch: int) -> Iterator[str]:
    """Yield notices about operators and cells that begin empty on a checkpoint with a past."""
    before, after = old.live(), now.live()
    for node in operators:
        name = str(node.name)
        if name not in before:
            yield f"{name} is new on this checkpoint: it starts empty at epoch {epoch + 1}"
            continue
        cells, kept = (one.layouts[-1].cells for one in (before[name], after[name]))
        dropped = [cell.name for cell in cells if cell.id not in {one.id for one in kept}]
        empty = [cell.name for cell in kept if cell.id not in {one.id for one in cells} and cell.computed is None]
        if dropped and empty:
            yield f'the cell {empty[0]} of {name} starts empty, and {dropped[0]} is gone: to keep its values, write was="{dropped[0]}"'
