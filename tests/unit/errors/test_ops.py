"""Errors of verbs, at the line that wrote them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headrace as hr
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int, place struct<city: string>, ts timestamp", name="charges")
timed = charges.watermark("ts", "5 minutes")


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        hr.emit(card=self.key.card, n=self.n.get())


class Pair(hr.Program):
    def on_event(self, e: hr.Row) -> None:
        hr.emit(e)

    def on_other(self, o: hr.Row) -> None:
        hr.emit(o)


class Silent(hr.Program):
    due = hr.Timer()

    def on_event(self, e: hr.Row) -> None:
        self.due.set(e.ts)

    def on_due(self, at: hr.Column) -> None:
        hr.emit(at=at)


class Clocked(hr.Program):
    due = hr.Timer(clock="processing")

    def on_event(self, e: hr.Row) -> None:
        self.due.set(e.ts)

    def on_due(self, at: hr.Column) -> None:
        hr.emit(at=at)


def test_unknown_column() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in charges
          at test_ops.py:*: lambda: charges.filter("amout > 3"),
          hint: did you mean `amount`? It has: card, amount, place, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.filter("amout > 3"),
    )


def test_unknown_column_far_from_all() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `zzz` in charges
          at test_ops.py:*: lambda: charges.select("card", twice=hr.col("zzz") * 2),
          hint: it has: card, amount, place, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.select("card", twice=hr.col("zzz") * 2),
    )


def test_field_as_a_column_name() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `place.city` in charges
          at test_ops.py:*: lambda: charges.select(hr.col("place.city")),
          hint: write the field as hr.col("place").city. It has: card, amount, place, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.select(hr.col("place.city")),
    )


def test_unknown_column_of_drop() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `Amounts` in charges
          at test_ops.py:*: lambda: charges.drop("Amounts"),
          hint: did you mean `amount`? It has: card, amount, place, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.drop("Amounts"),
    )


def test_unknown_time() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: time='ts' is not a column that Count emits
          at test_ops.py:*: lambda: charges.key_by("card").process(Count, time="ts"),
          hint: it emits: card, n
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.key_by("card").process(Count, time="ts"),
    )


def test_bad_column() -> None:
    check_error(
        """
        BAD_COLUMN: `rate`: expected a column or a SQL string, got 3
          at test_ops.py:*: lambda: charges.with_columns(rate=3),  # type: ignore[arg-type]
          hint: write a constant as hr.lit(3)
          more: headrace error BAD_COLUMN
        """,
        lambda: charges.with_columns(rate=3),  # type: ignore[arg-type]
    )


EXPRESSION = 'write a column or a SQL string: hr.col("amount") > 100, or "amount > 100"'


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        (lambda: charges.filter(lambda row: row), "expected a column or a SQL string, got a Python function", EXPRESSION),
        (lambda: charges.with_columns(big=lambda row: row), "`big`: expected a column or a SQL string, got a Python function", EXPRESSION),
        (lambda: charges.with_columns(big=object()), "`big`: expected a column or a SQL string, got a Python object", EXPRESSION),
        (
            lambda: charges.select(["card", "amount"]),
            "expected a column or a SQL string, got ['card', 'amount']",
            "give columns as separate arguments; unpack a list: select(*names)",
        ),
        (
            lambda: charges.with_columns(tags=["a"]),
            "`tags`: expected a column or a SQL string, got ['a']",
            "write a constant as hr.lit(['a'])",
        ),
    ],
)
def test_what_to_write_for_what_is_no_column(wrong: Callable[[], object], message: str, hint: str) -> None:
    with pytest.raises(hr.PlanError) as raised:
        wrong()
    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_bad_rename() -> None:
    check_error(
        """
        BAD_COLUMN: rename expects old and new names, got {'card': 3}
          at test_ops.py:*: lambda: charges.rename({"card": 3}),  # type: ignore[dict-item]
          hint: write .rename({"old": "new"})
          more: headrace error BAD_COLUMN
        """,
        lambda: charges.rename({"card": 3}),  # type: ignore[dict-item]
    )


def test_unnamed_column() -> None:
    check_error(
        """
        UNNAMED_COLUMN: `amount * 100` has no name
          at test_ops.py:*: lambda: charges.select("amount * 100"),
          hint: name it: name="amount * 100" as a keyword, or hr.expr(...).alias("name")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: charges.select("amount * 100"),
    )
    check_error(
        """
        UNNAMED_COLUMN: `upper(card, 1) AS d` has an expression before AS that headrace cannot parse
          at test_ops.py:*: lambda: charges.select("upper(card, 1) AS d"),
          hint: correct it; or, if Spark can parse it, name it separately: d="upper(card, 1)" as a keyword, or hr.expr(...).alias("d")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: charges.select("upper(card, 1) AS d"),
    )
    check_error(
        """
        UNNAMED_COLUMN: `amount * 100` has no name
          at test_ops.py:*: lambda: charges.group_by("amount * 100"),
          hint: name it: "amount * 100 AS name", or hr.expr(...).alias("name")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: charges.group_by("amount * 100"),
    )
    check_error(
        """
        UNNAMED_COLUMN: `upper(card, 1) AS d` has an expression before AS that headrace cannot parse
          at test_ops.py:*: lambda: charges.group_by("upper(card, 1) AS d"),
          hint: correct it; or, if Spark can parse it, name it separately: hr.expr("upper(card, 1)").alias("d")
          more: headrace error UNNAMED_COLUMN
        """,
        lambda: charges.group_by("upper(card, 1) AS d"),
    )


