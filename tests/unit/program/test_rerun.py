"""A handler that runs once more over recorded steps: only the branches and entries of the recording run, at the user's lines."""

from __future__ import annotations

import sys
from bdb import BdbQuit
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.program import trace
from headrace.program.rerun import Recorded, Rerun
from headrace.program.stepped import Point, Step, stepped
from headrace.program.tracing import tracing_of
from headrace.schema import Struct
from tests.unit.errors import check_error

trail: list[str] = []
"""What has run."""


def noted(cell, what):
    """A helper that opens a branch."""
    with hr.when(cell.exists()):
        trail.append(f"{what}: there")
    with hr.otherwise():
        trail.append(f"{what}: not there")


class Base(hr.Program):
    """Calls a helper, from a handler that another class extends."""

    n = hr.Value("int")

    def on_event(self, e):
        noted(self.n, "n")


class Branches(Base):
    """Branches, loops, private names, a name from around the class."""

    seen = hr.Map("string", "int")
    due = hr.Timer()
    __private = "private"

    def on_event(self, e):
        super().on_event(e)
        with hr.when(e.amount > 3):
            trail.append(f"large {self.__private}")
            with hr.each(self.seen) as it:
                trail.append(f"entry {it.key!r}")
                it.remove()
        with hr.elsewhen(e.amount > 2):
            trail.append("middle")
        with hr.elsewhen(self.n.get() > 1):
            trail.append("by a cell")
        with hr.otherwise():
            trail.append("small")
        trail.append("end")
        hr.emit(amount=e.amount)

    def on_due(self, at):
        trail.append("due")
        hr.emit(amount=1)


class Past:
    """Values that a test can tell apart."""

    def value(self, text: str, names: Mapping[str, Recorded]) -> Any:
        return text.upper()

    def row(self, texts: Mapping[str, str], names: Mapping[str, Recorded], emitted: Step) -> Mapping[str, Any]:
        return dict(texts)


TRACED = trace(Branches, name="Branches", key=("card",), inputs={"event": ("card", "amount")})
TRACING = tracing_of(TRACED, "Branches", ("card",))
POINTS = stepped(TRACED, {"main": Struct(())}, keyed=True).points
EMITTED = {"value": {"amount": "e.amount"}}


def steps(*points: tuple[str, Mapping[str, Any]], on: str = "event") -> list[Step]:
    """The steps of a call; a point is named as `branch 1`, and taken in the order of the handler."""
    places, all = iter([one for one in POINTS if one.on == on]), []
    for name, values in points:
        point = next(one for one in places if named(one) == name)
        all.append(Step(len(all) + 1, None if point.on == "due" else 1, point, values))
    return all


def named(point: Point) -> str:
    return point.what if point.branch is None else f"{point.what} {point.branch}"


def run(call: Iterable[Step], through: Any = None) -> list[str]:
    assert TRACING is not None
    trail.clear()
    rerun = Rerun(TRACING, Past())
    with rerun.opened():
        rerun.run([*call], through or (lambda handler, *arguments: handler(*arguments)))
    return trail.copy()


BEGIN = ("begin", {"e": {}, "key": {}})
THERE, NOT_THERE = (("read", {"value": 1}), ("branch 0", {})), (("read", {"value": None}), ("branch 1", {}))
EMIT = ("emit", EMITTED)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ((BEGIN, *THERE, ("branch 0", {}), ("end", {}), EMIT), ["n: there", "large private", "end"]),
        ((BEGIN, *NOT_THERE, ("branch 1", {}), EMIT), ["n: not there", "middle", "end"]),
        ((BEGIN, *THERE, ("branch 2", {}), ("read", {"value": 2}), ("branch 0", {}), EMIT), ["n: there", "by a cell", "end"]),
        ((BEGIN, *THERE, ("branch 2", {}), ("read", {"value": 0}), ("branch 1", {}), EMIT), ["n: there", "small", "end"]),
    ],
    ids=["when", "elsewhen", "elsewhen over a cell", "otherwise"],
)
def test_the_branch_that_was_taken(points: tuple[Any, ...], expected: list[str]) -> None:
    assert run(steps(*points)) == expected


