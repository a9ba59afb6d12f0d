"""What programs may not do: each refusal is compared whole and stands at the user's line."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import Site
from headrace.program import Traced, trace
from headrace.program.recording import is_recording
from tests.unit.errors import check_error

CHARGES = {"event": ("card", "amount", "ts")}


class Plain(hr.Program):
    """What the programs below are cut out of."""

    n = hr.Value("int")
    wake = hr.Timer()
    large = hr.Output()

    def on_event(self, e):
        hr.emit(n=1)
        self.large.emit(n=1)

    def on_wake(self, at):
        self.n.clear()


def tracing(handler: Any, program: type[hr.Program] = Plain) -> Any:
    """A call that traces the program with another on_event."""
    return lambda: trace(type("P", (program,), {"on_event": handler}), name="p", key=("card",), inputs=CHARGES)


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    yield
    assert not is_recording()


# Python's own control flow


def test_if_on_a_value() -> None:
    def on_event(self, e):
        if self.n.get() > 3:
            hr.emit(n=1)

    check_error(
        """
        TRACED_BOOL: `self.n.get() > 3` has a value only when the job runs, so Python cannot use it as a condition
          at test_refusals.py:*: if self.n.get() > 3:
          hint: in a program use `with hr.when(...)` instead of `if`; for a conditional value use hr.case((condition, value), otherwise=value)
          more: headrace error TRACED_BOOL
        """,
        tracing(on_event),
    )


def test_and_on_values() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1 and e.amount < 5):
            hr.emit(n=1)

    check_error(
        """
        TRACED_BOOL: `e.amount > 1` has a value only when the job runs, so Python cannot use it as a condition
          at test_refusals.py:*: with hr.when(e.amount > 1 and e.amount < 5):
          hint: instead of `and`, `or`, `not` use &, |, ~ with parentheses around comparisons: (e.amount > 1) & (e.amount < 5)
          more: headrace error TRACED_BOOL
        """,
        tracing(on_event),
    )


def test_in_on_values() -> None:
    def on_event(self, e):
        with hr.when(e.card in ("a", "b")):
            hr.emit(n=1)

    check_error(
        """
        TRACED_BOOL: `e.card = 'a'` has a value only when the job runs, so Python cannot use it as a condition
          at test_refusals.py:*: with hr.when(e.card in ("a", "b")):
          hint: instead of `in` use e.card.is_in("a", "b")
          more: headrace error TRACED_BOOL
        """,
        tracing(on_event),
    )


def test_a_loop_over_a_value() -> None:
    def on_event(self, e):
        for _ in e.card:
            hr.emit(n=1)

    check_error(
        """
        TRACED_VALUE: `e.card` has a value only when the job runs, so Python cannot loop over it
          at test_refusals.py:*: for _ in e.card:
          hint: loop over a list or map with `with hr.each(self.xs) as it:`; for one item of an array use [0]; for a row per item, .explode("xs").key_by(...) before the program
          more: headrace error TRACED_VALUE
        """,
        tracing(on_event),
    )


# cells and rows


def test_an_operator_on_a_cell() -> None:
    def on_event(self, e):
        hr.emit(n=self.n + 1)

    check_error(
        """
        CELL_OPERATOR: `n` is a cell, not its value, so Python cannot compute with it
          at test_refusals.py:*: hr.emit(n=self.n + 1)
          hint: read it: self.n.get(); write it: self.n.set(...)
          more: headrace error CELL_OPERATOR
        """,
        tracing(on_event),
    )


def test_a_loop_over_entries() -> None:
    class Seen(hr.Program):
        seen = hr.List("int")

        def on_event(self, e):
            for _ in self.seen:
                hr.emit(n=1)

    check_error(
        """
        CELL_OPERATOR: `seen` is a cell, not its value, so Python cannot loop over it
          at test_refusals.py:*: for _ in self.seen:
          hint: loop over it: with hr.each(self.seen) as it: ...
          more: headrace error CELL_OPERATOR
        """,
        lambda: trace(Seen, name="p", key=("card",), inputs={"event": ("card",)}),
    )


def test_a_cell_as_a_value() -> None:
    def on_event(self, e):
        hr.emit(late=e.ts > self.wake)

    check_error(
        """
        CELL_OPERATOR: `wake` is a cell, not its value, so Python cannot use it as a value
          at test_refusals.py:*: hr.emit(late=e.ts > self.wake)
          hint: read it: self.wake.at(); write it: self.wake.set(...)
          more: headrace error CELL_OPERATOR
        """,
        tracing(on_event),
    )


@pytest.mark.parametrize(
    "use",
    [
        *(lambda c: c == 1, lambda c: c != 1, lambda c: c < 1, lambda c: 1 + c, lambda c: -c, lambda c: ~c, lambda c: c & True),
        *(bool, iter, len, int, float, lambda c: 1 in c, lambda c: c[0], lambda c: c(), lambda c: hr.col("x") + c, lambda c: hr.lit(c)),
        *(lambda c: hr.when(c), lambda c: hr.case((True, c)), lambda c: hr.emit(n=c)),
    ],
)
@pytest.mark.parametrize("what", ["cell", "row"])
def test_every_use_of_a_cell_or_row_as_a_value_is_refused(use, what) -> None:
    def on_event(self, e):
        use(self.n if what == "cell" else e)

    with pytest.raises(hr.ProgramError) as caught:
        tracing(on_event)()
    assert caught.value.code == ("CELL_OPERATOR" if what == "cell" else "ROW_OPERATOR")


def test_a_row_as_a_value() -> None:
    def on_event(self, e):
        self.n.set(e)

    check_error(
        """
        ROW_OPERATOR: `e` is a row, so Python cannot use it as a value
          at test_refusals.py:*: self.n.set(e)
          hint: use its columns: e.card; all of them: hr.emit(e, ...)
          more: headrace error ROW_OPERATOR
        """,
        tracing(on_event),
    )


def test_the_key_as_a_value() -> None:
    def on_event(self, e):
        with hr.when(self.key == "a"):
            hr.emit(n=1)

    check_error(
        """
        ROW_OPERATOR: `key` is a row, so Python cannot compare it
          at test_refusals.py:*: with hr.when(self.key == "a"):
          hint: use its columns: self.key.card
          more: headrace error ROW_OPERATOR
        """,
        tracing(on_event),
    )


def test_an_unknown_column() -> None:
    def on_event(self, e):
        hr.emit(n=e.amout)

    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in input `event` of P
          at test_refusals.py:*: hr.emit(n=e.amout)
          hint: did you mean `amount`? It has: card, amount, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        tracing(on_event),
    )


def test_an_unknown_column_of_the_key() -> None:
    def on_event(self, e):
        hr.emit(n=self.key.amount)

    check_error(
        """
        UNKNOWN_COLUMN: no column `amount` in the key of P
          at test_refusals.py:*: hr.emit(n=self.key.amount)
          hint: it has: card
          more: headrace error UNKNOWN_COLUMN
        """,
        tracing(on_event),
    )


def test_an_unknown_column_in_sql_text() -> None:
    def on_event(self, e):
        hr.emit(n=hr.expr("amount * 2"))

    check_error(
        """
        UNKNOWN_COLUMN: no column `amount` in on_event of P
          at test_refusals.py:*: hr.emit(n=hr.expr("amount * 2"))
          hint: did you mean `e.amount`? SQL in this handler can use e.card, e.amount, e.ts, key.card
          more: headrace error UNKNOWN_COLUMN
        """,
        tracing(on_event),
    )


def test_an_unknown_field_in_sql_text() -> None:
    def on_event(self, e):
        with hr.when("e.amout > 2"):
            hr.emit(n=1)

    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in input `event` of P
          at test_refusals.py:*: with hr.when("e.amout > 2"):
          hint: did you mean `amount`? It has: card, amount, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        tracing(on_event),
    )


def test_a_row_in_a_timer() -> None:
    class P(Plain):
        def on_wake(self, at):
            hr.emit(n=hr.expr("e.amount"))

    check_error(
        """
        UNKNOWN_COLUMN: no column `e` in on_wake of P
          at test_refusals.py:*: hr.emit(n=hr.expr("e.amount"))
          hint: SQL in this handler can use at, key.card
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: trace(P, name="p", key=("card",), inputs=CHARGES),
    )