def test_items_without_a_name() -> None:
    for text in ("split(card, ',')", "card.parts"):
        with pytest.raises(hr.PlanError) as caught:
            charges.explode(text)
        assert (caught.value.code, caught.value.hint) == ("UNNAMED_COLUMN", 'name its items: as_="item", or as_=("key", "value") for a map')


def test_duplicate_column() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of rename would have two columns `Amount` and `amount`, and Spark compares column names without case
          at test_ops.py:*: lambda: charges.rename({"card": "Amount"}),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: charges.rename({"card": "Amount"}),
    )


def test_no_columns() -> None:
    check_error(
        """
        NO_COLUMNS: drop leaves no columns
          at test_ops.py:*: lambda: charges.drop("card", "amount", "place", "ts"),
          hint: keep at least one column
          more: headrace error NO_COLUMNS
        """,
        lambda: charges.drop("card", "amount", "place", "ts"),
    )


def test_union_columns() -> None:
    check_error(
        """
        UNION_COLUMNS: the streams of a union must have the same columns: charges.select lacks `place`; charges.select has `city`, which charges lacks
          at test_ops.py:*: lambda: charges.union(charges.select("card", "amount", "ts", city="place.city")),
          hint: align them with .select(...), .rename({...}), .drop(...) or .with_columns(missing=hr.lit(None))
          more: headrace error UNION_COLUMNS
        """,
        lambda: charges.union(charges.select("card", "amount", "ts", city="place.city")),
    )


def test_union_of_something_else() -> None:
    check_error(
        """
        BAD_INPUT: union expects a stream, got 'sales'
          at test_ops.py:*: lambda: charges.union("sales"),  # type: ignore[arg-type]
          hint: first.union(second, third)
          more: headrace error BAD_INPUT
        """,
        lambda: charges.union("sales"),  # type: ignore[arg-type]
    )


def test_bad_name() -> None:
    check_error(
        """
        BAD_NAME: '#1' cannot be a name
          at test_ops.py:*: lambda: charges.named("#1"),
          hint: names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`
          more: headrace error BAD_NAME
        """,
        lambda: charges.named("#1"),
    )


def test_watermark_place() -> None:
    check_error(
        """
        WATERMARK_PLACE: a watermark must be set on a source, and charges.filter is not one
          at test_ops.py:*: lambda: charges.filter("amount > 3").watermark("ts", "5 minutes"),
          hint: call it first: hr.read.<connector>(...).watermark("ts", "5 minutes"), then filter, select and so on
          more: headrace error WATERMARK_PLACE
        """,
        lambda: charges.filter("amount > 3").watermark("ts", "5 minutes"),
    )


