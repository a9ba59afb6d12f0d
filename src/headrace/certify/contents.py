"""The contents of a copy's sinks, and how two of them differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.durable.manifest import committed_files
from headrace.ops.changes import CHANGE
from headrace.ports.aside import FOLDER as REFUSED

Contents = Mapping[str, Counter[str]]

DEAD = "dead letters"
_GONE = ("delete", "update_before")


def counted(rows: Iterable[Sequence[Any]], columns: Sequence[str] = ()) -> Counter[str]:
    """Count rows as texts.

    If the rows are changes, by the column `_change`, their net result is counted: it does not depend on the boundaries of epochs, as the
    single changes do.

    >>> counted([("a", 1, "insert"), ("a", 1, "delete"), ("a", 2, "insert")], ["k", "n", "_change"])
    Counter({"('a', 2)": 1})
    """
    if CHANGE not in columns:
        return Counter(repr(tuple(row)) for row in rows)
    place = columns.index(CHANGE)
    counts: Counter[str] = Counter()
    for row in rows:
        counts[repr((*row[:place], *row[place + 1 :]))] += -1 if row[place] in _GONE else 1
    # a row that was deleted and never inserted is counted under a name of its own
    return Counter({row if n > 0 else f"without {row}": abs(n) for row, n in counts.items() if n})


def dead_letters(checkpoint: Path) -> Counter[str]:
    """Count the dead letters in a checkpoint: those that no sink reads, and the rows that sinks have refused."""
    letters: Counter[str] = Counter()
    for folder in sorted((checkpoint / "dead_letters").glob("*")):
        for file in committed_files(folder):
            letters.update(file.read_text(encoding="utf-8").splitlines())
    for file in sorted((checkpoint / REFUSED).glob("*/*.json")):
        letters.update(file.read_text(encoding="utf-8").splitlines())
    return letters


def missing(expected: Contents, actual: Contents) -> dict[str, int]:
    """Return the number of rows missing in each sink; with exchanged arguments, of rows too many.

    >>> missing({"out": Counter(["a", "a", "b"])}, {"out": Counter(["a", "b", "c"])})
    {'out': 1}
    """
    counts = {name: (rows - actual.get(name, Counter())).total() for name, rows in expected.items()}
    return {name: n for name, n in counts.items() if n}
