"""Spark's findings in expressions as errors of headrace: no Java class, no stack trace, no SQL that the user did not write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import HeadraceError, Site
from headrace.expr.column import AROUND
from headrace.jvm.messages import sentence
from headrace.jvm.session import unregistered
from headrace.schema import Struct
from headrace.spelling import suggestion
from headrace.words import windows_cure


@dataclass(frozen=True)
class Fault:
    """A finding of the type check: the node, the user's line, Spark's error condition and its message."""

    node: str
    site: Site | None
    condition: str
    message: str
    parameters: Mapping[str, str]
    text: str
    schema: Struct
    """The columns that the text may name."""
    groups: bool = False
    """Whether the node is an aggregate of groups; false for a program with an aggregate cell."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any], site: Site | None, schema: Struct, groups: bool = False) -> Fault:
        return cls(value["node"], site, value["class"], value["message"], value["parameters"], value["text"], schema, groups)


Words = tuple[str, str, str | None]


def error_of(fault: Fault) -> HeadraceError:
    """Return the error that the user sees."""
    for condition, say in _WORDS.items():
        if fault.condition == condition or fault.condition.startswith(condition + "."):
            code, message, hint = say(fault)
            break
    else:
        code, message, hint = "BAD_EXPRESSION", f"{fault.node}: {sentence(fault.message)}{_in(fault)}", None
    return HeadraceError(code, message, hint=hint, site=fault.site)


def _in(fault: Fault) -> str:
    return f", in `{fault.text}`" if fault.text else ""


def _bare(name: str) -> str:
    return name.replace("`", "")


def _unknown_column(fault: Fault) -> Words:
    name = _bare(fault.parameters.get("objectName", fault.parameters.get("fieldName", "")))
    columns = fault.schema.names
    return (
        "UNKNOWN_COLUMN",
        f"{fault.node}: no column `{name}`{_in(fault)}",
        suggestion(name.rpartition(".")[2], columns, f"there are: {', '.join(columns)}") if columns else None,
    )


def _unknown_field(fault: Fault) -> Words:
    name, fields = _bare(fault.parameters.get("fieldName", "")), _bare(fault.parameters.get("fields", ""))
    return (
        "UNKNOWN_COLUMN",
        f"{fault.node}: no field `{name}`{_in(fault)}",
        suggestion(name, fields.split(", "), f"there are: {fields}") if fields else None,
    )


def _unknown_function(fault: Fault) -> Words:
    name = _bare(fault.parameters.get("routineName", ""))
    return (
        "UNKNOWN_FUNCTION",
        f"{fault.node}: Spark has no function `{name}`{_in(fault)}",
        unregistered(name),
    )


def _bad_syntax(fault: Fault) -> Words:
    near = fault.parameters.get("error", "")
    where = f" at {near}" if near else ""
    return (
        "BAD_SYNTAX",
        f"{fault.node}: Spark cannot read `{fault.text}`{where}",
        windows_cure(fault.text) or "write one Spark SQL expression; for a string constant use hr.lit(...)",
    )


def _wrong_type(fault: Fault) -> Words:
    return "WRONG_TYPE", f"{fault.node}: {sentence(fault.message)}{_in(fault)}", _cast(fault)


def _no_hash(fault: Fault) -> Words:
    maps = [field.name for field in fault.schema.fields if re.search(r"\b(map<|variant)", field.type.text)]
    message = f"{fault.node}: Spark cannot hash a map or a variant" + (f", as in {', '.join(f'`{name}`' for name in maps)}" if maps else "")
    names = ", ".join(f'"{name}"' for name in maps or ["column"])
    return "WRONG_TYPE", message, f"drop such columns: .drop({names})"


def _cast(fault: Fault) -> str | None:
    """Return the hint for operands of incompatible types where the intent is clear, else None."""
    of = fault.parameters
    types = " ".join(of.get(name, "") for name in ("left", "right", "inputType", "dataType", "actualDataType", "requiredType"))
    written = of.get("sqlExpr", "")
    if "BOOLEAN" in types and re.search(r"\b(AND|OR)\b", written):
        return AROUND
    # Only if the expression itself is an operator: a function call may have operators inside.
    number = written.startswith(("(", '"(')) and re.search(r'"(TINYINT|SMALLINT|INT|BIGINT|DOUBLE|FLOAT|DECIMAL\b.*?)"', types)
    if number and re.search(_COMPARES, written):
        return _TIMES.get(next((kind for kind in _TIMES if f'"{kind}' in types), ""))
    if number and re.search(r"TIMESTAMP|INTERVAL DAY", types) and re.search(r" [-+] ", written):
        return _LENGTH
    if '"STRING"' in types and re.search(r" \+ ", written):
        return "concatenate strings with hr.f.concat(...), in SQL concat(a, b)"
    return None


