"""What the JDBC and Redis connectors check when a job is built, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink, Source
from headrace.connectors.jdbc.database import Problem
from headrace.connectors.jdbc.kinds import DIALECTS
from headrace.connectors.redis import Sink as RedisSink
from headrace.connectors.redis.connect import refusal
from headrace.plan import Plan
from headrace.schema import parse_schema, parse_type
from headrace.spark.compile.job import compile
from tests.unit.connectors.delta.tasks import context
from tests.unit.errors import check_error

URL = "postgresql://db/shop"


@pytest.mark.parametrize(
    ("url", "jdbc", "shown"),
    [
        ("postgresql://db/shop", "jdbc:postgresql://db/shop", "postgresql://db/shop"),
        ("jdbc:postgresql://a:1,b:2/shop?ssl=true", "jdbc:postgresql://a:1,b:2/shop?ssl=true", "postgresql://a:1,b:2/shop"),
        ("postgres://db:5433/shop", "jdbc:postgresql://db:5433/shop", "postgresql://db:5433/shop"),
        ("mysql://app@db/shop", "jdbc:mariadb://db/shop", "mariadb://db/shop"),
        ("sqlite:out.db", f"jdbc:sqlite:{Path.cwd()}/out.db", "sqlite:out.db"),
        ("sqlite:///data/out.db", "jdbc:sqlite:/data/out.db", "sqlite:/data/out.db"),
    ],
)
def test_addresses(url: str, jdbc: str, shown: str) -> None:
    sink = Sink(url, "t")
    assert (sink.address.jdbc, str(sink.address)) == (jdbc, shown)


def test_the_file_of_a_database(tmp_path: Path) -> None:
    assert Sink(URL, "t").address.file is None and not Sink(URL, "t").address.removed
    address = Sink(f"sqlite:{tmp_path}/out.db?foreign_keys=on", "t").address
    assert (address.file, address.removed) == (tmp_path / "out.db", True)
    (tmp_path / "out.db").touch()
    assert not address.removed


def test_what_a_server_says_in_the_middle_or_before_any_epoch(tmp_path: Path) -> None:
    sink = Sink(URL, "t")
    sink._context = context(tmp_path)
    refused = Exception("READONLY You can't write against a read only replica.")
    for reason, error in (
        ("postgresql://db/shop reported: no", sink._refusal(Problem("25006", 0, "no", transient=False))),
        (f"redis://r reported: {refused}", refusal("sink", "redis://r", refused)),
    ):
        check_error(
            f"""
            SINK_FAILED: sink: {reason}
              hint: fix the cause and start again: no row is lost or duplicated
              more: headrace error SINK_FAILED
            """,
            error,
        )


@pytest.mark.parametrize(
    "url", ["", "db/shop", "oracle://db/shop", "postgresql:", "postgresql://db", "postgresql:///shop", "sqlite::memory:", 7]
)
def test_no_addresses(url: object) -> None:
    with pytest.raises(hr.ConnectorError, match="BAD_OPTION"):
        Sink(url, "t")  # type: ignore[arg-type]  # what is given may be anything


@pytest.mark.parametrize(
    "url", ["postgresql://app:geheim@db/shop", "mariadb://db/shop?password=geheim", "jdbc:postgresql://db/shop?sslpassword=geheim"]
)
def test_passwords_in_addresses(url: str) -> None:
    error = check_error(
        """
        BAD_OPTION: write.jdbc: the address contains a password
          at test_jdbc.py:*: lambda: Sink(url, "t"),
          hint: pass it as a secret: password=hr.secret("DB_PASSWORD")
          more: headrace error BAD_OPTION
        """,
        lambda: Sink(url, "t"),
    )
    assert error is not None and "geheim" not in str(error)


def test_passwords_among_the_options() -> None:
    error = check_error(
        """
        BAD_OPTION: write.jdbc: `password` cannot be set in options
          at test_jdbc.py:*: lambda: Sink(URL, "t", options={"password": "***"}),
          hint: use user= and password=hr.secret("DB_PASSWORD")
          more: headrace error BAD_OPTION
        """,
        lambda: Sink(URL, "t", options={"password": "geheim"}),
    )
    assert "geheim" not in str(error)


@pytest.mark.parametrize("name", ["", "a.b.c", ".a", "a.", 'a"b', 7])
def test_no_tables(name: object) -> None:
    with pytest.raises(hr.ConnectorError, match="is not the name of a table"):
        Sink(URL, name)  # type: ignore[arg-type]  # what is given may be anything


def test_a_plan_stores_where_the_password_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "geheim")
    sink = Sink(URL, '"a.b".t', key="k", user="app", password=hr.secret("DB_PASSWORD"), options={"sslmode": "require"}, retry="1 minute")
    text = json.dumps(sink.options())
    assert "geheim" not in text and "DB_PASSWORD" in text
    assert Sink.from_options(json.loads(text)).options() == sink.options()
    source = Source(URL, "t", by="id", follow=True, user="app", password=hr.secret("DB_PASSWORD"), schema="id bigint")
    assert Source.from_options(json.loads(json.dumps(source.options())), parse_schema("id bigint")).options() == source.options()
    redis = RedisSink("redis://cache", prefix="t:", key=["a", "b"], password=hr.secret("DB_PASSWORD"))
    assert RedisSink.from_options(json.loads(json.dumps(redis.options()))).options() == redis.options()


def test_nothing_says_what_is_new() -> None:
    check_error(
        """
        BAD_OPTION: read.jdbc: with follow= or updated=, by= is required
          at test_jdbc.py:*: lambda: hr.read.jdbc(URL, "t", follow=True, schema="a int"),
          hint: name a column that grows with each row: by="id"
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.jdbc(URL, "t", follow=True, schema="a int"),
    )


