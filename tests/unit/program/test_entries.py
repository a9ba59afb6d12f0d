"""Lists, maps, loops and locals while a program is traced: what is recorded and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import headrace as hr
from headrace.program import Traced, trace
from tests.unit.errors import check_error

INPUTS = {"event": ("card", "shop", "amount", "ts")}


class Shops(hr.Program):
    """What the programs below are cut out of."""

    spent = hr.Map("string", "decimal(10,2)")
    last = hr.List("decimal(10,2)")
    n = hr.Value("int", default=3)


def traced(handler: Any) -> Traced:
    return trace(type("P", (Shops,), {"on_event": handler}), name="p", key=("card",), inputs=INPUTS)


def bare(value: Any) -> Any:
    """Statements without their places."""
    if isinstance(value, dict):
        return {name: bare(part) for name, part in value.items() if name != "site"}
    return [bare(part) for part in value] if isinstance(value, list) else value


def statements(handler: Any) -> Any:
    return bare(traced(handler).to_json()["handlers"][0]["body"])


def test_cells_as_data() -> None:
    def on_event(self, e):
        hr.emit(n=1)

    assert bare(traced(on_event).to_json()["cells"]) == [
        {"name": "spent", "kind": "map", "type": "decimal(10,2)", "key": "string"},
        {"name": "last", "kind": "list", "type": "decimal(10,2)"},
        {"name": "n", "kind": "value", "type": "int"},
    ]


def test_what_is_recorded() -> None:
    def on_event(self, e):
        self.last.append(e.amount)
        self.spent.set(e.shop, self.spent.get("a") + 1)
        self.spent.remove(e.shop)
        self.n.set(self.n.get() + self.last.size())
        total = hr.let(0, "decimal(12,2)")
        with hr.each(self.spent.range("a", e.shop), reverse=True) as it:
            total.set(total.get() + it.value)
            it.set(it.index)
            it.remove()
        with hr.when(e.amount < 0):
            hr.reject("negative")
        hr.emit(total=total.get(), now=hr.now(), mark=hr.watermark())

    assert statements(on_event) == [
        {"do": "append", "cell": "last", "value": "e.amount"},
        {"do": "read", "local": "spent__1", "cell": "spent", "what": "get", "key": "'a'"},
        {"do": "set", "cell": "spent", "value": "spent__1 + 1", "key": "e.shop"},
        {"do": "clear", "cell": "spent", "key": "e.shop"},
        {"do": "read", "local": "n__1", "cell": "n", "what": "value"},
        {"do": "read", "local": "last__1", "cell": "last", "what": "size"},
        {"do": "set", "cell": "n", "value": "coalesce(n__1, CAST(3 AS int)) + last__1"},
        {"do": "let", "local": "let__1", "value": "0", "type": "decimal(12,2)"},
        {
            "do": "each",
            "cell": "spent",
            "it": "it__1",
            "low": "'a'",
            "high": "e.shop",
            "reverse": True,
            "body": [
                {"do": "let", "local": "let__2", "value": "let__1"},
                {"do": "let", "local": "let__1", "value": "let__2 + `it__1.value`"},
                {"do": "replace", "it": "it__1", "value": "`it__1.index`"},
                {"do": "replace", "it": "it__1"},
            ],
        },
        {"do": "when", "branches": [["e.amount < 0", [{"do": "reject", "reason": "'negative'"}]]]},
        {"do": "let", "local": "let__3", "value": "let__1"},
        {"do": "emit", "output": "main", "row": [["total", "let__3"], ["now", "__now"], ["mark", "__watermark"]]},
    ]
    assert Traced.from_json(traced(on_event).to_json()) == traced(on_event)


def test_a_null_key() -> None:
    def on_event(self, e):
        self.spent.set(None, e.amount)

    check_error(
        """
        NULL_KEY: a map key cannot be None
          at test_entries.py:*: self.spent.set(None, e.amount)
          hint: pass a value or a column
          more: headrace error NULL_KEY
        """,
        lambda: traced(on_event),
    )


def test_a_loop_over_a_column() -> None:
    def on_event(self, e):
        with hr.each(e.shop) as it:
            hr.emit(v=it.value)

    check_error(
        """
        EACH_OVER: hr.each loops over a hr.List or hr.Map, not over a column
          at test_entries.py:*: with hr.each(e.shop) as it:
          hint: with hr.each(self.orders) as it: ...; for an array column use stream.explode(...) before it, or hr.f.transform
          more: headrace error EACH_OVER
        """,
        lambda: traced(on_event),
    )


def test_a_loop_over_a_value() -> None:
    def on_event(self, e):
        with hr.each(self.n):
            hr.emit(v=1)

    check_error(
        """
        EACH_OVER: hr.each loops over a hr.List or hr.Map, not over the Value <Value n>
          at test_entries.py:*: with hr.each(self.n):
          hint: with hr.each(self.orders) as it: ...; for an array column use stream.explode(...) before it, or hr.f.transform
          more: headrace error EACH_OVER
        """,
        lambda: traced(on_event),
    )


def test_the_key_of_a_list() -> None:
    def on_event(self, e):
        with hr.each(self.last) as it:
            hr.emit(v=it.key)

    check_error(
        """
        EACH_OVER: `last` is a list, and its entries have no key
          at test_entries.py:*: hr.emit(v=it.key)
          hint: use it.index or it.value
          more: headrace error EACH_OVER
        """,
        lambda: traced(on_event),
    )


def test_a_change_behind_a_loop() -> None:
    def on_event(self, e):
        with hr.each(self.last) as it:
            self.last.append(it.value)

    check_error(
        """
        LOOP_CHANGES: `last` is changed inside a `with hr.each(...)` over its entries
          at test_entries.py:*: self.last.append(it.value)
          hint: in one loop, change the current entry with it.set(...) or it.remove(), or change the cell after the loop
          more: headrace error LOOP_CHANGES
        """,
        lambda: traced(on_event),
    )


def test_a_change_in_two_loops_over_one_cell() -> None:
    def on_event(self, e):
        with hr.each(self.spent) as one:
            with hr.each(self.spent) as two:
                with hr.when(one.key < two.key):
                    two.remove()

    check_error(
        """
        LOOP_CHANGES: `spent` is changed inside a `with hr.each(...)` over its entries
          at test_entries.py:*: two.remove()
          hint: in one loop, change the current entry with it.set(...) or it.remove(), or change the cell after the loop
          more: headrace error LOOP_CHANGES
        """,
        lambda: traced(on_event),
    )


def test_an_entry_behind_its_loop() -> None:
    def on_event(self, e):
        with hr.each(self.last) as it:
            hr.emit(v=it.value)
        hr.emit(v=it.value)

    check_error(
        """
        OUT_OF_SCOPE: `it` is used outside its `with hr.each(...)`
          at test_entries.py:*: hr.emit(v=it.value)
          hint: to keep a value, use a local: found = hr.let(None, type) before the loop, found.set(it.value) inside
          more: headrace error OUT_OF_SCOPE
        """,
        lambda: traced(on_event),
    )


def test_a_change_of_an_entry_behind_its_loop() -> None:
    def on_event(self, e):
        with hr.each(self.last) as it:
            hr.emit(v=it.value)
        it.remove()

    check_error(
        """
        OUT_OF_SCOPE: `it` is used outside its `with hr.each(...)`
          at test_entries.py:*: it.remove()
          hint: to keep a value, use a local: found = hr.let(None, type) before the loop, found.set(it.value) inside
          more: headrace error OUT_OF_SCOPE
        """,
        lambda: traced(on_event),
    )


def test_a_local_outside_of_its_branch() -> None:
    def on_event(self, e):
        with hr.when(e.amount > 5):
            fee = hr.let(1)
        fee.set(2)

    check_error(
        """
        OUT_OF_SCOPE: a local created inside a `with hr.when(...)` or `with hr.each(...)` is used outside it
          at test_entries.py:*: fee.set(2)
          hint: create it before the `with`, and set it inside: total.set(...)
          more: headrace error OUT_OF_SCOPE
        """,
        lambda: traced(on_event),
    )


def test_a_read_of_a_local_outside_of_its_branch() -> None:
    def on_event(self, e):
        fee = hr.let(1)
        with hr.when(e.amount > 5):
            now = fee.get()
        hr.emit(v=now)

    check_error(
        """
        OUT_OF_SCOPE: a local's value read inside a `with hr.when(...)` or `with hr.each(...)` is used outside it
          at test_entries.py:*: hr.emit(v=now)
          hint: read it where it is used
          more: headrace error OUT_OF_SCOPE
        """,
        lambda: traced(on_event),
    )


def test_a_local_without_a_type() -> None:
    def on_event(self, e):
        hr.let(None)

    check_error(
        """
        LET_TYPE: hr.let(None) needs a type
          at test_entries.py:*: hr.let(None)
          hint: write hr.let(None, "timestamp")
          more: headrace error LET_TYPE
        """,
        lambda: traced(on_event),
    )


def test_operators_on_a_local_an_entry_and_a_range() -> None:
    def on_local(self, e):
        hr.emit(v=hr.let(1) + 1)

    def on_entry(self, e):
        with hr.each(self.last) as it:
            hr.emit(v=it * 2)

    def on_range(self, e):
        hr.emit(v=len(self.spent.range("a", "b")))

    check_error(
        """
        CELL_OPERATOR: hr.let returns a local, not its value, so Python cannot compute with it
          at test_entries.py:*: hr.emit(v=hr.let(1) + 1)
          hint: read it: total.get(); write it: total.set(...)
          more: headrace error CELL_OPERATOR
        """,
        lambda: traced(on_local),
    )
    check_error(
        """
        CELL_OPERATOR: `it` is an entry of `last`, not a value, so Python cannot compute with it
          at test_entries.py:*: hr.emit(v=it * 2)
          hint: read it: it.value, it.index; change it: it.set(...), it.remove()
          more: headrace error CELL_OPERATOR
        """,
        lambda: traced(on_entry),
    )
    check_error(
        """
        CELL_OPERATOR: a range of a map is not its entries, so Python cannot take its length
          at test_entries.py:*: hr.emit(v=len(self.spent.range("a", "b")))
          hint: loop over it: with hr.each(self.spent.range(low, high)) as it: ...
          more: headrace error CELL_OPERATOR
        """,
        lambda: traced(on_range),
    )


def test_each_without_with() -> None:
    def on_event(self, e):
        hr.each(self.last)
        hr.emit(v=1)

    check_error(
        """
        WHEN_WITHOUT_WITH: hr.each is used without `with`, or twice, so it has no effect
          at test_entries.py:*: hr.each(self.last)
          hint: write `with hr.each(...) as it:` and indent its statements
          more: headrace error WHEN_WITHOUT_WITH
        """,
        lambda: traced(on_event),
    )


def test_for_over_a_loop() -> None:
    def on_event(self, e):
        for it in hr.each(self.last):
            hr.emit(v=it.value)

    check_error(
        """
        WHEN_WITHOUT_WITH: hr.each is used without `with`, or twice, so it has no effect
          at test_entries.py:*: for it in hr.each(self.last):
          hint: write `with hr.each(...) as it:` and indent its statements
          more: headrace error WHEN_WITHOUT_WITH
        """,
        lambda: traced(on_event),
    )


def test_a_row_for_an_aggregate() -> None:
    class P(Shops):
        best = hr.Aggregate("max_by(shop, amount)", "shop string, amount decimal(10,2)")

        def on_event(self, e):
            self.best.add(e)
            self.best.add(e, amount=1)
            self.best.add({"SHOP": "a", "amount": None})
            with hr.when(self.best.exists()):
                self.best.clear()
            hr.emit(best=self.best.get())

    document = bare(trace(P, name="p", key=("card",), inputs=INPUTS).to_json())
    assert document["cells"][-1] == {
        "name": "best",
        "kind": "aggregate",
        "type": "shop string, amount decimal(10,2)",
        "sql": "max_by(shop, amount)",
    }
    assert document["handlers"][0]["body"] == [
        {"do": "add", "cell": "best", "row": [["shop", "e.shop"], ["amount", "e.amount"]]},
        {"do": "add", "cell": "best", "row": [["shop", "e.shop"], ["amount", "1"]]},
        {"do": "add", "cell": "best", "row": [["shop", "'a'"], ["amount", "NULL"]]},
        {"do": "read", "local": "best__1", "cell": "best", "what": "exists"},
        {"do": "when", "branches": [["best__1", [{"do": "clear", "cell": "best"}]]]},
        {"do": "read", "local": "best__2", "cell": "best", "what": "value"},
        {"do": "emit", "output": "main", "row": [["best", "best__2"]]},
    ]


def test_wrong_columns_for_an_aggregate() -> None:
    class P(Shops):
        best = hr.Aggregate("max_by(shop, amount)", "shop string, amount decimal(10,2)")

        def on_event(self, e):
            self.best.add(shop=e.shop)

    class Q(P):
        def on_event(self, e):
            self.best.add(shop=e.shop, amount=1, tip=2)

    check_error(
        """
        AGGREGATE_COLUMNS: `best` takes the columns shop, amount; `amount` is missing
          at test_entries.py:*: self.best.add(shop=e.shop)
          hint: self.best.add(shop=..., amount=...)
          more: headrace error AGGREGATE_COLUMNS
        """,
        lambda: trace(P, name="p", key=("card",), inputs=INPUTS),
    )
    check_error(
        """
        AGGREGATE_COLUMNS: `best` takes the columns shop, amount; `tip` is not one of them
          at test_entries.py:*: self.best.add(shop=e.shop, amount=1, tip=2)
          hint: self.best.add(shop=..., amount=...)
          more: headrace error AGGREGATE_COLUMNS
        """,
        lambda: trace(Q, name="p", key=("card",), inputs=INPUTS),
    )


class Bills(hr.Program):
    due = hr.Timer(key="bigint")

    def on_event(self, e):
        self.due.set(e.ts, e.amount)
        self.due.clear(3)
        self.due.clear()
        hr.emit(at=self.due.at(e.amount))

    def on_due(self, at, bill):
        hr.emit(at=at)
        self.due.set(at, bill + 1)


def test_a_timer_with_keys() -> None:
    document = bare(trace(Bills, name="p", key=("card",), inputs=INPUTS).to_json())
    assert document["cells"] == [{"name": "due", "kind": "timer", "type": "timestamp", "key": "bigint", "clock": "event"}]
    assert [handler["body"] for handler in document["handlers"]] == [
        [
            {"do": "set", "cell": "due", "value": "e.ts", "key": "e.amount"},
            {"do": "clear", "cell": "due", "key": "3"},
            {"do": "clear", "cell": "due"},
            {"do": "read", "local": "due__1", "cell": "due", "what": "get", "key": "e.amount"},
            {"do": "emit", "output": "main", "row": [["at", "due__1"]]},
        ],
        [
            {"do": "emit", "output": "main", "row": [["at", "at"]]},
            {"do": "set", "cell": "due", "value": "at", "key": "__timer_key + 1"},
        ],
    ]


def test_a_timer_with_keys_used_without_one() -> None:
    class P(Bills):
        def on_event(self, e):
            self.due.set(e.ts)

    check_error(
        """
        TIMER_KEY: `due` takes a key of type bigint, but none is given
          at test_entries.py:*: self.due.set(e.ts)
          hint: self.due.set(at, key)
          more: headrace error TIMER_KEY
        """,
        lambda: trace(P, name="p", key=("card",), inputs=INPUTS),
    )


def test_a_key_for_a_timer_without_keys() -> None:
    class P(Bills):
        due = hr.Timer()

        def on_event(self, e):
            hr.emit(at=self.due.at(e.amount))

        def on_due(self, at):
            hr.emit(at=at)

    check_error(
        """
        TIMER_KEY: `due` takes no key, but one is given
          at test_entries.py:*: hr.emit(at=self.due.at(e.amount))
          hint: self.due.at()
          more: headrace error TIMER_KEY
        """,
        lambda: trace(P, name="p", key=("card",), inputs=INPUTS),
    )


def test_the_handler_of_a_timer_with_keys() -> None:
    class P(Bills):
        def on_due(self, at):
            hr.emit(at=at)

    check_error(
        """
        HANDLER_PARAMETERS: P: on_due must accept self and the time it fires at and its key
          at test_entries.py:*: def on_due(self, at):
          hint: def on_due(self, at, key): the key is self.key; parameters of the program belong in __init__
          more: headrace error HANDLER_PARAMETERS
        """,
        lambda: trace(P, name="p", key=("card",), inputs=INPUTS),
    )


@pytest.mark.parametrize(
    ("cell", "write", "message"),
    [
        (lambda: hr.Value("int"), lambda it: it.set(2.5), "`it` holds int, so 2.5 would be truncated to 2"),
        (lambda: hr.List("bigint"), lambda it: it.append(Decimal("-0.5")), "`it` holds bigint, so -0.5 would be truncated to 0"),
        (lambda: hr.Map("int", "double"), lambda it: it.set(1.5, 1.5), "the key of `it` holds int, so 1.5 would be truncated to 1"),
        (lambda: hr.Map("double", "int"), lambda it: it.set(1.5, 1.5), "`it` holds int, so 1.5 would be truncated to 1"),
        (lambda: hr.Value("int"), lambda it: hr.let(0.5, "int"), "the local holds int, so 0.5 would be truncated to 0"),
        (lambda: hr.Value("integer", default=2.5), lambda it: None, "the cell holds int, so 2.5 would be truncated to 2"),
    ],
)
def test_a_number_that_a_cell_would_cut(cell: Callable[[], Any], write: Callable[[Any], object], message: str) -> None:
    def built() -> object:
        class P(hr.Program):
            it = cell()

            def on_event(self, e):
                write(self.it)
                hr.emit(n=1)

        return trace(P, name="p", key=("card",), inputs=INPUTS)

    with pytest.raises(hr.PlanError) as raised:
        built()
    assert (raised.value.code, raised.value.message) == ("WRONG_TYPE", message)
    assert raised.value.site is not None and raised.value.site.file == __file__


def test_numbers_that_a_cell_holds() -> None:
    class P(hr.Program):
        whole, real, exact = hr.Value("int", default=2.0), hr.Value("double", default=2.5), hr.Value("decimal(3,1)")

        def on_event(self, e):
            self.whole.set(3.0)
            self.real.set(float("nan"))
            self.exact.set(2.5)
            self.whole.set(e.amount / 2)
            hr.emit(n=1)

    trace(P, name="p", key=("card",), inputs=INPUTS)