def test_watermark_twice() -> None:
    check_error(
        """
        WATERMARK_PLACE: charges has a watermark already
          at test_ops.py:*: lambda: timed.watermark("ts", "1 minute"),
          hint: give it one watermark
          more: headrace error WATERMARK_PLACE
        """,
        lambda: timed.watermark("ts", "1 minute"),
    )


def test_watermark_type() -> None:
    check_error(
        """
        WATERMARK_TYPE: a watermark needs a timestamp column, and `card` of charges is string
          at test_ops.py:*: lambda: charges.watermark("card", "5 minutes"),
          hint: give it the type timestamp in the schema: card timestamp
          more: headrace error WATERMARK_TYPE
        """,
        lambda: charges.watermark("card", "5 minutes"),
    )


def test_no_key() -> None:
    check_error(
        """
        BAD_KEY: key_by needs at least one column
          at test_ops.py:*: lambda: charges.key_by(),
          hint: for one state over all rows, write .process(...) without key_by
          more: headrace error BAD_KEY
        """,
        lambda: charges.key_by(),
    )


def test_other_key() -> None:
    check_error(
        """
        BAD_KEY: the input `other` is keyed by card, amount, the main input by card
          at test_ops.py:*: lambda: charges.key_by("card").process(Pair, other=charges.key_by("card", "amount")),
          hint: key all inputs by the same number of columns; they are matched by position
          more: headrace error BAD_KEY
        """,
        lambda: charges.key_by("card").process(Pair, other=charges.key_by("card", "amount")),
    )


def test_input_without_keys() -> None:
    check_error(
        """
        BAD_INPUT: the input `other` is a stream without keys
          at test_ops.py:*: lambda: charges.key_by("card").process(Pair, other=charges),
          hint: key it like the main input: other=stream.key_by('card'); or send its rows to all keys: other=hr.broadcast(stream)
          more: headrace error BAD_INPUT
        """,
        lambda: charges.key_by("card").process(Pair, other=charges),
    )


def test_order() -> None:
    check_error(
        """
        BAD_ORDER: process: `order` cannot be 'ts'
          at test_ops.py:*: lambda: timed.key_by("card").process(Count, order="ts"),
          hint: use "time" or "arrival"
          more: headrace error BAD_ORDER
        """,
        lambda: timed.key_by("card").process(Count, order="ts"),
    )


def test_order_without_time() -> None:
    check_error(
        """
        NO_WATERMARK: order="time" needs event time on every input, and charges has none
          at test_ops.py:*: lambda: charges.key_by("card").process(Count, order="time"),
          hint: set a watermark: charges.watermark("ts", "5 minutes"); or handle rows as they arrive: order="arrival"
          more: headrace error NO_WATERMARK
        """,
        lambda: charges.key_by("card").process(Count, order="time"),
    )


def test_order_where_time_was_dropped() -> None:
    check_error(
        """
        NO_WATERMARK: order="time" needs event time on every input, and charges.drop has none
          at test_ops.py:*: lambda: timed.drop("ts").key_by("card").process(Count, order="time"),
          hint: keep `ts`, its watermark column, through all verbs; or handle rows as they arrive: order="arrival"
          more: headrace error NO_WATERMARK
        """,
        lambda: timed.drop("ts").key_by("card").process(Count, order="time"),
    )


def test_order_behind_a_program() -> None:
    check_error(
        """
        NO_WATERMARK: order="time" needs event time on every input, and charges.Count has none
          at test_ops.py:*: lambda: timed.key_by("card").process(Count).key_by("card").process(Count, order="time"),
          hint: name the emitted column that is time: .process(Count, time="..."); or handle rows as they arrive: order="arrival"
          more: headrace error NO_WATERMARK
        """,
        lambda: timed.key_by("card").process(Count).key_by("card").process(Count, order="time"),
    )


def test_timers_without_time() -> None:
    check_error(
        """
        NO_WATERMARK: Silent has event-time timers, but none of its inputs has event time
          at test_ops.py:*: lambda: charges.key_by("card").process(Silent),
          hint: set a watermark: charges.watermark("ts", "5 minutes"); or use processing time: hr.Timer(clock="processing")
          more: headrace error NO_WATERMARK
        """,
        lambda: charges.key_by("card").process(Silent),
    )


