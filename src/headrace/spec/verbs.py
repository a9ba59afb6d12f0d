"""The verbs of a stream as YAML calls them: one mapping of a verb to its arguments for each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from headrace.errors import PlanError, Site, here
from headrace.ops.sessions import SessionWindow, sessions
from headrace.ops.stream import Stream
from headrace.ops.window import Window, cumulate, hop, tumble
from headrace.spec import kinds
from headrace.spec.kinds import Json, Kind, Parameter, Reference, parameters
from headrace.spec.value import Scalar, Table, Value, fields, unknown
from headrace.words import WORDS


@dataclass(frozen=True)
class Verb:
    """A verb: `call` is given the stream and its arguments.

    `parameters` are given by a mapping of their names; `whole` is what any other value stands for, or all values where `only` is set.
    """

    name: str
    call: Callable[..., Stream]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    whole: Kind | None = None
    spread: bool = False
    only: bool = False

    def schema(self) -> Json:
        """The JSON schema of its arguments."""
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
    """One call of a verb, read and not yet done."""

    verb: Verb
    site: Site
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The streams that it names."""
        return tuple(one for one in (*self.arguments, *self.keywords.values()) if isinstance(one, Reference))

    def done(self, stream: Stream, find: Callable[[Reference], Any]) -> Stream:
        """The stream behind it."""
        arguments, keywords = [_found(one, find) for one in self.arguments], {key: _found(one, find) for key, one in self.keywords.items()}
        return self.verb.call(stream, *arguments, **keywords)


def _found(value: Any, find: Callable[[Reference], Any]) -> Any:
    return find(value) if isinstance(value, Reference) else value


def _group_by(stream: Stream, keys: Any = (), agg: Any = (), expires: str | None = None) -> Stream:
    return stream.group_by(*keys, expires=expires).agg(*agg)


def _expect(stream: Stream, conditions: Any, on_violation: str = "dead_letter", name: str | None = None) -> Stream:
    return stream.expect(*conditions, on_violation=on_violation, name=name)


def _window(
    stream: Stream,
    kind: str,
    time: str,
    size: str | None = None,
    step: str | None = None,
    offset: str | None = None,
    gap: str | None = None,
    per: str | Iterable[str] | None = None,
    emit: str = "changes",
    early: str | None = None,
    lateness: str = "0 seconds",
) -> Stream:
    given = {"size": size, "step": step, "offset": offset, "gap": gap, "per": per}
    made = _window_of(kind, time, {name: value for name, value in given.items() if value is not None})
    return stream.window(made, emit=emit, early=early, lateness=lateness)


# Kinds of windows: how they are made, what they need beside the time, and what they may have.
_WINDOWS: Mapping[str, tuple[Callable[..., Window | SessionWindow], tuple[str, ...], tuple[str, ...]]] = {
    "tumble": (tumble, ("size",), ("offset",)),
    "hop": (hop, ("size", "step"), ("offset",)),
    "cumulate": (cumulate, ("size", "step"), ("offset",)),
    "sessions": (sessions, ("gap", "per"), ()),
}


def _window_of(kind: str, time: str, given: Mapping[str, Any]) -> Window | SessionWindow:
    if kind not in _WINDOWS:
        hint = "the kinds are tumble, hop, cumulate and sessions: `window: {kind: tumble, time: ts, size: 10 seconds}`"
        raise PlanError("YAML_TYPE", f"there are no windows of the kind `{kind}`", hint=hint, site=here())
    make, needed, others = _WINDOWS[kind]
    lacking = [f"needs `{name}`" for name in needed if name not in given]
    wrong = [f"has no `{name}`" for name in given if name not in (*needed, *others)]
    if lacking or wrong:
        hint = f"beside kind and time it has: {', '.join((*needed, *others, 'emit', 'lateness'))}"
        raise PlanError("YAML_KEY", f"`window` of the kind {kind} {(lacking + wrong)[0]}", hint=hint, site=here())
    return make(time, **given)


