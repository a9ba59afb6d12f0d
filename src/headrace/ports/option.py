"""Options of a connector, declared once, as fields of its class.

    class Sink(ports.Options, ports.Sink):
        connector: ClassVar[str] = "http"

        url: str = option.text("`http://` or `https://`", example="https://example.org/charges", kw_only=False)
        batch: int = option.number("rows in a request", default=500)
        token: Secret | None = option.secret("sent as `Authorization: Bearer`", default=None)

These fields define the constructor and its checks, the signature of `.write.http`, the options in a plan, the schema for YAML and the table
in the documentation. A field's annotation is the type of the attribute; the verb may take a wider type, as one name or several for columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar, Self, TypedDict, Unpack, dataclass_transform

from headrace.ports import options as checks
from headrace.ports.secrets import LINE, Secret, secret_of
from headrace.schema import milliseconds, schema_of

NEEDED: Any = object()
"""The default of a required option."""

Check = Callable[[str, str, Any], Any]
"""From a verb, an option and its argument to the value of the attribute; raises BAD_OPTION."""


@dataclass(frozen=True)
class Option:
    """One option: its description in Markdown, the type that the verb takes, and how a value is checked and stored.

    `empty` makes the attribute's value for None, if None is the default. `stored`: "always", "given" (if it is not the default) or "never".
    `key` is its name in a plan. A `local` value names a file of the machine on which a job is made: it is not checked again when a plan
    is loaded.
    """

    line: str
    takes: Any
    check: Check
    default: Any = NEEDED
    empty: Callable[[], Any] | None = None
    name: str = ""
    kw_only: bool = True
    stored: str = ""
    key: str = ""
    dump: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None
    local: bool = False
    among: tuple[str, ...] = ()
    least: int | None = None

    @property
    def needed(self) -> bool:
        return self.default is NEEDED

    def kept(self, verb: str, value: Any) -> Any:
        """The attribute's value for an argument."""
        if value is None and self.default is None:
            return None if self.empty is None else self.empty()
        return self.check(verb, self.name, value)

    def put(self, verb: str, value: Any, plan: dict[str, Any]) -> None:
        """Store an attribute's value in a plan."""
        if self.stored == "always" or (self.stored == "given" and (self.needed or value != self.kept(verb, self.default))):
            plan[self.key] = (self.dump or _plain)(value)


class OptionSettings(TypedDict, total=False):
    """The settings that every kind of option has: its default, its public name if the attribute has another one, whether it is passed by
    keyword alone, when a plan stores it, and under which key.
    """

    default: Any
    alias: str
    kw_only: bool
    stored: str
    key: str


def option(
    line: str,
    check: Check,
    *,
    takes: Any,
    empty: Callable[[], Any] | None = None,
    dump: Callable[[Any], Any] | None = None,
    **settings: Unpack[OptionSettings],
) -> Any:
    """An option with a check of its own; `takes` is the type of the argument, `dump` turns the attribute's value into JSON."""
    return _option(line, takes, check, settings, empty=empty, dump=dump)


def text(line: str, *, example: str, **settings: Unpack[OptionSettings]) -> Any:
    """A text that is not empty."""
    return _option(line, str, lambda verb, name, value: checks.text(verb, name, value, example), settings)


def plain(line: str, *, takes: Any = str, **settings: Unpack[OptionSettings]) -> Any:
    """A text, or what it `takes`, that is checked elsewhere, together with the options it depends on."""
    return _option(line, takes, lambda verb, name, value: value, settings)


def number(line: str, *, least: int = 1, **settings: Unpack[OptionSettings]) -> Any:
    """A whole number of at least `least`."""
    return _option(line, int, lambda verb, name, value: checks.number(verb, name, value, least), settings, least=least)


def choice(line: str, among: Sequence[str], **settings: Unpack[OptionSettings]) -> Any:
    """One of several words."""
    words = tuple(among)
    return _option(line, str, lambda verb, name, value: checks.choice(verb, name, value, words), settings, among=words)


def flag(line: str, **settings: Unpack[OptionSettings]) -> Any:
    """True or False."""
    return _option(line, bool, checks.flag, settings)


def columns(line: str, **settings: Unpack[OptionSettings]) -> Any:
    """The name of a column, or several; the attribute is a tuple. A required one cannot be empty."""
    check = checks.columns_named if "default" in settings else _some_columns
    return _option(line, str | Sequence[str], check, settings, empty=tuple)


def path(line: str, *, example: str, **settings: Unpack[OptionSettings]) -> Any:
    """A path, as a text."""
    return _option(line, str | os.PathLike[str], lambda verb, name, value: checks.path_of(verb, value, example), settings)


def texts(line: str, *, takes: Any = Mapping[str, Any], **settings: Unpack[OptionSettings]) -> Any:
    """A dict of options for Spark or a library, as texts."""
    return _option(line, takes, lambda verb, name, value: checks.texts(verb, name, value or {}), settings, empty=dict)


def duration(line: str, *, called: str = "", least: int = 0, why: str = "", **settings: Unpack[OptionSettings]) -> Any:
    """A duration of at least `least` milliseconds, with the hint `why` for a shorter one. The attribute is in milliseconds, and so is the
    value in a plan under a `key` of its own. `called` names it in errors.
    """

    def check(verb: str, name: str, value: Any) -> int:
        duration_ms = milliseconds(value, called or f"{verb}: {name}")
        if duration_ms < least:
            raise checks.wrong(f"{verb}: {name} cannot be {value!r}", why)
        return duration_ms

    if "key" in settings:
        dump, load = (lambda value: value), (lambda value: None if value is None else timedelta(milliseconds=value))
    else:
        dump, load = (lambda value: None if value is None else f"{value} ms"), None
    return _option(line, str | timedelta, check, settings, dump=dump, load=load)


