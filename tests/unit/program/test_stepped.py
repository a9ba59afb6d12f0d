"""A traced program that also emits its steps: which points it has, and that the program itself stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import headrace as hr
from headrace.program import Traced, trace
from headrace.program.statement import Add, Body, Each, Emit, Let, Read, Set, Statement, When, every
from headrace.program.stepped import STEPS, Stepped, stepped
from headrace.schema import parse_schema


class Everything(hr.Program):
    """One of each statement."""

    n = hr.Value("int")
    words = hr.List("string")
    seen = hr.Map("string", "int")
    total = hr.Aggregate("sum(x)", "x int")
    due = hr.Timer()
    large = hr.Output()

    def on_event(self, e):
        n = self.n.get()
        local = hr.let(e.amount, "int")
        self.words.append(e.word)
        self.words.set(None)
        self.seen.set(e.word, n)
        self.seen.remove(e.word)
        self.seen.clear()
        self.total.add(x=e.amount)
        self.due.set(e.ts)
        with hr.each(self.seen) as it:
            it.set(0)
        with hr.each(self.words) as it:
            it.remove()
        with hr.when(e.amount > 3):
            local.set(4)
            hr.emit(word=e.word, amount=local.get())
        with hr.elsewhen(self.words.size() > 1):
            hr.reject("too many")

    def on_due(self, at):
        self.large.emit(at=at, nothing=None)


TYPES = {"main": parse_schema("word string, amount int"), "large": parse_schema("at timestamp, nothing string")}


def traced() -> Traced:
    return trace(Everything, name="Everything", key=("card",), inputs={"event": ("card", "word", "amount", "ts")})


def steps(keyed: bool = True, without: int | None = None) -> Stepped:
    return stepped(traced(), TYPES, keyed=keyed, without=without)


def statements(program: Traced, on: str) -> list[Statement]:
    return [one for handler in program.handlers if handler.on == on for one in every(handler.body)]


def test_the_points() -> None:
    """One for each step that a reader of the handler would name; none for a rejected row, whose effects are undone."""
    whats = [(one.on, one.what if one.branch is None else f"{one.what} {one.branch}") for one in steps().points]
    assert whats == [
        ("event", what)
        for what in (
            *("begin", "read", "let", "append", "set", "set", "clear", "clear", "add", "set"),
            *("entry", "replace", "end", "entry", "replace", "end"),
            *("branch 0", "let", "let", "emit", "branch 1", "read", "branch 0", "branch 1"),
        )
    ] + [("due", "begin"), ("due", "emit")]


def test_each_step_names_its_point_and_its_values() -> None:
    whole = steps()
    columns = whole.program.columns(STEPS)
    assert columns[:3] == ("number", "row", "point")
    assert {one.column for one in whole.points} - {None} == set(columns[3:])
    emits = [one for handler in whole.program.handlers for one in every(handler.body) if isinstance(one, Emit) and one.output == STEPS]
    for number, (emit, point) in enumerate(zip(emits, whole.points, strict=True)):
        assert dict(emit.row)["point"] == str(number)
        own = () if point.column is None else (point.column,)
        assert tuple(name for name, text in emit.row if text != "NULL") == ("number", "row", "point", *own)
        assert emit.site == (None if point.statement is None else point.statement.site)


def test_the_columns_do_not_grow_with_the_rules() -> None:
    """A program may have a branch for each of many rules."""

    class Rules(hr.Program):
        n = hr.Value("int", default=0)

        def __init__(self, count: int) -> None:
            self.count = count

        def on_event(self, e):
            for limit in range(self.count):
                with hr.when(e.amount > limit):
                    self.n.set(self.n.get() + 1)
                    hr.emit(amount=e.amount)

    def size(count: int) -> tuple[int, int]:
        of = trace(Rules(count), name="Rules", key=("card",), inputs={"event": ("card", "amount")})
        whole = stepped(of, {"main": parse_schema("amount int")}, keyed=True)
        return len(whole.points), len(whole.program.columns(STEPS))

    (few, columns), (many, same) = size(2), size(50)
    assert (few, many) == (11, 251)
    assert columns == same == 7


def test_an_expression_is_evaluated_once() -> None:
    """What is emitted or stored is a local, which the step names, too: rand() has one value."""
    added = {"__number", "__row"}
    for one in statements(steps().program, "event"):
        match one:
            case Emit(output="main", row=row):
                assert all(text.startswith("__value_") for _, text in row)
            case Set(cell=cell, value=value) if cell not in added:
                assert value.startswith(("__value_", "NULL"))
    texts = [one.value for one in statements(steps().program, "event") if isinstance(one, Let)]
    assert texts.count("e.word") == 4


def test_without_steps_it_is_the_program() -> None:
    """Without what was added, and with the texts of its locals in their places, it is the program itself."""

    def own(body: Body) -> Body:
        texts: dict[str, str] = {}
        statements: list[Statement] = []
        for one in body:
            match one:
                case Let(local=local, value=value) if local.startswith("__"):
                    texts[local] = value
                case Read(local=local) if local.startswith("__"):
                    pass
                case Emit(output=output) if output == STEPS:
                    pass
                case Set(cell=cell) if cell.startswith("__"):
                    pass
                case When():
                    branches = tuple((condition, own(inner)) for condition, inner in one.branches)
                    added = branches[-1] == (None, ())
                    statements.append(replace(one, branches=branches[:-1] if added else branches))
                case Each():
                    statements.append(replace(one, body=own(one.body)))
                case _:
                    row = {"row": tuple((name, written(text, texts)) for name, text in one.row)} if isinstance(one, Emit | Add) else {}
                    parts = {name: getattr(one, name, None) for name in ("key", "value")}
                    values = {name: written(text, texts) for name, text in parts.items() if text is not None}
                    statements.append(replace(one, **row, **values))
        return tuple(statements)

    def written(text: str, texts: Mapping[str, str]) -> str:
        return "NULL" if re.fullmatch(r"CAST\(NULL AS \w+\)", text) else texts.get(text, text)

    for before, after in zip(traced().handlers, steps().program.handlers, strict=True):
        assert own(after.body) == before.body


def test_what_is_left_out() -> None:
    """The handlers of rows are under a condition on the number of the row; those of timers are not."""
    body = next(one for one in steps(without=7).program.handlers if one.on == "event").body
    (when,) = [one for one in body if one.do == "when"]
    assert when.branches[0][0] == "__row != 7L"
    assert [one.do for one in body] == ["read", "let", "read", "let", "set", "when", "set"]
    assert [one.do for one in next(one for one in steps(without=7).program.handlers if one.on == "due").body][:2] == ["read", "let"]


def test_a_program_without_key() -> None:
    (begin, *_) = [one for one in statements(steps(keyed=False).program, "event") if isinstance(one, Emit)]
    assert [text for _, text in begin.row if text.startswith("named_struct")] == ["named_struct('e', e)"]


def test_times_are_recorded_where_they_are_read() -> None:
    class Now(hr.Program):
        def on_event(self, e):
            hr.emit(now=hr.now(), watermark=hr.watermark())

    of = trace(Now, name="Now", key=("card",), inputs={"event": ("card",)})
    begin = stepped(of, {"main": parse_schema("now timestamp, watermark timestamp")}, keyed=True).program.handlers[0].body
    emit = next(one for one in begin if isinstance(one, Emit))
    assert dict(emit.row)["values 0"] == "named_struct('e', e, 'key', key, 'now', __now, 'watermark', __watermark)"
