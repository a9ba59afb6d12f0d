"""The verbs of a stream in YAML: each step is a mapping of a verb to its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from headrace.errors import PlanError, Site
from headrace.ops.handle import verb_name
from headrace.ops.stream import Stream
from headrace.spec import kinds
from headrace.spec.kinds import Json, Kind, Parameter, Reference, parameters, values
from headrace.spec.value import Scalar, Table, Value, fields, unknown
from headrace.words import WORDS


@dataclass(frozen=True)
class Verb:
    """A verb. `call` is called with the stream and the arguments.

    A mapping gives `parameters` by name. A value that is no mapping has the kind `whole`; with `only`, so has every value. The values of
    the parameter `spread` become separate arguments.
    """

    name: str
    call: Callable[..., Stream]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    whole: Kind | None = None
    spread: str | None = None
    only: bool = False

    def schema(self) -> Json:
        """Return the JSON schema of its arguments."""
        known = [one for one in self.parameters.values() if one.kind is not None]
        table = {
            "type": "object",
            "properties": {one.name: one.kind.schema for one in known if one.kind},
            "required": [one.name for one in known if one.needed],
            "additionalProperties": False,
        }
        if self.whole is None and not table["required"]:
            return {"anyOf": [{"type": "null"}, table]} if known else {"type": "null"}
        if self.whole is None:
            return table
        return self.whole.schema if self.only else {"anyOf": [self.whole.schema, table]}


@dataclass(frozen=True)
class Step:
    """One call of a verb, read and not yet executed."""

    verb: Verb
    site: Site
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The streams and tables that it names as arguments."""
        return tuple(one for one in (*self.arguments, *self.keywords.values()) if isinstance(one, Reference))

    def done(self, stream: Stream, find: Callable[[Reference], Any]) -> Stream:
        """Call the verb on a stream and return the result."""
        arguments, keywords = (
            [_resolved(one, find) for one in self.arguments],
            {key: _resolved(one, find) for key, one in self.keywords.items()},
        )
        return self.verb.call(stream, *arguments, **keywords)


def _resolved(value: Any, find: Callable[[Reference], Any]) -> Any:
    return find(value) if isinstance(value, Reference) else value


@cache
def verbs() -> Mapping[str, Verb]:
    """Return all verbs by name: the methods of streams that are marked as verbs."""
    return {name: _verb(name, method) for name, method in sorted(_named())}


def _named() -> Iterator[tuple[str, Callable[..., Stream]]]:
    """Yield the methods of streams that are verbs, with their names in YAML."""
    for name in dir(Stream):
        method = getattr(Stream, name)
        called = verb_name(method)
        if called is not None:
            yield called, method


def _verb(name: str, method: Callable[..., Stream]) -> Verb:
    """Return a verb, derived from the signature of its method."""
    known, several = parameters(method), values(method)
    if several is None:
        needed = [one for one in known.values() if one.needed]
        if [one.kind for one in needed] == [kinds.NAMES]:
            return Verb(name, method, whole=kinds.NAMES, only=True)
        # A value that is no mapping is the first argument, if no other argument is required.
        alone = needed == [*known.values()][:1]
        return Verb(name, method, known, needed[0].kind if needed and alone else None)
    if not known:
        return Verb(name, method, whole=several.kind, spread=several.python, only=True)
    columns = Parameter(several.name, several.python, kinds.COLUMNS, needed=True)
    return Verb(name, method, {several.name: columns, **known}, kinds.ONE_OR_MORE, several.python)


def step(value: Value) -> Step:
    """Read a step: `{verb: arguments}`, or a verb alone."""
    if isinstance(value, Scalar) and not value.empty:
        name, argument, site = value.text, None, value.site
    elif isinstance(value, Table) and len(value.values) == 1:
        [(name, argument)] = value.values.items()
        site = value.keys[name]
    else:
        raise PlanError("YAML_TYPE", f"a step must be one verb with its arguments, not {value}", hint=_EXAMPLE, site=value.site)
    return called(name, argument, site)


def called(name: str, argument: Value | None, site: Site) -> Step:
    """Return the step of a verb by its name, which is at `site`, with its arguments."""
    verb = verbs().get(name)
    if verb is None:
        meant = WORDS.get(name.lower(), name).partition("(")[0]
        raise unknown(f"there is no verb `{name}`", meant, verbs(), site, has="there are")
    return _step(verb, None if isinstance(argument, Scalar) and argument.empty else argument, site)


_EXAMPLE = "each step is an item of the list: `- filter: amount > 500`"


def _step(verb: Verb, argument: Value | None, site: Site) -> Step:
    if verb.whole is not None and argument is not None and (verb.only or not isinstance(argument, Table)):
        read = verb.whole.read(argument, f"`{verb.name}`")
        if verb.spread or verb.only:
            return Step(verb, argument.site, tuple(read) if verb.spread else (read,))
        first = next(iter(verb.parameters.values()))
        return Step(verb, argument.site, (), {first.python: read})
    if argument is None:
        argument = Table({}, {}, site)
    if not isinstance(argument, Table):
        takes = ", ".join(verb.parameters)
        raise PlanError(
            "YAML_TYPE",
            f"the arguments of `{verb.name}` must be a mapping, not {argument}" if takes else f"`{verb.name}` takes no arguments",
            hint=f"it takes: {takes}" if takes else f"write it alone: `- {verb.name}`",
            site=argument.site,
        )
    if verb.only:
        raise PlanError("YAML_TYPE", f"`{verb.name}` needs an argument", hint=_EXAMPLE, site=site)
    fields(argument, f"`{verb.name}`", {name: one.needed for name, one in verb.parameters.items()}, site)
    keywords = kinds.arguments(argument, f"`{verb.name}`", verb.parameters)
    return Step(verb, argument.site, tuple(keywords.pop(verb.spread, ())) if verb.spread else (), keywords)
