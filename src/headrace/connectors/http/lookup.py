"""Rows of a service, looked up over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.http.request import Headers, address_of, headers_option
from headrace.ports import option
from headrace.ports.options import certificates, columns_named, key_of, wrong
from headrace.ports.secrets import HEADER, Secret
from headrace.schema import Array, Map, Struct

VERB = "lookup.http"
JVM = ports.Packages(name="http-lookup", scala=Path(__file__).parent / "scala")
_PLACE = re.compile(r"\{([^{}]*)\}")
_EXAMPLE = '"https://example.org/customers/{id}", where {id} is a column of the schema'


class Lookup(ports.Options, ports.Lookup):
    """Looks up rows in an HTTP service that returns JSON: one object, or a list of objects.

    A GET requests one key, `method="POST"` many. A service may change its responses, so sinks downstream are at least once, unless the
    table is `constant`. For a GET, 404, 410 or `null` is no match. A row whose key the service rejects (400, 422), or whose response does
    not match the schema, becomes a dead letter. A request without a response, or with 408, 425, 429, 500, 502, 503 or 504, is repeated for
    as long as `retry`; then the epoch fails (`LOOKUP_FAILED`).

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.http("https://example.org/customers/{id}", "id bigint, name string, country string", token=hr.secret("CRM_TOKEN"))
        <Table customers: id, name, country>
    """

    connector: ClassVar[str] = "http"

    url: str = option.option(
        "`http://…` or `https://…`. For `GET` it has a placeholder `{column}` for each key column, in the path or the query string. The "
        "plan stores the address, so put secrets in headers",
        lambda verb, _, url: address_of(verb, url, f"it is {_EXAMPLE}"),
        takes=str,
        kw_only=False,
    )
    schema: Struct = option.schema("the columns of a row, including the key columns", kw_only=False)
    method: str = option.choice(
        '`"GET"`: one key per request; `"POST"`: [many](#many-keys-per-request)', ("GET", "POST"), default="GET", stored="always"
    )
    key: tuple[str, ...] = option.option(
        'with `method="POST"`: the columns to send', lambda verb, name, key: key, takes=str | Sequence[str], default=None
    )
    at: tuple[str, ...] = option.option(
        'the field of the response that contains the rows, such as `"result.items"`',
        lambda verb, name, at: _path(at),
        takes=str,
        default=None,
        empty=tuple,
        dump=".".join,
    )
    headers: Mapping[str, str | Secret] = headers_option()
    token: Secret | None = option.secret('a secret, `hr.secret("NAME")`, sent as `Authorization: Bearer`', takes=HEADER, default=None)
    timeout_ms: int = option.duration(
        "how long to wait for a whole response",
        least=1,
        why="it is the timeout of a response",
        alias="timeout",
        default="10 seconds",
        stored="always",
    )
    ca: str | None = option.certificates(
        "a PEM file of certificates to trust instead of Java's; it is read where the job starts, and executors do not need it",
        default=None,
    )

    def __post_init__(self) -> None:
        self.key = key_of(VERB, self._named(self.key), self.schema)
        self._check_columns()

    def _named(self, key: str | Sequence[str] | None) -> tuple[str, ...]:
        """The key columns, as the user spells them."""
        places = tuple(dict.fromkeys(_PLACE.findall(self.url)))
        if self.method == "GET":
            if not places:
                raise wrong(
                    f"{VERB}: the url has no placeholder for the key",
                    f'it is {_EXAMPLE}; to send many keys in one request, use method="POST"',
                )
            if "{" in self.url.split("://", 1)[1].split("/", 1)[0]:
                raise wrong(f"{VERB}: a placeholder cannot be part of the server's name", f"it is {_EXAMPLE}")
            if key is not None:
                raise wrong(f"{VERB}: the placeholders of the url are the key: {', '.join(places)}", "remove key=")
            return places
        if places:
            raise wrong(
                f"{VERB}: with POST the keys are sent in the body, but the url has {{{places[0]}}}", 'remove it, and write key="id"'
            )
        named = columns_named(VERB, "key", key)
        if not named:
            raise wrong(f"{VERB}: with POST, key= is required", 'key="id"')
        return named

    def _check_columns(self) -> None:
        if not set(self.schema.names) - set(self.key):
            raise wrong(f"{VERB}: the schema needs the key and at least one other column", 'schema="id bigint, name string"')
        nested = next((name for name in self.key if isinstance(self.schema.get(name), Array | Map | Struct)), None)
        if nested is not None:
            raise wrong(f"{VERB}: the key `{nested}` is {self.schema.get(nested)}, which is not a single value", "convert it to a string")

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="a service may change its response at any time")

    @property
    def needs(self) -> ports.Packages:
        return JVM

    @property
    def keys_at_once(self) -> int | None:
        return 1 if self.method == "GET" else None

    @property
    def default_name(self) -> str:
        path = self._place.split("://", 1)[1].partition("/")[2]
        words = [part for part in path.split("/") if part and not _PLACE.search(part)]
        return words[-1] if words else "http"

    @property
    def _place(self) -> str:
        return self.url.partition("?")[0]

    def options(self) -> dict[str, Any]:
        # With GET the address determines the key.
        return {name: value for name, value in super().options().items() if name != "key" or self.method == "POST"}

    def describe(self) -> str:
        return f"http {self.method} {self._place}"

    def ask(self, context: ports.LookupContext) -> dict[str, Any]:
        options = {
            "url": self._spelled(),
            "method": self.method,
            "timeout_ms": str(self.timeout_ms),
            **{f"at.{place}": name for place, name in enumerate(self.at)},
            **{f"header.{name}": value for name, value in Headers(self.headers, self.token).read().items()},
        }
        if self.ca is not None:
            options["ca"] = certificates(VERB, "ca", self.ca)
        return {"class": "headrace.connectors.http.HttpLookup", "options": options}

    def _spelled(self) -> str:
        """The address with its placeholders as the schema spells the columns."""
        names = {name.lower(): name for name in self.key}
        return _PLACE.sub(lambda match: f"{{{names[match[1].lower()]}}}", self.url)


def _path(at: Any) -> tuple[str, ...]:
    if not isinstance(at, str) or not all(at.split(".")):
        raise wrong(f"{VERB}: at cannot be {at!r}", 'it is a field of the response, or a nested one: "result.items"')
    return tuple(at.split("."))
