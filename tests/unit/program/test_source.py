"""What is refused in a handler's source because tracing cannot see it, with the line and the cure; and what is not."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest

import headrace as hr
from headrace.program import trace
from headrace.program.recording import is_recording
from tests.unit.errors import check_error

CHARGES = {"event": ("card", "amount", "ts")}


class Plain(hr.Program):
    """What the programs below are cut out of."""

    n = hr.Value("int")
    wake = hr.Timer()

    def __init__(self, every: Any = 3) -> None:
        self.every = every

    def on_event(self, e):
        hr.emit(n=1)

    def on_wake(self, at):
        self.n.clear()


def tracing(handler: Any, on: str = "on_event") -> Any:
    """A call that traces the program with another handler."""
    return lambda: trace(type("P", (Plain,), {on: handler}), name="p", key=("card",), inputs=CHARGES)


def written(body: str, *, file: str = "<made>", parameters: str = "self, e") -> Any:
    """A handler of a text that has a source, as a notebook's cells have."""
    text = f"def on_event({parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n") + "\n", "    ")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"hr": hr}
    exec(compile(text, file, "exec"), names)
    return names["on_event"]


def refused(body: str) -> tuple[str, int]:
    """Code of the refusal and the line in the body, counted from 1."""
    with pytest.raises(hr.HeadraceError) as caught:
        tracing(written(body))()
    assert caught.value.fault == "user" and caught.value.hint
    assert caught.value.site is not None and caught.value.site.file == "<made>"
    lines = ["", *textwrap.dedent(body).strip("\n").splitlines()]
    assert caught.value.site.text == lines[caught.value.site.line - 1].strip()
    return caught.value.code, caught.value.site.line - 1


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    yield
    assert not is_recording()
    linecache.cache.pop("<made>", None)


# leaving a branch


@pytest.mark.parametrize("word", ["return", "break", "continue"])
def test_return_break_continue_in_a_when(word: str) -> None:
    def on_event(self, e):
        for limit in (1, 2):
            with hr.when(e.amount > limit):
                hr.emit(n=limit)
                if limit == 2:
                    return
        hr.emit(n=0)

    def breaks(self, e):
        for limit in (1, 2):
            with hr.when(e.amount > limit):
                hr.emit(n=limit)
                break
        hr.emit(n=0)

    def continues(self, e):
        for limit in (1, 2):
            with hr.when(e.amount > limit):
                continue
            hr.emit(n=limit)

    check_error(
        f"""
        LEAVES_WHEN: `{word}` inside a `with hr.when(...)` would end the handler for every row, not only where the condition is met
          at test_source.py:*: {word}
          hint: put what follows into `with hr.otherwise():`
          page: docs/errors/LEAVES_WHEN.md
        """,
        tracing({"return": on_event, "break": breaks, "continue": continues}[word]),
    )


def test_raise_in_a_when() -> None:
    def on_event(self, e):
        with hr.when(e.amount < 0):
            raise ValueError("a negative amount")
        hr.emit(n=1)

    check_error(
        """
        LEAVES_WHEN: `raise` inside a `with hr.when(...)` would be done when the program is traced, for no row in particular, whether the condition is met or not
          at test_source.py:*: raise ValueError("a negative amount")
          hint: send wrong rows to an output of their own: wrong = hr.Output() and self.wrong.emit(e); check parameters in __init__
          page: docs/errors/LEAVES_WHEN.md
        """,
        tracing(on_event),
    )


def test_yield_in_a_when() -> None:
    def large(e):
        with hr.when(e.amount > 500):
            yield e

    def on_event(self, e):
        for row in large(e):
            hr.emit(n=row.amount)

    check_error(
        """
        LEAVES_WHEN: `yield` inside a `with hr.when(...)` would put what its caller does next under the condition, unseen
          at test_source.py:*: yield e
          hint: return the condition, and let the caller open the branch: `with hr.when(self.is_large(e)):`
          page: docs/errors/LEAVES_WHEN.md
        """,
        tracing(on_event),
    )


