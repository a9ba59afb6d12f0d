"""Jobs that the tests of the engine run, over files that they lay out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.durable.atomic import replace
from tests.models.fraud import SCHEMA, SmallThenLarge


class Count(hr.Program):
    """A running count per card."""

    n = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(card=self.key.card, n=self.n.get())


def put(folder: Path, name: str, rows: Iterable[tuple[str | None, str, str] | str]) -> Path:
    """A file of charges; a text instead of a row is a line as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(dict(zip(("card", "amount", "ts"), row, strict=True))) for row in rows]
    path = folder / name
    replace(path, "".join(line + "\n" for line in lines))  # whole, as a query may be listing
    return path


def minute(number: int, second: int = 0) -> str:
    return f"2026-01-01 00:{number:02}:{second:02}"


def charges(folder: Path, **options: Any) -> hr.Stream:
    return hr.read.files(folder, format="json", schema=SCHEMA, name="charges", **options).watermark("ts", "5 minutes")


def fraud(folder: Path, **options: Any) -> hr.Job:
    """The first example: alerts as JSON files in `folder`/out."""
    alerts = charges(folder / "in", **options).key_by("card").process(SmallThenLarge).named("alerts")
    return hr.job("fraud", alerts.write.files(folder / "out", format="json", name="out"))


def lines(folder: Path) -> list[dict[str, Any]]:
    """All rows of a folder that a files sink wrote as JSON."""
    return [json.loads(line) for file in hr.committed_files(folder) for line in file.read_text(encoding="utf-8").splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder but the lock, to see that nothing was touched."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("lock")
    }


def alerts(folder: Path) -> list[tuple[str, str]]:
    return sorted((row["card"], row["at"][11:19]) for row in lines(folder / "out"))


FIRST = [("a", "0.50", minute(0)), ("a", "600.00", minute(0, 30)), ("b", "0.50", minute(0)), ("b", "600.00", minute(1, 30))]
SECOND = [("b", "0.20", minute(20)), ("b", "700.00", minute(20, 10)), ("c", "1.00", minute(30))]
