"""A schema registry with Confluent's API: it keeps the schemas of records by numbers, which each record begins with."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from headrace.connectors.kafka.formats import TYPES
from headrace.errors import ConnectorError, here
from headrace.ports import Secret
from headrace.ports.options import address, certificates, wrong
from headrace.ports.secrets import secret_of, with_secrets

_OPTIONS = ("url", "user", "password", "ca", "subject", "key_subject")
_PATIENCE = 10
_UNTOLD = (403, 404, 405)
"""The statuses with which a registry answers that does not know a schema, or does not check compatibility."""
_TYPE = "application/vnd.schemaregistry.v1+json"
_PLACES = re.compile(r"\{[^}]*\}?")
_CA = 'check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}'
_WITH = f'registry="http://localhost:8081" is for value: {", ".join(TYPES)}'


@dataclass(frozen=True)
class Registered:
    """A schema in the registry: its number, its kind as the registry names it, its text, and whether it refers to other schemas."""

    id: int
    kind: str
    text: str
    refers: bool = False


@dataclass(frozen=True)
class Registry:
    """A registry; `subject` is the name under which it keeps the schemas of a topic's values, `key_subject` that for its keys. In them
    `{topic}` is replaced by the topic, and `{record}` by the name of a sink's record. `ca` is a file of certificates to trust.
    """

    url: str
    user: str | None = None
    password: Secret | None = field(default=None, repr=False)
    subject: str = "{topic}-value"
    key_subject: str = "{topic}-key"
    ca: str | None = None

    @classmethod
    def of(cls, verb: str, argument: Any) -> Registry | None:
        """The registry from an option: an address, or a dict that may also have a user and a password."""
        if argument is None:
            return None
        named = {"url": argument} if isinstance(argument, str) else with_secrets(argument)
        if not isinstance(named, Mapping) or "url" not in named or not set(named) <= set(_OPTIONS):
            raise wrong(f"{verb}: registry cannot be {argument!r}", f"it is an address, or a dict of: {', '.join(_OPTIONS)}")
        parts = address(named["url"])
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise wrong(f"{verb}: registry cannot be {named['url']!r}", 'its address is like "http://localhost:8081"')
        if parts.username or parts.password:
            raise wrong(
                f"{verb}: the address of the registry contains a user",
                'use registry={"url": ..., "user": ..., "password": hr.secret("NAME")}',
            )
        password = secret_of(verb, "password", named.get("password"))
        if ("user" in named) != (password is not None):
            raise wrong(f"{verb}: registry needs both a user and a password, or neither", "give both")
        subjects = {name: named.get(name, getattr(cls, name)) for name in ("subject", "key_subject")}
        for name, subject in subjects.items():
            if not isinstance(subject, str) or not subject or set(_PLACES.findall(subject)) - {"{topic}", "{record}"}:
                raise wrong(f"{verb}: {name} cannot be {subject!r}", 'it is a name, like "{topic}-value", "{record}" or "{topic}-{record}"')
        registry = cls(str(named["url"]).rstrip("/"), named.get("user"), password, **subjects, ca=named.get("ca"))
        if registry.ca is not None:
            if parts.scheme != "https":
                raise wrong(f"{verb}: ca is for a registry with TLS", 'its address is like "https://localhost:8081"')
            certificates(verb, "ca", registry.ca)
        return registry

    @classmethod
    def apart(cls, options: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The options of a stored plan without the certificate file, which may no longer exist, and that file."""
        registry_options = dict(options.get("registry") or {})
        ca = registry_options.pop("ca", None)
        return {**options, **({"registry": registry_options} if registry_options else {})}, ca

    def trusting(self, ca: str | None) -> Registry:
        """The same registry with a certificate file, which is read when the registry is called."""
        return replace(self, ca=ca)

    def options(self) -> dict[str, Any]:
        """The options that a plan stores."""
        options = {"url": self.url, "subject": self.subject}
        if self.key_subject != Registry.key_subject:
            options["key_subject"] = self.key_subject
        if self.ca is not None:
            options["ca"] = self.ca
        return options if self.password is None else {**options, "user": self.user, "password": self.password.to_json()}

    def kernel(self) -> dict[str, str]:
        """The address and credentials for the kernel, whose executors need no certificate file."""
        credentials = {"authorization": self._word(), "ca": self._certificates()}
        return {"registry": self.url, **{name: text for name, text in credentials.items() if text}}

    def named(self, part: str, topic: str, record: str = "") -> str:
        """The subject of a topic's values or keys.

        >>> Registry("http://localhost:8081", subject="{topic}-{record}").named("value", "orders", "shop.Order")
        'orders-shop.Order'
        """
        template = self.subject if part == "value" else self.key_subject
        if "{record}" in template and not record:
            raise wrong(
                f"the subject {template} of the registry cannot be determined: a source has no `record`",
                "write the name of the record instead",
            )
        return template.replace("{topic}", topic).replace("{record}", record)

    def latest(self, subject: str, format: str) -> Registered:
        """The newest schema of a subject."""
        schema = self.newest(subject, format)
        if schema is None:
            raise ConnectorError(
                "REGISTRY_SUBJECT",
                f"the registry {self.url} has no subject {subject}",
                hint='register the schema first, or name its subject: registry={"url": ..., "subject": "{topic}-value"}',
                site=here(),
            )
        return schema

    def newest(self, subject: str, format: str) -> Registered | None:
        """The newest schema of a subject; None if there is none."""
        try:
            response = self._answer(f"/subjects/{quote(subject, safe='')}/versions/latest")
        except _Refused as refused:
            # The registry's own error code for an unknown subject or version; a 404 without it comes from a proxy.
            if refused.unknown:
                return None
            raise self._failed(_status(refused)) from None
        text = response.get("schema")
        if not isinstance(text, str):
            raise self._failed("its response has no schema")
        schema = Registered(self._number(response), str(response.get("schemaType") or "AVRO"), text, bool(response.get("references")))
        if schema.kind != TYPES[format]:
            known = {kind: name for name, kind in TYPES.items()}
            hint = f'use value="{known[schema.kind]}"' if schema.kind in known else 'records of this kind can be read as bytes: value="raw"'
            raise ConnectorError(
                "REGISTRY_SUBJECT", f"the schema of {subject} is {schema.kind}, not {TYPES[format]}", hint=hint, site=here()
            )
        return schema

    def register(self, subject: str, format: str, text: str) -> Registered:
        """Register a schema under a subject, if it is not there yet, and return it with its number."""
        schema = {"schema": text, "schemaType": TYPES[format]}
        try:
            response = self._answer(f"/subjects/{quote(subject, safe='')}/versions", schema)
        except _Refused as refused:
            if refused.status == 409:
                reasons: list[str] = []
                with suppress(ConnectorError):  # not all registries give reasons
                    reasons = self._against(subject, schema)
                raise self._incompatible(subject, reasons or [refused.message]) from None
            raise self._refused(subject, refused) from None
        return Registered(self._number(response), TYPES[format], text)

    def _number(self, response: Mapping[str, Any]) -> int:
        if not isinstance(response.get("id"), int):
            raise self._failed("its response has no schema id")
        return int(response["id"])

    def allows(self, subject: str, format: str, text: str) -> None:
        """Raise if the registry would not accept a schema under a subject."""
        schema = {"schema": text, "schemaType": TYPES[format]}
        # A schema that the subject has is accepted again, even if it is incompatible with the newest.
        if self._schema_answer(f"/subjects/{quote(subject, safe='')}", subject, schema) is not None:
            return
        # Some registries check against all versions, even if their rule covers fewer. A schema incompatible with the newest is never
        # accepted.
        if reasons := self._against(subject, schema, "/latest"):
            raise self._incompatible(subject, reasons)

    def _against(self, subject: str, schema: Mapping[str, str], version: str = "") -> list[str]:
        """The registry's reasons against a schema after one version or all of them; empty if it gives no answer."""
        response = self._schema_answer(f"/compatibility/subjects/{quote(subject, safe='')}/versions{version}?verbose=true", subject, schema)
        if response is None or response.get("is_compatible", True):
            return []
        messages = response.get("messages")
        reasons = [" ".join(str(one).split()) for one in messages] if isinstance(messages, list) else []
        return reasons or ["it is not compatible with the registered schemas"]

    def _schema_answer(self, path: str, subject: str, schema: Mapping[str, str]) -> dict[str, Any] | None:
        """The answer about a schema; None if the registry does not know it, or does not check compatibility."""
        try:
            return self._answer(path, schema)
        except _Refused as refused:
            if refused.status not in _UNTOLD:
                raise self._refused(subject, refused) from None
            return None

    def _refused(self, subject: str, refused: _Refused) -> ConnectorError:
        if refused.status != 422:
            return self._failed(_status(refused))
        return ConnectorError(
            "REGISTRY_SCHEMA",
            f"the registry rejected the schema of {subject}: {refused.message}",
            hint="check the names and types of the columns",
            site=here(),
        )

    def _incompatible(self, subject: str, reasons: Sequence[str]) -> ConnectorError:
        return ConnectorError(
            "REGISTRY_INCOMPATIBLE",
            f"the columns are incompatible with the registered schema {subject}: {'; '.join(reasons)}",
            hint="make new columns nullable and keep the types of the others; or use another subject, "
            'registry={"url": ..., "subject": ...}; or change the compatibility level of this one in the registry',
            site=here(),
        )

    def _answer(self, path: str, payload: Any = None) -> dict[str, Any]:
        word = self._word()
        request = urllib.request.Request(self.url + path, headers={"Accept": _TYPE})
        if payload is not None:
            request.data = json.dumps(payload).encode()
            request.add_header("Content-Type", _TYPE)
        if word:
            request.add_header("Authorization", word)
        try:
            body = self._sent(request)
        except (OSError, ValueError, http.client.HTTPException) as cause:
            reason = cause.reason if isinstance(cause, urllib.error.URLError) else cause
            raise self._failed(_why(reason)) from None
        try:
            response = json.loads(body)
        except ValueError:
            raise self._failed("its response is not JSON") from None
        if not isinstance(response, dict):
            raise self._failed("its response is not a JSON object")
        return response

    def _sent(self, request: urllib.request.Request) -> bytes:
        secure = urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=self._certificates() or None))
        try:
            with urllib.request.build_opener(_Stay, secure).open(request, timeout=_PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as cause:
            with cause:
                place = cause.headers.get("Location")
                if cause.code // 100 == 3 and place:
                    raise self._failed(f"it redirects to {place}") from None
                raise _Refused(cause.code, str(cause.reason), cause.read()) from None

    def _certificates(self) -> str:
        return "" if self.ca is None else certificates("the registry", "ca", self.ca)

    def _failed(self, why: str) -> ConnectorError:
        return ConnectorError("REGISTRY_UNREACHABLE", f"the registry {self.url} cannot be used: {why}", hint=cure(why), site=here())

    def _word(self) -> str:
        if self.password is None:
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password.read()}".encode()).decode()


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that no other address receives the password."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