@pytest.mark.parametrize("word", ["elsewhen(e.amount > 2)", "otherwise()"])
def test_leaving_any_branch(word: str) -> None:
    assert refused(f"with hr.when(e.amount > 5):\n    hr.emit(n=1)\nwith hr.{word}:\n    return") == ("LEAVES_WHEN", 4)


def test_leaving_a_loop_over_the_items_of_a_cell() -> None:
    # hr.each opens a branch, too; only its source is looked at here
    code, line = refused("if self.every < 0:\n    with hr.each(self.n) as it:\n        return\nhr.emit(n=1)")
    assert (code, line) == ("LEAVES_WHEN", 3)


def test_a_handler_is_refused_before_it_does_anything() -> None:
    done = []

    def on_event(self, e):
        done.append(1)
        with hr.when(e.amount > 5):
            return

    with pytest.raises(hr.ProgramError, match="LEAVES_WHEN"):
        tracing(on_event)()
    assert done == []


# try


def test_try_in_a_when() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            try:
                hr.emit(n=1 / e.amount)
            except ZeroDivisionError:
                hr.emit(n=0)

    check_error(
        """
        TRY_IN_HANDLER: `try` with a `with hr.when(...)` would catch what fails while the program is traced, never what fails for a row
          at test_source.py:*: try:
          hint: where an expression may fail for a row use a function that gives null: hr.f.try_divide(a, b), hr.f.try_to_number(text, format); rows that fail go to the dead letters
          page: docs/errors/TRY_IN_HANDLER.md
        """,
        tracing(on_event),
    )


@pytest.mark.parametrize("end", ["except KeyError:\n    pass", "except* KeyError:\n    pass"])
def test_try_around_a_when(end: str) -> None:
    assert refused(f"hr.emit(n=1)\ntry:\n    with hr.when(e.amount > 5):\n        hr.emit(n=2)\n{end}") == ("TRY_IN_HANDLER", 2)


def test_finally_in_a_when() -> None:
    assert refused("with hr.when(e.amount > 5):\n    try:\n        hr.emit(n=2)\n    finally:\n        self.n.clear()") == (
        "TRY_IN_HANDLER",
        2,
    )


# names


def test_a_name_bound_in_a_when_and_used_after_it() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 500):
            rate = 2
        hr.emit(n=e.amount * rate)

    check_error(
        """
        NAME_FROM_WHEN: `rate` is used outside of the `with hr.when(...)` where `rate = 2` binds it: Python does that once, for every row, whether the condition is met or not
          at test_source.py:*: hr.emit(n=e.amount * rate)
          hint: a local has a value for each row: `rate = hr.let(None, "<type>")` before the `with`, `rate.set(2)` in it, `rate.get()` here
                or without a branch: rate = hr.case((e.amount > 500, 2), otherwise=None)
          page: docs/errors/NAME_FROM_WHEN.md
        """,
        tracing(on_event),
    )


def test_a_name_bound_before_a_when_and_again_in_it() -> None:
    def on_event(self, e):
        rate = 1
        with hr.when(e.amount > 500):
            rate = 2
        hr.emit(n=e.amount * rate)

    check_error(
        """
        NAME_FROM_WHEN: `rate` is used outside of the `with hr.when(...)` where `rate = 2` binds it: Python does that once, for every row, whether the condition is met or not
          at test_source.py:*: hr.emit(n=e.amount * rate)
          hint: a local has a value for each row: `rate = hr.let(1)` before the `with`, `rate.set(2)` in it, `rate.get()` here
                or without a branch: rate = hr.case((e.amount > 500, 2), otherwise=1)
          page: docs/errors/NAME_FROM_WHEN.md
        """,
        tracing(on_event),
    )