def test_assigning_to_a_cell() -> None:
    def on_event(self, e):
        self.n = e.amount

    check_error(
        """
        HANDLER_ASSIGNS: `self.n = ...` would replace the Value `n`, not what it holds
          at test_refusals.py:*: self.n = e.amount
          hint: self.n.set(...)
          more: headrace error HANDLER_ASSIGNS
        """,
        tracing(on_event),
    )


def test_assigning_to_an_attribute() -> None:
    def on_event(self, e):
        self.seen = True

    check_error(
        """
        HANDLER_ASSIGNS: `self.seen = ...` in a handler would run once, when the program is traced, not for each row
          at test_refusals.py:*: self.seen = True
          hint: declare a cell, seen = hr.Value(...), and set it with self.seen.set(...); within one call use a local variable
          more: headrace error HANDLER_ASSIGNS
        """,
        tracing(on_event),
    )


def test_a_cell_of_another_program() -> None:
    other = Plain()

    def on_event(self, e):
        Other.count.set(1)

    class Other(hr.Program):
        count = hr.Value("int")

    assert other
    check_error(
        """
        FOREIGN_CELL: the Value `count` is used in P, but is not an attribute of it
          at test_refusals.py:*: Other.count.set(1)
          hint: declare it in the program: seen = hr.Value(...) in the class or in __init__
          more: headrace error FOREIGN_CELL
        """,
        tracing(on_event),
    )


