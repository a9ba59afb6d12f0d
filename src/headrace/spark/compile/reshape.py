"""Rows that a program holds, in the columns of another version of its input."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.schema import parse_schema
from headrace.spark.compile.layout import widens


def columns(old: str, new: str, renamed: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the place in the schema `old` of each column of `new`, −1 for one that held rows lack; None if that is unknown.

    `renamed` are columns known to be the same: new name -> old name, both in lower case. If columns are gone *and* others are new, a column
    may only have another name, so that is refused.

    >>> columns("a int, b string", "b string, a bigint, c date", {})
    (1, 0, -1)
    >>> columns("a int, b string", "a int, c string", {}), columns("a int, b string", "a int, c string", {"c": "b"})
    (None, (0, 1))
    >>> columns("a int", "a int, twice bigint", {"twice": "a"})
    (0, 0)
    """
    was, now = parse_schema(old).fields, parse_schema(new).fields
    places = {field.name.lower(): place for place, field in enumerate(was)}
    chosen = tuple(places.get(renamed.get(field.name.lower(), field.name.lower()), -1) for field in now)
    if -1 in chosen and set(range(len(was))) - set(chosen):
        return None
    fits = all(place < 0 or widens(str(was[place].type), str(field.type)) for place, field in zip(chosen, now, strict=True))
    return chosen if fits else None


def difference(old: str, new: str) -> str | None:
    """Describe how the columns of a schema differ from those of an older one; None if they do not.

    >>> difference("a int, b string", "a bigint, c date"), difference("a int, b string", "b string, a int")
    ('a is bigint instead of int, b is gone, c is new', 'they are in another order')
    """
    was, now = ({field.name: str(field.type) for field in parse_schema(schema).fields} for schema in (old, new))
    changed = [f"{name} is {now[name]} instead of {type}" for name, type in was.items() if name in now and now[name] != type]
    changed += [f"{name} is gone" for name in was if name not in now] + [f"{name} is new" for name in now if name not in was]
    return ", ".join(changed) or (None if list(was) == list(now) else "they are in another order")
