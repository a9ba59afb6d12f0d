"""Splits a SQL script at its semicolons and reads each statement into its parts. The texts for Spark stay as written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.errors import PlanError
from headrace.spelling import suggestion
from headrace.syntax.conditions import ordering
from headrace.syntax.reader import Reader, string
from headrace.syntax.statements import (
    Constraint,
    CreateFunction,
    CreateLookup,
    CreateSink,
    CreateSource,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Part,
    Run,
    Select,
    Set,
    Show,
    Statement,
)
from headrace.syntax.tokens import tokenizer, written

FORMS: Mapping[str, str] = {
    "CREATE SOURCE": "CREATE SOURCE name (column type, ..., WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)\n"
    "WITH (connector = 'files', path = 'in/', format = 'json')",
    "CREATE LOOKUP": "CREATE LOOKUP name (column type, ...) WITH (connector = 'redis', url = 'redis://localhost', key = 'id')",
    "CREATE VIEW": "CREATE VIEW name AS SELECT ...",
    "CREATE FUNCTION": "CREATE FUNCTION name(x INT, y INT) RETURNS INT RETURN x + y",
    "CREATE SINK": "CREATE SINK name WITH (connector = 'files', path = 'out/', format = 'json')",
    "INSERT": "INSERT INTO sink SELECT ...",
    "SET": "SET name = 'value'",
    "SHOW": "SHOW SOURCES, LOOKUPS, VIEWS, TABLES, FUNCTIONS, SINKS, SETTINGS or CONNECTORS",
    "DESCRIBE": "DESCRIBE name",
    "EXPLAIN": "EXPLAIN, or EXPLAIN SELECT ...",
    "DROP": "DROP SOURCE, LOOKUP, VIEW, FUNCTION or SINK, then the name",
    "SELECT": "SELECT ...",
    "RUN": "RUN",
}
"""The syntax of statements, by their first words."""

CONSTRAINT = "CREATE VIEW name (CONSTRAINT positive EXPECT (amount >= 0) ON VIOLATION DROP ROW) AS SELECT ..."
"""The syntax of a view with an expectation."""

KINDS = ("SOURCE", "LOOKUP", "VIEW", "FUNCTION", "SINK")
SHOWN = ("SOURCES", "LOOKUPS", "VIEWS", "TABLES", "FUNCTIONS", "SINKS", "SETTINGS", "CONNECTORS")
_BEGIN = tuple(dict.fromkeys(words.split()[0] for words in FORMS))
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def statements(text: str, file: str = "<sql>") -> tuple[Statement, ...]:
    """Return the statements of a script.

    >>> first, second = statements("create view large as select * from charges where note <> ';'; -- no more\\nSELECT 1", "job.sql")
    >>> first.name, first.query.text
    ('large', "select * from charges where note <> ';'")
    >>> type(second).__name__, str(second.site)
    ('Select', 'job.sql:2:1')
    """
    whole = Part(text, file, 0, len(text))
    parts, begun = [], 0
    tokens = _tokens(whole)
    for at, token in enumerate(tokens):
        if token.token_type.name == "SEMICOLON":
            parts.append(tokens[begun:at])
            begun = at + 1
    parts.append(tokens[begun:])
    return tuple(_statement(Reader(whole, part)) for part in parts if part)


def finished(text: str) -> bool:
    """Return whether a text ends with a complete statement, so that a prompt need not wait for more lines.

    >>> finished("SELECT 1;  -- one"), finished("SELECT 'a;"), finished("SELECT 1"), finished(" ")
    (True, False, False, True)
    """
    try:
        tokens = _tokens(Part(text, "<sql>", 0, len(text)))
    except PlanError:
        return False
    return not tokens or tokens[-1].token_type.name == "SEMICOLON"


def mentioned(query: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a query may use as tables: all that are words in it, in the given order.

    >>> mentioned("SELECT * FROM charges JOIN `my cards` USING (card) WHERE note = 'limits'", ["my cards", "Charges", "limits"])
    ('my cards', 'Charges')
    """
    words = {token.text.lower() for token in _tokens(Part(query, "<sql>", 0, len(query))) if not string(token)}
    return tuple(name for name in names if name.lower() in words)


