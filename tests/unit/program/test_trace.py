"""What a program does becomes data: statements, their texts and order."""

from __future__ import annotations

import contextlib
import datetime as dt
import inspect
import json
from decimal import Decimal
from typing import Any

import headrace as hr
from headrace.program import Clear, Emit, Read, Set, Statement, Traced, TracedCell, TracedOutput, When, trace
from tests.models.fraud import SmallThenLarge

CHARGES = {"event": ("card", "amount", "ts")}


def traced(program: Any, key: tuple[str, ...] = ("card",), inputs: dict[str, tuple[str, ...]] = CHARGES) -> Traced:
    result = trace(program, name="p", key=key, inputs=inputs)
    assert Traced.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert Traced.from_json(result.to_json()).to_json() == result.to_json()
    return result


def body(program: Any, on: str = "event", kind: str = "input", **options: Any) -> tuple[Statement, ...]:
    return next(handler.body for handler in traced(program, **options).handlers if handler.on == on and handler.kind == kind)


def test_the_first_example() -> None:
    program = traced(SmallThenLarge)
    assert program.cells == (TracedCell("small_at", "value", "timestamp"), TracedCell("forget", "timer", "timestamp", clock="event"))
    assert program.outputs == (TracedOutput("main", ("card", "amount", "at")),)
    assert program.clock == "event"
    assert [(handler.on, handler.kind) for handler in program.handlers] == [("event", "input"), ("forget", "timer")]
    assert program.handlers[0].body == (
        Read("small_at__1", "small_at"),
        When(
            (
                (
                    "small_at__1 IS NOT NULL AND e.amount > 500",
                    (Emit("main", (("card", "key.card"), ("amount", "e.amount"), ("at", "e.ts"))), Clear("small_at")),
                ),
            )
        ),
        When((("e.amount < 1", (Set("small_at", "e.ts"), Set("forget", "e.ts + INTERVAL '0 00:01:00' DAY TO SECOND"))),)),
    )
    assert program.handlers[1].body == (Clear("small_at"),)


def test_every_statement_has_its_line() -> None:
    def sites(statements: tuple[Statement, ...]) -> list[str]:
        texts = []
        for statement in statements:
            assert statement.site is not None and statement.site.file == inspect.getsourcefile(SmallThenLarge)
            texts.append(statement.site.text)
            if isinstance(statement, When):
                for _, inner in statement.branches:
                    texts += sites(inner)
        return texts

    assert sites(body(SmallThenLarge)) == [
        "with hr.when(self.small_at.exists() & (e.amount > 500)):",
        "with hr.when(self.small_at.exists() & (e.amount > 500)):",
        "hr.emit(card=self.key.card, amount=e.amount, at=e.ts)",
        "self.small_at.clear()",
        "with hr.when(e.amount < 1):",
        "self.small_at.set(e.ts)",
        "self.forget.set(e.ts + hr.minutes(1))",
    ]
    cells = traced(SmallThenLarge).cells
    assert [cell.site.text for cell in cells if cell.site] == ['small_at = hr.Value("timestamp")', "forget = hr.Timer()"]


def test_each_read_is_a_snapshot_of_its_own() -> None:
    class P(hr.Program):
        n = hr.Value("int")

        def on_event(self, e):
            before = self.n.get()
            self.n.set(before + 1)
            hr.emit(before=before, after=self.n.get())

    assert body(P) == (
        Read("n__1", "n"),
        Set("n", "n__1 + 1"),
        Read("n__2", "n"),
        Emit("main", (("before", "n__1"), ("after", "n__2"))),
    )


def test_literals_and_sql() -> None:
    class P(hr.Program):
        n = hr.Value("int")

        def on_event(self, e):
            self.n.set(None)
            hr.emit(a=1, b="x", c=Decimal("1.50"), d=True, e=hr.expr("abs(e.amount)"), f=hr.f.upper("key.card"), g=hr.lit("e.ts"), h=None)
            with hr.when("e.amount > 1 AND key.card = 'a'"):
                self.n.set(hr.case((e.amount > 1, "x"), otherwise="y"))
            with hr.when(False):
                self.n.clear()

    assert body(P) == (
        Set("n", "NULL"),
        Emit(
            "main",
            (
                *(("a", "1"), ("b", "'x'"), ("c", "1.50BD"), ("d", "true"), ("e", "abs(e.amount)")),
                *(("f", "upper(key.card)"), ("g", "'e.ts'"), ("h", "NULL")),
            ),
        ),
        When((("e.amount > 1 AND key.card = 'a'", (Set("n", "CASE WHEN e.amount > 1 THEN 'x' ELSE 'y' END"),)),)),
        When((("false", (Clear("n"),)),)),
    )