def test_an_output_of_another_program() -> None:
    stray = hr.Output()

    def on_event(self, e):
        stray.emit(n=1)

    check_error(
        """
        FOREIGN_CELL: an Output is used in P, but is not an attribute of it
          at test_refusals.py:*: stray.emit(n=1)
          hint: declare it in the program: large = hr.Output() in the class or in __init__
          more: headrace error FOREIGN_CELL
        """,
        tracing(on_event),
    )


def test_a_timer_set_to_a_duration() -> None:
    def on_event(self, e):
        self.wake.set(hr.minutes(5))

    check_error(
        """
        TIMER_TIME: `wake` is set to datetime.timedelta(seconds=300), which is not a time
          at test_refusals.py:*: self.wake.set(hr.minutes(5))
          hint: add to a time: self.wake.set(e.ts + hr.minutes(5))
          more: headrace error TIMER_TIME
        """,
        tracing(on_event),
    )


def test_an_unknown_clock() -> None:
    check_error(
        """
        BAD_CLOCK: there is no clock 'wall'
          at test_refusals.py:*: lambda: hr.Timer(clock="wall"),
          hint: clock="event" follows the time in the rows, clock="processing" the wall clock
          more: headrace error BAD_CLOCK
        """,
        lambda: hr.Timer(clock="wall"),
    )


# where values live


def test_a_value_of_another_handler() -> None:
    kept = []

    class P(Plain):
        def on_event(self, e):
            kept.append(e.amount)
            hr.emit(n=1)
            self.large.emit(n=1)

        def on_wake(self, at):
            hr.emit(n=kept[0] + 1)

    check_error(
        """
        STALE_VALUE: `e.amount + 1` belongs to on_event, but is used in on_wake
          at test_refusals.py:*: hr.emit(n=kept[0] + 1)
          hint: a handler can use only its own row and key; keep values across calls in a cell: seen = hr.Value(...)
          more: headrace error STALE_VALUE
        """,
        lambda: trace(P, name="p", key=("card",), inputs=CHARGES),
    )


