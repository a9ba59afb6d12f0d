"""What `hr.read.*`, `hr.lookup.*` and `.write.*` take: the parameters of a connector's class and those that all of its kind have."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from inspect import Parameter
from typing import Any

from headrace.ops.asking import asking


def _keyword(name: str, annotation: str, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


NAME = _keyword("name", "str | None")

# What a source of rows that others have changed takes beside its connector's own options.
CHANGES = (
    _keyword("change_column", "str | None"),
    _keyword("change_format", "str | None"),
    _keyword("key", "str | Sequence[str] | None"),
    _keyword("trusted", "bool | None"),
)

# What a sink takes that can put aside a row which its place refuses.
REFUSED = (_keyword("on_refused", "str", "dead_letter"),)

# By the kind of a connector's class.
SHARED: dict[str, tuple[Parameter, ...]] = {
    "Source": (NAME,),
    "Sink": (NAME, _keyword("mode", "str | None")),
    "Lookup": (
        NAME,
        _keyword("constant", "bool", False),
        *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in inspect.signature(asking).parameters.values()),
    ),
}


def shared(cls: type[Any], kind: str) -> tuple[Parameter, ...]:
    """What a verb takes beside the options of the connector's class."""
    return (
        *(CHANGES if getattr(cls, "feeds", False) else ()),
        *SHARED[kind],
        *(REFUSED if kind == "Sink" and getattr(cls, "on_refused", None) else ()),
    )


def names(cls: type[Any], kind: str) -> tuple[str, ...]:
    """The names of what a verb takes beside the options of the connector's class."""
    return tuple(one.name for one in shared(cls, kind))


def parameters(cls: type[Any], kind: str) -> tuple[Parameter, ...]:
    """All that a verb takes, annotated as the connector's source has it."""
    more = shared(cls, kind)
    own = [one for one in inspect.signature(cls).parameters.values() if one.name not in {one.name for one in more}]
    rest = [one for one in own if one.kind is Parameter.VAR_KEYWORD]
    return (*(one for one in own if one not in rest), *more, *rest)


def described(verb: Callable[..., Any], connector: str, cls: type[Any], kind: str, returns: type[Any]) -> None:
    """Gives a verb the name, documentation and signature that `help` and notebooks show."""
    known = {"Sequence": Sequence, "timedelta": timedelta, **vars(sys.modules[cls.__module__])}
    found = [one.replace(annotation=_evaluated(one.annotation, known)) for one in parameters(cls, kind)]
    verb.__name__ = verb.__qualname__ = connector
    verb.__module__ = cls.__module__
    verb.__doc__ = cls.__doc__
    verb.__signature__ = inspect.Signature(found, return_annotation=returns)  # type: ignore[attr-defined]  # what `inspect` looks for
    verb.__annotations__ = {**{one.name: one.annotation for one in found}, "return": returns}


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """The type that a text stands for; the text itself where that is imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except (NameError, AttributeError, SyntaxError, TypeError):
        return annotation