def test_names_that_are_no_python_names() -> None:
    class P(hr.Program):
        größe = hr.Value("int")

        def on_event(self, e):
            hr.emit({"two words": e["a b"]}, g=self.größe.get(), f=e._file, k=self.key["the key"], case=e.case)

    statements = body(P, key=("the key",), inputs={"event": ("a b", "_file", "case")})
    assert statements[1] == Emit(
        "main", (("two words", "e.`a b`"), ("g", "`größe__1`"), ("f", "e._file"), ("k", "key.`the key`"), ("case", "e.`case`"))
    )


def test_columns_are_found_without_case_as_spark_does() -> None:
    class P(hr.Program):
        def on_event(self, e):
            hr.emit(a=e.AMOUNT)

    assert body(P) == (Emit("main", (("a", "e.AMOUNT"),)),)


def test_branches_nest_and_follow() -> None:
    class P(hr.Program):
        def on_event(self, e):
            with hr.when(e.amount > 1):
                with hr.when(e.amount > 2):
                    hr.emit(n=2)
                with hr.otherwise():
                    hr.emit(n=1)
            with hr.elsewhen(e.amount > 0):
                hr.emit(n=0)
            with hr.elsewhen(e.amount == 0):
                pass
            with hr.otherwise():
                hr.emit(n=-1)

    def one(n: str) -> tuple[Emit, ...]:
        return (Emit("main", (("n", n),)),)

    assert body(P) == (
        When(
            (
                ("e.amount > 1", (When((("e.amount > 2", one("2")), (None, one("1")))),)),
                ("e.amount > 0", one("0")),
                ("e.amount = 0", ()),
                (None, one("-1")),
            )
        ),
    )


def test_every_branch_has_its_line() -> None:
    class P(hr.Program):
        def on_event(self, e):
            with hr.when(e.amount > 1):
                hr.emit(n=1)
            with hr.elsewhen(e.amount > 0):
                hr.emit(n=0)
            with hr.otherwise():
                hr.emit(n=-1)

    [chain] = body(P)
    assert isinstance(chain, When) and chain.sites is not None
    assert [site and site.text for site in chain.sites] == [
        "with hr.when(e.amount > 1):",
        "with hr.elsewhen(e.amount > 0):",
        "with hr.otherwise():",
    ]
    assert chain.sites[0] == chain.site


def test_cells_in_the_condition_of_elsewhen_are_read_only_where_it_is_evaluated() -> None:
    class P(hr.Program):
        n = hr.Value("int")

        def on_event(self, e):
            with hr.when(e.amount > 1):
                self.n.set(1)
            with hr.elsewhen(self.n.get() > 2):
                self.n.set(2)
            with hr.elsewhen(self.n.get() > 3):
                self.n.set(3)
            with hr.otherwise():
                self.n.set(4)
            hr.emit(n=self.n.get())

    last = When((("n__2 > 3", (Set("n", "3"),)), (None, (Set("n", "4"),))))
    middle = When((("n__1 > 2", (Set("n", "2"),)), (None, (Read("n__2", "n"), last))))
    assert body(P) == (
        When((("e.amount > 1", (Set("n", "1"),)), (None, (Read("n__1", "n"), middle)))),
        Read("n__3", "n"),
        Emit("main", (("n", "n__3"),)),
    )


def test_a_snapshot_from_outside_is_known_inside() -> None:
    class P(hr.Program):
        n = hr.Value("int")

        def on_event(self, e):
            n = self.n.get()
            with hr.when(n > 1):
                with hr.when(e.amount > n):
                    hr.emit(n=n)

    assert body(P) == (Read("n__1", "n"), When((("n__1 > 1", (When((("e.amount > n__1", (Emit("main", (("n", "n__1"),)),)),)),)),)))


def test_an_exception_in_a_branch_leaves_nothing_behind() -> None:
    class P(hr.Program):
        def on_event(self, e):
            with contextlib.suppress(KeyError):
                self.large(e)
            hr.emit(n=2)

        def large(self, e):
            with hr.when(e.amount > 1):
                hr.emit(n={}["one"])

    assert body(P) == (Emit("main", (("n", "2"),)),)


def test_rows_as_a_whole_keep_the_order_of_their_columns() -> None:
    class P(hr.Program):
        copy = hr.Output()

        def on_event(self, e):
            hr.emit(e, large=e.amount > 500)
            self.copy.emit(self.key, at=e.ts)

    program = traced(P, inputs={"event": ("ts", "card", "amount")})
    assert program.columns("main") == ("ts", "card", "amount", "large")
    assert program.columns("copy") == ("card", "at")


