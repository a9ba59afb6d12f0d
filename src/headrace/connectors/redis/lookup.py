"""Rows under keys of Redis to look up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.redis.address import Address, address_of
from headrace.connectors.redis.connect import check_authority
from headrace.connectors.redis.needs import JVM
from headrace.ports import option
from headrace.ports.options import certificates, columns_named, key_of, wrong
from headrace.ports.secrets import Secret
from headrace.schema import Array, Map, Struct

VERB = "lookup.redis"
VALUES = ("json", "hash", "text")


class Lookup(ports.Options, ports.Lookup):
    """Looks up rows that are stored under keys of Redis, as `.write.redis` writes them.

    A row is stored under `prefix` and the values of the `key` columns; several values are joined by `:`, with `%3A` for `:` and `%25` for
    `%`. Values may change, so sinks downstream are at least once, unless the table is `constant`. A missing field is null. A value that
    does not fit the type of its column makes the requesting row a dead letter. A server that is unavailable is asked again for as long as
    `retry`; then the epoch fails (`LOOKUP_FAILED`). Redis Cluster is not supported. The first job that looks up in Redis downloads the
    client.

    Examples:
        >>> import headrace as hr
        >>> hr.lookup.redis("redis://localhost", "id bigint, name string, country string", key="id", prefix="customer:")
        <Table customer: id, name, country>
    """

    connector: ClassVar[str] = "redis"

    address: Address = option.option(
        "`redis://host:6379/0`, or `rediss://…` for TLS",
        lambda verb, _, url: address_of(verb, url),
        takes=str,
        alias="url",
        kw_only=False,
        dump=str,
    )
    schema: Struct = option.schema("the columns of a row, including the key columns", kw_only=False)
    key: tuple[str, ...] = option.option("the columns that follow the prefix in a Redis key", columns_named, takes=str | Sequence[str])
    prefix: str = option.option(
        "the prefix of all Redis keys", lambda verb, _, prefix: _prefix(verb, prefix), takes=str, default="", stored="always"
    )
    value: str = option.choice(
        '`"json"`: an object with at least the other columns. `"hash"`: a hash with a field for each. `"text"`: the only other column',
        VALUES,
        default="json",
        stored="always",
    )
    user: str | None = option.plain("the user name", default=None)
    password: Secret | None = option.secret('a secret, given by name: `hr.secret("REDIS_PASSWORD")`', default=None)
    ca: str | None = option.certificates("with `rediss://`: a PEM file of certificates to trust instead of Java's", default=None)

    def __post_init__(self) -> None:
        self.key = key_of(VERB, self.key, self.schema)
        if self.ca is not None:
            check_authority(VERB, str(self.address))
        self._check_columns()

    def _check_columns(self) -> None:
        others = [field for field in self.schema.fields if field.name not in self.key]
        if not self.key or not others:
            raise wrong(f"{VERB}: the schema needs the key and at least one other column", 'schema="id bigint, name string", key="id"')
        nested = next((field for field in self.schema.fields if isinstance(field.type, Array | Map | Struct)), None)
        if nested is not None and (self.value != "json" or nested.name in self.key):
            raise wrong(f"{VERB}: `{nested.name}` is {nested.type}, which is not a single value", 'give it as JSON: value="json"')
        if self.value == "text" and len(others) > 1:
            names = ", ".join(field.name for field in others)
            raise wrong(f"{VERB}: the value text needs exactly one column, but there are {names}", 'value="hash" or value="json"')

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="values of Redis may change at any time")

    @property
    def needs(self) -> ports.Packages:
        return JVM

    @property
    def default_name(self) -> str:
        return self.prefix or "redis"

    def describe(self) -> str:
        return f"redis {self.address}, {self.value} under {self.prefix}{':'.join(f'{{{name}}}' for name in self.key)}"

    def ask(self, context: ports.LookupContext) -> dict[str, Any]:
        options = {
            "host": self.address.host,
            "port": str(self.address.port),
            "database": str(self.address.database),
            "tls": str(self.address.tls).lower(),
            "prefix": self.prefix,
            "value": self.value,
            **{f"key.{place}": name for place, name in enumerate(self.key)},
        }
        if self.user is not None:
            options["user"] = self.user
        if self.password is not None:
            options["password"] = self.password.read()
        if self.ca is not None:
            options["ca"] = certificates(VERB, "ca", self.ca)
        return {"class": "headrace.connectors.redis.RedisLookup", "options": options}


def _prefix(verb: str, prefix: Any) -> str:
    if not isinstance(prefix, str):
        raise wrong(f"{verb}: prefix cannot be {prefix!r}", 'it is a string: "customer:"')
    return prefix
