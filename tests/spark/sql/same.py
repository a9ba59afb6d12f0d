"""When two answers are the same: as multisets of rows, with some room for floating point."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Row = tuple[Any, ...]


def differing(expected: Iterable[Row], got: Iterable[Row], tolerance: float) -> tuple[list[Row], list[Row]]:
    """Rows that are missing and rows that are too many.

    >>> differing([(1, 0.1 + 0.2), (2, None), (2, None)], [(2, None), (1, 0.3), (3, -0.0)], 1e-12)
    ([(2, None)], [(3, -0.0)])
    """
    missing = _left_over(expected, got)
    extra = _left_over(got, expected)
    for row in list(missing):
        # What is not equal may be close; there are few of these, so each is tried with each.
        near = next((other for other in extra if close(row, other, tolerance)), None)
        if near is not None:
            missing.remove(row)
            extra.remove(near)
    return missing, extra


def _left_over(rows: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    there = Counter(map(token, others))
    left = []
    for row in rows:
        name = token(row)
        if there[name]:
            there[name] -= 1
        else:
            left.append(row)
    return left


def token(value: Any) -> Any:
    """Something hashable that is equal for values that SQL holds equal: NaN is NaN, -0.0 is 0.0, maps have no order."""
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(map(token, value))
    if isinstance(value, dict):
        return "map", frozenset((token(key), token(item)) for key, item in value.items())
    if isinstance(value, float):
        return "float", "NaN" if math.isnan(value) else value + 0.0
    # True is not 1, and 1 is not Decimal(1)
    return type(value).__name__, bytes(value) if isinstance(value, bytearray) else value


def close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        left, right = ({token(key): item for key, item in one.items()} for one in (a, b))
        return left.keys() == right.keys() and all(close(item, right[key], tolerance) for key, item in left.items())
    return bool(token(a) == token(b))


def both_signs(changes: Sequence[tuple[int, str, Row]], commit: int) -> list[Row]:
    """Rows that one commit both took away and added: they ought to have cancelled."""
    signs: dict[str, set[str]] = {}
    twice = []
    for number, sign, row in changes:
        if number == commit:
            # as text, since a row with -0.0 is another one than with 0.0
            seen = signs.setdefault(repr(row), set())
            if seen and sign not in seen:
                twice.append(row)
            seen.add(sign)
    return twice
