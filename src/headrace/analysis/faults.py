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
from headrace.schema import Map, Struct, meant_type
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
        unregistered(name, fault.text),
    )


def _bad_syntax(fault: Fault) -> Words:
    near = fault.parameters.get("error", "")
    where = f" at {near}" if near else ""
    return (
        "BAD_SYNTAX",
        f"{fault.node}: Spark cannot read `{fault.text}`{where}",
        windows_cure(fault.text) or _order_cure(fault.text) or "write one Spark SQL expression; for a string constant use hr.lit(...)",
    )


def _order_cure(text: str) -> str | None:
    """Return the hint for an order in words that SQL does not have."""
    order = re.fullmatch(r"(?i)(.+?)(?:\s+AS)?\s+(?:de|a)scending", text.strip())
    return f'write the order as "{order[1]} desc" or "{order[1]} asc"' if order else None


def _wrong_type(fault: Fault) -> Words:
    return "WRONG_TYPE", f"{fault.node}: {sentence(fault.message)}{_in(fault)}", _cast(fault)


def _operands(fault: Fault) -> Words:
    left, right = (fault.parameters[side].strip('"') for side in ("left", "right"))
    written = re.sub(r"^\((.*)\)$", r"\1", fault.parameters["sqlExpr"].strip('"'))
    where = "" if written == fault.text else _in(fault)
    return (
        "WRONG_TYPE",
        f"{fault.node}: the operands of `{written}` are {left} and {right}{where}",
        _cast(fault) or _fitting(written, left, right),
    )


def _fitting(written: str, left: str, right: str) -> str:
    """Return the hint for two operands, one of which may be an array."""
    names = re.fullmatch(r"(\w+) \S+ (\w+)", written)
    name = names[1 if left.startswith("ARRAY") else 2] if names else "xs"
    items = f", or use one item or the size of the array: {name}[0], size({name})" if "ARRAY" in (left[:5], right[:5]) else ""
    return f"cast one of them{items}"


def _no_type(fault: Fault) -> Words:
    name = fault.parameters.get("typeName", "").strip('"').lower()
    near = meant_type(name)
    guess = f"did you mean `{'decimal(10,2)' if near == 'decimal' else near}`? Types" if near else "types"
    hint = f"{guess}: int, bigint, double, decimal(p,s), string, boolean, date, timestamp"
    return "BAD_EXPRESSION", f"{fault.node}: no type `{name}`{_in(fault)}", hint


def _key_type(fault: Fault) -> Words:
    type, column = fault.parameters["type"], fault.text
    if type.startswith("INTERVAL"):
        return _says("WRONG_TYPE", f"key by its text: CAST({column or '...'} AS string)")(fault)
    value = "'x'" if type.startswith("MAP<STRING,") else "1" if re.match("MAP<(TINYINT|SMALLINT|INT|BIGINT),", type) else None
    return _says("WRONG_TYPE", "key by one of its values" + (f", such as {column}[{value}]" if value and column else ""))(fault)


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
    actual, wanted = fault.parameters.get("actualNum", "?"), fault.parameters.get("expectedNum", "?")
    name = _bare(fault.parameters.get("functionName", "the function"))
    return "WRONG_TYPE", f"{fault.node}: `{name}` takes {wanted} arguments, got {actual}{_in(fault)}", None


def _cell_type(fault: Fault) -> Words:
    holds, value = fault.parameters["type"], fault.parameters["found"]
    literal = "; a string is a literal here, use hr.expr(...) for SQL" if fault.text.startswith("'") else ""
    fractions = holds in _WHOLE and re.match("DECIMAL|DOUBLE|FLOAT", value)
    cure = f'truncate it with .cast("{holds.lower()}")' if fractions else "cast the value"
    message = f"{fault.node}: the cell `{fault.parameters['cell']}` is {holds}, but the value is {value}{_in(fault)}"
    return "WRONG_TYPE", message, f"{cure}, or declare the cell as {value.lower()}{literal}"


def _per_row(hint: str) -> Callable[[Fault], Words]:
    return lambda fault: _says("NOT_PER_ROW", windows_cure(fault.text) or hint)(fault)


def _generator(fault: Fault) -> Words:
    called = re.fullmatch(r"(?i)explode(?:_outer)?\((\w+)\)", fault.text)
    names = '("key", "value")' if called and isinstance(fault.schema.get(called[1]), Map) else '"item"'
    columns = f'"{called[1]}", as_={names}' if called else "..."
    return _per_row(f"use the verb: .explode({columns}), which gives a row per item")(fault)


