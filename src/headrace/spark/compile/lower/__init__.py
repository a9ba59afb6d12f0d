"""Operators in a query document: relational ones, which say all of it in their own files, programs and lookups."""

from __future__ import annotations

from headrace.ops import Program
from headrace.ops.relational import Relational
from headrace.plan import Node
from headrace.spark.compile.fields import ProgramText, RelationalText
from headrace.spark.compile.identity import Entry, Shape
from headrace.spark.compile.lower import program, relation
from headrace.spark.compile.lower.lookup import looked_up
from headrace.spark.compile.lower.operator import Lowering

__all__ = ["Lowering", "kept", "looked_up", "lower", "shape"]


def shape(node: Node, level: int, at: Lowering) -> Shape:
    """What an operator keeps between epochs."""
    if isinstance(node, Program):
        return program.shape_of(node, level, at)
    assert isinstance(node, Relational)
    return relation.shape_of(node, level, at)


def lower(node: Node, entry: Entry, at: Lowering) -> ProgramText | RelationalText:
    """An operator in a query document, with its outputs but without their routes."""
    if isinstance(node, Program):
        return program.lowered(node, entry, at)
    assert isinstance(node, Relational)
    return relation.lowered(node, entry, at)


def kept(node: Node, entry: Entry) -> ProgramText | RelationalText:
    """An operator of a checkpoint as in a query document, as much as a checkpoint knows of it: all that tells what it keeps."""
    if isinstance(node, Program):
        return program.kept(node, entry)
    assert isinstance(node, Relational)
    return relation.kept(node, entry)