def test_order_and_clock() -> None:
    check_error(
        """
        ORDER_CLOCK: Clocked has processing-time timers, and order="time" handles rows in event time
          at test_ops.py:*: lambda: timed.key_by("card").process(Clocked, order="time"),
          hint: use .process(..., order="arrival"), or hr.Timer(clock="event")
          more: headrace error ORDER_CLOCK
        """,
        lambda: timed.key_by("card").process(Clocked, order="time"),
    )


def test_unknown_output() -> None:
    check_error(
        """
        UNKNOWN_OUTPUT: charges.Count has no output `lat`
          at test_ops.py:*: lambda: timed.key_by("card").process(Count).output("lat"),
          hint: did you mean `late`? It has: main, late, dead_letter
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: timed.key_by("card").process(Count).output("lat"),
    )


def test_output_of_a_filter() -> None:
    check_error(
        """
        UNKNOWN_OUTPUT: charges.filter has no outputs
          at test_ops.py:*: lambda: charges.filter("amount > 3").output("dead_letter"),
          hint: rows on which charges.filter fails go to charges.output("dead_letter"), if the same job writes it to a sink; hr.collect(...).dead_letters has them, too
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: charges.filter("amount > 3").output("dead_letter"),
    )


def test_output_behind_a_source_of_changes() -> None:
    rows = hr.read.memory([], "card string, op string", change_column="op", change_format="upsert", key="card", name="rows")
    check_error(
        """
        UNKNOWN_OUTPUT: upserts(rows).filter has no outputs
          at test_ops.py:*: lambda: rows.filter("card > 'a'").output("dead_letter"),
          hint: rows on which upserts(rows).filter fails go to rows.output("dead_letter"), if the same job writes it to a sink; hr.collect(...).dead_letters has them, too
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: rows.filter("card > 'a'").output("dead_letter"),
    )


def test_sink_kind() -> None:
    check_error(
        """
        SINK_KIND: console cannot be written with mode='upsert'
          at test_ops.py:*: lambda: charges.write.console(mode="upsert"),
          hint: leave mode out
          more: headrace error SINK_KIND
        """,
        lambda: charges.write.console(mode="upsert"),
    )
    spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
    check_error(
        """
        SINK_KIND: spent has retractions, and files can only append
          at test_ops.py:*: lambda: spent.write.files("out", format="json"),
          hint: write its changes, each with the word insert or delete in the column _change: mode="changes"
          more: headrace error SINK_KIND
        """,
        lambda: spent.write.files("out", format="json"),
    )
    check_error(
        """
        SINK_KIND: spent has retractions, and jdbc without a key can only append
          at test_ops.py:*: lambda: spent.write.jdbc("postgresql://db/shop", "spent"),
          hint: replace rows by a key: key="card", or write its changes, each with the word insert or delete in the column _change: mode="changes"
          more: headrace error SINK_KIND
        """,
        lambda: spent.write.jdbc("postgresql://db/shop", "spent"),
    )
    check_error(
        """
        SINK_KIND: spent has retractions, and mode='append' accepts only insertions
          at test_ops.py:*: lambda: spent.write.memory(mode="append"),
          hint: leave mode out, or replace rows by a key, without mode: key="card", or write its changes: mode="changes"
          more: headrace error SINK_KIND
        """,
        lambda: spent.write.memory(mode="append"),
    )


def test_join() -> None:
    cards = hr.read.memory([], "card string, country string, amount int", name="cards")
    numbers = cards.rename({"card": "number", "amount": "limit"})
    check_error(
        """
        BAD_JOIN: join: `how` cannot be 'outer'
          at test_ops.py:*: lambda: charges.join(cards, on="card", how="outer"),
          hint: did you mean 'full'? It is one of: inner, left, right, full, semi, anti
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join(cards, on="card", how="outer"),
    )
    check_error(
        """
        BAD_JOIN: join: `emit` cannot be 'once'
          at test_ops.py:*: lambda: charges.join(cards, on="card", emit="once"),
          hint: it is one of: changes, close
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join(cards, on="card", emit="once"),
    )
    check_error(
        """
        BAD_JOIN: join needs at least one column
          at test_ops.py:*: lambda: charges.join(cards, on=[]),
          hint: write on="card", or a condition: on="a.card = b.number"
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join(cards, on=[]),
    )
    check_error(
        """
        DUPLICATE_COLUMN: the result of join would have two columns `amount`
          at test_ops.py:*: lambda: charges.join(cards, on="card"),
          hint: rename it on one side: cards.rename({"amount": "..."})
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: charges.join(cards, on="card"),
    )
    check_error(
        """
        UNKNOWN_COLUMN: no column `colour` in charges or cards.rename
          at test_ops.py:*: lambda: charges.join(numbers, on="card = number AND colour = 1"),
          hint: there are: card, amount, place, ts, number, country, limit
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.join(numbers, on="card = number AND colour = 1"),
    )
    check_error(
        """
        UNKNOWN_COLUMN: no column `charges.card` in charges or cards.rename
          at test_ops.py:*: lambda: charges.join(numbers, on="charges.card = number"),
          hint: to use the qualifier `charges`, write charges.alias("charges")
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.join(numbers, on="charges.card = number"),
    )
    check_error(
        """
        BAD_JOIN: `card` is ambiguous: it is a column of charges and of cards
          at test_ops.py:*: lambda: charges.join(cards.alias("c"), on="c.card = card", how="semi"),
          hint: give the streams aliases: charges.alias("a").join(cards.alias("b"), on="a.card = b.card", ...)
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join(cards.alias("c"), on="c.card = card", how="semi"),
    )
    check_error(
        """
        BAD_INPUT: join expects a stream, got 'cards'
          at test_ops.py:*: lambda: charges.join("cards", on="card"),
          hint: charges.join(cards, on="card")
          more: headrace error BAD_INPUT
        """,
        lambda: charges.join("cards", on="card"),
    )


