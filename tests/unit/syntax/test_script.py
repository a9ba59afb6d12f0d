"""Scripts read into statements, and every way in which one cannot be read."""

from __future__ import annotations

import pytest

from headrace.syntax.script import finished, mentioned, statements
from headrace.syntax.statements import (
    CreateFunction,
    CreateSink,
    CreateSource,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Run,
    Select,
    Set,
    Show,
    Statement,
)
from tests.unit.errors import check_error


def one(text: str) -> Statement:
    [statement] = statements(text, "job.sql")
    return statement


def test_a_source() -> None:
    source = one(
        """
        create Source `my charges` (
          card STRING COMMENT 'a; b', -- its number
          tags MAP<STRING, ARRAY<INT>>, ts TIMESTAMP,
          WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
        ) with (CONNECTOR = 'files', path = 'it\\'s', files_per_epoch = 3, share = -0.5, follow = TRUE, schema = NULL,
                partition_by = ('a', 'b'), options.Header = false, 'options.a b' = "c")
        """
    )
    assert isinstance(source, CreateSource)
    assert (source.name, source.watermark, source.replace) == ("my charges", ("ts", "5 SECONDS"), False)
    assert source.columns == "card STRING COMMENT 'a; b', tags MAP<STRING, ARRAY<INT>>, ts TIMESTAMP"
    assert source.options == {
        "connector": "files",
        "path": "it's",
        "files_per_epoch": 3,
        "share": -0.5,
        "follow": True,
        "schema": None,
        "partition_by": ["a", "b"],
        "options": {"Header": False, "a b": "c"},
    }


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("ts - INTERVAL '5' SECONDS", "5 SECONDS"),
        ("ts - INTERVAL 5 minutes", "5 minutes"),
        ("ts - interval '1 hour 30 minutes'", "1 hour 30 minutes"),
        ("TS", "0 seconds"),
    ],
)
def test_watermarks(text: str, delay: str) -> None:
    source = one(f"CREATE SOURCE s (WATERMARK FOR ts AS {text}) WITH (connector = 'x')")
    assert isinstance(source, CreateSource)
    assert (source.columns, source.watermark) == (None, ("ts", delay))


def test_every_other_statement() -> None:
    script = """
        CREATE OR REPLACE VIEW v AS /* all */ SELECT ';', "--" FROM `a;b` -- no more
        ;;
        CREATE TEMPORARY FUNCTION f(x INT, y DECIMAL(10, 2) DEFAULT 3) RETURNS INT COMMENT 'RETURN' RETURN x + y;
        CREATE SINK s WITH (connector = 'memory');
        CREATE SINK t WITH (connector = 'memory') AS SELECT 1;
        INSERT INTO s WITH a AS (SELECT 1) SELECT * FROM a;
        SET 'spark.sql.ansi.enabled' = FALSE; SET spark.sql.session.timeZone = 'UTC'; SET job = two words; SET job; SET;
        SHOW tables; DESCRIBE v; DESC FUNCTION f; DESCRIBE sink; EXPLAIN; EXPLAIN SELECT 1;
        SELECT 1; FROM v |> SELECT a; (SELECT 1) UNION ALL VALUES (2); TABLE v;
        DROP VIEW IF EXISTS v; DROP SINK s; RUN
    """
    parsed = statements(script, "job.sql")
    assert [type(statement) for statement in parsed] == [
        *(CreateView, CreateFunction, CreateSink, CreateSink, Insert, Set, Set, Set, Set, Set, Show, Describe, Describe, Describe),
        *(Explain, Explain, Select, Select, Select, Select, Drop, Drop, Run),
    ]
    view, function, sink, fed, insert, *sets = parsed[:10]
    assert isinstance(view, CreateView)
    assert (view.replace, view.query.text, str(view.query.site)) == (True, "SELECT ';', \"--\" FROM `a;b`", "job.sql:2:47")
    assert isinstance(function, CreateFunction)
    assert (function.name, function.types, function.body.text) == ("f", ("INT", "DECIMAL(10, 2)"), "x + y")
    assert function.definition.text == "f(x INT, y DECIMAL(10, 2) DEFAULT 3) RETURNS INT COMMENT 'RETURN' RETURN x + y"
    assert isinstance(sink, CreateSink)
    assert sink.query is None
    assert isinstance(fed, CreateSink)
    assert fed.query is not None
    assert fed.query.text == "SELECT 1"
    assert isinstance(insert, Insert)
    assert (insert.sink, insert.query.text) == ("s", "WITH a AS (SELECT 1) SELECT * FROM a")
    assert [(statement.name, statement.value) for statement in sets if isinstance(statement, Set)] == [
        ("spark.sql.ansi.enabled", "FALSE"),
        ("spark.sql.session.timeZone", "UTC"),
        ("job", "two words"),
        ("job", None),
        (None, None),
    ]
    assert [statement.name for statement in parsed if isinstance(statement, Describe)] == ["v", "f", "sink"]
    assert [None if statement.query is None else statement.query.text for statement in parsed if isinstance(statement, Explain)] == [
        None,
        "SELECT 1",
    ]
    assert [(statement.kind, statement.name, statement.missing_ok) for statement in parsed if isinstance(statement, Drop)] == [
        ("VIEW", "v", True),
        ("SINK", "s", False),
    ]
    assert (parsed[-1].line, parsed[-1].column, parsed[-1].text) == (11, 45, "RUN")


