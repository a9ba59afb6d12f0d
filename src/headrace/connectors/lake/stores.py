"""The stores of tables' files: options with secrets by name, and addresses as Spark takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.ports.options import wrong
from headrace.ports.secrets import LINE, LINES, Secret, secret_of, with_secrets

Options = Mapping[str, str | Secret]

_SECRET = re.compile(r"secret|password|token|sas|account.key|credential|service.account.key", re.I)
# Options that may hold a whole file, such as the key of a service account.
_DOCUMENT = re.compile(r"account.?key|private.?key|certificate|credential|json", re.I)
# A password in an address: after the user, or in the query string. A port is no password.
_WITHIN = re.compile(r"://[^:/?#@]*:(?!\d+(/|$))[^@?#]*@|://.*[?&;](\w*password|pwd)=", re.I)
# Hadoop's names for the schemes of other libraries.
_HADOOP = {"s3": "s3a", "az": "abfss", "adl": "abfss"}


def options_of(verb: str, option: str, argument: Any, example: str) -> dict[str, str | Secret]:
    """Options of a store or catalog; secrets among them are given by name."""
    if argument is not None and not (isinstance(argument, Mapping) and all(isinstance(name, str) for name in argument)):
        raise wrong(f"{verb}: {option} cannot be of type {type(argument).__name__}", f"it is a dict: {option}={example}")
    return {name: _option(verb, option, name, value) for name, value in with_secrets(argument or {}).items()}


def revealed(options: Options) -> dict[str, str]:
    """The options with the secrets themselves, for opening a connection."""
    return {name: value.read() if isinstance(value, Secret) else value for name, value in options.items()}


def stored(options: Options) -> dict[str, Any]:
    """The options as a plan stores them."""
    return {name: value.to_json() if isinstance(value, Secret) else value for name, value in sorted(options.items())}


def hadoop(address: str) -> str:
    """An address as Spark's file systems take it.

    >>> hadoop("s3://bucket/table"), hadoop("file:///data/a b")
    ('s3a://bucket/table', 'file:///data/a b')
    """
    scheme, mark, rest = address.partition("://")
    return f"{_HADOOP.get(scheme, scheme)}://{rest}" if mark else f"file://{address}"


def _option(verb: str, option: str, name: str, value: Any) -> str | Secret:
    if isinstance(value, Secret | Mapping) or _SECRET.search(name):
        secret = secret_of(verb, name, value, LINES if _DOCUMENT.search(name) else LINE)
        if secret is not None:
            return secret
    if isinstance(value, str) and _WITHIN.search(value):
        cure = f'{option}={{"{name}": hr.secret("{name.upper()}")}}'
        raise wrong(f"{verb}: {name} in {option} contains a password", f"pass the whole address as a secret: {cure}")
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int):
        raise wrong(f"{verb}: {name} in {option} cannot be of type {type(value).__name__}", "it is a string")
    return str(value)