def test_a_program_takes_rows_that_are_added() -> None:
    spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
    check_error(
        """
        CHANGES_NOT_YET: Count takes only insertions, and spent has retractions
          at test_ops.py:*: lambda: spent.key_by("card").process(Count, order="arrival"),
          hint: pass the changes as rows: .changes() adds the column _change with insert or delete
          more: headrace error CHANGES_NOT_YET
        """,
        lambda: spent.key_by("card").process(Count, order="arrival"),
    )


def test_top() -> None:
    check_error(
        """
        BAD_ORDER: top cannot keep 0 rows
          at test_ops.py:*: lambda: charges.top(0, by="amount"),
          hint: use a whole number of at least 1: .top(3, by="amount desc")
          more: headrace error BAD_ORDER
        """,
        lambda: charges.top(0, by="amount"),
    )
    check_error(
        """
        BAD_ORDER: top: `ties` cannot be 'all'
          at test_ops.py:*: lambda: charges.top(1, by="amount", ties="all"),
          hint: use row_number, rank or dense_rank: .top(3, by="amount desc", ties="rank")
          more: headrace error BAD_ORDER
        """,
        lambda: charges.top(1, by="amount", ties="all"),
    )


def test_sql() -> None:
    check_error(
        """
        BAD_QUERY: hr.sql expects a query, got ''
          at test_ops.py:*: lambda: hr.sql(""),
          hint: hr.sql("SELECT ... FROM t", t=stream)
          more: headrace error BAD_QUERY
        """,
        lambda: hr.sql(""),
    )
    check_error(
        """
        BAD_INPUT: the table `t` of hr.sql must be a stream, not 1
          at test_ops.py:*: lambda: hr.sql("SELECT * FROM t", t=1),
          hint: pass tables as keywords: hr.sql(..., t=stream)
          more: headrace error BAD_INPUT
        """,
        lambda: hr.sql("SELECT * FROM t", t=1),
    )


