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
    found, begun = [], 0
    tokens = _tokens(whole)
    for at, token in enumerate(tokens):
        if token.token_type.name == "SEMICOLON":
            found.append(tokens[begun:at])
            begun = at + 1
    found.append(tokens[begun:])
    return tuple(_statement(Reader(whole, part)) for part in found if part)


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
    found: list[str] = []
    depth, begun = 0, -1
    for at, token in enumerate(tokens):
        word = "" if string(token) else token.text.upper()
        if depth == 0 and word == "ORDER BY":
            begun, found = at + 1, []
        elif depth == 0 and begun >= 0 and (word in (",", "LIMIT", "OFFSET", "UNION", "|>")):
            found.append(written(query, tokens[begun:at]))
            begun = at + 1 if word == "," else -1
        depth += (word == "(") - (word == ")")
    if begun >= 0:
        found.append(written(query, tokens[begun:]))
    return tuple(ordering(text) for text in found)


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


def _statement(given: Reader) -> Statement:
    given.refuse_second()
    if given.next in _QUERIES:
        given.form = FORMS["SELECT"]
        return Select(given.part, given.rest())
    for words, read in _READ.items():
        if given.takes(*words.split()):
            given.form = FORMS.get(words, "")
            made = read(given)
            if given.next in _BEGIN:
                raise given.second()
            given.ends()
            return made
    given.form = ""
    hint = suggestion(given.next, _BEGIN, f"a statement begins with {', '.join(_BEGIN)}", shown="{}")
    raise given.wrong(f"no statement begins with `{given.word}`", hint)


def _create(given: Reader) -> Statement:
    replace = given.takes("OR", "REPLACE")
    given.takes("TEMPORARY")
    given.takes("INCREMENTAL")
    kind = next((kind for kind in KINDS if given.takes(kind)), None)
    if kind is None:
        made = ", ".join(f"CREATE {kind}" for kind in KINDS)
        hint = suggestion(given.next, KINDS, f"there are: {made}", shown="{}")
        raise given.wrong(f"`{given.word}` cannot be created", hint)
    given.form = FORMS[f"CREATE {kind}"]
    return _CREATED[kind](given, replace)


def _source(given: Reader, replace: bool) -> Statement:
    name = given.name("the name of the source")
    columns, watermark = given.columns() if given.next == "(" else (None, None)
    given.needs("WITH")
    return CreateSource(given.part, name, columns, watermark, given.options(), replace)


def _lookup(given: Reader, replace: bool) -> Statement:
    name = given.name("the name of the table")
    columns, watermark = given.columns() if given.next == "(" else (None, None)
    if watermark is not None:
        raise given.wrong("an external table cannot have a watermark", given.form)
    given.needs("WITH")
    return CreateLookup(given.part, name, columns, given.options(), replace)


def _view(given: Reader, replace: bool) -> Statement:
    name = given.name("the name of the view")
    constraints = _constraints(given) if given.next == "(" else ()
    given.needs("AS")
    return CreateView(given.part, name, given.query(), replace, constraints)


def _constraints(given: Reader) -> tuple[Constraint, ...]:
    before, given.form = given.form, CONSTRAINT
    found = given.constraints()
    given.form = before
    return found


def _function(given: Reader, replace: bool) -> Statement:
    start = given.start
    name = given.name("the name of the function")
    types = given.parameters() if given.next == "(" else ()
    while given.more() and not given.takes("RETURN"):
        if given.next in ("LANGUAGE", "USING", "AS"):
            raise given.wrong(
                f"the function {name} is not a SQL expression, and queries run only in the JVM",
                "write it with Spark SQL functions: " + FORMS["CREATE FUNCTION"],
            )
        if given.takes("RETURNS", "TABLE"):
            raise given.wrong(f"the function {name} returns a table", "make it a view: CREATE VIEW name AS SELECT ...")
        given.skip()
    body = given.rest()
    return CreateFunction(given.part, name, Part(body.script, body.file, start, body.end), body, types, replace)


def _sink(given: Reader, replace: bool) -> Statement:
    name = given.name("the name of the sink")
    given.needs("WITH")
    options = given.options()
    return CreateSink(given.part, name, options, given.query() if given.takes("AS") else None, replace)


def _insert(given: Reader) -> Statement:
    given.needs("INTO")
    sink = given.name("the name of a sink")
    return Insert(given.part, sink, given.query())


def _set(given: Reader) -> Statement:
    if not given.more():
        return Set(given.part, None, None)
    name = given.setting()
    if not given.more():
        return Set(given.part, name, None)
    given.needs("=")
    return Set(given.part, name, given.value_text())


def _show(given: Reader) -> Statement:
    what = next((what for what in SHOWN if given.takes(what)), None)
    if what is None:
        raise given.wrong(f"`{given.word}` cannot be shown" if given.more() else "SHOW needs an argument", given.form)
    return Show(given.part, what)


def _describe(given: Reader) -> Statement:
    kind = next((kind for kind in (*KINDS, "TABLE") if given.next == kind and given.after), None)
    given.takes(kind or "")
    return Describe(given.part, given.name("the name of a source, view, sink or function"))


def _explain(given: Reader) -> Statement:
    extended = given.takes("EXTENDED")
    return Explain(given.part, given.query() if given.more() else None, extended)


def _drop(given: Reader) -> Statement:
    kind = next((kind for kind in KINDS if given.takes(kind)), None)
    if kind is None:
        raise given.wrong(f"`{given.word}` cannot be dropped", given.form)
    missing_ok = given.takes("IF", "EXISTS")
    return Drop(given.part, kind, given.name(f"the name of the {kind.lower()}"), missing_ok)


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
    "RUN": lambda given: Run(given.part),
}