def test_when_a_text_is_finished() -> None:
    assert finished("SELECT 1;")
    assert finished("SELECT 1; -- done")
    assert finished("")
    assert not finished("SELECT 1")
    assert not finished("SELECT 'a;\n")
    assert not finished("SELECT /* 1;")
    assert not finished("SELECT ';'")


def test_the_tables_of_a_query() -> None:
    assert mentioned("SELECT 'a', b FROM `C d`, x.e -- f", ["a", "b", "c d", "E", "f"]) == ("b", "c d", "E")


SOURCE = """CREATE SOURCE name (column type, ..., WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
                WITH (connector = 'files', path = 'in/', format = 'json')"""
FUNCTION = "CREATE FUNCTION name(x INT, y INT) RETURNS INT RETURN x + y"


@pytest.mark.parametrize(
    ("text", "message", "place", "hint"),
    [
        ("selec 1", "no statement begins with `selec`", "1:1", "did you mean SELECT? A statement begins with CREATE, INSERT, SET, SHOW, DESCRIBE, EXPLAIN, DROP, SELECT, RUN"),
        ("SELECT 1;\n  SELECT 'a", "a quote or comment that begins here is not closed", "2:10", "close it; for a quote write \\' inside a string, `` inside a name"),
        ("SELECT 1 /* one", "a quote or comment that begins here is not closed", "1:10", "close it; for a quote write \\' inside a string, `` inside a name"),
        ("CREATE TABLE t (a INT)", "`TABLE` cannot be created", "1:8", "there are: CREATE SOURCE, CREATE LOOKUP, CREATE VIEW, CREATE FUNCTION, CREATE SINK"),
        ("CREATE SOURCE s", "expected `WITH`, but the statement ends", "1:15", SOURCE),
        ("CREATE SOURCE s (a INT,) WITH (x = 1)", "expected a column, got `)`", "1:24", SOURCE),
        ("CREATE SOURCE s (a INT", "expected `)`, but the statement ends", "1:22", SOURCE),
        ("CREATE SOURCE s WITH (a = b)", "expected a value (text in quotes, a number, TRUE or FALSE), got `b`", "1:27", SOURCE),
        ("CREATE SOURCE s WITH (a = 1, A = 2)", "the option a is given twice", "1:30", "give it once"),
        ("CREATE SOURCE s WITH (a 1)", "expected `=`, got `1`", "1:25", SOURCE),
        ("CREATE SOURCE s (WATERMARK FOR ts AS tt) WITH (a = 1)", "the watermark for ts uses another column", "1:38", "WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS"),
        ("CREATE SOURCE s (WATERMARK FOR ts AS ts + 1) WITH (a = 1)", "the watermark for ts must be the column minus an interval", "1:41", "WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS"),
        ("CREATE SOURCE s (WATERMARK FOR a AS a, WATERMARK FOR b AS b) WITH (a = 1)", "a source can have only one watermark", "1:40", "WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS"),
        ("CREATE VIEW v SELECT 1", "expected `AS`, got `SELECT`", "1:15", "CREATE VIEW name AS SELECT ..."),
        ("CREATE VIEW v AS", "expected a query, but the statement ends", "1:16", "CREATE VIEW name AS SELECT ..."),
        ("CREATE VIEW 'v' AS SELECT 1", "expected the name of the view, got `'v'`", "1:13", "CREATE VIEW name AS SELECT ..."),
        ("CREATE VIEW a.b AS SELECT 1", "a name has only one part, but a dot follows `a`", "1:14", "write it in back quotes: `a...`"),
        ("CREATE FUNCTION f(x) RETURNS INT RETURN 1", "a parameter needs a name and a type", "1:20", FUNCTION),
        ("CREATE FUNCTION f() RETURNS TABLE(x INT) RETURN SELECT 1", "the function f returns a table", "1:34", "make it a view: CREATE VIEW name AS SELECT ..."),
        ("CREATE FUNCTION f(x INT) RETURNS INT", "expected more, but the statement ends", "1:36", FUNCTION),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ $$", "the function f is not a SQL expression, and queries run only in the JVM", "1:38", f"write it with Spark SQL functions: {FUNCTION}"),
        ("CREATE FUNCTION f AS 'a.B'", "the function f is not a SQL expression, and queries run only in the JVM", "1:19", f"write it with Spark SQL functions: {FUNCTION}"),
        ("INSERT OVERWRITE s SELECT 1", "expected `INTO`, got `OVERWRITE`", "1:8", "INSERT INTO sink SELECT ..."),
        ("INSERT INTO s FROM_ALL", "expected a query, got `FROM_ALL`", "1:15", "INSERT INTO sink SELECT ..."),
        ("SET a b", "expected `=`, got `b`", "1:7", "SET name = 'value'"),
        ("SHOW", "SHOW needs an argument", "1:4", "SHOW SOURCES, LOOKUPS, VIEWS, TABLES, FUNCTIONS, SINKS, SETTINGS or CONNECTORS"),
        ("SHOW ALL", "`ALL` cannot be shown", "1:6", "SHOW SOURCES, LOOKUPS, VIEWS, TABLES, FUNCTIONS, SINKS, SETTINGS or CONNECTORS"),
        ("DESCRIBE", "expected the name of a source, view, sink or function, but the statement ends", "1:8", "DESCRIBE name"),
        ("EXPLAIN v", "expected a query, got `v`", "1:9", "EXPLAIN, or EXPLAIN SELECT ..."),
        ("DROP TABLE t", "`TABLE` cannot be dropped", "1:6", "DROP SOURCE, LOOKUP, VIEW, FUNCTION or SINK, then the name"),
        ("RUN it", "unexpected `it` after the end of the statement", "1:5", "RUN"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str, message: str, place: str, hint: str) -> None:
    line = text.split("\n")[int(place[0]) - 1].strip()
    expected = [f"BAD_STATEMENT: {message}", f"  at job.sql:{place}: {line}", f"  hint: {hint.replace(' ' * 16, ' ' * 8)}"]
    check_error("\n".join([*expected, "  more: headrace error BAD_STATEMENT"]), lambda: statements(text, "job.sql"))


@pytest.mark.parametrize(
    ("text", "word", "place"),
    [
        ("CREATE SOURCE a (x INT) WITH (connector = 'files')\nCREATE SINK o WITH (connector = 'console');", "CREATE", "1:50"),
        ("SELECT 1; CREATE SINK o WITH (connector = 'console')\n-- the rows\nINSERT INTO o SELECT 1", "INSERT", "1:52"),
        ("INSERT INTO a SELECT x FROM t\n\nINSERT INTO b SELECT x FROM t", "INSERT", "1:29"),
        ("CREATE VIEW v AS SELECT 1\nCREATE OR REPLACE VIEW w AS SELECT 2", "CREATE", "1:25"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1\nCREATE VIEW v AS SELECT f(1)", "CREATE", "1:49"),
        ("SET every = 5 seconds\nSET job = 'x'", "SET", "1:21"),
        ("SET job = 'x'\nRUN", "RUN", "1:13"),
        ("DROP VIEW v DROP VIEW w", "DROP", "1:11"),
        ("SHOW SOURCES\nSHOW SINKS", "SHOW", "1:12"),
    ],
)
def test_a_semicolon_that_is_missing(text: str, word: str, place: str) -> None:
    check_error(
        f"""
        BAD_STATEMENT: no semicolon after this statement, and `{word}` begins another
          at job.sql:{place}: {text.partition(chr(10))[0]}
          hint: put a semicolon between two statements
          more: headrace error BAD_STATEMENT
        """,
        lambda: statements(text, "job.sql"),
    )


def test_words_of_statements_within_others() -> None:
    texts = (
        "SELECT a,\n create source FROM t",
        "SELECT set, `CREATE SINK o`, 'INSERT INTO b' FROM t -- CREATE VIEW v",
        "CREATE VIEW v AS SELECT set = 1 AS x FROM create",
    )
    assert [len(statements(text)) for text in texts] == [1, 1, 1]


def test_the_error_of_a_statement_is_whole() -> None:
    check_error(
        """
        BAD_STATEMENT: expected `AS`, got `SELECT`
          at job.sql:2:15: CREATE VIEW v SELECT 1;
          hint: CREATE VIEW name AS SELECT ...
          more: headrace error BAD_STATEMENT
        """,
        lambda: statements("SET job = 'x';\nCREATE VIEW v SELECT 1;", "job.sql"),
    )