def test_join_asof() -> None:
    rates = hr.read.memory([], "card string, at timestamp, rate double", name="rates")
    timed = rates.watermark("at", "5 minutes")
    same = hr.read.memory([], "card string, ts timestamp", name="rates")
    check_error(
        """
        BAD_JOIN: join_asof: `how` cannot be 'full'
          at test_ops.py:*: lambda: charges.join_asof(rates, on="card", time=("ts", "at"), how="full"),
          hint: it is one of: left, inner
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join_asof(rates, on="card", time=("ts", "at"), how="full"),
    )
    check_error(
        """
        BAD_JOIN: join_asof: `direction` cannot be 'back'
          at test_ops.py:*: lambda: charges.join_asof(rates, on="card", time=("ts", "at"), direction="back"),
          hint: it is one of: backward, forward, nearest
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join_asof(rates, on="card", time=("ts", "at"), direction="back"),
    )
    check_error(
        """
        BAD_JOIN: join_asof: `time` cannot be 'ts'
          at test_ops.py:*: lambda: charges.join_asof(rates, on="card", time="ts"),  # type: ignore[arg-type]
          hint: give one for each side: time=("ts", "valid_from")
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join_asof(rates, on="card", time="ts"),  # type: ignore[arg-type]
    )
    check_error(
        """
        BAD_JOIN: join_asof matches equal keys, but `rate > 1` does not compare the two sides by =
          at test_ops.py:*: lambda: charges.join_asof(rates.rename({"card": "number"}), on="card = number AND rate > 1", time=("ts", "at")),
          hint: filter rates.rename before the join, or its result after it; `on` has only equalities: on="card = number"
          more: headrace error BAD_JOIN
        """,
        lambda: charges.join_asof(rates.rename({"card": "number"}), on="card = number AND rate > 1", time=("ts", "at")),
    )
    check_error(
        """
        DUPLICATE_COLUMN: the result of join_asof would have two columns `ts`
          at test_ops.py:*: lambda: charges.join_asof(same, on="card", time=("ts", "ts")),
          hint: rename it on one side: rates.rename({"ts": "..."})
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: charges.join_asof(same, on="card", time=("ts", "ts")),
    )
    check_error(
        """
        UNKNOWN_COLUMN: no column `since` in rates
          at test_ops.py:*: lambda: charges.join_asof(rates, on="card", time=("ts", "since")),
          hint: it has: card, at, rate
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.join_asof(rates, on="card", time=("ts", "since")),
    )
    check_error(
        """
        NO_WATERMARK: emit="close" needs event time, and charges has no event time
          at test_ops.py:*: lambda: charges.join_asof(timed, on="card", time=("ts", "at"), emit="close"),
          hint: set a watermark: charges.watermark("ts", "5 minutes"); or emit each change: emit="changes"
          more: headrace error NO_WATERMARK
        """,
        lambda: charges.join_asof(timed, on="card", time=("ts", "at"), emit="close"),
    )
    check_error(
        """
        BAD_DURATION: join_asof: `within` cannot be 'soon': it is not a duration
          at test_ops.py:*: lambda: charges.join_asof(rates, on="card", time=("ts", "at"), within="soon"),
          hint: write "5 minutes", "1 hour 30 minutes" or datetime.timedelta(minutes=5); units are milliseconds, seconds, minutes, hours, days and weeks
          more: headrace error BAD_DURATION
        """,
        lambda: charges.join_asof(rates, on="card", time=("ts", "at"), within="soon"),
    )


def test_a_column_where_an_aggregate_is_expected() -> None:
    check_error(
        """
        NOT_AN_AGGREGATE: `amount` is a column of charges, not an aggregate
          at test_ops.py:*: lambda: charges.group_by("card").agg(n="amount"),
          hint: choose one value per group: n="max(amount)", or min, any_value, count; for numbers, sum or avg
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: charges.group_by("card").agg(n="amount"),
    )
    check_error(
        """
        NOT_AN_AGGREGATE: `place.city` is a column of charges, not an aggregate
          at test_ops.py:*: lambda: charges.group_by().agg("place.city"),
          hint: choose one value per group: city="max(place.city)", or min, any_value, count; for numbers, sum or avg
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: charges.group_by().agg("place.city"),
    )
    check_error(
        """
        NOT_AN_AGGREGATE: `card` is a column of charges, not an aggregate
          at test_ops.py:*: lambda: charges.group_by("card").agg(n="card"),
          hint: it is already a column of the result: card
          more: headrace error NOT_AN_AGGREGATE
        """,
        lambda: charges.group_by("card").agg(n="card"),
    )