_COMPARES = r"(?i) ([<>]=?|=|<=>|IN|BETWEEN) "

_LENGTH = "write a duration as hr.seconds(60), hr.minutes(5), hr.hours(1) or hr.days(1), in SQL INTERVAL '60' SECOND"

_TIMES = {
    "TIMESTAMP": "write a timestamp as datetime(2026, 1, 1), in SQL TIMESTAMP'2026-01-01 00:00:00', or timestamp_seconds(...)",
    "DATE": "write a date as date(2026, 1, 1), in SQL DATE'2026-01-01', or date_from_unix_date(...) of days since 1970",
    "INTERVAL": _LENGTH,
}


def _wrong_arguments(fault: Fault) -> Words:
    given, wanted = fault.parameters.get("actualNum", "?"), fault.parameters.get("expectedNum", "?")
    name = _bare(fault.parameters.get("functionName", "the function"))
    return "WRONG_TYPE", f"{fault.node}: `{name}` takes {wanted} arguments, got {given}{_in(fault)}", None


def _cell_type(fault: Fault) -> Words:
    holds, found = fault.parameters["type"], fault.parameters["found"]
    literal = "; a string is a literal here, use hr.expr(...) for SQL" if fault.text.startswith("'") else ""
    cure = "cast it, or give the cell this type"
    if holds in _WHOLE and re.match("DECIMAL|DOUBLE|FLOAT", found):
        cure = f'truncate it with .cast("{holds.lower()}"), or give the cell this type'
    return "WRONG_TYPE", f"{fault.node}: {sentence(fault.message)}{_in(fault)}", cure + literal


def _per_row(hint: str) -> Callable[[Fault], Words]:
    return lambda fault: _says("NOT_PER_ROW", windows_cure(fault.text) or hint)(fault)


def _says(code: str, hint: str | None = None) -> Callable[[Fault], Words]:
    return lambda fault: (code, f"{fault.node}: {sentence(fault.message)}{_in(fault)}", hint)


def _no_aggregate(said: str | None = None) -> Callable[[Fault], Words]:
    """Return the error for an expression that is no aggregate, in `agg` or in a cell; `said` replaces Spark's sentence."""

    def words(fault: Fault) -> Words:
        message = f"{fault.node}: {said or sentence(fault.message)}{_in(fault)}"
        return ("NOT_AN_AGGREGATE", message, _OF_GROUPS) if fault.groups else ("BAD_AGGREGATE", message, _OF_ROWS)

    return words


_OUTSIDE = "a column is outside an aggregate function"

_OF_GROUPS = "put each column in an aggregate function, as in sum(amount) / count(*); compute with group keys after agg: .with_columns(...)"

_MANY_ROWS = (
    'aggregate with .group_by("card").agg(total="sum(amount)"), or for each row with hr.f.sum("amount").over(per="card"); '
    "in a program use an hr.Aggregate"
)

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")

_KINDS = {"BOOLEAN": "truth value", "DATE": "date", "TIMESTAMP": "time", "TIMESTAMP_NTZ": "time"}


def _constant_text(hint: str) -> Callable[[Fault], Words]:
    """Return the error for a string constant beside a value of another type.

    Spark may compare the two as a type wider than either, so the message names a kind of value and no type.
    """

    def words(fault: Fault) -> Words:
        text, to = (fault.parameters.get(name, "") for name in ("text", "type"))
        kind = "whole number" if to.endswith("INT") else "number" if re.match("DECIMAL|DOUBLE|FLOAT", to) else _KINDS.get(to, to)
        return "WRONG_TYPE", f"{fault.node}: the string {text} is not a {kind}{_in(fault)}", hint

    return words


def _joined_keys(fault: Fault) -> Words:
    left, _, right = fault.parameters["types"].partition(", ")
    message = f"{fault.node}: `{fault.parameters['left']}` is {left} on the left, `{fault.parameters['right']}` is {right} on the right"
    return "KEYS_DIFFER", message, "join columns of one type: cast one of them, such as CAST(card AS bigint), or explode an array first"


