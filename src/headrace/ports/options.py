"""Checks of the options that connectors are given; their errors show the user's line."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from headrace.errors import ConnectorError, here
from headrace.masking import holds_password
from headrace.schema import Struct
from headrace.spelling import suggestion

T = TypeVar("T")

LONGEST_NAME, LONGEST_PATH = 255, 4095
"""In bytes, on the file systems of Linux and macOS."""

_WRITTEN = "write plans with `headrace plan FILE` or Job.plan.to_json()"

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----")


def build(cls: type[T], verb: str, arguments: tuple[Any, ...], options: Mapping[str, Any], more: Iterable[str] = ()) -> T:
    """An instance of a connector's class, with its options checked against the constructor; the verb itself also takes `more`."""
    signature = inspect.signature(cls)
    open_ended = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
    for name in options if not open_ended else ():
        if name not in signature.parameters:
            raise wrong(f"{verb} has no option `{name}`", takes(name, [*signature.parameters, *more]))
    try:
        bound_arguments = signature.bind(*arguments, **options)
    except TypeError as cause:
        needed = [name for name, parameter in signature.parameters.items() if parameter.default is parameter.empty]
        raise wrong(f"{verb}: {cause}", f"it needs: {', '.join(needed) or 'nothing'}") from None
    instance = cls(*arguments, **options)
    no_password(verb, bound_arguments.arguments)
    return instance


def takes(name: str, known: Sequence[str]) -> str:
    """The hint for an option that a verb does not have."""
    return suggestion(name, known, f"it takes: {', '.join(known)}")


def restored(cls: type[T], verb: str, options: Mapping[str, Any], *more: Any) -> T:
    """An instance of a connector's class from the options in a plan, with `more` for its `from_options`, checked like a user's options."""
    try:
        instance: Any = cls.from_options(options, *more)  # type: ignore[attr-defined]  # every connector's class has it
        known = {*inspect.signature(cls).parameters, *instance.options()}
        instance.describe()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, OSError) as cause:
        raise wrong(f"{verb}: its options in the plan cannot be read: {type(cause).__name__}: {cause}", _WRITTEN) from None
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise wrong(f"{verb} has no option `{unknown}`", takes(unknown, sorted(known)))
    no_password(verb, options)
    return instance  # type: ignore[no-any-return]  # as Any it has the methods of every connector's object


def by_name(name: str, cls: type[Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a connector's class, with the one of this name, and those after it, moved to the options."""
    known = list(inspect.signature(cls).parameters)
    place = known.index(name) if name in known and name not in options else len(arguments)
    return arguments[:place], {**options, **dict(zip(known[place:], arguments[place:], strict=False))}


def several(cls: type[Any]) -> set[str]:
    """The options of a connector's class that take a list of names."""
    return {name for name, parameter in inspect.signature(cls).parameters.items() if "Sequence[str]" in str(parameter.annotation)}


def choice(verb: str, option: str, value: Any, options: tuple[str, ...]) -> str:
    """One of several words."""
    if value not in options:
        hint = suggestion(str(value), options, f"It is one of: {', '.join(options)}", shown="'{}'")
        raise wrong(f"{verb}: {option} cannot be {value!r}", hint)
    return str(value)


def number(verb: str, option: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise wrong(f"{verb}: {option} cannot be {value!r}", f"use a whole number of at least {least}")
    return value


def flag(verb: str, option: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise wrong(f"{verb}: {option} cannot be {value!r}", "it is True or False")
    return value


def texts(verb: str, option: str, value: Any) -> dict[str, str]:
    """Options for Spark, as texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(f"{verb}: {option} cannot be {value!r}", 'it is a dict of Spark options: {"header": "true"}')
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}


def text(verb: str, option: str, value: Any, example: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise wrong(f"{verb}: {option} cannot be {value!r}", f'it is a string: {option}="{example}"')
    return value


def columns_named(verb: str, option: str, value: Any) -> tuple[str, ...]:
    """One column, or several; None for an empty tuple.

    >>> columns_named("write.jdbc", "key", "id"), columns_named("write.jdbc", "key", ["shop", "day"])
    (('id',), ('shop', 'day'))
    """
    names = () if value is None else (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        raise wrong(f"{verb}: {option} cannot be {value!r}", f'name columns: {option}="id", or {option}=["shop", "day"]')
    return tuple(names)


def certificates(verb: str, option: str, file: Any) -> str:
    """The certificates in a file in PEM format, without comments or any keys that are in the file, too."""
    example = f'it is a PEM file with certificates: {option}="ca.pem"'
    if not isinstance(file, str) or not file:
        raise wrong(f"{verb}: {option} cannot be {file!r}", example)
    try:
        blocks = _CERTIFICATE.findall(Path(file).expanduser().read_text(encoding="ascii", errors="replace"))
    except OSError as cause:
        raise wrong(f"{verb}: the file {file} of `{option}` cannot be read: {cause.strerror}", example) from None
    if not blocks:
        raise wrong(f"{verb}: the file {file} of `{option}` has no certificate", example)
    return "".join(f"{one}\n" for one in blocks)


def address(text: Any) -> SplitResult:
    """The parts of an address; empty for text that is not an address or has an invalid port."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except (AttributeError, TypeError, ValueError):
        return urlsplit("")
    return parts if isinstance(parts, SplitResult) else urlsplit("")


def no_password(verb: str, options: Mapping[str, Any]) -> None:
    """Refuse an address that contains a password, since a plan is stored and shown."""
    for name, value in options.items():
        inside = value.values() if isinstance(value, Mapping) else (value,)
        if any(isinstance(one, str) and holds_password(one) for one in inside):
            cure = "give the login in other options, with hr.secret(...), or in the settings of the session"
            raise wrong(f"{verb}: `{name}` has a password in it, and a plan is stored and shown", cure)


def key_of(verb: str, key: str | Sequence[str], schema: Struct) -> tuple[str, ...]:
    """The columns of a key, as the schema spells them."""
    columns = []
    for name in columns_named(verb, "key", key):
        column = next((one for one in schema.names if one.lower() == name.lower()), None)
        if column is None:
            raise wrong(
                f"{verb}: the key {name!r} is not a column of the schema",
                suggestion(name, schema.names, f"it has: {', '.join(schema.names)}"),
            )
        columns.append(column)
    return tuple(columns)


def path_of(verb: str, path: Any, example: str = "charges/") -> str:
    """The path that a user gave; whether it exists is checked later."""
    hint = f'it is a string or a pathlib.Path: "{example}"'
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        raise wrong(f"{verb}: the path cannot be {path!r}", hint)
    text = os.fsdecode(path)
    longest = max(len(os.fsencode(part)) for part in text.split("/"))
    if longest > LONGEST_NAME or len(os.fsencode(text)) > LONGEST_PATH:
        limits = f"file systems allow {LONGEST_NAME} bytes in a name and {LONGEST_PATH} in a path"
        raise wrong(f"{verb}: the path is too long, it begins with {text[:60]}", limits)
    return text


def wrong(message: str, hint: str) -> ConnectorError:
    """The error for an invalid option."""
    return ConnectorError("BAD_OPTION", message, hint=hint, site=here())
