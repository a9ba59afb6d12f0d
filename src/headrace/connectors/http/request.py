"""Common parts of all requests: an address, and headers, which may be secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlunsplit

from headrace.ports import Secret, option
from headrace.ports.options import address, wrong
from headrace.ports.secrets import HEADER, secret_of, with_secrets

_SECRET = re.compile(r"(?i)auth|cookie|token|secret|password|key")
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True)
class Headers:
    """The headers of each request; `token` is sent as `Authorization: Bearer`."""

    values: Mapping[str, str | Secret]
    token: Secret | None

    def read(self) -> dict[str, str]:
        """The headers with the secrets themselves."""
        headers = {name: value.read() if isinstance(value, Secret) else value for name, value in self.values.items()}
        return headers if self.token is None else {**headers, "Authorization": f"Bearer {self.token.read()}"}


def _headers_of(verb: str, option: str, argument: Any) -> dict[str, str | Secret]:
    """The headers that a user gave; those with names of secrets have to be secrets."""
    if argument is not None and not isinstance(argument, Mapping):
        raise wrong(f"{verb}: headers cannot be of type {type(argument).__name__}", 'it is a dict: headers={"Accept-Language": "sv"}')
    return {name: _header(verb, name, value) for name, value in with_secrets(argument or {}).items()}


def headers_option() -> Any:
    """The headers option of the sink and the lookup."""
    return option.option(
        'additional headers, each one line of ASCII: text, or `hr.secret("NAME")`; a header named like a token, key or cookie must be a '
        "secret",
        _headers_of,
        takes=Mapping[str, str | Secret],
        default=None,
        empty=dict,
    )


def address_of(verb: str, url: Any, what: str) -> str:
    """An address without secrets; `what` is the hint, with an example."""
    parts = address(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong(f"{verb}: the url cannot be {url!r}", what)
    if parts.username is not None or parts.password is not None:
        hint = 'plans are stored and shown, so use headers={"Authorization": hr.secret("NAME")}'
        raise wrong(f"{verb}: the url for {parts.hostname} has a user or password in it", hint)
    return str(url)


def canonical(url: str) -> str:
    """An address without what makes no difference: capitals of the scheme and the host, the default port, the fragment.

    >>> canonical("HTTPS://Example.org:443?to=A#top"), canonical("http://[::1]:8080/a")
    ('https://example.org/?to=A', 'http://[::1]:8080/a')
    """
    parts = address(url)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path or "/", parts.query, ""))


def _header(verb: str, name: Any, value: Any) -> str | Secret:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(f"{verb}: a header cannot be called {name!r}", "names of headers have letters, digits and hyphens")
    if isinstance(value, str):
        if _SECRET.search(name):
            hint = f'plans are stored and shown, so pass a secret by its name: headers={{"{name}": hr.secret("NAME")}}'
            raise wrong(f"{verb}: the header {name} must be a secret, given by its name", hint)
        if not re.fullmatch(HEADER, value):
            raise wrong(f"{verb}: the header {name} has a line break or a non-ASCII character", "it is one line of ASCII")
        return value
    secret = secret_of(verb, f"headers[{name!r}]", value, HEADER)
    if secret is None:
        raise wrong(f"{verb}: the header {name} cannot be None", "it is a string or a secret")
    return secret