def test_a_read_of_another_handler_is_reported_with_its_cell() -> None:
    kept: list[Any] = []

    class P(Plain):
        def on_event(self, e):
            kept.append(self.n.get())
            hr.emit(n=1)
            self.large.emit(n=1)

        def on_wake(self, at):
            hr.emit(n=kept[0] + 1)

    with pytest.raises(hr.ProgramError) as raised:
        trace(P, name="p", key=("card",), inputs=CHARGES)
    assert raised.value.message == "`self.n + 1` belongs to on_event, but is used in on_wake"


def test_a_read_inside_a_when_used_outside() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            n = self.n.get()
        hr.emit(n=n)

    check_error(
        """
        OUT_OF_SCOPE: `n` was read inside a `with hr.when(...)`, but its value is used outside it
          at test_refusals.py:*: hr.emit(n=n)
          hint: read it before the `with`: value = self.n.get()
          more: headrace error OUT_OF_SCOPE
        """,
        tracing(on_event),
    )


def test_a_read_in_one_branch_used_in_the_next() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            n = self.n.get()
        with hr.elsewhen(n > 1):
            hr.emit(n=1)

    check_error(
        """
        OUT_OF_SCOPE: `n` was read inside a `with hr.when(...)`, but its value is used outside it
          at test_refusals.py:*: with hr.elsewhen(n > 1):
          hint: read it before the `with`: value = self.n.get()
          more: headrace error OUT_OF_SCOPE
        """,
        tracing(on_event),
    )


def test_emit_outside_a_handler() -> None:
    check_error(
        """
        OUTSIDE_HANDLER: hr.emit can be used only in a handler of its program
          at test_refusals.py:*: lambda: hr.emit(n=1),
          hint: use it in on_event, on_<input>, on_<timer> or on_late, or in a method they call
          more: headrace error OUTSIDE_HANDLER
        """,
        lambda: hr.emit(n=1),
    )


@pytest.mark.parametrize(
    "use",
    [
        *(lambda: Plain().n.get(), lambda: Plain().wake.clear(), lambda: Plain().large.emit(n=1), lambda: Plain().key),
        *(lambda: hr.when(True), lambda: hr.elsewhen(True), hr.otherwise),
    ],
)
def test_nothing_of_a_handler_works_outside(use) -> None:
    with pytest.raises(hr.ProgramError, match="OUTSIDE_HANDLER"):
        use()


# when


def test_otherwise_without_a_when() -> None:
    def on_event(self, e):
        with hr.otherwise():
            hr.emit(n=1)

    check_error(
        """
        WHEN_EXPECTED: hr.otherwise must directly follow a `with hr.when(...)` or `with hr.elsewhen(...)` of the same block, but nothing precedes it
          at test_refusals.py:*: with hr.otherwise():
          hint: begin with `with hr.when(...)`
          more: headrace error WHEN_EXPECTED
        """,
        tracing(on_event),
    )


def test_elsewhen_after_something_else() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            hr.emit(n=1)
        self.n.clear()
        with hr.elsewhen(e.amount > 0):
            hr.emit(n=1)

    check_error(
        """
        WHEN_EXPECTED: hr.elsewhen must directly follow a `with hr.when(...)` or `with hr.elsewhen(...)` of the same block, but `clear` precedes it
          at test_refusals.py:*: with hr.elsewhen(e.amount > 0):
          hint: move the intervening statements before the `when`
          more: headrace error WHEN_EXPECTED
        """,
        tracing(on_event),
    )


def test_otherwise_twice() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            hr.emit(n=1)
        with hr.otherwise():
            hr.emit(n=2)
        with hr.otherwise():
            hr.emit(n=3)

    check_error(
        """
        WHEN_EXPECTED: hr.otherwise must directly follow a `with hr.when(...)` or `with hr.elsewhen(...)` of the same block, \
but an `otherwise` precedes it
          at test_refusals.py:*: with hr.otherwise():
          hint: begin with `with hr.when(...)`
          more: headrace error WHEN_EXPECTED
        """,
        tracing(on_event),
    )


