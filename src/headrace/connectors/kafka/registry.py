"""A schema registry with Confluent's API: where the schemas of records are kept, by numbers that stand in front of each record."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from headrace.errors import ConnectorError, here
from headrace.ports import Secret
from headrace.ports.options import wrong
from headrace.ports.secrets import secret_of, with_secrets

_OPTIONS = ("url", "user", "password", "subject")
_PATIENCE = 10
_TYPE = "application/vnd.schemaregistry.v1+json"

TYPES = {"avro": "AVRO", "json_schema": "JSON"}
"""The kinds of values that a registry knows, and what it calls them."""


@dataclass(frozen=True)
class Registered:
    """A schema in the registry: its number, its kind as the registry calls it, and its text."""

    id: int
    kind: str
    text: str


@dataclass(frozen=True)
class Registry:
    """A registry; `subject` is the name under which the schemas of a topic's values are kept, `{topic}-value` unless said."""

    url: str
    user: str | None = None
    password: Secret | None = field(default=None, repr=False)
    subject: str = "{topic}-value"

    @classmethod
    def of(cls, verb: str, given: Any) -> Registry | None:
        """The registry of an option: an address, or a dict with a user and a password, too."""
        if given is None:
            return None
        named = {"url": given} if isinstance(given, str) else with_secrets(given)
        if not isinstance(named, Mapping) or "url" not in named or not set(named) <= set(_OPTIONS):
            raise wrong(f"{verb}: registry cannot be {given!r}", f"it is an address, or a dict of: {', '.join(_OPTIONS)}")
        parts = urlsplit(str(named["url"]))
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise wrong(f"{verb}: registry cannot be {named['url']!r}", 'its address is like "http://localhost:8081"')
        if parts.username or parts.password:
            raise wrong(
                f"{verb}: the address of the registry has a user in it",
                'give registry={"url": ..., "user": ..., "password": hr.secret("NAME")}',
            )
        password = secret_of(verb, "password", named.get("password"))
        if ("user" in named) != (password is not None):
            raise wrong(f"{verb}: registry has a user without a password, or the other way round", "give both")
        return cls(str(named["url"]).rstrip("/"), named.get("user"), password, named.get("subject", cls.subject))

    def options(self) -> dict[str, Any]:
        """What a plan stores."""
        found = {"url": self.url, "subject": self.subject}
        return found if self.password is None else {**found, "user": self.user, "password": self.password.to_json()}

    def kernel(self) -> dict[str, str]:
        """How the kernel reaches it."""
        word = self._word()
        return {"registry": self.url, **({"authorization": word} if word else {})}

    def latest(self, topic: str, value: str) -> Registered:
        """The newest schema of a topic's values."""
        subject = self.subject.replace("{topic}", topic)
        found = self._asked(f"/subjects/{quote(subject, safe='')}/versions/latest")
        if found is None:
            raise ConnectorError(
                "REGISTRY_SUBJECT",
                f"the registry {self.url} has no subject {subject}",
                hint='register the schema first, or name its subject: registry={"url": ..., "subject": "{topic}-value"}',
                site=here(),
            )
        made = Registered(found["id"], found.get("schemaType", "AVRO"), found["schema"])
        if made.kind != TYPES[value]:
            known = {kind: name for name, kind in TYPES.items()}
            hint = f'say value="{known[made.kind]}"' if made.kind in known else 'records of this kind can be read as bytes: value="raw"'
            raise ConnectorError(
                "REGISTRY_SUBJECT", f"the schema of {subject} is {made.kind}, and not {TYPES[value]}", hint=hint, site=here()
            )
        return made

    def _asked(self, path: str) -> Any:
        """The answer to a question; None if there is nothing of that name."""
        word = self._word()
        request = urllib.request.Request(self.url + path, headers={"Accept": _TYPE})
        if word:
            request.add_header("Authorization", word)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as cause:
            with cause:
                if cause.code == 404:
                    return None
            raise self._failed(f"it answers {cause.code} {cause.reason}") from None
        except (OSError, ValueError) as cause:
            raise self._failed(str(cause.reason if isinstance(cause, urllib.error.URLError) else cause)) from None

    def _failed(self, why: str) -> ConnectorError:
        hint = "look whether it runs, whether its address is right, and whether it wants a user and a password"
        return ConnectorError("REGISTRY_UNREACHABLE", f"the registry {self.url} does not answer: {why}", hint=hint, site=here())

    def _word(self) -> str:
        if self.password is None:
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password.read()}".encode()).decode()


def registered(verb: str, value: str, given: Any) -> Registry | None:
    """The registry of a source or sink, which values of these kinds need and others do not have."""
    found = Registry.of(verb, given)
    if (found is None) == (value in TYPES):
        what = f"value={value!r} needs a registry" if found is None else f"value={value!r} has no use for a registry"
        raise wrong(f"{verb}: {what}", f'registry="http://localhost:8081" goes with value: {", ".join(TYPES)}')
    return found
