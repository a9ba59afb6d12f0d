"""The parameters of `hr.read.*`, `hr.lookup.*` and `.write.*`: those of a connector's class and those that all of its kind have."""

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

# The options of a source of changes, beside those of its connector.
CHANGES = (
    _keyword("change_column", "str | None"),
    _keyword("change_format", "str | None"),
    _keyword("key", "str | Sequence[str] | None"),
    _keyword("trusted", "bool | None"),
)

# The option of a sink that can put aside rows which its target refuses.
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
    """Return the parameters of a verb beside those of the connector's class."""
    return (
        *(CHANGES if getattr(cls, "feeds", False) else ()),
        *SHARED[kind],
        *(REFUSED if kind == "Sink" and getattr(cls, "on_refused", None) else ()),
    )


def names(cls: type[Any], kind: str) -> tuple[str, ...]:
    """Return the names of the parameters of a verb beside those of the connector's class."""
    return tuple(one.name for one in shared(cls, kind))


def parameters(cls: type[Any], kind: str) -> tuple[Parameter, ...]:
    """Return all parameters of a verb, annotated as in the connector's source."""
    more = shared(cls, kind)
    own = [one for one in inspect.signature(cls).parameters.values() if one.name not in {one.name for one in more}]
    rest = [one for one in own if one.kind is Parameter.VAR_KEYWORD]
    return (*(one for one in own if one not in rest), *more, *rest)


def described(verb: Callable[..., Any], connector: str, cls: type[Any], kind: str, returns: type[Any]) -> None:
    """Give a verb the name, documentation and signature that `help` and notebooks show."""
    known = {"Sequence": Sequence, "timedelta": timedelta, **vars(sys.modules[cls.__module__])}
    evaluated = [one.replace(annotation=_evaluated(one.annotation, known)) for one in parameters(cls, kind)]
    verb.__name__ = verb.__qualname__ = connector
    verb.__module__ = cls.__module__
    verb.__doc__ = cls.__doc__
    verb.__signature__ = inspect.Signature(evaluated, return_annotation=returns)  # type: ignore[attr-defined]  # what `inspect` looks for
    verb.__annotations__ = {**{one.name: one.annotation for one in evaluated}, "return": returns}


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return the type that an annotation means; the text itself if the type is imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except (NameError, AttributeError, SyntaxError, TypeError):
        return annotation
