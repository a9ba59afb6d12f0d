"""What is refused in a handler's source because tracing cannot see it, with the line and the cure; and what is not."""

from __future__ import annotations

import functools
import importlib
import linecache
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.program import Traced, trace
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
        LEAVES_WHEN: `{word}` inside a `with hr.when(...)` would end the handler for every row, not only where the condition holds
          at test_source.py:*: {word}
          hint: put the statements after it under `with hr.otherwise():`
          more: headrace error LEAVES_WHEN
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
        LEAVES_WHEN: `raise` inside a `with hr.when(...)` would run once, when the program is traced, whether or not the condition holds
          at test_source.py:*: raise ValueError("a negative amount")
          hint: send invalid rows to an output of their own, wrong = hr.Output() and self.wrong.emit(e); check parameters in __init__
          more: headrace error LEAVES_WHEN
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
        LEAVES_WHEN: `yield` inside a `with hr.when(...)` would silently put the caller's next statements under the condition
          at test_source.py:*: yield e
          hint: return the condition, and let the caller open the branch: `with hr.when(self.is_large(e)):`
          more: headrace error LEAVES_WHEN
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
        TRY_IN_HANDLER: `try` combined with `with hr.when(...)` catches errors while the program is traced, never errors of a row
          at test_source.py:*: try:
          hint: if an expression may fail for a row, use a function that returns null: hr.f.try_divide(a, b), hr.f.try_to_number(text, format); rows that fail go to the dead letters
          more: headrace error TRY_IN_HANDLER
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
        NAME_FROM_WHEN: `rate` is used outside the `with hr.when(...)` where `rate = 2` binds it: Python binds it once, for every row, whether or not the condition holds
          at test_source.py:*: hr.emit(n=e.amount * rate)
          hint: a local has a value for each row: `rate = hr.let(None, "<type>")` before the `with`, `rate.set(2)` in it, `rate.get()` here
                or without a branch: rate = hr.case((e.amount > 500, 2), otherwise=None)
          more: headrace error NAME_FROM_WHEN
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
        NAME_FROM_WHEN: `rate` is used outside the `with hr.when(...)` where `rate = 2` binds it: Python binds it once, for every row, whether or not the condition holds
          at test_source.py:*: hr.emit(n=e.amount * rate)
          hint: a local has a value for each row: `rate = hr.let(1)` before the `with`, `rate.set(2)` in it, `rate.get()` here
                or without a branch: rate = hr.case((e.amount > 500, 2), otherwise=1)
          more: headrace error NAME_FROM_WHEN
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
        NAME_FROM_WHEN: `fee` is used outside the `with hr.when(...)` where `fee += 5` binds it: Python binds it once, for every row, whether or not the condition holds
          at test_source.py:*: hr.emit(n=fee)
          hint: a local has a value for each row: `fee = hr.let(e.amount / 100)` before the `with`, `fee.set(fee.get() + 5)` in it, `fee.get()` here
                or without a branch: fee = hr.case((e.amount > 500, fee + 5), otherwise=fee)
          more: headrace error NAME_FROM_WHEN
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
        NAME_FROM_WHEN: `size` is used outside the `with hr.when(...)` where `size = "large"` binds it: Python binds it once, for every row, whether or not the condition holds
          at test_source.py:*: hr.emit(n=size)
          hint: a local has a value for each row: `size = hr.let(None, "<type>")` before the `with`, `size.set("large")` in it, `size.get()` here
                or without a branch: size = hr.case((e.amount > 500, "large"), otherwise=None)
          more: headrace error NAME_FROM_WHEN
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
        NAME_FROM_WHEN: `size` is used outside the `with hr.when(...)` where `for size in ("large", "huge")` binds it: Python binds it once, for every row, whether or not the condition holds
          at test_source.py:*: hr.emit(n=size)
          hint: bind `size` before the `with`, or use it only inside
          more: headrace error NAME_FROM_WHEN
        """,
        tracing(on_event),
    )


def test_a_global_name_bound_in_a_when() -> None:
    check_error(
        """
        NAME_FROM_WHEN: `seen` is global and bound inside a `with hr.when(...)`: Python binds it once, for every row, whether or not the condition holds
          at <made>:4: seen = 1
          hint: to keep a value across calls, use a cell: seen = hr.Value(...) in the class, self.seen.set(...); within one call: seen = hr.let(...)
          more: headrace error NAME_FROM_WHEN
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
    "a loop left before it binds anew": "x = 0\nfor y in (1, 2):\n    with hr.when(e.amount > y):\n        x = y\n    if y: break\n    x = 3\nhr.emit(n=x)",
    "a finally after a return": "x = 0\nwith hr.when(e.amount > 1):\n    x = 1\ntry:\n    return\nfinally:\n    hr.emit(n=x)",
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
        OUT_OF_SCOPE: `n` was read inside a `with hr.when(...)`, but its value is used outside it
          at test_source.py:*: hr.emit(n=n)
          hint: read it before the `with`: value = self.n.get()
          more: headrace error OUT_OF_SCOPE
        """,
        tracing(on_event),
    )


# decisions that Python makes without asking


def test_is_none_on_a_column() -> None:
    def on_event(self, e):
        hr.emit(n=0 if e.amount is None else e.amount)

    check_error(
        """
        NULL_COMPARISON: `e.amount is None` is evaluated once, when the program is traced: it is false for every row
          at test_source.py:*: hr.emit(n=0 if e.amount is None else e.amount)
          hint: use e.amount.is_null()
          more: headrace error NULL_COMPARISON
        """,
        tracing(on_event),
    )


def test_is_not_none_on_what_was_computed() -> None:
    def on_event(self, e):
        total = self.n.get()
        if total + e.amount is not None:
            hr.emit(n=total)

    check_error(
        """
        NULL_COMPARISON: `total + e.amount is not None` is evaluated once, when the program is traced: it is true for every row
          at test_source.py:*: if total + e.amount is not None:
          hint: use (total + e.amount).is_not_null()
          more: headrace error NULL_COMPARISON
        """,
        tracing(on_event),
    )


def test_is_none_on_a_cell() -> None:
    def on_event(self, e):
        if self.wake is not None:
            hr.emit(n=1)

    check_error(
        """
        NULL_COMPARISON: `self.wake is not None` is evaluated once, when the program is traced: it is true for every row
          at test_source.py:*: if self.wake is not None:
          hint: use self.wake.at().is_not_null()
          more: headrace error NULL_COMPARISON
        """,
        tracing(on_event),
    )


def test_is_none_on_a_row() -> None:
    def on_event(self, e):
        if e is not None:
            hr.emit(n=1)

    check_error(
        """
        NULL_COMPARISON: `e is not None` is evaluated once, when the program is traced: it is true for every row
          at test_source.py:*: if e is not None:
          hint: a row always exists; test one of its columns: e.<column>.is_not_null()
          more: headrace error NULL_COMPARISON
        """,
        tracing(on_event),
    )


def test_is_true_on_a_column() -> None:
    def on_event(self, e):
        with hr.when((e.amount > 5) is True):
            hr.emit(n=1)

    check_error(
        """
        TRACED_BOOL: `(e.amount > 5) is True` is evaluated once, when the program is traced: it is false for every row
          at test_source.py:*: with hr.when((e.amount > 5) is True):
          hint: use the condition itself: (e.amount > 5)
          more: headrace error TRACED_BOOL
        """,
        tracing(on_event),
    )


@pytest.mark.parametrize(
    ("expression", "cure"),
    [
        ("e.won is False", "~e.won"),
        ("e.won is not True", "~e.won"),
        ("e.won is not False", "e.won"),
        ('e["won"] is ...', 'e["won"] == Ellipsis'),
    ],
)
def test_the_cure_of_other_constants(expression: str, cure: str) -> None:
    with pytest.raises(hr.PlanError) as caught:
        tracing(written(f"x = {expression}\nhr.emit(n=1)"))()
    assert caught.value.code == "TRACED_BOOL" and caught.value.hint is not None and caught.value.hint.endswith(f" {cure}")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "self.key.card",
            "self.n.get()",
            "self.n.exists()",
            "self.wake.at()",
            "hr.f.upper(e.card)",
            'hr.expr("e.card")',
            'hr.col("card")',
        ),
        *(
            "hr.lit(1)",
            "hr.case((True, 1))",
            "hr.struct(a=hr.lit(1))",
            "-e.amount",
            "2 * e.amount",
            "e.amount[0]",
            "e.amount.cents",
            "(x := e.card)",
        ),
        *(
            "e.amount.cast('int')",
            "(e.amount > 3)",
            "(e.card if self.every else e.amount)",
            "e['card']",
            "hr.let(1)",
            "hr.let(1).get()",
            "hr.now()",
        ),
    ],
)
def test_what_counts_as_traced(value: str) -> None:
    assert refused(f"if self.every < 0 and {value} is None:\n    hr.emit(n=2)\nhr.emit(n=1)") == ("NULL_COMPARISON", 1)


def test_the_time_of_a_timer_is_traced() -> None:
    def on_wake(self, at):
        if at is None:
            self.n.clear()

    with pytest.raises(hr.PlanError, match="NULL_COMPARISON: `at is None`"):
        tracing(on_wake, "on_wake")()


def test_match_on_a_column() -> None:
    def on_event(self, e):
        match e.card:
            case None:
                hr.emit(n=0)
            case _:
                hr.emit(n=1)

    check_error(
        """
        TRACED_BOOL: `match e.card` is evaluated once, when the program is traced, but `e.card` has a value only when the job runs
          at test_source.py:*: match e.card:
          hint: write the cases as branches: `with hr.when(e.card == 1):`, `with hr.elsewhen(...):`, `with hr.otherwise():`; for a value use hr.case
          more: headrace error TRACED_BOOL
        """,
        tracing(on_event),
    )


# what columns refuse themselves, with the cure for what stands there


TEXT = 'use hr.f.concat(...) or hr.f.format_string(...), or .cast("string") for one value; repr(...) shows the expression'
EXPRESSIONS = {
    'f"{e.card}!"': ("TRACED_VALUE", TEXT),
    "str(e.card)": ("TRACED_VALUE", TEXT),
    '"%s" % e.card': ("TRACED_VALUE", TEXT),
    '"{}".format(e.card)': ("TRACED_VALUE", TEXT),
    "format(e.card)": ("TRACED_VALUE", TEXT),
    'str(hr.expr("e.card"))': ("TRACED_VALUE", TEXT),
    'f"{e}"': ("ROW_OPERATOR", "use its columns: e.card; all of them: hr.emit(e, ...)"),
    'f"{self.n}"': ("CELL_OPERATOR", "read it: self.n.get(); write it: self.n.set(...)"),
    "int(e.amount)": ("TRACED_VALUE", 'use .cast("int")'),
    "float(e.amount)": ("TRACED_VALUE", 'use .cast("double")'),
    "len(e.card)": ("TRACED_VALUE", "use hr.f.size(...) for arrays and maps, hr.f.length(...) for strings"),
    "min(e.amount, 3)": ("TRACED_BOOL", "instead of `min` use hr.f.least(e.amount, 3)"),
    "max([e.amount, 3])": ("TRACED_BOOL", "instead of `max` use hr.f.greatest(e.amount, 3)"),
    "min(e.card)": ("TRACED_VALUE", "use hr.f.array_min(e.card)"),
    "sorted(e.card)": ("TRACED_VALUE", "use hr.f.array_sort(e.card)"),
    "sum(e.card)": ("TRACED_VALUE", 'use hr.expr("aggregate(e.card, 0, (total, x) -> total + x)"), or keep a total in a cell'),
    "list(e.card)": (
        "TRACED_VALUE",
        "loop over a list or map with `with hr.each(self.xs) as it:`; for one item of an array use [0]; "
        'for a row per item, .explode("xs").key_by(...) before the program',
    ),
    "sorted([e.card, e.amount])": (
        "TRACED_BOOL",
        "instead of `sorted` use hr.f.array_sort(hr.f.array(...)), and take its items with [0], [1]",
    ),
    "any([e.amount > 1])": ("TRACED_BOOL", "instead of `any` join the conditions with |: (x > 1) | (y == 2)"),
    "all([e.amount > 1])": ("TRACED_BOOL", "instead of `all` join the conditions with &: (x > 1) & (y == 2)"),
    '"a" in e.card': ("TRACED_VALUE", "use hr.f.array_contains(...) for arrays, .like(...) for strings"),
    'e.card in ("a", "b")': ("TRACED_BOOL", 'instead of `in` use e.card.is_in("a", "b")'),
    "e.amount + 1 not in [1, 2]": ("TRACED_BOOL", "instead of `in` use ~(e.amount + 1).is_in(1, 2)"),
    "e.amount in range(3)": ("TRACED_BOOL", "instead of `in` use e.amount.is_in(range(3))"),
    'e.card in {"a"}': (
        "HANDLER_FAILED",
        "a column has a value only when the job runs: use Spark functions, hr.f.round(...), and .is_in(...) instead of `in`",
    ),
    "round(e.amount)": (
        "HANDLER_FAILED",
        "a column has a value only when the job runs: use Spark functions, hr.f.round(...), and .is_in(...) instead of `in`",
    ),
    "0 < e.amount < 5": ("TRACED_BOOL", "a chained comparison needs a truth value: use (0 < e.amount) & (e.amount < 5)"),
    "0 <= e.amount <= 5": (
        "TRACED_BOOL",
        "a chained comparison needs a truth value: use e.amount.between(0, 5), or (0 <= e.amount) & (e.amount <= 5)",
    ),
    "e.a and e.b > 2 or e.c": (
        "TRACED_BOOL",
        "instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: e.a & (e.b > 2)",
    ),
    "not e.amount > 2": (
        "TRACED_BOOL",
        "instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: ~(e.amount > 2)",
    ),
    "1 if not e.amount else 2": (
        "TRACED_BOOL",
        "instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: ~e.amount",
    ),
}
DECIDES = "in a program use `with hr.when(...)` instead of `if`; for a conditional value use hr.case((condition, value), otherwise=value)"
EXPRESSIONS |= dict.fromkeys(("1 if e.amount > 1 else 2", "[1 for _ in (1,) if e.amount > 1]", "bool(e.amount)"), ("TRACED_BOOL", DECIDES))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_python_asks_and_the_cure(expression: str) -> None:
    with pytest.raises(hr.HeadraceError) as caught:
        trace(
            type("P", (Plain,), {"on_event": written(f"hr.emit(n=1)\nx = {expression}")}),
            name="p",
            key=("card",),
            inputs={"event": ("card", "amount", "a", "b", "c")},
        )
    assert (caught.value.code, caught.value.hint) == EXPRESSIONS[expression]
    assert str(caught.value.site) == "<made>:3"


@pytest.mark.parametrize(
    ("test", "instead"), [("e.amount > 1 and e.card", "(e.amount > 1) & e.card"), ("not e.amount > 1", "~(e.amount > 1)")]
)
def test_the_cure_of_a_part_of_a_condition(test: str, instead: str) -> None:
    with pytest.raises(hr.PlanError) as caught:
        tracing(written(f"hr.emit(n=1)\nif {test}:\n    pass"))()
    assert caught.value.hint is not None and caught.value.hint.endswith(f"parentheses around comparisons: {instead}")


@pytest.mark.parametrize("statement", ["if e.amount > 1:\n    pass", "assert e.amount > 1"])
def test_statements_that_ask(statement: str) -> None:
    with pytest.raises(hr.PlanError) as caught:
        tracing(written(f"hr.emit(n=1)\n{statement}"))()
    assert (caught.value.code, caught.value.hint) == ("TRACED_BOOL", DECIDES)


def test_a_text_made_of_a_column() -> None:
    def on_event(self, e):
        hr.emit(n=f"{e.card} was charged")

    check_error(
        """
        TRACED_VALUE: `e.card` has a value only when the job runs, so Python cannot convert it to a string
          at test_source.py:*: hr.emit(n=f"{e.card} was charged")
          hint: use hr.f.concat(...) or hr.f.format_string(...), or .cast("string") for one value; repr(...) shows the expression
          more: headrace error TRACED_VALUE
        """,
        tracing(on_event),
    )


def test_looking_at_things_stays_possible() -> None:
    seen: list[str] = []

    def on_event(self, e):
        seen.extend([repr(e.card), f"{e!r}", f"{self.n!r}", repr(self)[:1]])
        hr.emit(n=1)

    tracing(on_event)()
    assert seen == ["<Column e.card>", "<Row e: card, amount, ts>", "<Value n>", "<"]
    assert f"{hr.col('x')}" == str(hr.col("x")) == "<Column x>"
    assert str(Plain.n) == "<Value n>"


def test_an_exception_that_holds_a_column_is_shown() -> None:
    def on_event(self, e):
        raise ValueError(e.card)

    check_error(
        """
        HANDLER_FAILED: on_event of P raised ValueError: <Column e.card>
          at test_source.py:*: raise ValueError(e.card)
          hint: a handler runs once, when the program is built, not for each row: write logic that depends on a row with hr.when and columns
          more: headrace error HANDLER_FAILED
        """,
        tracing(on_event),
    )


# what must not be refused


FINE = {
    "a parameter decides": "if self.every > 1 and self.every is not None:\n    hr.emit(n=self.every)\nelse:\n    return",
    "a loop over names": 'for name in ("card", "amount"):\n    with hr.when(e[name] > 1):\n        hr.emit(n=name)',
    "texts of parameters": 'hr.emit(n=f"{self.every:03}" + str(self.every) + "%s" % len("abc"))',
    "is on plain values": "x = None\nif x is None:\n    x = e.amount\nhr.emit(n=x)",
    "is None on a list": "rows = [e.amount]\nif rows[0:1] is not None and rows is not None:\n    hr.emit(n=rows[0])",
    "is None on what a function gives": "def f(x): return None\nif f(e.amount) is None:\n    hr.emit(n=1)",
    "is None that one way makes plain": "x = e.amount\nif self.every:\n    x = None\nif x is None:\n    hr.emit(n=1)",
    "is None in a loop": "last = None\nfor x in (e.amount, e.card):\n    if last is None:\n        hr.emit(n=x)\n    last = x",
    "is between values": "x = y = e.amount\nhr.emit(n=1 if x is y else 2)",
    "sum of columns": "hr.emit(n=sum([e.amount, 3]))",
    "a row of a name that is no row": "e = {'a': None}\nif e is None or e['a'] is None:\n    hr.emit(n=1)",
    "bound and used in a branch": "with hr.when(e.amount > 1):\n    x = 2\n    hr.emit(n=x)\n    with hr.when(e.amount > 2):\n        hr.emit(n=x)",
    "bound again after it": "with hr.when(e.amount > 1):\n    x = 2\nx = 3\nhr.emit(n=x)",
    "bound again in each branch": "for w in (1, 2):\n    with hr.when(e.amount > w):\n        x = w\n        hr.emit(n=x)",
    "bound again by a loop": "with hr.when(e.amount > 1):\n    x = 2\n    hr.emit(n=x)\nfor x in (1, 2):\n    hr.emit(n=x)\nhr.emit(n=x)",
    "bound again by both ways": "with hr.when(e.amount > 1):\n    x = 2\nif self.every:\n    x = 3\nelse:\n    x = 4\nhr.emit(n=x)",
    "a way that ends": "x = 1\nif not self.every:\n    with hr.when(e.amount > 1):\n        x = 2\n    return\nhr.emit(n=x)",
    "after a loop that ends": "x = 1\nfor y in (1, 2):\n    if not self.every:\n        with hr.when(e.amount > 1):\n            x = 2\n        return\nhr.emit(n=x)",
    "the variable of a comprehension": "x = 1\nwith hr.when(e.amount > 1):\n    hr.emit(n=[x for x in (1, 2)][0])\nhr.emit(n=x)",
    "a function's own name": "x = 1\nwith hr.when(e.amount > 1):\n    def f(x):\n        y = x\n        return y\n    hr.emit(n=f(2))\ny = 5\nhr.emit(n=x + y)",
    "a parameter of a function": "with hr.when(e.amount > 1):\n    x = 2\n    hr.emit(n=x)\ndef f(x): return x\nhr.emit(n=f(1))",
    "what is changed, not bound": "seen = []\nwith hr.when(e.amount > 1):\n    seen.append(1)\nhr.emit(n=len(seen))",
    "a loop's own end": "with hr.when(e.amount > 1):\n    for x in range(5):\n        if x == 2:\n            break\n        if x == 0:\n            continue\n        hr.emit(n=x)",
    "a function's own return": "with hr.when(e.amount > 1):\n    def f(x):\n        return x\n    hr.emit(n=f(1))\n    hr.emit(n=(lambda: 1)())",
    "try over plain Python": "try:\n    x = {}['a']\nexcept KeyError as error:\n    x = 1\nhr.emit(n=x)",
    "finally around a when": "try:\n    with hr.when(e.amount > 1):\n        hr.emit(n=2)\nfinally:\n    x = 1\nhr.emit(n=x)",
    "raise over parameters": "if self.every is None:\n    raise ValueError(self.every)\nhr.emit(n=1)",
    "match over parameters": "match self.every:\n    case 3 | 4 as x:\n        hr.emit(n=x)\n    case {'a': 1, **rest}:\n        hr.emit(n=2)",
    "a condition with a walrus": "with hr.when((x := e.amount) > 1):\n    hr.emit(n=x)\nhr.emit(n=x)",
    "del": "x = 1\nwith hr.when(e.amount > 1):\n    x = 2\n    del x\nhr.emit(n=1)",
    "global read": "global tau\nwith hr.when(e.amount > 1):\n    hr.emit(n=hr.lit(1))",
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_what_is_fine(body: str) -> None:
    assert isinstance(tracing(written(body))(), Traced)


def test_a_parameter_of_the_program_that_may_be_a_column() -> None:
    class P(Plain):
        def __init__(self, limit=None):
            self.limit = limit

        def on_event(self, e):
            limit = e.amount if self.limit is None else self.limit
            with hr.when(e.amount > limit):
                hr.emit(n=1)

    for limit in (None, 3, hr.expr("e.amount")):
        assert trace(P(limit), name="p", key=("card",), inputs=CHARGES)


def with_default(e, n=None):
    with hr.when(e.amount > 1):
        hr.emit(n=0 if n is None else n)


def with_a_row_by_default(e, row=None):
    with hr.when(e.amount > 1):
        hr.emit(n=0 if row is None else 1)


def with_a_row_by_name(e, row=None, *, other=None):
    with hr.when(e.amount > 1):
        hr.emit(n=0 if other is None else 1)


def bound_anew(e, n):
    if n is None:
        n = e.amount
    with hr.when(n > 1):
        hr.emit(n=n)


def bound_in_one_way(e, n, deep=False):
    if deep:
        n = e.amount
    with hr.when(e.amount > 1):
        hr.emit(n=0 if n is None else n)


@pytest.mark.parametrize(
    "helper", [with_default, with_a_row_by_default, functools.partial(with_a_row_by_name, other=Plain.n), bound_anew, bound_in_one_way]
)
def test_a_parameter_of_a_function_that_may_be_a_column(helper: Any) -> None:
    def on_event(self, e):
        helper(e, e if helper is with_a_row_by_default else e.amount)
        helper(e, None)

    assert isinstance(tracing(on_event)(), Traced)


# functions that a handler calls


def test_a_function_is_looked_through_when_it_opens_a_branch() -> None:
    def fee(row, amount):
        rate = 1
        with hr.when(amount > 500):
            rate = 2
        return amount * rate

    def on_event(self, e):
        hr.emit(n=fee(e, e.amount))

    with pytest.raises(hr.ProgramError, match="NAME_FROM_WHEN") as caught:
        tracing(on_event)()
    assert caught.value.site is not None and caught.value.site.text == "return amount * rate"


@pytest.mark.parametrize("expression", ["row.amount is None", "row is None", "amount is None", "cell is None", "cell.get() is None"])
def test_what_a_function_was_called_with_is_traced(expression: str) -> None:
    names: dict[str, Any] = {"hr": hr}
    text = f"def helper(row, amount, cell):\n    with hr.when(amount > 1):\n        hr.emit(n=1 if {expression} else 2)\n"
    linecache.cache["<made>"] = (len(text), None, text.splitlines(keepends=True), "<made>")
    exec(compile(text, "<made>", "exec"), names)
    helper = names["helper"]

    def on_event(self, e):
        helper(e, e.amount, self.n)

    with pytest.raises(hr.PlanError, match="NULL_COMPARISON") as caught:
        tracing(on_event)()
    assert str(caught.value.site) == "<made>:3"


def test_a_branch_by_another_name() -> None:
    def on_event(self, e):
        large = hr.when(e.amount > 500)
        with large:
            return

    check_error(
        """
        LEAVES_WHEN: `return` inside a `with hr.when(...)` would end the handler for every row, not only where the condition holds
          at test_source.py:*: return
          hint: put the statements after it under `with hr.otherwise():`
          more: headrace error LEAVES_WHEN
        """,
        tracing(on_event),
    )


def test_several_branches_of_one_with() -> None:
    body = "over = hr.when\nwith (\n    over(e.amount > 1),\n    over(e.amount > 2),\n):\n    hr.emit(n=1)\n    x = 1\n"
    assert isinstance(tracing(written(body))(), Traced)
    assert refused(body + "hr.emit(n=x)") == ("NAME_FROM_WHEN", 8)


@pytest.mark.parametrize(
    "opened",
    [
        "hr.when(e.amount > 1).__enter__()\nhr.emit(n=1)",
        "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.enter_context(hr.when(e.amount > 1))\n    hr.emit(n=1)",
    ],
)
def test_a_branch_that_is_not_opened_by_a_with(opened: str) -> None:
    with pytest.raises(hr.ProgramError, match="WHEN_WITHOUT_WITH"):
        tracing(written(opened))()


# where the source comes from


def test_no_source() -> None:
    names: dict[str, Any] = {"hr": hr}
    exec("def on_event(self, e):\n    hr.emit(n=1)\n", names)
    check_error(
        """
        NO_SOURCE: the source of on_event of P cannot be read, so it cannot be checked
          at <string>:1
          hint: define the program in a file or notebook, and reload it when the file changes; a plan as JSON (`headrace plan FILE`) needs no source
          more: headrace error NO_SOURCE
        """,
        tracing(names["on_event"]),
    )


def test_no_source_of_a_function_that_opens_a_branch() -> None:
    names: dict[str, Any] = {"hr": hr}
    exec("def large(e):\n    with hr.when(e.amount > 1):\n        hr.emit(n=1)\n", names)

    def on_event(self, e):
        names["large"](e)

    with pytest.raises(hr.ProgramError, match="NO_SOURCE: the source of the function large cannot be read"):
        tracing(on_event)()


def test_no_source_of_what_is_not_python() -> None:
    with pytest.raises(hr.ProgramError, match="NO_SOURCE: the source of on_event of P, a builtin_function_or_method, cannot be read"):
        tracing(print)()


def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str) -> Any:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


CHANGES = {
    "moved": "\n\ndef on_event(self, e):\n    hr.emit(n=e.amount)\n",
    "renamed": "import headrace as hr\ndef on_row(self, e):\n    hr.emit(n=e.amount)\n",
    "other parameters": "import headrace as hr\ndef on_event(self, row):\n    hr.emit(n=row.amount)\n",
    "other names": "import headrace as hr\ndef on_event(self, e):\n    hr.emit(n=e.card)\n",
    "shorter": "import headrace as hr\ndef on_event(self, e): hr.emit(n=e.amount)\n",
    "broken": "import headrace as hr\ndef on_event(self, e:\n",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changed_after_it_was_loaded(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(tmp_path, monkeypatch, "import headrace as hr\ndef on_event(self, e):\n    hr.emit(n=e.amount)\n", "changing_program")
    assert tracing(module.on_event)()
    (tmp_path / "changing_program.py").write_text(change)
    with pytest.raises(hr.ProgramError, match="NO_SOURCE: the source of on_event of P has changed since it was loaded"):
        tracing(module.on_event)()


def test_a_module_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "programs.zip", "w") as archive:
        archive.writestr(
            "zipped_program.py", "import headrace as hr\ndef on_event(self, e):\n    with hr.when(e.amount > 1):\n        return\n"
        )
    monkeypatch.syspath_prepend(tmp_path / "programs.zip")
    with pytest.raises(hr.ProgramError, match="LEAVES_WHEN"):
        tracing(importlib.import_module("zipped_program").on_event)()


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


def test_a_decorated_handler() -> None:
    @logged
    def on_event(self, e):
        hr.emit(n=1 if e.amount is None else 2)

    with pytest.raises(hr.PlanError, match="NULL_COMPARISON"):
        tracing(on_event)()


def test_a_decorator_that_hides_its_function() -> None:
    def hidden(function: Any) -> Any:
        return lambda self, e: function(self, e)

    @hidden
    def on_event(self, e):
        with hr.when(e.amount > 1):
            return

    with pytest.raises(hr.ProgramError, match="LEAVES_WHEN"):
        tracing(on_event)()


def test_lambdas_of_one_line() -> None:
    one, two = (lambda self, e: hr.emit(n=e.amount), lambda self, e: hr.emit(n=e.amount if e.amount is not None else 0))
    assert tracing(one)()
    with pytest.raises(hr.PlanError, match="NULL_COMPARISON"):
        tracing(two)()


def test_partial_and_callable_objects() -> None:
    def on_event(limit, e):
        hr.emit(n=0 if limit is None else 1 if self_n.get() is None else limit)

    class Handler:
        def __call__(self, e):
            hr.emit(n=1 if e.amount is None else 2)

    class P(Plain):
        def __init__(self, handler: Any) -> None:
            self.on_event = handler

    self_n = Plain.n
    for handler in (functools.partial(on_event, 3), Handler()):
        with pytest.raises(hr.PlanError, match=r"NULL_COMPARISON: `(self_n.get|e.amount)"):
            trace(P(handler), name="p", key=("card",), inputs=CHARGES)


def test_a_handler_of_a_base_class_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '''
        import headrace as hr
        class Base(hr.Program):
            """Text that
        stands at the margin."""
            n = hr.Value("int")
            def on_event(self, e):
                """
        at the margin
                """
                hr.emit(n=1 if self.n is None else 2)
        '''
    module = load(tmp_path, monkeypatch, textwrap.dedent(text), "base_program")

    class P(module.Base):  # type: ignore[name-defined]
        pass

    with pytest.raises(hr.PlanError, match="NULL_COMPARISON") as caught:
        trace(P, name="p", key=("card",), inputs=CHARGES)
    assert caught.value.site is not None and caught.value.site.file.endswith("base_program.py") and caught.value.site.line == 11


def test_names_from_elsewhere_are_known_for_what_they_are() -> None:
    from headrace import case, f, when

    def on_event(self, e):
        with when(e.amount > 1):
            hr.emit(n=1 if case((True, 1)) is None else 2)

    def by_function(self, e):
        hr.emit(n=1 if f.upper(e.card) is None else 2)

    for handler in (on_event, by_function):
        with pytest.raises(hr.PlanError, match="NULL_COMPARISON"):
            tracing(handler)()


def test_a_program_in_json_needs_no_source() -> None:
    names: dict[str, Any] = {"hr": hr}
    exec("class P(hr.Program):\n    def on_event(self, e):\n        hr.emit(n=e.amount)\n", names)
    text = "class P(hr.Program):\n    def on_event(self, e):\n        hr.emit(n=e.amount)\n"
    with pytest.raises(hr.ProgramError, match="NO_SOURCE"):
        trace(names["P"], name="p", key=("card",), inputs=CHARGES)
    namespace: dict[str, Any] = {"hr": hr}
    linecache.cache["<made>"] = (len(text), None, text.splitlines(keepends=True), "<made>")
    exec(compile(text, "<made>", "exec"), namespace)
    traced = trace(namespace["P"], name="p", key=("card",), inputs=CHARGES)
    linecache.cache.pop("<made>")
    assert Traced.from_json(traced.to_json()) == traced


def test_an_entry_is_traced() -> None:
    class P(hr.Program):
        xs = hr.List("int")

        def on_event(self, e):
            with hr.each(self.xs) as it:
                if it.value is None:
                    hr.emit(n=1)

    check_error(
        """
        NULL_COMPARISON: `it.value is None` is evaluated once, when the program is traced: it is false for every row
          at test_source.py:*: if it.value is None:
          hint: use it.value.is_null()
          more: headrace error NULL_COMPARISON
        """,
        lambda: trace(P, name="p", key=("card",), inputs={"event": ("card",)}),
    )