def test_a_name_changed_in_a_when() -> None:
    def on_event(self, e):
        fee = e.amount / 100
        with hr.when(e.amount > 500):
            fee += 5
        hr.emit(n=fee)

    check_error(
        """
        NAME_FROM_WHEN: `fee` is used outside of the `with hr.when(...)` where `fee += 5` binds it: Python does that once, for every row, whether the condition is met or not
          at test_source.py:*: hr.emit(n=fee)
          hint: a local has a value for each row: `fee = hr.let(e.amount / 100)` before the `with`, `fee.set(fee.get() + 5)` in it, `fee.get()` here
                or without a branch: fee = hr.case((e.amount > 500, fee + 5), otherwise=fee)
          page: docs/errors/NAME_FROM_WHEN.md
        """,
        tracing(on_event),
    )


def test_a_name_of_one_branch_used_in_the_next() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 500):
            size = "large"
            hr.emit(n=size)
        with hr.otherwise():
            hr.emit(n=size)

    check_error(
        """
        NAME_FROM_WHEN: `size` is used outside of the `with hr.when(...)` where `size = "large"` binds it: Python does that once, for every row, whether the condition is met or not
          at test_source.py:*: hr.emit(n=size)
          hint: a local has a value for each row: `size = hr.let(None, "<type>")` before the `with`, `size.set("large")` in it, `size.get()` here
                or without a branch: size = hr.case((e.amount > 500, "large"), otherwise=None)
          page: docs/errors/NAME_FROM_WHEN.md
        """,
        tracing(on_event),
    )


def test_a_name_that_is_no_assignment() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 500):
            for size in ("large", "huge"):
                hr.emit(n=size)
        hr.emit(n=size)

    check_error(
        """
        NAME_FROM_WHEN: `size` is used outside of the `with hr.when(...)` where `for size in ("large", "huge")` binds it: Python does that once, for every row, whether the condition is met or not
          at test_source.py:*: hr.emit(n=size)
          hint: bind `size` before the `with`, or use it inside only
          page: docs/errors/NAME_FROM_WHEN.md
        """,
        tracing(on_event),
    )


def test_a_global_name_bound_in_a_when() -> None:
    check_error(
        """
        NAME_FROM_WHEN: `seen` is global and bound inside a `with hr.when(...)`: Python binds it once, for every row, whether the condition is met or not
          at <made>:4: seen = 1
          hint: what must last is kept in a cell: seen = hr.Value(...) in the class, self.seen.set(...); for one call: seen = hr.let(...)
          page: docs/errors/NAME_FROM_WHEN.md
        """.replace("<made>:4", "<made>:*"),
        tracing(written("global seen\nwith hr.when(e.amount > 5):\n    seen = 1\nhr.emit(n=1)")),
    )


def test_a_nonlocal_name_bound_in_a_when() -> None:
    total = 0

    def on_event(self, e):
        nonlocal total
        with hr.when(e.amount > 5):
            total += 1
        hr.emit(n=1)

    with pytest.raises(hr.ProgramError, match="NAME_FROM_WHEN: `total` is nonlocal and bound"):
        tracing(on_event)()
    assert total == 0


BINDINGS = {
    "a tuple": "x, y = 1, 2",
    "a star": "y, *x = [1, 2]",
    "an annotation": "x: int = 1",
    "a walrus": "print(end='' if (x := 1) else '')",
    "a walrus in a comprehension": "[(x := y) for y in (1, 2)]",
    "a loop": "for x in (1, 2): pass",
    "with as": "import contextlib\n    with contextlib.nullcontext(1) as x: pass",
    "an import": "import math as x",
    "an import from": "from math import pi as x",
    "a function": "def x(): return 1",
    "a class": "class x: pass",
    "a match": "match (1, 2):\n        case (x, _): pass",
    "an inner when": "with hr.when(e.amount > 2):\n        x = 1",
    "a nested function": "def change():\n        nonlocal x\n        x = 2\n    change()",
}


