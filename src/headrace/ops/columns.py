"""Checks of the columns that verbs get: each name exists, and only once; errors point to the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import Column, Expression, columns_of, literal, of_text, refuse_pyspark
from headrace.ops.no_table import NoTable
from headrace.plan import Node
from headrace.spelling import nearest, suggestion
from headrace.syntax import around_as, loose_alias, plain_name, quote, references, unqualified
from headrace.words import windows_cure

_LONGEST = 48


def label(node: Node) -> str:
    """Return the name of a node in errors: its own, or the one that a plan would derive from its place."""
    verbs: list[str] = []
    skips = False
    while node.name is None and node.inputs and not node.by_content:
        # As in a plan: stateful nodes, outputs and sinks are named after the nearest node with a place of its own.
        if not node.passing:
            skips = True
            verbs.append(node.verb)
        elif not skips and not (node.inputs[0].by_content and node.inputs[0].verb == node.verb):
            verbs.append(node.verb)
        node = node.inputs[0]
    return ".".join([node.name or _called(node), *reversed(verbs)])


def _called(node: Node) -> str:
    """Return the name of an operator that has none, after its inputs: `join(orders, items)`."""
    if not node.by_content:
        return node.verb
    reads = ", ".join(dict.fromkeys(label(_read(before)) for before in node.called_after))
    return f"{node.verb}({reads})" if 0 < len(reads) <= _LONGEST else node.verb


def _read(node: Node) -> Node:
    """Return the nearest node from this one upstream that has a place of its own."""
    while node.passing and node.name is None and node.inputs:
        node = node.inputs[0]
    return node


def known(node: Node, expressions: Iterable[Expression]) -> None:
    """Raise for names that a node does not have. Names that sqlglot cannot find are left to Spark."""
    has = {name.lower() for name in node.columns}
    for expression in expressions:
        for name in expression.names:
            if name.lower() not in has:
                raise unknown(node, name, meant_as_text=_alone(name, expression))


def _alone(name: str, expression: Expression) -> bool:
    """Return whether a name is a whole value, as a string would be: `kind="large"`, `hr.struct(n="large")`."""
    if expression.text == name:
        return expression.alias not in (None, name)
    return re.search(rf"[(,]\s*{re.escape(name)}\s*[),]", expression.text) is not None


def unknown(node: Node, name: str, *, meant_as_text: bool = False) -> PlanError:
    """Return the error for a column that a node does not have; a word as a value may have been meant as a string."""
    parts = name.split(".")
    columns = f"it has: {', '.join(node.columns)}"
    if len(parts) > 1 and any(column.lower() == parts[0].lower() for column in node.columns):
        path = f'hr.col("{parts[0]}")' + "".join(f".{part}" for part in parts[1:])
        hint = f"write the field as {path}. I{columns[1:]}"
    else:
        text = f'. For a string write hr.lit("{name}").' if meant_as_text and nearest(name, node.columns) is None else ""
        hint = suggestion(name, node.columns, columns) + text
    return PlanError("UNKNOWN_COLUMN", f"no column `{name}` in {label(node)}", hint=hint, site=here())


def verb_arguments(
    node: Node, columns: Sequence[Any], named: dict[str, Any], alias: str | None, *, aliases: bool = True
) -> tuple[Expression, ...]:
    """Return a verb's arguments as expressions over a node's columns: `"*"` expanded, the stream's alias removed, names checked.

    `aliases`: a text may name its column with AS. Otherwise the text stays whole, and Spark refuses the AS.
    """
    expressions: list[Expression] = []
    for column in columns:
        if isinstance(column, str) and column.strip() == "*":
            expressions.extend(Expression(quote(name), (name,), None, name) for name in node.columns)
        elif isinstance(column, str) and column.isidentifier() and column.lower() in (name.lower() for name in node.columns):
            # The name of a column wins over a keyword of SQL, such as `user`.
            expressions.append(Expression(quote(column), (column,), here()))
        else:
            expressions.extend(columns_of([checked(column)], {}) if aliases else [of_text(checked(column))._expression])
    expressions.extend(columns_of([], {name: checked(column, name) for name, column in named.items()}))
    plain = tuple(bare(expression, alias) for expression in expressions)
    known(node, plain)
    return plain


def single(node: Node, column: Any, alias: str | None) -> Expression:
    """Return one expression over a node's columns, where neither `*` nor a name has a meaning."""
    if isinstance(column, str) and column.strip() == "*":
        raise PlanError("BAD_COLUMN", "`*` is all columns, but one is expected", hint="name the column", site=here())
    [expression] = verb_arguments(node, [column], {}, alias, aliases=False)
    return expression


