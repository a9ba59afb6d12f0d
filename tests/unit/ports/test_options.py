"""What connectors check of their options when they are built, and what of that is left where a plan is only looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import ConnectorError
from headrace.ports import lookup_class, sink_class
from headrace.ports.options import certificates
from headrace.schema import parse_schema
from tests.unit.errors import check_error

TABLE = "id string, name string"
HTTPS = "https://h/{id}"
TLS = "rediss://cache"
ONE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
rows = hr.read.memory([("a",)], "id string", name="rows")


@pytest.mark.parametrize("key", [5, ["id", 5], [""], "", b"id", {"id"}])
@pytest.mark.parametrize(
    ("verb", "build"),
    [
        ("write.redis", lambda key: rows.write.redis("redis://cache", prefix="t:", key=key)),
        ("write.jdbc", lambda key: rows.write.jdbc("sqlite:t.db", "t", key=key)),
        ("write.delta", lambda key: rows.write.delta("t", key=key)),
        ("lookup.redis", lambda key: hr.lookup.redis("redis://cache", TABLE, key=key)),
        ("lookup.http", lambda key: hr.lookup.http("https://h", TABLE, method="POST", key=key)),
    ],
)
def test_a_key_that_names_no_columns(verb: str, build: Callable[[Any], object], key: Any) -> None:
    with pytest.raises(ConnectorError) as raised:
        build(key)
    assert (raised.value.code, raised.value.message) == ("BAD_OPTION", f"{verb}: key cannot be {key!r}")
    assert raised.value.hint == 'name columns: key="id", or key=["shop", "day"]'


def test_a_key_of_redis_without_columns() -> None:
    nothing: Any = []
    check_error(
        """
        BAD_OPTION: write.redis: key cannot be []
          at test_options.py:*: lambda: rows.write.redis("redis://cache", prefix="t:", key=nothing),
          hint: name columns: key="id", or key=["shop", "day"]
          more: headrace error BAD_OPTION
        """,
        lambda: rows.write.redis("redis://cache", prefix="t:", key=nothing),
    )


@pytest.mark.parametrize("value", [5, "", ["fraud"]])
def test_texts_of_kafka(value: Any) -> None:
    with pytest.raises(ConnectorError) as group:
        hr.read.kafka("t", servers="a:9092", value="text", group=value)
    with pytest.raises(ConnectorError) as prefix:
        rows.write.kafka("t", servers="a:9092", prefix=value)
    assert [(one.value.message, one.value.hint) for one in (group, prefix)] == [
        (f"read.kafka: group cannot be {value!r}", 'it is a string: group="fraud"'),
        (f"write.kafka: prefix cannot be {value!r}", 'it is a string: prefix="headrace"'),
    ]


def test_a_file_of_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"
    (tmp_path / "ca.pem").write_text(f"# Főtanúsítvány\n{ONE}{key}{ONE}", encoding="utf-8")
    (tmp_path / "key.pem").write_text(key)
    (tmp_path / "torn.pem").write_text(ONE[:40])
    (tmp_path / "ca.der").write_bytes(b"\x30\x82")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert certificates("x", "ca", "~/ca.pem") == ONE + ONE
    for path, message in (
        ("~/key.pem", "the file ~/key.pem of `ca` has no certificate"),
        ("~/torn.pem", "the file ~/torn.pem of `ca` has no certificate"),
        ("~/ca.der", "the file ~/ca.der of `ca` has no certificate"),
        ("~", "the file ~ of `ca` cannot be read: Is a directory"),
        (True, "ca cannot be True"),
        ("", "ca cannot be ''"),
    ):
        with pytest.raises(ConnectorError) as raised:
            certificates("x", "ca", path)
        assert (raised.value.message, raised.value.hint) == (f"x: {message}", 'it is a PEM file with certificates: ca="ca.pem"')


def test_a_file_of_certificates_that_is_not_there() -> None:
    check_error(
        """
        BAD_OPTION: write.http: the file no.pem of `ca` cannot be read: No such file or directory
          at test_options.py:*: lambda: rows.write.http("https://h", ca="no.pem"),
          hint: it is a PEM file with certificates: ca="ca.pem"
          more: headrace error BAD_OPTION
        """,
        lambda: rows.write.http("https://h", ca="no.pem"),
    )
    for build in (
        lambda: hr.lookup.http(HTTPS, TABLE, ca="no.pem"),
        lambda: hr.lookup.redis(TLS, TABLE, key="id", ca="no.pem"),
        lambda: rows.write.redis(TLS, prefix="t:", key="id", ca="no.pem"),
    ):
        with pytest.raises(ConnectorError, match=r"the file no.pem of `ca` cannot be read: No such file or directory"):
            build()


def test_a_plan_can_be_looked_at_where_the_file_is_not(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text(ONE)
    sinks = {"http": {"url": "https://h"}, "redis": {"url": TLS, "prefix": "t:", "key": "id"}}
    tables = {"http": {"url": HTTPS}, "redis": {"url": TLS, "key": "id"}}
    schema = parse_schema(TABLE)
    stored: list[tuple[Callable[..., Any], dict[str, Any], tuple[Any, ...]]] = [
        *(
            (sink_class(name).from_options, dict(sink_class(name)(**settings, ca=str(ca)).options()), ())
            for name, settings in sinks.items()
        ),
        *(
            (lookup_class(name).from_options, dict(lookup_class(name)(schema=schema, **settings, ca=str(ca)).options()), (schema,))
            for name, settings in tables.items()
        ),
    ]
    ca.unlink()
    for from_options, options, more in stored:
        assert options["ca"] == str(ca) and from_options(options, *more).options() == options


def test_an_authority_without_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(ONE)
    ca = str(tmp_path / "ca.pem")
    for verb, build in (
        ("write.redis", lambda url: rows.write.redis(url, prefix="t:", key="id", ca=ca)),
        ("lookup.redis", lambda url: hr.lookup.redis(url, TABLE, key="id", ca=ca)),
    ):
        with pytest.raises(ConnectorError) as raised:
            build("redis://cache")
        assert raised.value.message == f"{verb}: ca= is for TLS, but the address is without TLS"
        assert raised.value.hint == 'write "rediss://host:6379/0"'
    with pytest.raises(ConnectorError, match="both ca= and the address set an authority"):
        rows.write.redis(f"{TLS}?ssl_ca_certs=ca.pem", prefix="t:", key="id", ca=ca)