def span(line: str, *, called: str, **settings: Unpack[OptionSettings]) -> Any:
    """A duration that is kept as the text given."""

    def check(verb: str, name: str, value: Any) -> Any:
        milliseconds(value, called)
        return value

    return _option(line, str, check, settings)


def secret(line: str, *, takes: str = LINE, **settings: Unpack[OptionSettings]) -> Any:
    """A secret by its name, never its value."""
    return _option(line, Secret, lambda verb, name, value: secret_of(verb, name, value, takes), settings)


def certificates(line: str, **settings: Unpack[OptionSettings]) -> Any:
    """A file of certificates in PEM format, which has to exist when the job is made."""

    def check(verb: str, name: str, file: Any) -> Any:
        checks.certificates(verb, name, file)
        return file

    return _option(line, str, check, settings, local=True)


def schema(line: str, **settings: Unpack[OptionSettings]) -> Any:
    """The columns of a source or lookup, which a plan stores beside the options."""
    return _option(line, Any, lambda verb, name, value: schema_of(value), {**settings, "stored": "never"})


def without_marks(line: str) -> str:
    """A line of Markdown as plain text.

    >>> without_marks("what becomes of it: `fail`, or a [dead letter](../guides/outputs.md#dead-letters)")
    'what becomes of it: fail, or a dead letter'
    """
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", line).replace("`", "")


def _option(line: str, takes: Any, check: Check, settings: OptionSettings, **more: Any) -> Option:
    optional = settings.get("default", NEEDED) is None and takes is not Any
    fields: dict[str, Any] = {**settings, **more}
    return Option(line, takes | None if optional else takes, check, name=fields.pop("alias", ""), **fields)


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(option, text, plain, number, choice, flag, columns, path, texts, duration, span, secret, certificates, schema),
)
class Options:
    """The base of a connector's class, before `Source`, `Sink` or `Lookup`, that declares its options as fields.

    `__post_init__` may check the options against each other and derive values from them. It also runs for options that a plan stored.
    """

    does: ClassVar[str]
    connector: ClassVar[str]
    stored: ClassVar[str] = "given"
    """When a plan stores an option that does not set it."""
    declared: ClassVar[Mapping[str, Option]] = {}
    """The options by the names of their attributes."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {
            attribute: replace(one, name=one.name or attribute, key=one.key or one.name or attribute, stored=one.stored or cls.stored)
            for attribute, one in vars(cls).items()
            if isinstance(one, Option)
        }
        cls.declared = {**cls.declared, **own}
        if own and "__init__" not in vars(cls):
            cls.__init__ = _constructor(cls.declared, cls.__qualname__)  # type: ignore[method-assign]  # of this class's own fields

    def __post_init__(self) -> None:
        """Check the options together."""

    def options(self) -> dict[str, Any]:
        """The options that a plan stores, as JSON: enough for `from_options`, without secrets."""
        plan: dict[str, Any] = {}
        for attribute, one in self.declared.items():
            one.put(self.verb, getattr(self, attribute), plan)
        return plan

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *more: Any) -> Self:
        """An instance from the options that a plan stored, with the schema of a source or lookup."""
        arguments = dict(options)
        local = {attribute: arguments.pop(one.key) for attribute, one in cls.declared.items() if one.local and one.key in arguments}
        for one in cls.declared.values():
            if one.key in arguments:
                value = arguments.pop(one.key)
                arguments[one.name] = value if one.load is None else one.load(value)
        if more and "schema" in cls.declared:
            arguments["schema"] = more[0]
        instance: Any = cls(**arguments)
        if more:
            instance.schema = more[0]
        for attribute, value in local.items():
            setattr(instance, attribute, value)
        return instance  # type: ignore[no-any-return]  # as Any it has the schema of a source or lookup

    @property
    def verb(self) -> str:
        """Its name in errors: `write.http`."""
        return f"{self.does}.{self.connector}"

    def _fill(self, arguments: Mapping[str, Any]) -> None:
        for attribute, one in self.declared.items():
            setattr(self, attribute, one.kept(self.verb, arguments[one.name]))
        self.__post_init__()


def _constructor(declared: Mapping[str, Option], owner: str) -> Callable[..., None]:
    """An `__init__` with a parameter for each option, which editors, `help` and `inspect` see."""
    every = list(declared.values())
    defaults = {f"_{one.name}": one.default for one in every if not one.needed}
    first = [_parameter(one) for one in every if not one.kw_only]
    last = [_parameter(one) for one in every if one.kw_only]
    parameters = ", ".join(["self", *first, *(["*", *last] if last else [])])
    values = ", ".join(f"{one.name!r}: {one.name}" for one in every)
    # Compiled under this file's name, so that errors show the line of the caller.
    exec(compile(f"def __init__({parameters}):\n    self._fill({{{values}}})", __file__, "exec"), defaults)
    constructor: Any = defaults["__init__"]
    constructor.__qualname__ = f"{owner}.__init__"
    constructor.__annotations__ = {**{one.name: one.takes for one in every}, "return": None}
    return constructor  # type: ignore[no-any-return]  # a function


def _parameter(one: Option) -> str:
    return one.name if one.needed else f"{one.name}=_{one.name}"


def _some_columns(verb: str, name: str, value: Any) -> tuple[str, ...]:
    names = checks.columns_named(verb, name, value)
    if not names:
        raise checks.wrong(f"{verb}: {name} cannot be {value!r}", f'name columns: {name}="id", or {name}=["shop", "day"]')
    return names


def _plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, Secret):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in sorted(value.items())}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
