"""A traced program that also emits its steps: which points it has, and that the program itself stays as it is."""

from __future__ import annotations

import headrace as hr
from headrace.program import Traced, trace
from headrace.program.statement import Emit, Let, Read, Set, Statement, every
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


def test_each_step_has_a_column() -> None:
    whole = steps()
    columns = whole.program.columns(STEPS)
    assert columns[:2] == ("number", "row")
    assert len(columns) == len(whole.points) + 2
    emits = [one for handler in whole.program.handlers for one in every(handler.body) if isinstance(one, Emit) and one.output == STEPS]
    for number, emit in enumerate(emits):
        assert [name for name, text in emit.row if text != "NULL"] == ["number", "row", columns[number + 2]]
        assert emit.site == whole.points[number].statement.site if whole.points[number].statement is not None else emit.site is None


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
    """Without what was added, the handlers read the same cells and emit to the same outputs, in the same order."""

    def essence(program: Traced, on: str) -> list[tuple[str, str]]:
        own = [one for one in statements(program, on) if not isinstance(one, Let)]
        named = [(one.do, str(getattr(one, "cell", getattr(one, "output", "")))) for one in own]
        before = {one.local for one in own if isinstance(one, Read) and one.local.startswith("__")}
        return [
            pair
            for one, pair in zip(own, named, strict=True)
            if pair[1] not in (STEPS, "__number", "__row") and not (isinstance(one, Read) and one.local in before)
        ]

    for on in ("event", "due"):
        assert essence(steps().program, on) == essence(traced(), on)


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
    assert dict(emit.row)["step 0"] == "named_struct('e', e, 'key', key, 'now', __now, 'watermark', __watermark)"