def last_order(query: str) -> tuple[tuple[str, str, str], ...]:
    """Return the ORDER BY at the end of a query, each item as from `ordering`; empty if there is none.

    >>> last_order("SELECT a, row_number() OVER (ORDER BY b) FROM t ORDER BY a DESC, 2 LIMIT 3")
    (('a', 'desc', 'last'), ('2', 'asc', 'first'))
    """
    tokens = _tokens(Part(query, "<sql>", 0, len(query)))
    orders: list[str] = []
    depth, begun = 0, -1
    for at, token in enumerate(tokens):
        word = "" if string(token) else token.text.upper()
        if depth == 0 and word == "ORDER BY":
            begun, orders = at + 1, []
        elif depth == 0 and begun >= 0 and (word in (",", "LIMIT", "OFFSET", "UNION", "|>")):
            orders.append(written(query, tokens[begun:at]))
            begun = at + 1 if word == "," else -1
        depth += (word == "(") - (word == ")")
    if begun >= 0:
        orders.append(written(query, tokens[begun:]))
    return tuple(ordering(text) for text in orders)


def _tokens(whole: Part) -> list[Any]:
    from sqlglot.errors import SqlglotError

    try:
        return list(tokenizer()().tokenize(whole.text))
    except SqlglotError:
        raise PlanError(
            "BAD_STATEMENT",
            "a quote or comment that begins here is not closed",
            hint="close it; for a quote write \\' inside a string, `` inside a name",
            site=_unclosed(whole).site,
        ) from None


def _unclosed(whole: Part) -> Part:
    """Return the part from the quote or comment that has no end. It begins at the last quote or slash before which the text is valid."""
    from sqlglot.errors import SqlglotError

    for at in range(len(whole.text) - 1, -1, -1):
        if whole.text[at] in "'\"`/":
            try:
                tokenizer()().tokenize(whole.text[:at])
            except SqlglotError:
                continue
            return Part(whole.script, whole.file, at, whole.end)
    return whole


def _statement(reader: Reader) -> Statement:
    reader.refuse_second()
    if reader.next in _QUERIES:
        reader.form = FORMS["SELECT"]
        return Select(reader.part, reader.rest())
    for words, read in _READ.items():
        if reader.takes(*words.split()):
            reader.form = FORMS.get(words, "")
            statement = read(reader)
            if reader.next in _BEGIN:
                raise reader.second()
            reader.ends()
            return statement
    reader.form = ""
    hint = suggestion(reader.next, _BEGIN, f"a statement begins with {', '.join(_BEGIN)}", shown="{}")
    raise reader.wrong(f"no statement begins with `{reader.word}`", hint)


def _create(reader: Reader) -> Statement:
    replace = reader.takes("OR", "REPLACE")
    reader.takes("TEMPORARY")
    reader.takes("INCREMENTAL")
    kind = next((kind for kind in KINDS if reader.takes(kind)), None)
    if kind is None:
        kinds = ", ".join(f"CREATE {kind}" for kind in KINDS)
        hint = suggestion(reader.next, KINDS, f"there are: {kinds}", shown="{}")
        raise reader.wrong(f"`{reader.word}` cannot be created", hint)
    reader.form = FORMS[f"CREATE {kind}"]
    return _CREATED[kind](reader, replace)


def _source(reader: Reader, replace: bool) -> Statement:
    name = reader.name("the name of the source")
    columns, watermark = reader.columns() if reader.next == "(" else (None, None)
    reader.needs("WITH")
    return CreateSource(reader.part, name, columns, watermark, reader.options(), replace)