@pytest.mark.parametrize(
    "addresses",
    [
        (URL, URL),
        (URL, "jdbc:postgresql://DB:5432/shop?sslmode=require"),
        ("mysql://app@db/shop", "mariadb://db:3306/shop"),
        ("sqlite:out.db", f"sqlite:///{Path.cwd()}/../{Path.cwd().name}/out.db"),
    ],
)
def test_two_sinks_of_one_table(addresses: tuple[str, str]) -> None:
    rows = hr.read.memory([("a",)], "k string", name="s")
    with pytest.raises(hr.HeadraceError, match="FOLDER_OWNED"):
        compile(Plan.of("twice", [rows.write.jdbc(url, "t", name=name)._use() for name, url in zip("ab", addresses, strict=True)]))


def test_tables_of_two_databases() -> None:
    urls = ("postgresql://a:1,b/shop", "postgresql://a:1,b:2/shop", "postgresql://a,b/shop", "postgresql://a,b/Shop", "mariadb://a,b/shop")
    assert len({Sink(url, "t").owns for url in urls}) == len(urls)


def test_two_sinks_of_the_same_keys() -> None:
    rows = hr.read.memory([("a",)], "k string", name="s")
    sinks = [
        rows.write.redis(url, prefix="t:", key="k", name=name)._use()
        for name, url in (("a", "redis://app@cache"), ("b", "redis://Cache:6379/0?ssl_ca_certs=ca.pem"))
    ]
    check_error(
        """
        FOLDER_OWNED: the sinks a and b both write to redis://cache:6379/0, keys t:*
          at test_jdbc.py:*: rows.write.redis(url, prefix="t:", key="k", name=name)._use()
          hint: give each sink a folder of its own, or combine streams of the same columns with union
          more: headrace error FOLDER_OWNED
        """,
        lambda: compile(Plan.of("twice", sinks)),
    )
    urls = ("redis://cache", "rediss://cache", "redis://cache/1", "redis://cache:1", "unix:///cache", "unix:///cache?db=1")
    assert len({RedisSink(url, prefix="t:", key="k").owns for url in urls}) == len(urls)


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("http://cache", "t:"),
        ("redis://cache:x", "t:"),
        ("redis://:geheim@cache", "t:"),
        ("redis://cache?password=geheim", "t:"),
        ("rediss://cache?ssl_password=geheim", "t:"),
        ("rediss://cache?SSL_Password=geheim", "t:"),
        ("redis://cache", ""),
        ("redis://cache", "_headrace:x"),
    ],
)
def test_redis_options(url: str, prefix: str) -> None:
    with pytest.raises(hr.ConnectorError, match="BAD_OPTION") as caught:
        RedisSink(url, prefix=prefix, key="k")
    assert "geheim" not in caught.value.message


TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(38,18)", "string", "char(3)", "varchar(9)", "binary"),
    *("date", "timestamp", "timestamp_ntz", "time(6)", "interval day to second", "interval year to month", "variant", "void"),
    *("array<int>", "map<string, int>", "struct<a: int>", "string collate UTF8_LCASE"),
)


@pytest.mark.parametrize("kind", sorted(DIALECTS))
@pytest.mark.parametrize("type", TYPES)
def test_every_type_has_one(kind: str, type: str) -> None:
    assert DIALECTS[kind].type_of(parse_type(type), key=0)


def test_keys_of_mariadb_fit_an_index() -> None:
    mariadb = DIALECTS["mariadb"]
    assert mariadb.type_of(parse_type("string"), key=1) == "varchar(255)"
    assert mariadb.type_of(parse_type("string"), key=4) == "varchar(192)"


def test_sparks_reader_puts_names_between_double_quotes() -> None:
    mariadb = DIALECTS["mariadb"]
    properties = mariadb.properties("app", None, 1.0)
    assert "ANSI_QUOTES" not in properties["sessionVariables"]
    assert mariadb.reading(properties)["sessionVariables"].startswith("sql_mode='ANSI_QUOTES,STRICT_ALL_TABLES,")
    for_reading = mariadb.reading({**properties, "sessionVariables": "wait_timeout=60"})
    assert for_reading["sessionVariables"] == "wait_timeout=60,sql_mode='ANSI_QUOTES'"


@pytest.mark.parametrize(
    ("name", "state", "vendor", "read", "written"),
    [
        (
            "postgresql",
            "42501",
            0,
            "grant the user SELECT on the table and USAGE on its schema",
            "grant the user SELECT, INSERT, UPDATE and DELETE on the table and on _headrace_epochs, "
            "and CREATE and USAGE on its schema for staging tables",
        ),
        (
            "mariadb",
            "42000",
            1142,
            "grant the user SELECT on the table",
            "grant the user SELECT, INSERT, UPDATE, DELETE, CREATE and DROP on the database",
        ),
    ],
)
def test_rights(name: str, state: str, vendor: int, read: str, written: str) -> None:
    address, problem = Sink(f"{name}://localhost/shop", "t").address, Problem(state, vendor, "denied", False)
    errors = [DIALECTS[name].why(problem, address, writes=writes) for writes in (False, True)]
    assert [error and error.hint for error in errors] == [read, written]


@pytest.mark.parametrize("name", ["postgresql", "mariadb"])
def test_only_a_failed_connection_is_one_of_tls(name: str) -> None:
    address = Sink(f"{name}://localhost/shop", "t").address
    failed = DIALECTS[name].why(Problem("08006", 0, "SSL error: the certificate has expired", True), address)
    assert failed is not None and failed.message.startswith("no TLS connection to")
    assert DIALECTS[name].why(Problem("42703", 0, 'column "certificate" does not exist', False), address) is None
