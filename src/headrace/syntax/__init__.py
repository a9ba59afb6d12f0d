"""Spark SQL text: its columns, tables and statements. The only package that imports sqlglot, and only when a text needs it."""

from headrace.syntax.conditions import conjuncts, equal_sides, ordering
from headrace.syntax.names import around_as, loose_alias, path_of, plain_name, quote, references, split_alias, unqualified, used, words
from headrace.syntax.streaming import Emit, streaming
from headrace.syntax.system_time import system_times
from headrace.syntax.tables import tables
from headrace.syntax.windows import windows

__all__ = [
    "Emit",
    "around_as",
    "conjuncts",
    "equal_sides",
    "loose_alias",
    "ordering",
    "path_of",
    "plain_name",
    "quote",
    "references",
    "split_alias",
    "streaming",
    "system_times",
    "tables",
    "unqualified",
    "used",
    "windows",
    "words",
]