_PER_ROW = "an expression returns one value per row; use explode for the rows of an array, a program to accumulate over rows"

_WINDOW = "compute window functions in a select or with_columns before it: .with_columns(place=hr.f.rank().over(by=...))"

_OF_ROWS = "write an hr.Aggregate as aggregate functions of its declared columns: sum(x), max_by(name, x), sum(x) / count(*)"

# Spark's conditions and those of the kernel's check; other conditions keep Spark's sentence.
_WORDS: Mapping[str, Callable[[Fault], Words]] = {
    "UNRESOLVED_COLUMN": _unknown_column,
    "UNRESOLVED_FIELD": _unknown_column,
    "FIELD_NOT_FOUND": _unknown_field,
    "UNRESOLVED_ROUTINE": _unknown_function,
    "PARSE_SYNTAX_ERROR": _bad_syntax,
    "PARSE_EMPTY_STATEMENT": _bad_syntax,
    "INVALID_SQL_SYNTAX": _says("BAD_SYNTAX"),
    "DATATYPE_MISMATCH.HASH_MAP_TYPE": _no_hash,
    "DATATYPE_MISMATCH.HASH_VARIANT_TYPE": _no_hash,
    "DATATYPE_MISMATCH": _wrong_type,
    "WRONG_NUM_ARGS": _wrong_arguments,
    "INVALID_EXTRACT_BASE_FIELD_TYPE": _wrong_type,
    "INCOMPATIBLE_COLUMN_TYPE": _wrong_type,
    "NUM_COLUMNS_MISMATCH": _wrong_type,
    "NOT_BOOLEAN": _says("WRONG_TYPE", "write a comparison, as in `amount > 0`"),
    "NOT_A_TIMESTAMP": _says("WRONG_TYPE", "cast it: CAST(... AS timestamp)"),
    "KEY_TYPE": _says("WRONG_TYPE", "key by an orderable part of it"),
    "CELL_TYPE": _cell_type,
    "CONSTANT_TEXT": _constant_text(
        'give a value of that type, such as 5, Decimal("0.5") or datetime(2026, 1, 1); or cast the other side to string',
    ),
    "EMIT_TYPES_DIFFER": _says("WRONG_TYPE", "cast one of them, so that the column has one type"),
    "EMIT_NAMES_DIFFER": _says("EMIT_DIFFERS", "all rows of one output have the same columns in the same order"),
    "LET_TYPE": _says("LET_TYPE", 'give it one: hr.let(..., "timestamp")'),
    "KEYS_DIFFER": _says("KEYS_DIFFER", "cast one of them in key_by, so that all inputs are keyed by one type"),
    "JOINED_KEYS_DIFFER": _joined_keys,
    "COLUMN_ALREADY_EXISTS": _says("DUPLICATE_COLUMN", "give one of them another name"),
    "WATERMARK_COLUMN_MISSING": _says("UNKNOWN_COLUMN"),
    "TIME_COLUMN_MISSING": _says("UNKNOWN_COLUMN", "time= names a column that the program emits"),
    "AGGREGATE_IN_ROW_EXPRESSION": _says("NOT_PER_ROW", _MANY_ROWS),
    "WINDOW_IN_ROW_EXPRESSION": _per_row(_WINDOW),
    "GENERATOR_IN_ROW_EXPRESSION": _per_row(_PER_ROW),
    "SUBQUERY_IN_ROW_EXPRESSION": _per_row(_PER_ROW),
    "NOT_A_ROW_EXPRESSION": _per_row(_PER_ROW),
    "INTERNAL": _says("INTERNAL", "this is a bug in headrace; please report it."),
    "MISSING_GROUP_BY": _no_aggregate(_OUTSIDE),
    "NOT_AN_AGGREGATE": _no_aggregate(),
    "DISTINCT_AGGREGATE": _says("BAD_AGGREGATE", "keep the values seen in a map: seen = hr.Map(type, 'boolean'), and test seen.has(...)"),
    "AGGREGATE_KIND": _no_aggregate(),
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION": _no_aggregate(),
    "NOT_A_GENERATOR": _says("WRONG_TYPE", "explode takes an array or a map"),
}