def test_when_without_with() -> None:
    def on_event(self, e):
        hr.when(e.amount > 1)
        hr.emit(n=1)
        self.large.emit(n=1)

    check_error(
        """
        WHEN_WITHOUT_WITH: hr.when is used without `with`, or twice, so it has no effect
          at test_refusals.py:*: hr.when(e.amount > 1)
          hint: write `with hr.when(...):` and indent its statements
          more: headrace error WHEN_WITHOUT_WITH
        """,
        tracing(on_event),
    )


def test_if_when() -> None:
    def on_event(self, e):
        if hr.when(e.amount > 1):
            hr.emit(n=1)

    with pytest.raises(hr.ProgramError, match="WHEN_WITHOUT_WITH"):
        tracing(on_event)()


def test_one_when_entered_twice() -> None:
    def on_event(self, e):
        large = hr.when(e.amount > 1)
        with large:
            hr.emit(n=1)
        with large:
            hr.emit(n=1)

    with pytest.raises(hr.ProgramError, match="WHEN_WITHOUT_WITH"):
        tracing(on_event)()


def test_return_inside_a_when() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 1):
            hr.emit(n=1)
            return
        hr.emit(n=2)

    check_error(
        """
        LEAVES_WHEN: `return` inside a `with hr.when(...)` would end the handler for every row, not only where the condition holds
          at test_refusals.py:*: return
          hint: put the statements after it under `with hr.otherwise():`
          more: headrace error LEAVES_WHEN
        """,
        tracing(on_event),
    )


def test_break_and_continue_inside_a_when() -> None:
    def on_event(self, e):
        for limit in (1, 2):
            with hr.when(e.amount > limit):
                continue

    with pytest.raises(hr.ProgramError, match="LEAVES_WHEN: `continue`"):
        tracing(on_event)()


def test_what_stays_inside_a_when_is_allowed() -> None:
    def on_event(self, e):
        def twice(value):
            return value * 2

        with hr.when(e.amount > 1):
            for n in range(5):
                if n == 2:
                    break
                hr.emit(n=twice(n))
            self.large.emit(n=(lambda: 1)())
        if not self:
            return

    assert isinstance(tracing(on_event)(), Traced)


# emit


def test_emit_without_columns() -> None:
    def on_event(self, e):
        hr.emit()

    check_error(
        """
        EMIT_COLUMNS: the emitted row has no columns
          at test_refusals.py:*: hr.emit()
          hint: hr.emit(card=self.key.card)
          more: headrace error EMIT_COLUMNS
        """,
        tracing(on_event),
    )


def test_emit_a_column_twice() -> None:
    def on_event(self, e):
        hr.emit(e, Amount=1)

    check_error(
        """
        EMIT_COLUMNS: the column `Amount` is emitted twice, also as `amount`
          at test_refusals.py:*: hr.emit(e, Amount=1)
          hint: rename one of the two, or list the columns instead of passing the whole row
          more: headrace error EMIT_COLUMNS
        """,
        tracing(on_event),
    )


def test_emit_what_is_no_row() -> None:
    def on_event(self, e):
        hr.emit(e.amount)

    check_error(
        """
        EMIT_COLUMNS: a row to emit cannot be a Column
          at test_refusals.py:*: hr.emit(e.amount)
          hint: name its columns: hr.emit(card=self.key.card, amount=e.amount); all columns of a row: hr.emit(e)
          more: headrace error EMIT_COLUMNS
        """,
        tracing(on_event),
    )


def test_emit_a_name_that_is_no_text() -> None:
    def on_event(self, e):
        hr.emit({1: e.amount})

    check_error(
        """
        EMIT_COLUMNS: a column's name must be a string, not 1
          at test_refusals.py:*: hr.emit({1: e.amount})
          hint: {"card": ...}
          more: headrace error EMIT_COLUMNS
        """,
        tracing(on_event),
    )