def test_the_first_emit_gives_the_order() -> None:
    class P(hr.Program):
        def on_event(self, e):
            hr.emit(a=1, b=2)
            hr.emit(b=3, a=4)

    assert body(P)[1] == Emit("main", (("a", "4"), ("b", "3")))


def test_side_outputs_only() -> None:
    class P(hr.Program):
        large = hr.Output()

        def on_event(self, e):
            self.large.emit(card=self.key.card)

    assert traced(P).outputs == (TracedOutput("main", ()), TracedOutput("large", ("card",)))


def test_inputs_late_rows_and_timers() -> None:
    class Joined(hr.Program):
        temp = hr.Value("double")
        second = hr.Timer()
        first = hr.Timer(was="zeroth")

        def on_first(self, at):
            hr.emit(at=at, temp=self.temp.get())

        def on_second(self, at):
            self.first.set(at + dt.timedelta(seconds=1))
            with hr.when(self.first.at() > at):
                self.first.clear()

        def on_weather(self, row):
            self.temp.set(row.temp)

        def on_aircraft(self, row):
            self.second.set(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))

        def on_event(self, flight):
            self.second.set(flight.at)

        def on_late(self, flight):
            hr.emit(at=flight.at, temp=None)

    program = traced(Joined, key=("origin",), inputs={"event": ("origin", "at"), "weather": ("origin", "temp"), "aircraft": ("origin",)})
    assert [(handler.on, handler.kind) for handler in program.handlers] == [
        *(("event", "input"), ("aircraft", "input"), ("weather", "input"), ("late", "late"), ("second", "timer"), ("first", "timer"))
    ]
    assert [cell.name for cell in program.cells] == ["temp", "second", "first"]
    assert program.cells[2].was == "zeroth"
    assert program.handlers[1].body == (Set("second", "TIMESTAMP '2026-01-01 00:00:00+00:00'"),)
    assert program.handlers[2].body == (Set("temp", "e.temp"),)
    assert program.handlers[3].body == (Emit("main", (("at", "e.at"), ("temp", "NULL"))),)
    assert program.handlers[4].body == (
        Set("first", "at + INTERVAL '0 00:00:01' DAY TO SECOND"),
        Read("first__1", "first"),
        When((("first__1 > at", (Clear("first"),)),)),
    )


def test_cells_of_base_classes_and_of_init() -> None:
    class Base(hr.Program):
        a = hr.Value("int")
        gone = hr.Value("int")
        b = hr.Value("int")

        def on_event(self, e):
            self.count(e)
            hr.emit(n=self.n.get(), limit=self.limit)

        def count(self, e):
            with hr.when(e.amount > self.limit):
                self.n.set(1)

    class Derived(Base):
        gone = None
        c = hr.Value("string")
        b = hr.Value("bigint")

        def __init__(self, limit, kind="int"):
            self.limit = limit
            self.n = hr.Value(kind)

    program = traced(Derived(500, kind="LONG"))
    assert [(cell.name, cell.type) for cell in program.cells] == [("a", "int"), ("b", "bigint"), ("c", "string"), ("n", "bigint")]
    assert program.handlers[0].body[0] == When((("e.amount > 500", (Set("n", "1"),)),))
    assert traced(Derived(7)).handlers[0].body[0] == When((("e.amount > 7", (Set("n", "1"),)),))


def test_types_are_ddl_or_pyspark_types() -> None:
    from pyspark.sql.types import DecimalType

    class P(hr.Program):
        a = hr.Value("DECIMAL(10, 2)")
        b = hr.Value(DecimalType(10, 2))

        def on_event(self, e):
            hr.emit(a=self.a.get())

    assert [cell.type for cell in traced(P).cells] == ["decimal(10,2)", "decimal(10,2)"]


def test_processing_time() -> None:
    class P(hr.Program):
        wake = hr.Timer(clock="processing")

        def on_event(self, e):
            self.wake.set(hr.expr("current_timestamp() + INTERVAL 1 MINUTE"))

        def on_wake(self, at):
            hr.emit(at=at)

    assert traced(P).clock == "processing"


def test_without_keys() -> None:
    class P(hr.Program):
        def on_event(self, e):
            hr.emit(amount=e.amount)

    assert traced(P, key=()).clock == "none"


def test_tracing_twice_gives_the_same() -> None:
    program = SmallThenLarge()
    assert traced(program) == traced(program) == traced(SmallThenLarge)
