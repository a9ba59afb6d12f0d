"""A plain Python model of one program over one key: what the kernel must do, written without regard to how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.spark.kernel.trial import Json, clear, emit, on, program, put, read, timer, when

SIDES = {"event": 0, "other": 1}

Row = tuple[str, str, int | None, int]
"""Key, what, v and n, as the program emits them."""


@dataclass(frozen=True)
class Event:
    key: str
    side: str
    time: int
    v: int | None

    @property
    def place(self) -> tuple[int, int, tuple[bool, int]]:
        return (self.time, SIDES[self.side], (self.v is not None, self.v or 0))


class Failed(Exception):
    """The handler of a row failed: nothing of it counts."""


@dataclass
class State:
    n: int = 0
    a: int | None = None
    b: int | None = None
    set_by_timer: frozenset[str] = frozenset()


def operator(order: str) -> Json:
    """Two inputs, a cell, two timers that set each other, late rows, and rows that fail. The model below says the same."""
    current = "coalesce(n__1, 0)"
    return program(
        on(
            "event",
            read("n__1", "n"),
            emit(k="key.k", what="'event'", v="e.v", n=current),
            put("n", f"{current} + e.v"),
            when(
                ("e.v % 3 = 0", [put("a", "e.ts + make_dt_interval(0, 0, 0, e.v)")]),
                ("e.v % 3 = 1", [put("b", "e.ts + INTERVAL '2' SECOND"), clear("a")]),
                ("e.v IS NULL", [clear("n"), clear("b")]),
            ),
            when(("e.v = 8", [emit(k="key.k", what="'never'", v="CAST(1 div 0 AS int)", n="0")])),
        ),
        on("other", read("n__1", "n"), emit(k="key.k", what="'other'", v="e.v", n=current), put("n", f"{current} - 1"), put("b", "e.ts")),
        on("late", read("n__1", "n"), emit(k="key.k", what="'late'", v="e.v", n=current), put("n", f"{current} + 100"), kind="late"),
        timer(
            "a",
            read("n__1", "n"),
            emit(k="key.k", what="'a'", v="CAST(unix_millis(at) AS int)", n=current),
            when((f"{current} % 2 = 0", [put("b", "at + INTERVAL '1' SECOND")])),
        ),
        timer(
            "b",
            read("n__1", "n"),
            emit(k="key.k", what="'b'", v="CAST(unix_millis(at) AS int)", n=current),
            put("n", f"{current} - 1"),
            when((f"{current} > 0", [put("a", "at + INTERVAL '3' SECOND")])),
        ),
        cells={"n": "int"},
        timers=("a", "b"),
        inputs={"event": "v int, ts timestamp", "other": "v int, ts timestamp"},
        outputs={"main": "k string, what string, v int, n int"},
        order=order,
    )


@dataclass
class Model:
    """One key."""

    key: str
    order: str
    state: State = field(default_factory=State)
    held: list[Event] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def epoch(self, rows: list[Event], watermark: int, flush: int | None = None) -> list[Row]:
        out: list[Row] = []
        late = [r for r in rows if watermark > 0 and r.time <= watermark]
        rest = [r for r in rows if r not in late]
        if self.order == "arrival":
            for r in rows:
                self._row(r, out, late=r in late)
        else:
            for r in sorted(late, key=lambda r: r.place):
                self._row(r, out, late=True)
            self.held += rest
            for r in rest:
                self._count(r.side, "held", 1)
        while (due := self._due(watermark, flush)) is not None:
            if isinstance(due, Event):
                self.held.remove(due)
                self._count(due.side, "held", -1)
                self._row(due, out, late=False)
            else:
                self._timer(due, out)
        return out

    def _due(self, watermark: int, flush: int | None) -> Event | str | None:
        items: list[tuple[tuple[int, int, object], Event | str]] = []
        items += [((r.time, 0, r.place), r) for r in self.held]
        for i, name in enumerate(("a", "b")):
            time = getattr(self.state, name)
            if time is not None and not (flush is not None and name in self.state.set_by_timer and time > flush):
                items.append(((time, 1, i), name))
        first = min(items, key=lambda i: i[0], default=None)
        return first[1] if first is not None and watermark > 0 and first[0][0] <= watermark else None

    def _row(self, r: Event, out: list[Row], *, late: bool) -> None:
        if late and r.side == "other":
            self._count(r.side, "late", 1)
            return
        before, size = replace(self.state), len(out)
        try:
            self._late(r, out) if late else self._event(r, out) if r.side == "event" else self._other(r, out)
            self._count(r.side, "late" if late else "handled", 1)
        except Failed:
            self.state = before
            del out[size:]
            self._count(r.side, "dead", 1)

    def _event(self, r: Event, out: list[Row]) -> None:
        out.append((r.key, "event", r.v, self.state.n))
        if r.v is None:
            self.state.n = 0
            self._set("b", None)
            return
        self.state.n += r.v
        if r.v % 3 == 0:
            self._set("a", r.time + r.v * 1000)
        elif r.v % 3 == 1:
            self._set("b", r.time + 2000)
            self._set("a", None)
        if r.v == 8:
            raise Failed

    def _other(self, r: Event, out: list[Row]) -> None:
        out.append((r.key, "other", r.v, self.state.n))
        self.state.n -= 1
        self._set("b", r.time)

    def _late(self, r: Event, out: list[Row]) -> None:
        out.append((r.key, "late", r.v, self.state.n))
        self.state.n += 100

    def _timer(self, name: str, out: list[Row]) -> None:
        at: int = getattr(self.state, name)
        self._set(name, None)
        out.append((self.key, name, at, self.state.n))
        if name == "a" and self.state.n % 2 == 0:
            self._set("b", at + 1000, by_timer=True)
        if name == "b":
            if self.state.n > 0:
                self._set("a", at + 3000, by_timer=True)
            self.state.n -= 1

    def _set(self, name: str, time: int | None, *, by_timer: bool = False) -> None:
        setattr(self.state, name, time)
        self.state.set_by_timer = self.state.set_by_timer - {name} | ({name} if by_timer else set())

    def _count(self, side: str, metric: str, n: int) -> None:
        place = f"{side}.{metric}"
        self.counts[place] = self.counts.get(place, 0) + n
        if self.counts[place] == 0:
            del self.counts[place]
