"""Verbs that lead to a state program: the keys of a stream, and the program over keyed streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import Expression
from headrace.ops.columns import label, name_of, once, verb_arguments
from headrace.ops.facts.kind import APPEND, kind_of
from headrace.ops.facts.outputs import MAIN
from headrace.ops.facts.time import event_time
from headrace.ops.operator import time_cure
from headrace.ops.program import MAIN_INPUT, Program
from headrace.plan import Node
from headrace.program import Traced, trace


@dataclass(frozen=True)
class Keys:
    """The columns that a stream is keyed by, with their expressions over its columns; none for a stream whose rows go to all keys."""

    node: Node
    items: tuple[tuple[str, str], ...]
    broadcast: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)


class Broadcasted:
    """The result of `hr.broadcast`: an input of a program for all keys."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __repr__(self) -> str:
        return f"<Broadcasted {label(self._keys.node)}>"


def key_by(node: Node, columns: tuple[Any, ...], alias: str | None = None) -> Keys:
    if not columns:
        raise PlanError(
            "BAD_KEY",
            "key_by needs at least one column",
            hint="for one state over all rows, write .process(...) without key_by",
            site=here(),
        )
    keys: tuple[Expression, ...] = verb_arguments(node, columns, {}, alias)
    items = tuple((name_of(expression), expression.text) for expression in keys)
    once((name for name, _ in items), "key_by")
    return Keys(node, items)


def process(
    main: Keys, program: Any, *, order: str | None, time: str | None, inputs: Mapping[str, Any], times: Mapping[Node, str | None]
) -> Program:
    """Return the node of a program; `times` has the event time of each input's stream."""
    named: dict[str, Keys] = {MAIN_INPUT: main}
    for name in sorted(inputs):
        named[name] = _input(name, inputs[name], main)
    broadcast = tuple(name for name, keyed in named.items() if keyed.broadcast)
    traced = trace(
        program,
        name=title(program),
        key=main.names,
        inputs={name: keyed.node.columns for name, keyed in named.items()},
        broadcast=broadcast,
    )
    timeless = [keyed.node for keyed in named.values() if times[keyed.node] is None]
    chosen = _order(order, traced, timeless, title(program))
    if traced.clock == "event" and len(timeless) == len(named):
        raise PlanError(
            "NO_WATERMARK",
            f"{title(program)} has {_timed(traced, 'event')}, but none of its inputs has event time",
            hint=f"{time_cure(timeless[0])}; or use processing time: {_timing(traced, 'processing')}",
            site=here(),
        )
    clock = "event" if chosen == "time" else traced.clock
    emitted = {name.lower() for output in traced.outputs for name in output.columns}
    if time is not None and str(time).lower() not in emitted:
        has = ", ".join(traced.columns(MAIN))
        raise PlanError(
            "UNKNOWN_COLUMN", f"time={time!r} is not a column that {title(program)} emits", hint=f"it emits: {has}", site=here()
        )
    return Program(
        title(program),
        tuple(keyed.node for keyed in named.values()),
        tuple(named),
        tuple(
            tuple((mine, text) for mine, (_, text) in zip(main.names, keyed.items, strict=not keyed.broadcast)) for keyed in named.values()
        ),
        chosen,
        clock,
        time,
        broadcast,
        traced,
        site=here(),
    )


def processed(keys: Keys, program: Any, order: str | None, time: str | None, inputs: Mapping[str, Any]) -> Program:
    """Return the node of a program over keyed streams; raises unless their rows are only inserted."""
    streams = [keys.node, *(one._keys.node for one in inputs.values() if isinstance(getattr(one, "_keys", None), Keys))]
    for stream in streams:
        if kind_of(stream) != APPEND:
            message = f"{title(program)} takes only insertions, and {label(stream)} has retractions"
            hint = "pass the changes as rows: .changes() adds the column _change with insert or delete"
            raise PlanError("CHANGES_NOT_YET", message, hint=hint, site=here())
    return process(keys, program, order=order, time=time, inputs=inputs, times={stream: event_time(stream) for stream in streams})


def title(program: Any) -> str:
    """Return the name of a program."""
    return str(program.__name__ if isinstance(program, type) else type(program).__name__)


def _input(name: str, keyed: Any, main: Keys) -> Keys:
    keys = getattr(keyed, "_keys", keyed)
    if not isinstance(keys, Keys):
        raise PlanError(
            "BAD_INPUT",
            f"the input `{name}` is {'a stream without keys' if hasattr(keyed, '_node') else repr(keyed)}",
            hint=f"key it like the main input: {name}=stream.key_by({', '.join(repr(key) for key in main.names)}); "
            f"or send its rows to all keys: {name}=hr.broadcast(stream)"
            if main.names
            else "a program without keys has no other inputs; key both streams",
            site=here(),
        )
    if keys.broadcast and main.names:
        return keys
    if not main.names or len(keys.names) != len(main.names):
        raise PlanError(
            "BAD_KEY",
            f"the input `{name}` is keyed by {', '.join(keys.names)}, the main input by {', '.join(main.names) or 'nothing'}",
            hint="key all inputs by the same number of columns; they are matched by position",
            site=here(),
        )
    return keys


def _order(order: str | None, traced: Traced, timeless: list[Node], title: str) -> str:
    if order not in (None, "time", "arrival"):
        raise PlanError("BAD_ORDER", f"process: `order` cannot be {order!r}", hint='use "time" or "arrival"', site=here())
    if order is None:
        return "time" if not timeless and traced.clock != "processing" else "arrival"
    if order == "time" and traced.clock == "processing":
        raise PlanError(
            "ORDER_CLOCK",
            f'{title} has {_timed(traced, "processing")}, and order="time" handles rows in event time',
            hint=f'use .process(..., order="arrival"), or {_timing(traced, "event")}',
            site=here(),
        )
    if order == "time" and timeless:
        raise PlanError(
            "NO_WATERMARK",
            f'order="time" needs event time on every input, and {label(timeless[0])} has none',
            hint=f'{time_cure(timeless[0])}; or handle rows as they arrive: order="arrival"',
            site=here(),
        )
    return order


def _timed(traced: Traced, clock: str) -> str:
    """Return the words for a program's parts that depend on a clock."""
    return f"{clock}-time timers" if _has_timers(traced) else f"cells that expire in {clock} time"


def _timing(traced: Traced, clock: str) -> str:
    """Return the code that gives these parts a clock."""
    return f'hr.Timer(clock="{clock}")' if _has_timers(traced) else f'clock="{clock}" in the cells'


def _has_timers(traced: Traced) -> bool:
    return any(cell.kind == "timer" for cell in traced.cells)
