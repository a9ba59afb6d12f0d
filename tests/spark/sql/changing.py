"""Random changes of tables: rows that come, go, are changed, doubled, that vanish by key and come back, or come and go in one commit."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from tests.spark.sql.tables import Row, changed_row, random_row

Change = tuple[str, Row]
Epoch = Mapping[str, Sequence[Change]]

KEYS = {"sales": 1, "shops": 0, "prices": 0, "people": 4}
"""The column of each table by whose values rows vanish together."""


class Net:
    """The rows that there are after some changes, duplicates included.

    >>> net = Net()
    >>> net.apply([("-", ("a",)), ("+", ("a",)), ("+", ("b",)), ("+", ("b",))])
    >>> net.rows()
    [('b',), ('b',)]
    """

    def __init__(self) -> None:
        # By text: rows hold lists and NaN, and -0.0 is a row other than 0.0.
        self._rows: dict[str, list[Row]] = {}

    def rows(self) -> list[Row]:
        return [row for alike in self._rows.values() for row in alike]

    def apply(self, changes: Iterable[Change]) -> None:
        """All of one commit at once: a row may be taken away before it comes."""
        changes = list(changes)
        for sign, row in changes:
            if sign == "+":
                self._rows.setdefault(repr(row), []).append(row)
        for sign, row in changes:
            if sign == "-":
                alike = self._rows.get(repr(row))
                if not alike:
                    raise ValueError(f"{row} is taken away and was not there")
                alike.pop()
                if not alike:
                    del self._rows[repr(row)]


class Changing:
    """One table that changes at random."""

    def __init__(self, name: str, chance: random.Random, *, size: int = 24) -> None:
        self._name = name
        self._chance = chance
        self._size = size
        self._gone: list[Row] = []
        self._net = Net()

    def epoch(self) -> list[Change]:
        """The changes of one commit; the first ones fill the table."""
        chance = self._chance
        there = self._net.rows()
        chance.shuffle(there)
        changes = [("+", self._fresh()) for _ in range(max(chance.randint(0, 4), (self._size - len(there)) // 2))]
        if chance.random() < 0.4:
            there, vanished = self._without_a_key(there)
            changes += [("-", row) for row in vanished]
        else:
            changes += [("+", row) for row in self._gone]
            self._gone = []
        for row in there[:2]:
            changes += [("-", row), ("+", changed_row(self._name, row, chance))]
        changes += [("-", row) for row in there[2 : 2 + chance.randint(0, 3)]]
        changes += [("+", row) for row in there[5 : 5 + chance.randint(0, 2)]]
        # for everyone outside these never were
        for row in [self._fresh() for _ in range(chance.randint(0, 2))]:
            changes += [("+", row), ("-", row)]
        chance.shuffle(changes)
        self._net.apply(changes)
        return changes

    def _fresh(self) -> Row:
        return random_row(self._name, self._chance)

    def _without_a_key(self, rows: list[Row]) -> tuple[list[Row], list[Row]]:
        """The other rows, and those of one key, which come back later."""
        if not rows:
            return rows, []
        key = rows[0][KEYS[self._name]]
        vanished = [row for row in rows if row[KEYS[self._name]] == key]
        self._gone += vanished
        return [row for row in rows if row[KEYS[self._name]] != key], vanished


def random_epochs(seed: int, count: int) -> list[dict[str, list[Change]]]:
    """Commits of all tables; now and then a table has no change."""
    chance = random.Random(seed)
    tables = {name: Changing(name, chance, size=24 if name == "sales" else 10) for name in KEYS}
    return [{name: table.epoch() for name, table in tables.items() if number == 0 or chance.random() < 0.85} for number in range(count)]
