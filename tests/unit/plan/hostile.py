"""Plans that somebody has changed: golden ones with one part or several in another form."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tests import golden

WORDS = (
    "", " ", ".", "..", "../../evil", "/etc/passwd", "a\0b", "a\nb", "a/b", "-", "_x", "x" * 5000, "\ud800", "ünï", "🔑", "null", "-1", "${HOME}",
    "event", "time", "close", "changes", "append", "left", "main", "late", "dead_letter", "rows", "charges", "files", "kafka", "nothing",
    "1 +", "((((", "struct<a:", "array<" * 300 + "int" + ">" * 300, "a int, a int", "decimal(99,99)", "a b c", "`", "reflect('a', 'b')",
    "http://u:p@h/x", "http://[x", "http://h:port/", "jdbc:x", "sqlite:x", "redis://h:x", "/dev/zero:1", "job.py:99999999999999999999",
    "os:system", "UTC", "Mars/Olympus", "5 minutes", "-5 minutes", "99999999999 days",
)  # fmt: skip
DEEP = '"deep"'
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**70), 10**400, 1.5, 1e308, [], {}, [[]], [None], {"a": 1}, {"env": "X"}, {"": ""}, [1, "a", None]
)  # fmt: skip


def plans() -> dict[str, Any]:
    """The golden plans by their places."""
    return {str(file.relative_to(golden.GOLDEN)): json.loads(file.read_text(encoding="utf-8")) for file in golden.plans()}


def hostile(seed: str, plan: Any) -> bytes:
    """A plan that is changed in some places, as it lies in a file. The same seed gives the same changes."""
    dice = random.Random(seed)
    plan = copy.deepcopy(plan)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        if holders := list(_holders(plan)):
            _change(dice.choice(holders), dice, holders)
    text = json.dumps(plan)
    for _ in range(text.count(DEEP)):
        depth = dice.choice((5, 150, 3000, 100_000))
        text = text.replace(DEEP, '{"a":' * (depth // 2) + "[" * depth + "]" * depth + "}" * (depth // 2), 1)
    return text.encode("utf-8", "surrogatepass")


def _holders(value: Any) -> Iterator[Any]:
    """All lists and objects that have something in them."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            if one:
                yield one
            waiting.extend(one.values() if isinstance(one, dict) else one)


def _change(holder: Any, dice: random.Random, holders: list[Any]) -> None:
    places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    place = dice.choice(places)
    match dice.randrange(8):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, list):
            holder.append(copy.deepcopy(dice.choice(holder)))
        case 1:
            holder[dice.choice(WORDS)] = dice.choice(OTHERS)
        case 2:
            # something of another place, which has a form that is right somewhere
            other = dice.choice(holders)
            holder[place] = copy.deepcopy(dice.choice(list(other.values()) if isinstance(other, dict) else other))
        case 3:
            holder[place] = copy.deepcopy(dice.choice(OTHERS))
        case 4 if isinstance(holder[place], str) and holder[place]:
            text = holder[place]
            at = dice.randrange(len(text))
            holder[place] = text[:at] + dice.choice(("", "\0", "'", "`", "(", " ", "..", "é")) + text[at + 1 :]
        case 5:
            holder[place] = "deep"
        case 6 if isinstance(holder, list) and len(holder) > 1:
            dice.shuffle(holder)
        case _:
            holder[place] = dice.choice(WORDS)
