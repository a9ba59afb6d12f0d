"""Keys of two versions of a program: whether they are the same values under other names, in wider types or in another order."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.durable.marks import readable
from headrace.schema import parse_schema
from headrace.spark.compile.layout import finds
from headrace.syntax import plain_name

# The derivation of the keys of one input: their texts, then all lines of their lineage (`InputShape.key`).
Texts = tuple[str, ...]

# The origin of a key column as far as it is known: its name there and the places, or its text and all that is known.
Meaning = tuple[str, frozenset[str]]


def columns(old: str, new: str, before: Mapping[str, Texts], after: Mapping[str, Texts]) -> tuple[int, ...] | None:
    """Return the place in the key `old` of each column of the key `new`; None if they are not the same values.

    `before` and `after` have the derivation of the keys for each input.

    >>> columns("a int, b int", "b bigint, a int", {"event": ("a", "b", "a of s", "b of s")}, {"event": ("b", "a", "a of s", "b of s")})
    (1, 0)
    """
    was, now = parse_schema(old).fields if old else (), parse_schema(new).fields if new else ()
    both = [(texts, after[name]) for name, texts in before.items() if name in after and (texts or after[name])]
    if len(was) != len(now):
        return None
    if not both:
        # without a common input, nothing is known of a key that looks different
        return tuple(range(len(now))) if old == new else None
    choices = {_places(texts, others, len(now)) for texts, others in both}
    places = choices.pop()
    if choices or places is None:
        return None
    fits = all(finds(str(was[place].type), str(field.type)) for place, field in zip(places, now, strict=True))
    return places if fits else None


def renamed(before: Texts, after: Texts, places: tuple[int, ...]) -> dict[str, str]:
    """Return columns of an input's rows that its keys show to be the same, in lower case: new name -> old name.

    >>> renamed(("card", "card of charges"), ("card_id", "card_id = card", "card of charges"), (0,))
    {'card_id': 'card'}
    """
    if not (before and after):
        return {}
    pairs = ((plain_name(after[new]), plain_name(before[old])) for new, old in enumerate(places))
    return {new.lower(): old.lower() for new, old in pairs if new and old}


def difference(operator: str, input: str, before: Texts, after: Texts) -> str:
    """Describe how an operator's key is derived differently: by other texts, or only from another operator, whose name represents all that
    it computes.

    >>> difference("alerts", "event", ("card", "card of charges"), ("card", "card of refunds"))
    'alerts has state of rows of charges, and its input event is now refunds'
    """
    (texts, was), (others, now) = (_apart(lines) for lines in (before, after))
    if texts != others or len(was) != 1 or len(now) != 1:
        return f"the key of {operator} is computed differently for its input {input}"
    old, new = readable(*was), readable(*now)
    if old == new:
        return f"{operator} has state of rows of {old}, which computes something different"
    return f"{operator} has state of rows of {old}, and its input {input} is now {new}"


def _apart(lines: Texts) -> tuple[list[str], set[str]]:
    """Return the lines without the places that they name, and these places."""
    parts = [("", "", line) if " = " in line else line.rpartition(" of ") for line in lines]
    return [column or place for column, _, place in parts], {place for column, _, place in parts if column}


def _places(before: Texts, after: Texts, count: int) -> tuple[int, ...] | None:
    if before == after:
        return tuple(range(count))
    if len(before) < count or len(after) < count:
        return None
    was = [_meaning(text, before[count:]) for text in before[:count]]
    now = [_meaning(text, after[count:]) for text in after[:count]]
    if len(set(was)) < count or set(was) != set(now):
        return None
    return tuple(was.index(one) for one in now)


def _meaning(text: str, lines: Texts) -> Meaning:
    """Follows a plain name through plain renamings (`lineage` of feeds) to where it was read.

    >>> _meaning("card_id", ("card_id = card", "card of charges"))
    ('card', frozenset({'charges'}))
    """
    computed_texts: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for line in lines:
        left, computed, right = line.partition(" = ")
        column, _, place = line.rpartition(" of ")
        known, column, what = (computed_texts, left, right) if computed else (read, column, place)
        known.setdefault(column, set()).add(what)
    whole = (text, frozenset(lines))
    name = plain_name(text)
    # One name for two things on the way: it is unknown which one is meant where.
    if name is None or set(computed_texts) & set(read) or any(len(texts) > 1 for texts in computed_texts.values()):
        return whole
    at, seen = name.lower(), set[str]()
    while at in computed_texts and at not in seen:
        seen.add(at)
        (right,) = computed_texts[at]
        at = (plain_name(right) or "").lower()
    return (at, frozenset(read[at])) if at in read else whole