# The verbs whose one argument is a list or mapping of what the user names, and whether Python spreads it over several.
_WHOLE: Mapping[str, tuple[Kind, bool]] = {
    "filter": (kinds.ONE_OR_MORE, True),
    "select": (kinds.COLUMNS, True),
    "with_columns": (kinds.COLUMNS, True),
    "drop": (kinds.ONE_OR_MORE, True),
    "rename": (kinds.NAMES, False),
    "union": (kinds.STREAMS, True),
}
_OTHERS = (
    "explode",
    "join",
    "join_asof",
    "lookup",
    "distinct",
    "dedupe",
    "top",
    "intersect",
    "subtract",
    "changes",
    "upserts",
    "watermark",
    "output",
    "named",
    "alias",
)
_GROUP_BY = {
    "keys": Parameter("keys", "keys", kinds.COLUMNS, needed=False),
    "agg": Parameter("agg", "agg", kinds.COLUMNS, needed=True),
    "expires": Parameter("expires", "expires", kinds.TEXT, needed=False),
}


@cache
def verbs() -> Mapping[str, Verb]:
    """All verbs, by name."""
    windows = {name: one for name, one in parameters(_window).items() if name != "stream"}
    expect = {name: one for name, one in parameters(_expect).items() if name != "stream"}
    expect["conditions"] = Parameter("conditions", "conditions", kinds.COLUMNS, needed=True)
    found = {
        "expect": Verb("expect", _expect, expect, kinds.ONE_OR_MORE),
        "group_by": Verb("group_by", _group_by, _GROUP_BY),
        "window": Verb("window", _window, windows),
    }
    for name, (kind, spread) in _WHOLE.items():
        found[name] = Verb(name, getattr(Stream, name), whole=kind, spread=spread, only=True)
    for name in _OTHERS:
        known = parameters(getattr(Stream, name))
        alone = [one.needed for one in known.values()][:1] == [True] and not any(one.needed for one in [*known.values()][1:])
        found[name] = Verb(name, getattr(Stream, name), known, next(iter(known.values())).kind if alone else None)
    return dict(sorted(found.items()))


def step(value: Value) -> Step:
    """The step that a value says: `{verb: arguments}`, or a verb alone."""
    if isinstance(value, Scalar) and not value.empty:
        name, given, site = value.text, None, value.site
    elif isinstance(value, Table) and len(value.values) == 1:
        [(name, given)] = value.values.items()
        site = value.keys[name]
    else:
        raise PlanError("YAML_TYPE", f"a step is one verb with its arguments, and here it is {value}", hint=_EXAMPLE, site=value.site)
    return called(name, given, site)


def called(name: str, given: Value | None, site: Site) -> Step:
    """The step of a verb by its name, which stands at `site`, with its arguments."""
    verb = verbs().get(name)
    if verb is None:
        meant = WORDS.get(name.lower(), name).partition("(")[0]
        raise unknown(f"there is no verb `{name}`", meant, verbs(), site, has="there are")
    return _step(verb, None if isinstance(given, Scalar) and given.empty else given, site)


_EXAMPLE = "each step is an item of the list: `- filter: amount > 500`"


def _step(verb: Verb, given: Value | None, site: Site) -> Step:
    if verb.whole is not None and given is not None and (verb.only or not isinstance(given, Table)):
        read = verb.whole.read(given, f"`{verb.name}`")
        if not verb.only:
            return Step(verb, given.site, (), {next(iter(verb.parameters.values())).python: read})
        return Step(verb, given.site, tuple(read) if verb.spread else (read,))
    if given is None:
        given = Table({}, {}, site)
    if not isinstance(given, Table):
        takes = ", ".join(verb.parameters)
        raise PlanError(
            "YAML_TYPE",
            f"`{verb.name}` is followed by a mapping of its arguments, and here it is {given}" if takes else f"`{verb.name}` takes nothing",
            hint=f"it takes: {takes}" if takes else f"write it alone: `- {verb.name}`",
            site=given.site,
        )
    if verb.only:
        raise PlanError("YAML_TYPE", f"`{verb.name}` was given nothing", hint=_EXAMPLE, site=site)
    fields(given, f"`{verb.name}`", {name: one.needed for name, one in verb.parameters.items()}, site)
    return Step(verb, given.site, (), kinds.arguments(given, f"`{verb.name}`", verb.parameters))