@pytest.mark.parametrize("binding", BINDINGS.values(), ids=BINDINGS)
def test_every_way_to_bind_a_name(binding: str) -> None:
    body = f"x = 0\nwith hr.when(e.amount > 1):\n    {binding}\nhr.emit(n=x if isinstance(x, int) else 1)"
    code, line = refused(body)
    assert (code, line) == ("NAME_FROM_WHEN", body.count("\n") + 1)


USES = {
    "a condition": "with hr.when(e.amount > x):\n    hr.emit(n=1)",
    "a Python if": "if x:\n    hr.emit(n=1)",
    "a change": "x += 1\nhr.emit(n=1)",
    "a comprehension": "hr.emit(n=[y + x for y in (1, 2)][0])",
    "a lambda": "hr.emit(n=(lambda: x)())",
    "an f-string": "hr.emit(n=f'{x}')",
    "a function defined before": "hr.emit(n=scaled(3))",
    "a keyword": "hr.emit(n=dict(a=x)['a'])",
    "an attribute's target": "box[x] = 1\nhr.emit(n=1)",
    "a class": "class Box:\n    y = x\nhr.emit(n=1)",
    "a default": "def f(y=x): return y\nhr.emit(n=1)",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_use_of_a_name(use: str) -> None:
    body = f"x = 1\nbox = {{}}\nscaled = lambda y: y * x\nwith hr.when(e.amount > 1):\n    x = 2\n{use}"
    code, line = refused(body)
    assert code == "NAME_FROM_WHEN" and line >= 6


WAYS = {
    "an if that may bind": "if self.every:\n    with hr.when(e.amount > 1):\n        x = 1\nelse:\n    x = 2\nhr.emit(n=x)",
    "a round before": "x = 0\nfor y in (1, 2):\n    with hr.when(e.amount > y):\n        hr.emit(n=x)\n        x = y",
    "a loop that may be left": "x = 0\nfor y in (1, 2):\n    with hr.when(e.amount > y):\n        x = y\n    if y: break\nhr.emit(n=x)",
    "a loop that goes on": "x = 0\nfor y in (1, 2):\n    with hr.when(e.amount > y):\n        x = y\n    if y: continue\n    x = 3\nhr.emit(n=x)",
    "while": "x = y = 0\nwhile y < 2:\n    y += 1\n    with hr.when(e.amount > y):\n        x = y\nhr.emit(n=x)",
    "an inner branch": "with hr.when(e.amount > 1):\n    with hr.when(e.amount > 2):\n        x = 1\n    hr.emit(n=x)",
    "a finally": "x = 0\nwith hr.when(e.amount > 1):\n    x = 1\ntry:\n    pass\nfinally:\n    hr.emit(n=x)",
    "after a try": "x = 0\nwith hr.when(e.amount > 1):\n    x = 1\ntry:\n    x = int('one')\nexcept ValueError:\n    pass\nhr.emit(n=x)",
    "a case": "x = 0\nwith hr.when(e.amount > 1):\n    x = 1\nmatch self.every:\n    case 1:\n        x = 2\nhr.emit(n=x)",
    "an else": "x = 0\nwith hr.when(e.amount > 1):\n    x = 1\nfor y in ():\n    x = 2\nhr.emit(n=x)",
}


@pytest.mark.parametrize("body", WAYS.values(), ids=WAYS)
def test_one_way_to_a_wrong_use_is_enough(body: str) -> None:
    assert refused(body)[0] == "NAME_FROM_WHEN"


def test_a_value_of_a_cell_is_left_to_tracing() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            n = self.n.get()
        hr.emit(n=n)

    check_error(
        """
        OUT_OF_SCOPE: `n` was read inside a `with hr.when(...)`, and its value is used outside of it
          at test_source.py:*: hr.emit(n=n)
          hint: read it where it is always done, before the `with`: value = self.n.get()
          page: docs/errors/OUT_OF_SCOPE.md
        """,
        tracing(on_event),
    )