def test_emit_different_columns() -> None:
    def on_event(self, e):
        hr.emit(card=self.key.card, amount=e.amount)
        hr.emit(card=self.key.card, total=e.amount)

    error = check_error(
        """
        EMIT_DIFFERS: all rows of the main output must have the same columns, but `amount` is missing, `total` is new
          at test_refusals.py:*: hr.emit(card=self.key.card, total=e.amount)
          hint: the first emit, at <first>, has: card, amount; emit None for a missing value, or use a second hr.Output()
          more: headrace error EMIT_DIFFERS
        """,
        tracing(on_event),
        hide={str(Site(__file__, on_event.__code__.co_firstlineno + 1)): "<first>"},
    )
    assert error is not None and error.fault == "user"


def test_an_output_that_nothing_goes_to() -> None:
    def on_event(self, e):
        hr.emit(n=1)

    check_error(
        """
        NEVER_EMITTED: no handler of P emits to the output `large`
          at test_refusals.py:*: large = hr.Output()
          hint: send a row with self.large.emit(...) in a handler
          more: headrace error NEVER_EMITTED
        """,
        tracing(on_event),
    )


def test_nothing_emitted_at_all() -> None:
    class Silent(hr.Program):
        def on_event(self, e):
            pass

    check_error(
        """
        NEVER_EMITTED: no handler of Silent emits anything
          at test_refusals.py:*: class Silent(hr.Program):
          hint: send a row with hr.emit(...) in a handler
          more: headrace error NEVER_EMITTED
        """,
        lambda: trace(Silent, name="p", key=("card",), inputs=CHARGES),
    )


# What a cell was


def test_an_expression_for_a_list() -> None:
    check_error(
        """
        BAD_WAS: the `was` of a List must be a name, not the expression `n + 1`
          at test_refusals.py:*: lambda: hr.List("int", was=hr.col("n") + 1),
          hint: only values and timers without keys can be computed from other cells; write was="old_name" to keep the state
          more: headrace error BAD_WAS
        """,
        lambda: hr.List("int", was=hr.col("n") + 1),
    )


def test_an_expression_for_a_timer_with_keys() -> None:
    check_error(
        """
        BAD_WAS: the `was` of a Timer with keys must be a name, not the expression `t`
          at test_refusals.py:*: lambda: hr.Timer(key="int", was=hr.col("t")),
          hint: only values and timers without keys can be computed from other cells; write was="old_name" to keep the state
          more: headrace error BAD_WAS
        """,
        lambda: hr.Timer(key="int", was=hr.col("t")),
    )


def test_a_cell_for_its_name() -> None:
    check_error(
        """
        BAD_WAS: the `was` of a Value cannot be <Value n>
          at test_refusals.py:*: lambda: hr.Value("int", was=Plain.n),
          hint: give the old name, was="n", or an expression over the cells of the previous version, was=hr.col("n") * 2
          more: headrace error BAD_WAS
        """,
        lambda: hr.Value("int", was=Plain.n),
    )


def test_a_text_that_reads_like_a_column() -> None:
    def on_event(self, e):
        self.large.emit(n=1)
        hr.emit(v=hr.lit("e.card"), w="card", card="key.card", amount="amount")

    with pytest.warns(UserWarning, match="is a string here, not a column") as warned:
        tracing(on_event)()
    assert [str(one.message) for one in warned] == [
        '"amount" is a string here, not a column; write hr.expr("e.amount") for the column, hr.lit("amount") for the string',
        '"key.card" is a string here, not a column; write hr.expr("key.card") for the column, hr.lit("key.card") for the string',
    ]
    assert {one.filename for one in warned} == {__file__}


def test_a_word_that_is_no_column() -> None:
    def on_event(self, e):
        self.large.emit(n=1)
        hr.emit(v=hr.struct(n="wholesale"))

    with pytest.raises(hr.PlanError) as raised:
        tracing(on_event)()
    known = "SQL in this handler can use e.card, e.amount, e.ts, key.card"
    assert raised.value.hint == f'{known}; for a literal string write hr.lit("wholesale")'
