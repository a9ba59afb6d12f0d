"""Similar names, for every "did you mean", and lists in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name that is most similar to `name`, ignoring case; None if none is similar.

    >>> nearest("Amout", ["card", "amount"])
    'amount'
    >>> nearest("x", ["card", "amount"])
    """
    spelled = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), spelled, 1, least)
    return spelled[near[0]] if near else None


def listing(items: Sequence[str], last: str) -> str:
    """Return items as a list in a sentence.

    >>> listing(["a", "b", "c"], "or"), listing(["a"], "or")
    ('a, b or c', 'a')
    """
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def suggestion(name: str, known: Iterable[str], rest: str = "", *, shown: str = "`{}`", least: float = 0.6) -> str:
    """Return a hint that begins with a similar name, if there is one, and ends with `rest`.

    >>> suggestion("amout", ["card", "amount"], "it has: card, amount")
    'did you mean `amount`? It has: card, amount'
    >>> suggestion("x", ["card", "amount"], "it has: card, amount")
    'it has: card, amount'
    """
    near = nearest(name, known, least)
    if near is None:
        return rest
    guess = f"did you mean {shown.format(near)}?"
    return f"{guess} {rest[0].upper()}{rest[1:]}" if rest else guess


def ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers as ranges.

    >>> ranges((0, 1, 2, 5, 7, 8))
    '0 to 2, 5, 7 to 8'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{first} to {last}" if first < last else str(first) for first, last in spans)