def test_entries_of_a_loop() -> None:
    call = steps(BEGIN, *THERE, ("branch 0", {}), ("entry", {"key": "a", "value": 1, "index": 0}), ("replace", {}), ("end", {}), EMIT)
    entry, replaced = call[4:6]
    repeated = [*call[:6], entry, replaced, *call[6:]]
    assert run(repeated) == [
        "n: there",
        "large private",
        "entry <Column `it__1.key` = '`IT__1.KEY`'>",
        "entry <Column `it__2.key` = '`IT__2.KEY`'>",
        "end",
    ]


def test_a_timer() -> None:
    assert run(steps(("begin", {"at": "x", "key": {}}), ("emit", {"value": {"amount": "1"}}), on="due")) == ["due"]


def test_a_debugger_stops_at_the_lines_of_the_file() -> None:
    lines: list[str] = []
    text = Path(__file__).read_text().splitlines()

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name not in ("on_event", "noted"):
            return None
        if event == "line":
            lines.append(text[frame.f_lineno - 1].strip())
        return traced

    def through(handler: Any, *arguments: Any) -> None:
        sys.settrace(traced)
        try:
            handler(*arguments)
        finally:
            sys.settrace(None)

    run(steps(BEGIN, *NOT_THERE, ("branch 1", {}), EMIT), through)
    assert [line for line in lines if line != "super().on_event(e)"] == [
        'noted(self.n, "n")',
        "with hr.when(cell.exists()):",
        "with hr.otherwise():",
        'trail.append(f"{what}: not there")',
        "with hr.when(e.amount > 3):",
        "with hr.elsewhen(e.amount > 2):",
        'trail.append("middle")',
        'trail.append("end")',
        "hr.emit(amount=e.amount)",
    ]


def test_functions_are_as_before_afterwards() -> None:
    assert TRACING is not None
    run(steps(BEGIN, *NOT_THERE, ("branch 1", {}), EMIT))
    codes = {id(code) for code in TRACING.opening}
    assert {id(Branches.on_event.__code__), id(noted.__code__)} == codes


def test_a_handler_that_takes_another_way() -> None:
    check_error(
        """
        HANDLER_FAILED: on_event of Branches takes another way than it did in the job: it emits amount="e.amount"
          at test_rerun.py:*: hr.emit(amount=e.amount)
          hint: a handler depends only on its row, its cells and the parameters of the program; reload it if its file has changed
          more: headrace error HANDLER_FAILED
        """,
        lambda: run(steps(BEGIN, *NOT_THERE, ("branch 1", {}), ("emit", {"value": {"amount": "2"}}))),
    )
    with pytest.raises(HeadraceError, match="takes another way than it did in the job: read"):
        run(steps(BEGIN, *NOT_THERE, ("branch 2", {}), EMIT))
    with pytest.raises(BdbQuit):  # the debugger was left
        run([*steps(BEGIN, *NOT_THERE, ("branch 1", {}), EMIT), *steps(EMIT)])


def test_a_cell_is_not_read_in_the_prompt() -> None:
    def through(handler: Any, *arguments: Any) -> None:
        eval("handler.__self__.n.get()", {"handler": handler})

    check_error(
        """
        OUTSIDE_HANDLER: in a replay, cells are read and changed by the handler alone
          at <string>:1
          hint: print a name that holds what the handler has read: p wins
          more: headrace error OUTSIDE_HANDLER
        """,
        lambda: run(steps(BEGIN, *NOT_THERE, ("branch 1", {}), EMIT), through),
    )


def ways(kind: type[hr.Program], *calls: str) -> list[list[str]]:
    """What runs in a handler for calls, each given by the branches that were taken and the entries that were reached, in order."""
    program = trace(kind, name=kind.__name__, key=("card",), inputs={"event": ("card", "amount")})
    tracing = tracing_of(program, kind.__name__, ("card",))
    assert tracing is not None
    points = stepped(program, {"main": Struct(())}, keyed=True).points
    rerun, trails = Rerun(tracing, Past()), []
    for call in calls:
        trail.clear()
        steps = [Step(n, 1, points[int(place)], recorded(points[int(place)])) for n, place in enumerate(call.split())]
        with rerun.opened():
            rerun.run(steps, lambda handler, *arguments: handler(*arguments))
        trails.append(trail.copy())
    return trails


