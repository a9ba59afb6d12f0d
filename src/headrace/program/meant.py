"""Hints for calls of methods that a cell does not have, or with wrong arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

from headrace.program.aggregate import Aggregate
from headrace.program.broadcast import Broadcast
from headrace.program.cell import Cell
from headrace.program.each import Entry
from headrace.program.entries import Entries
from headrace.program.list import List
from headrace.program.local import Local
from headrace.program.map import Map
from headrace.program.output import Output
from headrace.program.timer import Timer
from headrace.program.value import Value
from headrace.spelling import nearest

Owner = Cell | Output | Local | Entry

_OF_ONE = {"get": "value read peek", "set": "put update write"}
_OF_KEYS = {
    "has": "contains contains_key containskey",
    "get": "value read peek get_or_default",
    "set": "put update write add insert",
    "remove": "delete pop discard unset",
    "exists": "is_set present",
    "clear": "reset empty",
    "size": "len length count",
}

WORDS: Mapping[type, Mapping[str, str]] = {
    Value: {**_OF_ONE, "exists": "has contains is_set present", "clear": "delete remove reset unset"},
    List: {
        "append": "add push put insert",
        "get": "value values read",
        "set": "update write",
        "exists": "is_set present",
        "clear": "reset empty unset",
        "size": "len length count",
    },
    Map: _OF_KEYS,
    Broadcast: _OF_KEYS,
    Aggregate: {
        "add": "append push put set update",
        "get": "value read result",
        "exists": "has contains is_set present",
        "clear": "delete remove reset unset",
    },
    Timer: {"at": "get time", "set": "start register put update", "clear": "cancel delete remove reset stop unset"},
    Local: _OF_ONE,
    Output: {"emit": "append add send write put"},
    Entry: {"set": "put update write", "remove": "delete pop discard clear"},
}
"""The methods of each kind, and their names in other libraries. Misspellings are found separately."""

CURES: Mapping[type, Mapping[str, str]] = {
    List: {
        "hr.f.array_contains(self.{name}.get(), value)": "has contains",
        "with hr.each(self.{name}) as it: it.remove()": "remove pop delete discard",
    },
    Timer: {"{at}.is_not_null()": "exists is_set present has"},
}
"""What to write for a missing method that no single method replaces."""


def call(owner: Owner, method: str) -> str:
    """Returns the call of a method, such as `set(key, value)`."""
    held = inspect.getattr_static(type(owner), method)
    if isinstance(held, property):
        return method
    arguments: list[str] = []
    for parameter in list(inspect.signature(held).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments += [f"{column}=..." for column in owner._columns] if isinstance(owner, Aggregate) else ["..."]
        elif parameter.kind is not parameter.POSITIONAL_ONLY and not (
            isinstance(owner, Timer) and parameter.name == "key" and not owner.key
        ):
            arguments.append(parameter.name)
    return f"{method}({', '.join(arguments)})"


def instead(owner: Owner, name: str) -> str:
    """Returns the hint for a method that a cell, an output, a local or an entry does not have."""
    kind = type(owner)
    has = [one for one in dir(kind) if not one.startswith("_") and one != "traced" and _offered(kind, one)]
    for cure, words in _of(CURES, kind).items():
        if name in words.split():
            at = f"self.{_name(owner)}.{call(owner, 'at')}" if isinstance(owner, Timer) else ""
            return f"write {cure.format(name=_name(owner), at=at)}"
    meant = next((method for method, words in _of(WORDS, kind).items() if name.lower() in words.split()), None) or nearest(name, has)
    known = f"{'it' if isinstance(owner, Entry | Local) else f'the {kind.__name__}'} has: {', '.join(call(owner, one) for one in has)}"
    return f"did you mean `{call(owner, meant)}`? {known[0].upper()}{known[1:]}" if meant else known


def otherwise_called(error: TypeError) -> str | None:
    """Returns the hint for a method of a cell that Python refused to call with these arguments."""
    named = re.match(r"(\w+)\.(\w+)\(\) (?:takes|missing|got)", str(error))
    kind = next((one for one in (*WORDS, Entries) if named and one.__name__ == named[1]), None)
    if named is None or kind is None or not hasattr(kind, named[2]):
        return None
    parameters = list(inspect.signature(getattr(kind, named[2])).parameters.values())[1:]
    shown = ", ".join("..." if one.kind is one.VAR_KEYWORD else one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY)
    of_key = "; to test for a key of a map use has(key)" if (kind, named[2]) == (Entries, "exists") else ""
    return f"call it as {named[2]}({shown}){of_key}"


def _of(table: Mapping[type, Mapping[str, str]], kind: type) -> Mapping[str, str]:
    return next((table[one] for one in kind.__mro__ if one in table), {})


def _offered(kind: type, name: str) -> bool:
    held = inspect.getattr_static(kind, name)
    return callable(held) or isinstance(held, property)


def _name(owner: Owner) -> str:
    return getattr(owner, "_name", None) or "cell"
