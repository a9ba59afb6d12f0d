"""Columns: handles whose operators build Spark SQL text."""

from headrace.expr.build import case, col, columns_of, expr, lit, of_text, of_value, struct
from headrace.expr.column import Call, Column
from headrace.expr.expression import Expression, of
from headrace.expr.functions import Functions, f
from headrace.expr.handler import in_handler, shown_as
from headrace.expr.hints import Parsed, parsed
from headrace.expr.literal import literal
from headrace.expr.pyspark_column import refuse_pyspark

__all__ = [
    "Call",
    "Column",
    "Expression",
    "Functions",
    "Parsed",
    "case",
    "col",
    "columns_of",
    "expr",
    "f",
    "in_handler",
    "lit",
    "literal",
    "of",
    "of_text",
    "of_value",
    "parsed",
    "refuse_pyspark",
    "shown_as",
    "struct",
]