def listed(value: Any, argument: str) -> list[Any]:
    """Return the columns of an argument that takes one or several."""
    if isinstance(value, Column | str):
        return [value]
    refuse_pyspark(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | NoTable):
        return [checked(one) for one in value]
    shown, _ = _meant(value, one=True)
    message = f"{argument} expects a column or a list of columns, got {shown}"
    raise PlanError("BAD_COLUMN", message, hint='write "shop", or ["shop", "day"]', site=here())


def conditions(node: Node, values: Sequence[Any], alias: str | None) -> tuple[str, ...]:
    """Return the texts of conditions over a node's columns."""
    expressions = tuple(bare(of_text(checked(value))._expression, alias) for value in values)
    known(node, expressions)
    return tuple(expression.text for expression in expressions)


def bare(expression: Expression, alias: str | None) -> Expression:
    """Return an expression without the stream's own alias: `c.amount` is `amount` if the stream is called c."""
    if alias is None or alias.lower() not in (name.lower() for name in expression.names):
        return expression
    text = unqualified(expression.text, alias)
    paths = references(text) or ()
    return replace(expression, text=text, names=tuple(dict.fromkeys(path[0] for path in paths)))


def checked(value: Any, name: str | None = None) -> Any:
    """Return a value unchanged if it can be a column, else raise."""
    if isinstance(value, Column | str):
        return value
    refuse_pyspark(value)
    what = f"`{name}`: " if name else ""
    shown, hint = _meant(value, one=name is not None)
    raise PlanError("BAD_COLUMN", f"{what}expected a column or a SQL string, got {shown}", hint=hint, site=here())


def _meant(value: Any, *, one: bool) -> tuple[str, str]:
    """Return how errors show a value that is no column, and the hint for it."""
    expression = 'write a column or a SQL string: hr.col("amount") > 100, or "amount > 100"'
    if callable(value):
        return "a Python function", expression
    if isinstance(value, list | tuple | set) and not one:
        return repr(value), "give columns as separate arguments; unpack a list: select(*names)"
    try:
        literal(value)
    except PlanError:
        return f"a Python {type(value).__name__}", expression
    return repr(value), f"write a constant as hr.lit({value!r})"


def name_of(expression: Expression, *, keywords: bool = False) -> str:
    """Return the name of an output column: its alias, or that of its column or field. `keywords`: the verb takes names as keywords."""
    if expression.alias is not None:
        return expression.alias
    text = expression.text
    name = plain_name(text)
    if name is not None:
        return name
    paths = references(text) or ()
    if len(paths) == 1 and text.replace("`", "") == ".".join(paths[0]):
        return paths[0][-1]
    raise _loose(text) or _unnamed(text, keywords)


def _loose(text: str) -> PlanError | None:
    """Return the error for a word after an expression, as the type check reports it where no name is needed; None without such a word."""
    word = loose_alias(text)
    if word is None:
        return None
    hint = f'for two columns, pass two strings; to name an expression, use AS: "... AS {quote(word)}"'
    return PlanError("BAD_SYNTAX", f"Spark cannot read `{text}` at '{word}'", hint=hint, site=here())


def _unnamed(text: str, keywords: bool) -> PlanError:
    named = around_as(text)
    bare, name = named or (text, "name")
    problem = "has an expression before AS that headrace cannot parse" if named else "has no name"
    aliased = f'hr.expr("{bare}").alias("{name}")' if named and not keywords else f'hr.expr(...).alias("{name}")'
    written = f'{name}="{bare}" as a keyword, or ' if keywords else "" if named else f'"{bare} AS {name}", or '
    cure = "correct it; or, if Spark can parse it, name it separately" if named else "name it"
    return PlanError("UNNAMED_COLUMN", f"`{text}` {problem}", hint=windows_cure(text) or f"{cure}: {written}{aliased}", site=here())


def once(names: Iterable[str], verb: str) -> None:
    """Raise for a name that occurs twice; Spark compares names without case."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise duplicate(name, seen[name.lower()], verb)
        seen[name.lower()] = name


def duplicate(name: str, before: str, verb: str) -> PlanError:
    """Return the error for two columns of one name."""
    both = f"`{name}`" if before == name else f"`{before}` and `{name}`, and Spark compares column names without case"
    message = f"the result of {verb} would have two columns {both}"
    return PlanError("DUPLICATE_COLUMN", message, hint="give one of them another name", site=here())


def column_name(node: Node, name: Any) -> str:
    """Return the column of a node that a user named, as the node spells it."""
    if not isinstance(name, str):
        raise PlanError("BAD_COLUMN", f"a column's name cannot be {name!r}", hint='names are strings: "amount"', site=here())
    plain = plain_name(name) or name
    for column in node.columns:
        if column.lower() == plain.lower():
            return column
    raise unknown(node, plain)