class _Refused(Exception):
    """A failure status, with the registry's own message: `unknown` if the registry has no such subject, version or schema."""

    def __init__(self, status: int, reason: str, body: bytes) -> None:
        super().__init__(f"{status} {reason}")
        self.status = status
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = None
        content = parsed if isinstance(parsed, dict) else {}
        self.message = " ".join(str(content.get("message", reason)).split())
        code = content.get("error_code")
        self.unknown = isinstance(code, int) and code // 100 == 404


def _status(refused: _Refused) -> str:
    return f"it returned HTTP {refused}"


def cure(why: str) -> str:
    """The hint for a registry that cannot be used, by the reason.

    >>> cure("it returned HTTP 401"), cure("it redirects to https://certificates.corp")
    ('check its user and password', 'check that the address is that of the registry, not of a proxy')
    """
    if re.match(r"it returned HTTP 40[13]\b", why):
        return "check its user and password"
    if re.match(r"it returned HTTP 5\d\d", why):
        return "check the log of the registry"
    if why.startswith("its certificate is not trusted"):
        return _CA
    if why.startswith(("its response", "it redirects", "it returned HTTP")):
        return "check that the address is that of the registry, not of a proxy"
    return "check that it runs, and its address"


def _why(cause: Any) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message.rstrip('.')}"
    if isinstance(cause, http.client.IncompleteRead):
        return "its response is incomplete"
    if isinstance(cause, http.client.HTTPException) and not isinstance(cause, http.client.InvalidURL):
        return "its response is not HTTP"
    return str(cause)


def registered(verb: str, formats: Mapping[str, str | None], argument: Any, *, described: bool = False) -> Registry | None:
    """The registry of a source or sink: required for registry formats, and refused for all others; `described`: not required, as a file has
    the schema.
    """
    registry = Registry.of(verb, argument)
    needing = [f"{option}={format!r}" for option, format in formats.items() if format in TYPES]
    if registry is None and needing and not described:
        raise wrong(f"{verb}: {needing[0]} needs a registry", _WITH)
    if registry is not None and not needing:
        raise wrong(f"{verb}: value={formats['value']!r} does not use a registry", _WITH)
    return registry