def _lookup(reader: Reader, replace: bool) -> Statement:
    name = reader.name("the name of the table")
    columns, watermark = reader.columns() if reader.next == "(" else (None, None)
    if watermark is not None:
        raise reader.wrong("an external table cannot have a watermark", reader.form)
    reader.needs("WITH")
    return CreateLookup(reader.part, name, columns, reader.options(), replace)


def _view(reader: Reader, replace: bool) -> Statement:
    name = reader.name("the name of the view")
    constraints = _constraints(reader) if reader.next == "(" else ()
    reader.needs("AS")
    return CreateView(reader.part, name, reader.query(), replace, constraints)


def _constraints(reader: Reader) -> tuple[Constraint, ...]:
    before, reader.form = reader.form, CONSTRAINT
    constraints = reader.constraints()
    reader.form = before
    return constraints


def _function(reader: Reader, replace: bool) -> Statement:
    start = reader.start
    name = reader.name("the name of the function")
    types = reader.parameters() if reader.next == "(" else ()
    while reader.more() and not reader.takes("RETURN"):
        if reader.next in ("LANGUAGE", "USING", "AS"):
            raise reader.wrong(
                f"the function {name} is not a SQL expression, and queries run only in the JVM",
                "write it with Spark SQL functions: " + FORMS["CREATE FUNCTION"],
            )
        if reader.takes("RETURNS", "TABLE"):
            raise reader.wrong(f"the function {name} returns a table", "make it a view: CREATE VIEW name AS SELECT ...")
        reader.skip()
    body = reader.rest()
    return CreateFunction(reader.part, name, Part(body.script, body.file, start, body.end), body, types, replace)


def _sink(reader: Reader, replace: bool) -> Statement:
    name = reader.name("the name of the sink")
    reader.needs("WITH")
    options = reader.options()
    return CreateSink(reader.part, name, options, reader.query() if reader.takes("AS") else None, replace)


def _insert(reader: Reader) -> Statement:
    reader.needs("INTO")
    sink = reader.name("the name of a sink")
    return Insert(reader.part, sink, reader.query())


def _set(reader: Reader) -> Statement:
    if not reader.more():
        return Set(reader.part, None, None)
    name = reader.setting()
    if not reader.more():
        return Set(reader.part, name, None)
    reader.needs("=")
    return Set(reader.part, name, reader.value_text())


def _show(reader: Reader) -> Statement:
    what = next((what for what in SHOWN if reader.takes(what)), None)
    if what is None:
        raise reader.wrong(f"`{reader.word}` cannot be shown" if reader.more() else "SHOW needs an argument", reader.form)
    return Show(reader.part, what)


def _describe(reader: Reader) -> Statement:
    kind = next((kind for kind in (*KINDS, "TABLE") if reader.next == kind and reader.after), None)
    reader.takes(kind or "")
    return Describe(reader.part, reader.name("the name of a source, view, sink or function"))


def _explain(reader: Reader) -> Statement:
    extended = reader.takes("EXTENDED")
    return Explain(reader.part, reader.query() if reader.more() else None, extended)


def _drop(reader: Reader) -> Statement:
    kind = next((kind for kind in KINDS if reader.takes(kind)), None)
    if kind is None:
        raise reader.wrong(f"`{reader.word}` cannot be dropped", reader.form)
    missing_ok = reader.takes("IF", "EXISTS")
    return Drop(reader.part, kind, reader.name(f"the name of the {kind.lower()}"), missing_ok)


_CREATED: Mapping[str, Callable[[Reader, bool], Statement]] = {
    "SOURCE": _source,
    "LOOKUP": _lookup,
    "VIEW": _view,
    "FUNCTION": _function,
    "SINK": _sink,
}
_READ: Mapping[str, Callable[[Reader], Statement]] = {
    "CREATE": _create,
    "INSERT": _insert,
    "SET": _set,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "EXPLAIN": _explain,
    "DROP": _drop,
    "RUN": lambda reader: Run(reader.part),
}
