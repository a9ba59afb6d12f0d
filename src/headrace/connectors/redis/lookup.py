"""Rows under keys of Redis, to be looked up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import headrace.ports as ports
from headrace.connectors.redis.address import address_of
from headrace.connectors.redis.connect import authority
from headrace.connectors.redis.needs import JVM
from headrace.ports.options import certificates, choice, key_of, wrong
from headrace.ports.secrets import Secret, secret_of
from headrace.schema import Array, Map, Struct, schema_of

VERB = "lookup.redis"
VALUES = ("json", "hash", "text")


class Lookup(ports.Lookup):
    """Rows that lie under keys of Redis: `prefix` and the texts of the `key` columns, as `.write.redis` puts them there.

    What lies there is with `value="json"` the text of a JSON object with the other columns, with `value="hash"` a hash whose fields they
    are, with `value="text"` the text of the one other column. A field that is not there is null. What cannot be read as the column's
    type, or is of another kind, makes the row that asked a dead letter. `ca` is a file with the authority of a server that is spoken to
    over TLS.

    >>> import headrace as hr
    >>> hr.lookup.redis("redis://localhost", "id bigint, name string, country string", key="id", prefix="customer:")
    <Table customer: id, name, country>
    """

    connector: ClassVar[str] = "redis"

    def __init__(
        self,
        url: str,
        schema: Any,
        *,
        key: str | Sequence[str],
        prefix: str = "",
        value: str = "json",
        user: str | None = None,
        password: Secret | None = None,
        ca: str | None = None,
    ) -> None:
        self.address = address_of(VERB, url)
        self.schema = schema_of(schema)
        self._key = key_of(VERB, key, self.schema)
        if not isinstance(prefix, str):
            raise wrong(f"{VERB}: prefix cannot be {prefix!r}", 'it is a text: "customer:"')
        self.prefix = prefix
        self.value = choice(VERB, "value", value, VALUES)
        self.user = user
        self.password = secret_of(VERB, "password", password)
        self.ca = authority(VERB, ca, str(self.address))
        self._check_columns()

    def _check_columns(self) -> None:
        others = [field for field in self.schema.fields if field.name not in self._key]
        if not self._key or not others:
            raise wrong(f"{VERB}: a key and another column are needed", 'schema="id bigint, name string", key="id"')
        nested = next((field for field in self.schema.fields if isinstance(field.type, Array | Map | Struct)), None)
        if nested is not None and (self.value != "json" or nested.name in self._key):
            raise wrong(f"{VERB}: `{nested.name}` is {nested.type}, which is no text of one value", 'give it as JSON: value="json"')
        if self.value == "text" and len(others) > 1:
            names = ", ".join(field.name for field in others)
            raise wrong(f"{VERB}: a text is one column, and there are {names}", 'value="hash" or value="json"')

    @property
    def traits(self) -> ports.LookupTraits:
        return ports.LookupTraits(repeatable=False, why="values of Redis may change at any time")

    @property
    def needs(self) -> ports.Packages:
        return JVM

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    @property
    def default_name(self) -> str:
        return self.prefix or "redis"

    def options(self) -> dict[str, Any]:
        told: dict[str, Any] = {"url": str(self.address), "key": list(self._key), "prefix": self.prefix, "value": self.value}
        if self.user is not None:
            told["user"] = self.user
        if self.ca is not None:
            told["ca"] = self.ca
        return told | ({} if self.password is None else {"password": self.password.to_json()})

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Lookup:
        # What a stored plan is looked at for may need no file that was there when it was made.
        made = cls(schema=schema, **{name: value for name, value in options.items() if name != "ca"})
        made.ca = options.get("ca")
        return made

    def describe(self) -> str:
        return f"redis {self.address}, {self.value} under {self.prefix}{':'.join(f'{{{name}}}' for name in self._key)}"

    def ask(self, context: ports.LookupContext) -> dict[str, Any]:
        options = {
            "host": self.address.host,
            "port": str(self.address.port),
            "database": str(self.address.database),
            "tls": str(self.address.tls).lower(),
            "prefix": self.prefix,
            "value": self.value,
            **{f"key.{place}": name for place, name in enumerate(self._key)},
        }
        if self.user is not None:
            options["user"] = self.user
        if self.password is not None:
            options["password"] = self.password.read()
        if self.ca is not None:
            options["ca"] = certificates(VERB, "ca", self.ca)
        return {"class": "headrace.connectors.redis.RedisLookup", "options": options}