def recorded(point: Point) -> Mapping[str, Any]:
    known = {"begin": {"e": {}, "key": {}}, "emit": EMITTED, "read": {"value": 1}, "entry": {"key": "k", "value": 1, "index": 0}}
    return known.get(point.what, {})


class OfItself(hr.Program):
    """Names its own class, imports what it needs, and calls a function that calls itself."""

    LIMIT = 3

    def on_event(self, e):
        import headrace as streams
        from headrace import otherwise

        with streams.when(e.amount > OfItself.LIMIT):
            trail.append("over")
        with otherwise():
            trail.append(OfItself.__name__)
        counted(e.amount, 2)
        hr.emit(amount=e.amount)


def counted(amount, times):
    with hr.when(amount > times):
        trail.append(f"more than {times}")
    if times > 1:
        counted(amount, times - 1)


def test_names_of_the_module() -> None:
    # 0 begin, 1 and 2 the first branches, 3 and 4 those for 2, 5 and 6 those for 1, 7 emit
    assert ways(OfItself, "0 1 3 5 7", "0 2 4 5 7") == [["over", "more than 2", "more than 1"], ["OfItself", "more than 1"]]


class Apart(hr.Program):
    """Branches that do not follow each other in the source."""

    n = hr.Value("int")

    def on_event(self, e):
        with hr.when(e.amount > 9):
            trail.append("first")
            with hr.when(e.amount > 99):
                trail.append("inner")
        for limit in (5, 3):
            with hr.elsewhen(e.amount > limit):
                trail.append(f"over {limit}")
        n = self.n.get()
        later = "later"
        with hr.elsewhen((n > 1) & hr.lit(bool(later))):
            trail.append("by a cell")
        trail.append(later)
        if trail is not None:
            with hr.otherwise():
                trail.append("last")
        hr.emit(amount=e.amount)


def test_branches_that_do_not_follow_each_other() -> None:
    # 1 first, 2 and 3 inner or not, 4 and 5 over a limit, 6 the rest, 7 the read, 8 by a cell, 9 last, 10 emit
    assert ways(Apart, "0 1 2 10", "0 1 3 10", "0 4 10", "0 5 10", "0 6 7 8 10", "0 6 7 9 10") == [
        ["first", "inner", "later"],
        ["first", "later"],
        ["over 5", "later"],
        ["over 3", "later"],
        ["by a cell", "later"],
        ["later", "last"],
    ]


class Entries(hr.Program):
    """A text and an entry in one expression."""

    seen = hr.Map("string", "int")

    def on_event(self, e):
        with hr.each(self.seen) as it:
            with hr.when(hr.expr("e.amount + 1") + it.value > 2):
                trail.append("large")
        hr.emit(amount=e.amount)


def test_a_text_with_an_entry() -> None:
    # 1 an entry, 2 and 3 large or not, 4 the end, 5 emit
    assert ways(Entries, "0 1 2 1 3 4 5") == [["large"]]


def test_a_function_in_a_handler() -> None:
    class Inner(hr.Program):
        def on_event(self, e):
            def sized(amount):
                with hr.when(amount > 3):
                    trail.append("large")
                with hr.otherwise():
                    trail.append("small")

            kept.append(sized)
            sized(e.amount)
            hr.emit(amount=e.amount)

    kept: list[Any] = []
    assert ways(Inner, "0 1 3", "0 2 3") == [["large"], ["small"]]


def test_a_branch_that_its_with_does_not_open() -> None:
    class Held(hr.Program):
        def on_event(self, e):
            large = hr.when(e.amount > 3)
            with large:
                hr.emit(amount=e.amount)

    program = trace(Held, name="Held", key=("card",), inputs={"event": ("card", "amount")})
    tracing = tracing_of(program, "Held", ("card",))
    assert tracing is not None
    begin = Step(1, 1, Point("event", "begin"), {"e": {}})
    rerun = Rerun(tracing, Past())

    def opened() -> None:
        with rerun.opened():
            rerun.run([begin], lambda handler, *arguments: handler(*arguments))

    check_error(
        """
        NO_SOURCE: on_event opens a branch or a loop that is not written in its `with` statement
          at test_rerun.py:*: with large:
          hint: write it there, `with hr.when(...):`, to run the handler in a debugger
          more: headrace error NO_SOURCE
        """,
        opened,
    )
