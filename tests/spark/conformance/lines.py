"""A sink as somebody might write one, of JSON lines, and the same with a fault of each kind, to see that it is found."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headrace import ports
from headrace.durable.atomic import replace
from headrace.ports import registry
from headrace.schema import Struct
from headrace.schema.values import rows_from_internal, zone

FAULTS = (
    *("", "doubles", "loses", "ignores the term", "rounds", "marks first", "marks last", "shows early"),
    *("marks numbers alone", "marks unsaid"),
)


class Sink(ports.Sink):
    """An epoch a file. `fault`: "doubles" an epoch that comes again, "loses" what it has not written when its process dies, "ignores the
    term" of others, or "rounds" decimals. It "marks first" or "marks last" which epoch is there, apart from its rows, or "shows early" what
    tasks have written, and cleans that up at the next start. It "marks numbers alone" without identities, or has "marks unsaid" by its traits.
    """

    connector: ClassVar[str] = "lines"

    def __init__(self, folder: str, fault: str = "") -> None:
        self.folder = Path(folder)
        self.fault = fault
        self._waiting: list[tuple[int, str]] = []

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("transactional", "a file per epoch", marks=self.fault == "marks numbers alone")

    def options(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "fault": self.fault}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        return cls(**options)

    def mark(self, context: ports.SinkContext) -> ports.Mark | None:
        known = max((int(file.stem) for file in self.folder.glob("*.json")), default=-1)
        return ports.Mark(known) if self.fault in ("marks numbers alone", "marks unsaid") else None

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        self.folder.mkdir(parents=True, exist_ok=True)
        known = [int(file.stem) for file in self.folder.glob("*.json")]
        self._last = max(known, default=-1)
        for early in self.folder.glob("early/**/*.json"):
            early.unlink()
        replace(self.folder / "term", str(context.term))

    def stage(self) -> dict[str, Any]:
        if self.fault == "shows early":
            return {
                "kind": "files",
                "format": "json",
                "options": {},
                "partition_by": [],
                "folder": str(self.folder / "early"),
                "prefix": "part",
            }
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        context = self._context
        if self.fault == "shows early":
            for file in staged.files:
                (self.folder / "early" / file["path"]).rename(self.folder / f"{epoch}-{Path(file['path']).name}.shown")
            return
        if self.fault in ("marks first", "marks last"):
            self._in_two_steps(epoch, staged)
            return
        if self.fault != "ignores the term" and int((self.folder / "term").read_text()) != context.term:
            raise RuntimeError("another process writes here")
        rows = rows_from_internal(staged.rows(), context.schema, zone(context.time_zone))
        if self.fault == "rounds":
            rows = [tuple(float(value) if type(value).__name__ == "Decimal" else value for value in row) for row in rows]
        text = "".join(f"{row!r}\n" for row in rows)
        if self.fault == "doubles":
            self._append(epoch, text)
        elif self.fault == "ignores the term":
            # right as long as nobody else writes
            if epoch > self._last:
                self._append(epoch, text)
                self._last = epoch
        elif self.fault == "loses":
            self._write()
            self._waiting.append((epoch, text))
        else:
            replace(self.folder / f"{epoch}.json", json.dumps(text))

    def close(self) -> None:
        self._write()

    def _in_two_steps(self, epoch: int, staged: ports.Staged) -> None:
        mark = self.folder / "mark"
        if mark.exists() and int(mark.read_text()) >= epoch:
            return
        if self.fault == "marks first":
            replace(mark, str(epoch))
        time.sleep(0.05)
        rows = rows_from_internal(staged.rows(), self._context.schema, zone(self._context.time_zone))
        self._append(0, "".join(f"{row!r}\n" for row in rows))
        time.sleep(0.05)
        if self.fault == "marks last":
            replace(mark, str(epoch))

    def _append(self, epoch: int, text: str) -> None:
        file = self.folder / f"{epoch}.json"
        replace(file, json.dumps((json.loads(file.read_text()) if file.exists() else "") + text))

    def _write(self) -> None:
        for epoch, text in self._waiting:
            replace(self.folder / f"{epoch}.json", json.dumps(text))
        self._waiting.clear()

    def elsewhere(self, place: ports.Elsewhere) -> Sink:
        return Sink(str(place.folder), self.fault)

    def contents(self, session: Any, schema: Struct, mode: str) -> Iterable[Sequence[Any]]:
        import datetime
        from decimal import Decimal
        from zoneinfo import ZoneInfo

        names = {
            "datetime": datetime,
            "Decimal": Decimal,
            "ZoneInfo": ZoneInfo,
            "zoneinfo": __import__("zoneinfo"),
            "nan": float("nan"),
            "inf": float("inf"),
        }
        width = len(schema.names)
        for file in [*self.folder.glob("*.shown"), *self.folder.glob("early/**/*.json")]:
            for line in file.read_text().splitlines():
                yield tuple(json.loads(line).get(name) for name in schema.names)
        for file in sorted(self.folder.glob("*.json")):
            for line in json.loads(file.read_text()).split("\n")[:-1]:
                row = eval(line, names)
                yield (*row, *(None,) * (width - len(row)))


@contextmanager
def installed(name: str, module: str, folder: Path) -> Iterator[None]:
    """While this lasts, a package is there whose entry point gives a connector."""
    info = folder / "entry" / f"{name}-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[headrace.connectors]\n{name} = {module}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder / "entry"))
        registry.connectors.cache_clear()
        try:
            yield
        finally:
            registry.connectors.cache_clear()


@pytest.fixture
def lines_by_name(tmp_path: Path) -> Iterator[None]:
    """An entry point for the sink of lines, as an installed package has one."""
    with installed("lines", "tests.spark.conformance.lines", tmp_path):
        yield
