"""The effect of an offline rewrite on one program's state: what is rewritten, in words and for the kernel, and what is read unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.schema import parse_schema
from headrace.spark.compile.identity import Entry, Identity, QueryIdentity, held_columns, key_columns
from headrace.spark.compile.layout import Cell
from headrace.spark.compile.lower import kept_cell
from headrace.spark.compile.shapes import Shape
from headrace.spark.deploy.parts import CellChangeText, HeldChangeText, ProgramChangeText, RowChangeText


@dataclass(frozen=True)
class Rewrite:
    """One program. `change` is the work for the kernel. None: the bytes stay unchanged, whatever their names are now."""

    op: int
    name: str
    rewritten: tuple[str, ...]
    projected: tuple[str, ...]
    change: ProgramChangeText | None


def rewrites(stored: Identity, now: Identity, query: QueryIdentity) -> list[Rewrite]:
    """Return the programs of a stored query that its new version still has, with their rewrites."""
    after = {entry.op: entry for entry in now.query(query.name).entries if not entry.retired}
    return [_rewrite(entry, after[entry.op]) for entry in stored.query(query.name).live().values() if _stays(entry, after)]


def _stays(entry: Entry, after: Mapping[int, Entry]) -> bool:
    return entry.shape.keeps and entry.op in after


def _rewrite(old: Entry, new: Entry) -> Rewrite:
    key, key_words = _key(old.shape, new.shape)
    cells, cell_words, projected = _cells(old.layouts[-1].cells, new.layouts[-1].cells)
    inputs, input_words = _inputs(old.shape, new.shape)
    change = None
    if key or cells or inputs:
        name, kind = new.shape.name, new.shape.kind
        change = ProgramChangeText(op=new.op, name=name, kind=kind, key=key, cells=tuple(cells), inputs=tuple(inputs))
    return Rewrite(new.op, new.shape.name, (*key_words, *cell_words, *input_words), projected, change)


def _key(old: Shape, new: Shape) -> tuple[RowChangeText | None, list[str]]:
    places = key_columns(old, new)
    assert places is not None, f"the keys of {new.name} were compared before"
    was, now = (parse_schema(shape.key).fields if shape.key else () for shape in (old, new))
    same = all(place == i and was[place].type == field.type for i, (place, field) in enumerate(zip(places, now, strict=True)))
    words = [f"its key is {new.key} instead of {old.key}"] if old.key != new.key else []
    if not words and any(old.inputs[name].key != one.key for name, one in new.inputs.items() if name in old.inputs):
        words = ["the columns of its key have other names"]
    return None if same else RowChangeText(before=old.key, after=new.key, places=places), words


def _cells(old: tuple[Cell, ...], new: tuple[Cell, ...]) -> tuple[list[CellChangeText], list[str], tuple[str, ...]]:
    before = {cell.id: cell for cell in old}
    cells: list[CellChangeText] = []
    words: list[str] = []
    projected: list[str] = []
    for cell in new:
        was = before.pop(cell.id, None)
        if was is None:
            projected.append(f"{cell.name} is new")
            continue
        if was.name != cell.name:
            projected.append(f"{was.name} is renamed to {cell.name}")
        if was.description == cell.description:
            continue
        if not cell.projected:
            cells.append(CellChangeText(before=kept_cell(was), after=kept_cell(cell)))
            words.append(f"{cell.name} is {cell.description} instead of {was.description}")
        else:
            projected.append(f"{cell.name} is {cell.type} instead of {was.type}")
    projected += [f"{cell.name} is gone" for cell in before.values()]
    return cells, words, tuple(projected)


def _inputs(old: Shape, new: Shape) -> tuple[list[HeldChangeText], list[str]]:
    """Return all inputs, if rows that it may hold get other columns: the rows of all inputs are stored in one order."""
    changes: list[HeldChangeText] = []
    words: list[str] = []
    keys = key_columns(old, new) or ()
    for side, (name, before) in enumerate(old.inputs.items() if new.order == "time" else ()):
        now = new.inputs[name]
        places = held_columns(before, now, keys)
        assert places is not None, f"the columns of {name} of {new.name} were compared before"
        changes.append(HeldChangeText(side=side, row=RowChangeText(before=before.schema, after=now.schema, places=places)))
        if now.schema != before.schema:
            words.append(f"held rows of its input {name} have the columns {now.schema} instead of {before.schema}")
    return changes if words else [], words
