"""A state program over one or several keyed streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property

from headrace.ops.facts.carried import EVENT, PROCESSING, SELF, Closes, Columns
from headrace.ops.facts.clock import MACHINE, NO_TIME, WATERMARK, Clock
from headrace.ops.facts.closing import Group, Wait
from headrace.ops.facts.keys import Keys as Unique
from headrace.ops.facts.kind import APPEND
from headrace.ops.facts.outputs import DEAD_COLUMNS, DEAD_LETTER, LATE, MAIN
from headrace.ops.facts.provenance import Provenance
from headrace.ops.facts.reading import Wanted
from headrace.ops.facts.state import BOUNDED, ENTRIES, KEYS, RELEASED, Basis
from headrace.ops.facts.time import event_time
from headrace.ops.inlet import Checked, Inlet, Json
from headrace.ops.operator import Ungrouped, operator
from headrace.ops.parts import EndingText, Frame, InputRequest, OutputRequest, OutputText, ProgramRequest, ProgramText
from headrace.ops.relational import Stateful
from headrace.ops.source import Watermark
from headrace.plan import Fact, Node, Role, nearest, node
from headrace.program import Traced
from headrace.program.spoken import Spoken
from headrace.program.traced import TracedCell, TracedHandler
from headrace.schema import shown

MAIN_INPUT = "event"


@node("program")
class Program(Stateful, Ungrouped):
    """A traced program with its inputs: the main one is called `event`, the others follow in the order of their names.

    `order` is "time" or "arrival", `clock` the clock of its timers ("event", "processing" or "none"), `time` the emitted column that is
    event time downstream. `keys` has, for each input, the key columns with their expressions. The rows of the inputs in `broadcast` go to
    all keys.

    >>> import headrace as hr
    >>> class Count(hr.Program):
    ...     n = hr.Value("bigint")
    ...
    ...     def on_event(self, e):
    ...         self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
    ...         hr.emit(card=self.key.card, n=self.n.get())
    >>> charges = hr.read.memory([("a", 1), ("a", 2)], "card string, amount int", name="charges")
    >>> charges.key_by("card").process(Count)                  # (a, 1) (a, 2)   ->   (a, 1) (a, 2)
    <Stream charges.Count: card, n>
    """

    program: str
    streams: tuple[Node, ...]
    names: tuple[str, ...]
    keys: tuple[tuple[tuple[str, str], ...], ...]
    order: str = field(metadata={"of": ("time", "arrival")})
    clock: str = field(metadata={"of": ("event", "processing", "none")})
    time: str | None
    broadcast: tuple[str, ...]
    traced: Traced

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.traced.columns(MAIN)

    @property
    def fits(self) -> bool:
        inputs = len(self.streams) == len(self.names) == len(set(self.names)) == len(self.keys)
        return inputs and self.traced.fits and self.names[0] == MAIN_INPUT and set(self.broadcast) < set(self.names)

    @property
    def verb(self) -> str:
        return self.program

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of all outputs."""
        declared = tuple(output.name for output in self.traced.outputs if output.name != MAIN)
        late = tuple(LATE if name == MAIN_INPUT else f"{LATE}_{name}" for name in self.names) if self.order == "time" else ()
        return (MAIN, *declared, *late, DEAD_LETTER)

    def output_columns(self, output: str) -> tuple[str, ...]:
        """Return the columns of an output."""
        if output == DEAD_LETTER:
            return DEAD_COLUMNS
        if output in (declared.name for declared in self.traced.outputs):
            return self.traced.columns(output)
        return self.stream(MAIN_INPUT if output == LATE else output.removeprefix(f"{LATE}_")).columns

    def output_time(self, output: str) -> str | None:
        """Return the event time of an output: the column named by `time` if the program emits it; late rows and dead letters have none."""
        if self.time is None or output not in (declared.name for declared in self.traced.outputs):
            return None
        return next((name for name in self.traced.columns(output) if name.lower() == str(self.time).lower()), None)

    def stream(self, name: str) -> Node:
        """Return the input with this name."""
        return self.streams[self.names.index(name)]

    def describe(self) -> str:
        keys = ", ".join(name for name, _ in self.keys[0])
        by = f" by {keys}" if keys else ""
        named = [f"{name} for all keys" if name in self.broadcast else name for name in self.names[1:]]
        others = f" with {', '.join(named)}" if named else ""
        return f"program {self.program}{by}{others}, order={self.order}"

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        return APPEND

    def keys_after(self, keys: Mapping[Node, Unique]) -> Unique:
        return ()

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        return self.output_time(MAIN)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        return self.output_closing_after(MAIN, columns)

    def output_kind(self, output: str, kinds: Mapping[Node, str]) -> str:
        return APPEND

    def output_time_after(self, output: str, times: Mapping[Node, str | None]) -> str | None:
        return self.output_time(output)

    def output_closing_after(self, output: str, columns: Mapping[Node, Columns]) -> Columns:
        time = self.output_time(output)
        # In arrival order, a program handles late rows too, so its own may be late.
        return {} if time is None else {time.lower(): Closes(SELF, straight=self.order == "arrival")}

    def output_checked_as(self, output: str) -> str | None:
        return str(self.name) if output == MAIN else f"{self.name}#{output}"

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # A program may read any column.
        return {}

    def goes_by(self, group: Group | None) -> Clock:
        return {EVENT: WATERMARK, PROCESSING: MACHINE}.get(self.clock, NO_TIME)

    @property
    def provenance(self) -> Provenance | None:
        return None

    def kept(self, basis: Basis) -> Fact:
        cells = [cell for cell in self.traced.cells if cell.kind != "timer"]
        keys = [name for name, _ in self.keys[0]]
        of = f"a key of {', '.join(keys)}" if keys else "the whole stream"
        cleared = self.traced.cleared & {cell.name for cell in cells}
        expiring = {cell.name for cell in cells if cell.expires_ms is not None}
        stay = [cell for cell in cells if cell.name not in cleared | expiring]
        buffers = dict(basis.parts(self)) if any(cell.kind == "aggregate" for cell in stay) else {}
        endless = [cell.name for cell in stay if cell.has_entries or buffers.get(cell.name) == "values"]
        shared = ", ".join(cell.name for cell in cells if cell.kind == "broadcast")
        names = ", ".join(cell.name for cell in cells if cell.kind != "broadcast")
        ends = " or ".join([*(["the program clears it"] if cleared else []), *(["it expires"] if expiring else [])])
        held = "the rows that wait for the watermark" if self.order == "time" else ""
        everywhere = f"; {shared} for all keys, once in each partition" if shared else ""
        more = (f" and {held}" if held else "") + everywhere
        going = ", ".join(cell.name for cell in cells if cell not in stay)
        released = f"; released when {ends}: {going}" if going else ""
        kept = ", ".join(cell.name for cell in stay if cell.name not in endless)
        by_key = f"with the number of keys: {kept} is kept for {of} and never cleared" if kept and keys else ""
        if endless:
            put = f"the entries of {', '.join(endless)}, which are never removed"
            return Fact(ENTRIES, f"grows with {put}{f', and {by_key}' if by_key else ''}{released}{everywhere}")
        if by_key:
            return Fact(KEYS, f"grows {by_key}{released}{everywhere}")
        if stay:
            return Fact(BOUNDED, f"bounded: {kept}, once{more}{released}")
        if cells:
            return Fact(RELEASED, f"released when {ends}: {f'{names} for {of}{more}' if names else shared}")
        if len(cells) < len(self.traced.cells):
            return Fact(RELEASED, f"released when they fire: pending timers of {of}{more}")
        if held:
            return Fact(RELEASED, "released when the watermark passes them: the rows that wait for it")
        return Fact(BOUNDED, "bounded: it keeps nothing")

    @property
    def cells(self) -> tuple[TracedCell, ...]:
        return self.traced.cells

    @property
    def program_class(self) -> str:
        return self.program

    @property
    def compares_rows(self) -> bool:
        return False

    @property
    def texts_over(self) -> Node | None:
        return None

    def as_written(self, text: str) -> str:
        return Spoken.of(self.traced)(text)

    @property
    def keyed_inputs(self) -> Mapping[str, Mapping[str, str]]:
        keyed = zip(self.names, self.keys, strict=True)
        return {name: dict(keys) for name, keys in keyed if name not in self.broadcast}

    @property
    def time_cure(self) -> str:
        return f'name the emitted column that is time: .process({self.program}, time="...")'

    def wait(self, columns: Mapping[Node, Columns]) -> Wait:
        return Wait.NOWHERE

    def row_fact(self, kind: str, group: Group | None) -> Fact | None:
        return None

    def order_fact(self, watermarks: Callable[[Node], Mapping[str, Watermark]]) -> Fact | None:
        if self.order == "arrival":
            how = "as they arrive; results depend on the order of arrival"
            if self.clock == PROCESSING:
                how = "as they arrive, timers by the wall clock; a second run gives other results"
            elif self.clock == EVENT:
                how = "as they arrive, timers at the end of an epoch; results depend on the order of arrival"
            return Fact({"order": "arrival", "delay_ms": 0}, how)
        # The whole query has one watermark: the one that is furthest behind.
        marks = watermarks(self)
        delay = max((mark.delay_ms for mark in marks.values()), default=0)
        silent = ", ".join(name for name, mark in marks.items() if mark.idle_ms is None)
        wait = f"; a silent source holds them back: {silent}" if len(marks) > 1 and silent else ""
        text = f"in the order of event time, held for {shown(delay)} of event time{wait}"
        return Fact({"order": "time", "delay_ms": delay}, text)

    def letter_fact(self, job: str) -> Fact | None:
        # A row without a key or event time does not reach it, and is a dead letter of the node upstream.
        nodes = (one for stream in self.streams for one in nearest(stream, (Role.SOURCE, Role.LOOKUP, Role.STATEFUL)))
        senders = tuple(dict.fromkeys(str(one.name) for one in nodes))
        keyless = ", ".join(f'{name}.output("dead_letter")' for name in senders)
        read = f"headrace letters show {job}" if job else "headrace letters show"
        text = f'rows without a key or time in {keyless}, failed rows in {self.name}.output("dead_letter"); unread: {read}'
        return Fact({"without key or time": list(senders), "failed": str(self.name)}, text)

    @property
    def caveat(self) -> str | None:
        if self.order != "arrival":
            return None
        if self.clock == PROCESSING:
            return "follows the wall clock"
        return "handles rows as they arrive; those of an epoch are sorted, so that a replay is equal"

    @property
    def handlers(self) -> tuple[TracedHandler, ...]:
        """Its handlers as the kernel names them: one for late rows by the output that gets them without it, not by its input."""
        return tuple(replace(one, on=_late(one.on)) if one.kind == "late" else one for one in self.traced.handlers)

    def check_request(self) -> Json | None:
        inputs = enumerate(zip(self.names, self.streams, self.keys, strict=True))
        program = ProgramRequest(
            name=str(self.name),
            site=self.line,
            kind=self.op,
            order=self.order,
            clock=self.clock,
            inputs=tuple(
                InputRequest(name=name, side=side, from_=operator(stream).checked_as, key=key, broadcast=name in self.broadcast)
                for side, (name, stream, key) in inputs
            ),
            cells=self.traced.cells,
            handlers=self.handlers,
            outputs=tuple(OutputRequest(name=output, time=self.output_time(output)) for output in self.outputs),
        )
        return {"id": self.name, "operator": program.to_json()}

    @property
    def key_names(self) -> tuple[str | None, ...]:
        return ()  # its author named them

    @property
    def outlives_edits(self) -> bool:
        return True

    @property
    def order_kept(self) -> str:
        return self.order

    def clock_kept(self, ending: EndingText | None) -> str:
        return self.clock

    def late_inputs(self, at: Checked) -> Mapping[str, bool]:
        apart = ".process(P, derived=stream.key_by(...))"
        pairs = zip(self.names, self.streams, strict=True)
        return {name: self.order == "time" and at.may_be_late(self, name, stream, apart) for name, stream in pairs}

    def text(self, frame: Frame, at: Checked | None) -> ProgramText:
        outputs = () if at is None else tuple((one, at.output_schema(self, one).ddl, self.output_time(one)) for one in self.outputs)
        return ProgramText(
            name=frame.name,
            site=frame.site,
            kind=frame.kind,
            order=frame.order,
            clock=frame.clock,
            inputs=tuple(replace(one, broadcast=one.name in self.broadcast) for one in frame.inputs),
            cells=frame.cells,
            handlers=() if at is None else self.handlers,
            outputs=tuple(OutputText(name=name, schema=schema, time=time, routes=()) for name, schema, time in outputs),
            op=frame.op,
            level=frame.level,
            key=frame.key,
            layout=frame.layout,
        )

    @property
    def refuses_null_keys(self) -> bool:
        return True

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        # In arrival order, rows are sorted only if a sink relies on equal replays; those of a broadcast always, as each partition has to
        # handle them in the same order.
        def order(name: str) -> str | None:
            return "time" if self.order == "time" else "columns" if steady or name in self.broadcast else None

        return tuple(
            Inlet(
                stream,
                name,
                side,
                at.schema(stream).ddl,
                "shared" if name in self.broadcast else "key",
                key,
                at.key_schema(self),
                # without a clock of event time, rows need none
                event_time(stream) if self.clock == EVENT else None,
                order(name),
            )
            for side, (name, stream, key) in enumerate(zip(self.names, self.streams, self.keys, strict=True))
        )


def programs_of(nodes: Iterable[Node]) -> tuple[Program, ...]:
    """Return the programs among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Program))


def _late(on: str) -> str:
    return {"event": "late", "late": "late"}.get(on, on if on.startswith("late_") else f"late_{on}")
