"""The options of services as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.http import Lookup
from headrace.errors import ConnectorError
from headrace.schema import parse_schema
from tests.unit.errors import check_error

SCHEMA = "id bigint, name string, places array<string>"
EXAMPLE = 'it is "https://example.org/customers/{id}", where {id} is a column of the schema'


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        ({"url": "example.org/{id}"}, "the url cannot be 'example.org/{id}'", EXAMPLE),
        (
            {"url": "https://me:pass@example.org/{id}"},
            "the url for example.org has a user or password in it",
            'plans are stored and shown, so use headers={"Authorization": hr.secret("NAME")}',
        ),
        (
            {"url": "https://h/x"},
            "the url has no placeholder for the key",
            f'{EXAMPLE}; to send many keys in one request, use method="POST"',
        ),
        ({"url": "https://{id}/x"}, "a placeholder cannot be part of the server's name", EXAMPLE),
        ({"url": "https://h/{no}"}, "the key 'no' is not a column of the schema", "it has: id, name, places"),
        ({"key": "id"}, "the placeholders of the url are the key: id", "remove key="),
        ({"method": "PUT"}, "method cannot be 'PUT'", "It is one of: GET, POST"),
        ({"method": "POST"}, "with POST the keys are sent in the body, but the url has {id}", 'remove it, and write key="id"'),
        ({"method": "POST", "url": "https://h/x"}, "with POST, key= is required", 'key="id"'),
        (
            {"url": "https://h/{id}/{name}/{places}"},
            "the schema needs the key and at least one other column",
            'schema="id bigint, name string"',
        ),
        ({"url": "https://h/{places}"}, "the key `places` is array<string>, which is not a single value", "convert it to a string"),
        ({"at": "a..b"}, "at cannot be 'a..b'", 'it is a field of the response, or a nested one: "result.items"'),
        ({"timeout": "0 seconds"}, "timeout cannot be '0 seconds'", "it is the timeout of a response"),
        (
            {"headers": {"X-Token": "t0k3n"}},
            "the header X-Token must be a secret, given by its name",
            'plans are stored and shown, so pass a secret by its name: headers={"X-Token": hr.secret("NAME")}',
        ),
        ({"headers": "x"}, "headers cannot be of type str", 'it is a dict: headers={"Accept-Language": "sv"}'),
    ],
)
def test_what_does_not_do(changed: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ConnectorError) as caught:
        Lookup(**{"url": "https://example.org/customers/{id}", "schema": SCHEMA, **changed})
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("BAD_OPTION", f"lookup.http: {message}", hint)


def test_a_plan_has_what_it_needs_and_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORD", "sesame")
    (tmp_path / "ca").write_text("-----BEGIN CERTIFICATE----------END CERTIFICATE-----")
    options: dict[str, Any] = {
        "headers": {"X-Key.env": "WORD", "X": "y"},
        "token": hr.secret("WORD"),
        "timeout": "5 s",
        "at": "a.b",
        "ca": str(tmp_path / "ca"),
    }
    one = Lookup("https://example.org/shops/{ID}/items?name={name}", SCHEMA, **options)
    many = Lookup("https://example.org/find", SCHEMA, method="POST", key=["name", "ID"], **options)
    for lookup in (one, many):
        stored = json.loads(json.dumps(lookup.options()))
        assert "sesame" not in json.dumps(stored)
        again = Lookup.from_options(stored, parse_schema(SCHEMA))
        assert again.options() == lookup.options() and again.key == lookup.key
    assert (one.key, one.keys_at_once, one.default_name) == (("id", "name"), 1, "items")
    assert (many.key, many.keys_at_once, many.default_name) == (("name", "id"), None, "find")
    assert one.describe() == "http GET https://example.org/shops/{ID}/items"


def test_options_of_requests_of_the_table_and_of_the_lookup() -> None:
    orders = hr.read.memory([(1,)], "id bigint", name="orders")
    table = hr.lookup.http("https://h/x/{id}", "id bigint, name string", cache="1 minute", in_flight=9)
    first: Any = orders.lookup(table, on="id")._node
    second: Any = orders.lookup(table, on="id", in_flight=2, retry="5 s", cache="0 seconds")._node
    assert (first.cache_ms, first.in_flight, first.retry_ms, first.batch) == (60_000, 9, 60_000, 1)
    assert (second.cache_ms, second.in_flight, second.retry_ms, second.batch) == (0, 2, 5_000, 1)


def test_many_keys_of_a_service_that_is_asked_for_one() -> None:
    check_error(
        """
        BAD_LOOKUP: x takes at most one key in a request, got 10
          at test_http_lookup.py:*: lambda: hr.lookup.http("https://h/x/{id}", "id bigint, name string", batch=10),
          hint: leave out batch=; in_flight= sets the number of concurrent requests
          more: headrace error BAD_LOOKUP
        """,
        lambda: hr.lookup.http("https://h/x/{id}", "id bigint, name string", batch=10),
    )
