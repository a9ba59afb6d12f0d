"""The options of tables of Redis."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.connectors.redis import Lookup
from headrace.errors import ConnectorError
from headrace.schema import parse_schema

SCHEMA = "id bigint, name string, places array<string>"


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        ({"url": "http://cache"}, "the address cannot be 'http://cache'", "it is redis://localhost:6379/0, or rediss://... over TLS"),
        (
            {"url": "redis://cache:x/0"},
            "the address cannot be 'redis://cache:x/0'",
            "it is redis://localhost:6379/0, or rediss://... over TLS",
        ),
        (
            {"url": "redis://:word@cache"},
            "the address contains a user or a password",
            'use user="app" and password=hr.secret("REDIS_PASSWORD")',
        ),
        ({"key": "number"}, "the key 'number' is not a column of the schema", "did you mean `name`? It has: id, name, places"),
        (
            {"key": ["id", "name", "places"]},
            "the schema needs the key and at least one other column",
            'schema="id bigint, name string", key="id"',
        ),
        ({"value": "hash"}, "`places` is array<string>, which is not a single value", 'give it as JSON: value="json"'),
        ({"key": "places"}, "`places` is array<string>, which is not a single value", 'give it as JSON: value="json"'),
        (
            {"value": "text", "schema": "id int, a int, b int"},
            "the value text needs exactly one column, but there are a, b",
            'value="hash" or value="json"',
        ),
        ({"prefix": 1}, "prefix cannot be 1", 'it is a string: "customer:"'),
        ({"value": "row"}, "value cannot be 'row'", "It is one of: json, hash, text"),
    ],
)
def test_what_does_not_do(changed: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ConnectorError) as caught:
        Lookup(**{"url": "redis://cache", "schema": SCHEMA, "key": "id", **changed})
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("BAD_OPTION", f"lookup.redis: {message}", hint)


def test_a_plan_has_what_it_needs_and_no_secret() -> None:
    lookup = Lookup("rediss://cache/3", SCHEMA, key=["ID", "name"], prefix="c:", user="app", password=hr.secret("WORD"))
    again = Lookup.from_options(lookup.options(), parse_schema(SCHEMA))
    assert again.options() == lookup.options()
    assert lookup.options()["password"] == {"env": "WORD"} and lookup.key == ("id", "name")
    assert lookup.describe() == "redis rediss://cache:6379/3, json under c:{id}:{name}"
