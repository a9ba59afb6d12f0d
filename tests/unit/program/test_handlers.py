"""Which handlers a program must and may have, and what its names may be: each refusal is compared whole."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.program import Traced, trace
from headrace.program.cell import Cell
from headrace.program.meant import CURES, WORDS, instead
from headrace.program.recording import is_recording
from tests.unit.errors import check_error

CHARGES = {"event": ("card", "amount", "ts")}


class Plain(hr.Program):
    """What the programs below are cut out of."""

    n = hr.Value("int")
    wake = hr.Timer()

    def on_event(self, e):
        hr.emit(n=1)

    def on_wake(self, at):
        self.n.clear()


def tracing(program: Any, inputs: dict[str, tuple[str, ...]] = CHARGES) -> Any:
    return lambda: trace(program, name="p", key=("card",), inputs=inputs)


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    yield
    assert not is_recording()


def test_no_handler_for_the_main_input() -> None:
    class P(hr.Program):
        def on_events(self, e):
            hr.emit(n=1)

    check_error(
        """
        HANDLER_MISSING: P has no handler for the main input
          at test_handlers.py:*: class P(hr.Program):
          hint: `on_events` exists: did you mean `on_event`?
          more: headrace error HANDLER_MISSING
        """,
        tracing(P),
    )


def test_no_handler_for_a_timer() -> None:
    class P(hr.Program):
        forget = hr.Timer()

        def on_event(self, e):
            hr.emit(n=1)

    check_error(
        """
        HANDLER_MISSING: P has no handler for the timer `forget`
          at test_handlers.py:*: forget = hr.Timer()
          hint: write it: def on_forget(self, at): ...
          more: headrace error HANDLER_MISSING
        """,
        tracing(P),
    )


def test_no_handler_for_an_input() -> None:
    check_error(
        """
        HANDLER_MISSING: Plain has no handler for the input `weather`
          at test_handlers.py:*: class Plain(hr.Program):
          hint: write it: def on_weather(self, r): ...
          more: headrace error HANDLER_MISSING
        """,
        tracing(Plain, {**CHARGES, "weather": ("card",)}),
    )


def test_a_handler_without_an_input() -> None:
    class P(Plain):
        def on_wether(self, row):
            self.n.set(1)

    check_error(
        """
        HANDLER_UNKNOWN: P has a handler on_wether, but no timer or input `wether`
          at test_handlers.py:*: def on_wether(self, row):
          hint: pass an input by its name, .process(P, wether=stream.key_by(...)); the current inputs and timers allow on_event, on_wake
          more: headrace error HANDLER_UNKNOWN
        """,
        tracing(P),
    )


def test_a_handler_nearly_named_as_a_timer() -> None:
    class P(Plain):
        def on_wakes(self, at):
            self.n.set(1)

    check_error(
        """
        HANDLER_UNKNOWN: P has a handler on_wakes, but no timer or input `wakes`
          at test_handlers.py:*: def on_wakes(self, at):
          hint: did you mean `on_wake`?
          more: headrace error HANDLER_UNKNOWN
        """,
        tracing(P),
    )


def test_a_handler_of_a_value() -> None:
    class P(Plain):
        def on_n(self, at):
            self.n.set(1)

    check_error(
        """
        HANDLER_UNKNOWN: P has a handler on_n, but no timer or input `n`
          at test_handlers.py:*: def on_n(self, at):
          hint: `n` is a Value, and only timers fire
          more: headrace error HANDLER_UNKNOWN
        """,
        tracing(P),
    )


def test_a_handler_with_too_few_parameters() -> None:
    class P(Plain):
        def on_wake(self):
            self.n.clear()

    check_error(
        """
        HANDLER_PARAMETERS: P: on_wake must accept self and the time it fires at
          at test_handlers.py:*: def on_wake(self):
          hint: def on_wake(self, at): the key is self.key; parameters of the program belong in __init__
          more: headrace error HANDLER_PARAMETERS
        """,
        tracing(P),
    )


def test_a_handler_with_too_many_parameters() -> None:
    class P(Plain):
        def on_event(self, key, e):
            hr.emit(n=1)

    check_error(
        """
        HANDLER_PARAMETERS: P: on_event must accept self and the row
          at test_handlers.py:*: def on_event(self, key, e):
          hint: def on_event(self, e): the key is self.key; parameters of the program belong in __init__
          more: headrace error HANDLER_PARAMETERS
        """,
        tracing(P),
    )


def test_an_async_handler() -> None:
    class P(Plain):
        async def on_event(self, e):
            hr.emit(n=1)

    check_error(
        """
        HANDLER_KIND: P: on_event is async, but a handler must be a plain method
          at test_handlers.py:*: async def on_event(self, e):
          hint: write def instead of async def
          more: headrace error HANDLER_KIND
        """,
        tracing(P),
    )


def test_a_generator_as_handler() -> None:
    class P(Plain):
        def on_event(self, e):
            yield e.amount

    check_error(
        """
        HANDLER_KIND: P: on_event is a generator, but a handler must be a plain method
          at test_handlers.py:*: def on_event(self, e):
          hint: send rows with hr.emit(...) instead of yield
          more: headrace error HANDLER_KIND
        """,
        tracing(P),
    )


def test_a_handler_that_is_no_method() -> None:
    class P(Plain):
        on_event = "amount"

    check_error(
        """
        HANDLER_KIND: P: on_event is a str, not a method
          at test_handlers.py:*: class P(Plain):
          hint: def on_event(self, e): ...
          more: headrace error HANDLER_KIND
        """,
        tracing(P),
    )


def test_a_handler_that_returns_a_value() -> None:
    class P(Plain):
        def on_event(self, e):
            return e.amount

    check_error(
        """
        HANDLER_RETURNS: on_event of P returns a value, which is ignored
          at test_handlers.py:*: def on_event(self, e):
          hint: send rows with hr.emit(...), keep values with cell.set(...)
          more: headrace error HANDLER_RETURNS
        """,
        tracing(P),
    )


def test_a_handler_that_raises() -> None:
    class P(Plain):
        def on_event(self, e):
            self.share()

        def share(self):
            return 1 / 0

    error = check_error(
        """
        HANDLER_FAILED: on_event of P raised ZeroDivisionError: division by zero
          at test_handlers.py:*: return 1 / 0
          hint: a handler runs once, when the program is built, not for each row: write logic that depends on a row with hr.when and columns
          more: headrace error HANDLER_FAILED
        """,
        tracing(P),
    )
    assert error is not None and isinstance(error.__cause__, ZeroDivisionError)


def test_a_handler_that_misspells() -> None:
    class P(Plain):
        def on_event(self, e):
            self.n.gets()

    check_error(
        """
        HANDLER_FAILED: on_event of P raised AttributeError: 'Value' object has no attribute 'gets'
          at test_handlers.py:*: self.n.gets()
          hint: did you mean `get()`? The Value has: clear(), exists(), get(), set(value)
          more: headrace error HANDLER_FAILED
        """,
        tracing(P),
    )


@pytest.mark.parametrize(
    ("cell", "called", "meant"),
    [
        (hr.Value("int"), "has", "did you mean `exists()`? The Value has: clear(), exists(), get(), set(value)"),
        (hr.Value("int"), "zap", "the Value has: clear(), exists(), get(), set(value)"),
        (hr.Value("int"), "reset", "did you mean `clear()`? The Value has: clear(), exists(), get(), set(value)"),
        (hr.List("int"), "add", "did you mean `append(value)`? The List has: append(value), clear(), exists(), get(), set(values), size()"),
        (hr.List("int"), "contains", "write hr.f.array_contains(self.it.get(), value)"),
        (
            hr.Map("int", "int"),
            "contains",
            "did you mean `has(key)`? The Map has: clear(), exists(), first(), get(key), has(key), last(), range(low, high), remove(key), "
            "set(key, value), size()",
        ),
        (hr.Aggregate("sum(n)", "n int"), "push", "did you mean `add(n=...)`? The Aggregate has: add(n=...), clear(), exists(), get()"),
        (hr.Timer(), "sett", "did you mean `set(at)`? The Timer has: at(), clear(), set(at)"),
        (hr.Timer(key="int"), "cancel", "did you mean `clear(key)`? The Timer has: at(key), clear(key), set(at, key)"),
        (hr.Timer(key="int"), "exists", "write self.it.at(key).is_not_null()"),
    ],
)
def test_methods_of_other_libraries(cell: Cell, called: str, meant: str) -> None:
    class P(Plain):
        it = cell

        def on_event(self, e):
            getattr(self.it, called)()

    with pytest.raises(hr.ProgramError) as raised:
        tracing(_with_handler(P, cell))()
    assert raised.value.hint == meant


def _with_handler(program: type[hr.Program], cell: object) -> type[hr.Program]:
    """A timer has a handler of its own, with its key where it has keys."""
    if isinstance(cell, hr.Timer):
        program.on_it = (lambda self, at, key: None) if cell.key else (lambda self, at: None)  # type: ignore[attr-defined]  # as a class body would
    return program


CELLS = {
    "Value": lambda: hr.Value("int"),
    "List": lambda: hr.List("int"),
    "Map": lambda: hr.Map("int", "int"),
    "Aggregate": lambda: hr.Aggregate("sum(n)", "n int"),
    "Timer": lambda: hr.Timer(),
    "Timer with keys": lambda: hr.Timer(key="int"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_every_hint_for_a_cell_can_be_written(kind: str, tmp_path: Path) -> None:
    """What is offered for each word, done in a handler as it stands there."""
    words = {word for table in (WORDS, CURES) for line in table.get(type(CELLS[kind]()), {}).values() for word in line.split()}
    assert words
    for word in words:

        class P(Plain):
            it = CELLS[kind]()

            def on_event(self, e, word=word):
                hr.emit(n=1)
                try:
                    getattr(self.it, word)
                except AttributeError as error:
                    hint = instead(error.obj, word)
                else:
                    raise AssertionError(f"{word} is there")
                offered = hint.removeprefix("write ") if hint.startswith("write ") else "self.it." + hint.split("`")[1]
                offered = offered.replace("=...", "=value")
                file = tmp_path / f"{word}.py"  # hr.each reads the source of who calls it
                file.write_text(f"def cure(self, hr, key, value, values, at):\n    {offered}\n")
                runpy.run_path(str(file))["cure"](self, hr, e.amount, e.amount, hr.f.array(e.amount), e.ts)

        tracing(_with_handler(P, P.it))()


def test_every_hint_names_a_method_that_is_there() -> None:
    for kind, table in WORDS.items():
        for method, words in table.items():
            assert hasattr(kind, method), (kind, method)
            assert not [word for word in words.split() if hasattr(kind, word)], (kind, method)


def test_a_broadcast_has_the_hints_of_a_map() -> None:
    assert WORDS[hr.Broadcast] == WORDS[hr.Map]
    assert instead(hr.Broadcast("int", "int"), "contains").startswith("did you mean `has(key)`?")


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda m: m.exists(1), "call it as exists(); to test for a key of a map use has(key)"),
        (lambda m: m.set(1), "call it as set(key, value)"),
    ],
)
def test_a_method_that_takes_other_arguments(call: Callable[[Any], object], meant: str) -> None:
    class P(Plain):
        it = hr.Map("int", "int")

        def on_event(self, e):
            call(self.it)

    with pytest.raises(hr.ProgramError) as raised:
        tracing(P)()
    assert raised.value.hint == meant


@pytest.mark.parametrize(
    ("cell", "ask", "meant"),
    [
        (lambda: hr.Map("int", "int"), lambda it: 1 in it, "write self.it.has(key)"),
        (lambda: hr.List("int"), lambda it: 1 in it, "write hr.f.array_contains(self.it.get(), value)"),
        (lambda: hr.List("int"), len, "write self.it.size()"),
        (lambda: hr.Timer(key="int"), bool, "read it: self.it.at(key); write it: self.it.set(at, key)"),
    ],
)
def test_what_python_asks_of_a_cell(cell: Callable[[], Cell], ask: Callable[[Any], object], meant: str) -> None:
    class P(Plain):
        it = cell()

        def on_event(self, e):
            ask(self.it)

    with pytest.raises(hr.ProgramError) as raised:
        tracing(_with_handler(P, P.it))()
    assert raised.value.hint == meant


def test_an_attribute_that_a_program_lacks() -> None:
    class P(Plain):
        def on_event(self, e):
            self.share_of_ten(1)

        def share_of_tens(self):
            pass

    with pytest.raises(hr.ProgramError) as raised:
        tracing(P)()
    assert raised.value.hint == "did you mean `share_of_tens`? Declare cells and parameters in the class or in __init__"


def test_a_timer_of_an_inputs_name() -> None:
    class P(Plain):
        weather = hr.Timer()

        def on_weather(self, row):
            self.n.set(1)

    check_error(
        """
        NAME_TWICE: P: `weather` is a timer and an input, so on_weather would be the handler of both
          at test_handlers.py:*: weather = hr.Timer()
          hint: give the timer or the input another name
          more: headrace error NAME_TWICE
        """,
        tracing(P, {**CHARGES, "weather": ("card",)}),
    )


def test_one_cell_of_two_names() -> None:
    class P(Plain):
        a = b = hr.Value("int")

    check_error(
        """
        NAME_TWICE: P: `a` and `b` are the same Value
          at test_handlers.py:*: a = b = hr.Value("int")
          hint: create one for each name
          more: headrace error NAME_TWICE
        """,
        tracing(P),
    )


def test_names_that_differ_in_case() -> None:
    class P(Plain):
        N = hr.Value("int")

    check_error(
        """
        NAME_TWICE: P: `n` and `N` differ only in case, and Spark treats them as one name
          at test_handlers.py:*: N = hr.Value("int")
          hint: rename one of them
          more: headrace error NAME_TWICE
        """,
        tracing(P),
    )


def test_was_a_cell_that_is_still_there() -> None:
    class P(Plain):
        m = hr.Value("int", was="n")

    check_error(
        """
        NAME_TWICE: P: `m` takes over the state of `n`, but `n` is still a cell
          at test_handlers.py:*: m = hr.Value("int", was="n")
          hint: `was` names a cell that an older version had and this version no longer has
          more: headrace error NAME_TWICE
        """,
        tracing(P),
    )


def test_two_cells_that_were_one() -> None:
    class P(Plain):
        a = hr.Value("int", was="x")
        b = hr.Value("int", was="x")

    check_error(
        """
        NAME_TWICE: P: `b` takes over the state of `x`, but `a` takes it over, too
          at test_handlers.py:*: b = hr.Value("int", was="x")
          hint: `was` names a cell that an older version had and this version no longer has
          more: headrace error NAME_TWICE
        """,
        tracing(P),
    )


def test_a_cell_called_key() -> None:
    class P(Plain):
        key = hr.Value("int")

    check_error(
        """
        NAME_RESERVED: P: the Value `key` has a reserved name: self.key is the key of the row
          at test_handlers.py:*: key = hr.Value("int")
          hint: give the Value another name
          more: headrace error NAME_RESERVED
        """,
        tracing(P),
    )


def test_a_cell_with_a_name_of_ours() -> None:
    class P(Plain):
        def __init__(self):
            setattr(self, "__n", hr.Value("int"))

    check_error(
        """
        NAME_RESERVED: P: the Value `__n` has a reserved name: it starts with __
          at test_handlers.py:*: setattr(self, "__n", hr.Value("int"))
          hint: give the Value another name
          more: headrace error NAME_RESERVED
        """,
        tracing(P),
    )


def test_a_timer_called_event() -> None:
    class P(Plain):
        event = hr.Timer()

    check_error(
        """
        NAME_RESERVED: P: the Timer `event` has a reserved name: on_event is called for rows
          at test_handlers.py:*: event = hr.Timer()
          hint: give the Timer another name
          more: headrace error NAME_RESERVED
        """,
        tracing(P),
    )


def test_an_output_called_late() -> None:
    class P(Plain):
        late = hr.Output()

    check_error(
        """
        NAME_RESERVED: P: the Output `late` has a reserved name: every program has an output of that name
          at test_handlers.py:*: late = hr.Output()
          hint: give the Output another name
          more: headrace error NAME_RESERVED
        """,
        tracing(P),
    )


def test_an_input_called_late() -> None:
    check_error(
        """
        NAME_RESERVED: Plain: an input cannot be called `late`: on_late is called for late rows
          at test_handlers.py:*: return lambda: trace(program, name="p", key=("card",), inputs=inputs)
          hint: give the input another name
          more: headrace error NAME_RESERVED
        """,
        tracing(Plain, {**CHARGES, "late": ("card",)}),
    )


def test_both_clocks() -> None:
    class P(Plain):
        poll = hr.Timer(clock="processing")

        def on_poll(self, at):
            self.n.clear()

    check_error(
        """
        CLOCKS_MIXED: P has both clocks: `wake` uses event time, `poll` processing time
          at test_handlers.py:*: poll = hr.Timer(clock="processing")
          hint: use one clock, or two programs that share no rows and no sink
          more: headrace error CLOCKS_MIXED
        """,
        tracing(P),
    )


def test_a_program_without_its_arguments() -> None:
    class Limited(Plain):
        def __init__(self, limit):
            self.limit = limit

    check_error(
        """
        NOT_A_PROGRAM: Limited needs arguments (missing a required argument: 'limit')
          at test_handlers.py:*: return lambda: trace(program, name="p", key=("card",), inputs=inputs)
          hint: pass an instance: .process(Limited(...))
          more: headrace error NOT_A_PROGRAM
        """,
        tracing(Limited),
    )


def test_something_else_than_a_program() -> None:
    check_error(
        """
        NOT_A_PROGRAM: a function is not a state program
          at test_handlers.py:*: return lambda: trace(program, name="p", key=("card",), inputs=inputs)
          hint: derive it from hr.Program, and pass the class, or an instance if it takes arguments
          more: headrace error NOT_A_PROGRAM
        """,
        tracing(lambda row: row),
    )


@pytest.mark.parametrize("value", [Plain, Plain()])
def test_a_class_or_an_instance(value: Any) -> None:
    assert isinstance(tracing(value)(), Traced)