def _says(code: str, hint: str | None = None) -> Callable[[Fault], Words]:
    return lambda fault: (code, f"{fault.node}: {sentence(fault.message)}{_in(fault)}", hint)


def _no_aggregate(replacement: str | None = None) -> Callable[[Fault], Words]:
    """Return the error for an expression that is no aggregate, in `agg` or in a cell; `sentence_of_ours` replaces Spark's sentence."""

    def words(fault: Fault) -> Words:
        message = f"{fault.node}: {replacement or sentence(fault.message)}{_in(fault)}"
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


_EXAMPLES = {
    "whole number": "5",
    "number": "0.5",
    "truth value": "true",
    "date": "date(2026, 1, 1), in SQL DATE'2026-01-01'",
    "time": "datetime(2026, 1, 1), in SQL TIMESTAMP'2026-01-01 00:00:00'",
}


def _constant_text(fault: Fault) -> Words:
    """Return the error for a string constant beside a value of another type.

    Spark may compare the two as a type wider than either, so the message names a kind of value and no type.
    """
    text, to = (fault.parameters.get(name, "") for name in ("text", "type"))
    kind = "whole number" if to.endswith("INT") else "number" if re.match("DECIMAL|DOUBLE|FLOAT", to) else _KINDS.get(to, to)
    example = f", such as {_EXAMPLES[kind]}" if kind in _EXAMPLES else ""
    compared = re.fullmatch(r"(\w+) [<>=!]+ '[^']*'", fault.text)
    other = f"the column: CAST({compared[1]} AS string)" if compared else "the other side to string"
    one = f"{'an' if kind[0] in 'AIEOUaeiou' else 'a'} {kind}"
    hint = f"write {one}{example}; or cast {other}"
    return "WRONG_TYPE", f"{fault.node}: the string {text} is not {one}{_in(fault)}", hint


def _joined_keys(fault: Fault) -> Words:
    left, right = fault.parameters["types"].split("; ")
    mine, theirs = fault.parameters["left"], fault.parameters["right"]
    message = f"{fault.node}: `{mine}` is {left} on the left, `{theirs}` is {right} on the right"
    array = next(((name, side) for name, side, of in ((theirs, "right", right), (mine, "left", left)) if of.startswith("ARRAY")), None)
    if array is not None:
        return "KEYS_DIFFER", message, f'explode the array on the {array[1]} first, and join its items: .explode("{array[0]}", as_="item")'
    cast = f"CAST({theirs} AS string)" if left == "STRING" else f"CAST({mine} AS {right.lower()})"
    return "KEYS_DIFFER", message, f"join columns of one type: cast one of them, such as {cast}"


_PER_ROW = "an expression returns one value per row; use explode for the rows of an array, a program to accumulate over rows"

_WINDOW = "compute it in a column first: .with_columns(place=hr.f.rank().over(by=...))"

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
    "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES": _operands,
    "DATATYPE_MISMATCH": _wrong_type,
    "UNSUPPORTED_DATATYPE": _no_type,
    "WRONG_NUM_ARGS": _wrong_arguments,
    "INVALID_EXTRACT_BASE_FIELD_TYPE": _wrong_type,
    "INCOMPATIBLE_COLUMN_TYPE": _wrong_type,
    "NUM_COLUMNS_MISMATCH": _wrong_type,
    "NOT_BOOLEAN": _says("WRONG_TYPE", "write a comparison, as in `amount > 0`"),
    "NOT_A_TIMESTAMP": _says("WRONG_TYPE", "cast it: CAST(... AS timestamp)"),
    "KEY_TYPE": _key_type,
    "CELL_TYPE": _cell_type,
    "CONSTANT_TEXT": _constant_text,
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
    "GENERATOR_IN_ROW_EXPRESSION": _generator,
    "SUBQUERY_IN_ROW_EXPRESSION": _per_row(_PER_ROW),
    "NOT_A_ROW_EXPRESSION": _per_row(_PER_ROW),
    "INTERNAL": _says("INTERNAL", "this is a bug in headrace; please report it"),
    "MISSING_GROUP_BY": _no_aggregate(_OUTSIDE),
    "NOT_AN_AGGREGATE": _no_aggregate(),
    "DISTINCT_AGGREGATE": _says("BAD_AGGREGATE", "keep the values seen in a map: seen = hr.Map(type, 'boolean'), and test seen.has(...)"),
    "AGGREGATE_KIND": _no_aggregate(),
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION": _no_aggregate(),
    "NOT_A_GENERATOR": _says("WRONG_TYPE", "explode takes an array or a map"),
}
