"""Another version of a query on the checkpoint of the last one: its sinks never hold rows of both, and what begins empty is said."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.durable import atomic
from headrace.durable.marks import Mark
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.checkpoint.forms import Form, form_of, joined, misfit, other_columns
from headrace.spark.checkpoint.record import Totals, Written, place_of
from headrace.spark.checkpoint.succession import refuse_mixed_results
from headrace.spark.compile.identity import Entry, Identity, identify
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.compile.shapes import Shape
from tests.spark.engine.jobs import lines
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

HERE = Path.cwd()
SALES = "shop string, amount int"


@cache
def sales(name: str = "sales") -> hr.Stream:
    return hr.read.files("in", format="json", schema=SALES, name=name)


def spent(rows: hr.Stream, of: str = "amount") -> hr.Stream:
    return rows.group_by("shop").agg(spent=f"sum({of})")


def table(stream: hr.Stream, name: str = "per_shop", called: str | None = None) -> Any:
    """Rows by key, of which none is taken away before another takes its place."""
    return stream.write.jdbc("sqlite:shops.db", name, key="shop", name=called)


def log(stream: hr.Stream, path: str = "out") -> Any:
    return stream.write.files(path, format="json", mode="changes")


class Count(hr.Program):
    n = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(shop=self.key.shop, n=self.n.get())


class Count2(hr.Program):
    m = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.m.set(hr.f.coalesce(self.m.get(), 0) + 1)
        hr.emit(shop=self.key.shop, n=self.m.get() * 2)


def counted(program: Any, name: str = "counts") -> hr.Stream:
    return sales().key_by("shop").process(program).named(name)


def compiled(*sinks: Any) -> SparkJob:
    return compile(hr.job("shops", *sinks).plan)


def versions(*jobs: SparkJob, epoch: int = 4, held: Mark | None = None) -> tuple[str, ...]:
    """What is said when these versions of a job come one after the other, each for `epoch` epochs that bring rows to all its sinks; `held`
    is what a sink holds at another place.
    """
    identity, stored, names = Identity(), Stored("id", "shops", {"nodes": []}, {}, 2, Identity()), {}
    totals: dict[str, Totals] = {}
    notices: tuple[str, ...] = ()
    for number, job in enumerate(jobs):
        before = identity
        identity, names = identify(Identity.from_json(before.to_json()), job.shapes)
        if number:
            notices = refuse_mixed_results(job, stored, identity, names, totals, lambda sink: held)
        stored = Stored("id", "shops", job.plan.to_json(), {}, 2, identity)
        for query in job.queries:
            name = names[query.name]
            ended = totals.get(name, Totals()).epoch + epoch
            written = {
                str(sink.name): Written(
                    ended, "x", place_of(sink.connect()), form_of(sink.connect(), sink.mode, job.schemas.of[str(sink.name)])
                )
                for sink in query.sinks
            }
            totals[name] = Totals(ended, written={**totals.get(name, Totals()).written, **(written if epoch else {})})
    return tuple(job.shown.text(notice) for notice in notices)


def refused(*jobs: SparkJob, held: Mark | None = None) -> str:
    with pytest.raises(HeadraceError) as caught:
        versions(*jobs, held=held)
    assert caught.value.code == "STATE_CHANGED"
    assert caught.value.site is not None
    return jobs[-1].shown.text(caught.value.message).replace(str(Path().absolute()), "<here>")


TABLE = "sqlite:<here>/shops.db, table per_shop"


def test_an_operator_that_was_changed() -> None:
    first = compiled(table(spent(sales())))
    assert versions(first, first) == ()
    message = f"per_shop has rows of an earlier version in {TABLE}, and aggregate(sales), which is new or was changed, would start without the rows read before"
    assert refused(first, compiled(table(spent(sales(), "amount * 2")))) == message
    assert refused(first, compiled(table(spent(sales().filter("amount > 1"))))) == message
    # the same sink by a name of its own, and one that was written only at first
    assert "out has rows of an earlier version" in refused(
        compiled(table(spent(sales()), called="out")), compiled(table(spent(sales(), "amount + 1"), called="out"))
    )
    gone = compiled(log(spent(sales())))
    assert "out has rows of an earlier version in <here>/out" in refused(gone, compiled(log(spent(sales(), "amount * 2"))))
    once = compiled(sales().distinct().write.files("once", format="json"))
    again = compiled(sales().filter("amount > 1").distinct().write.files("once", format="json"))
    assert "once has rows of an earlier version in <here>/once" in refused(once, again)


def test_an_operator_with_a_name_whose_input_was_changed() -> None:
    """Its own text is the same, and it holds rows that the new filter would never take away."""

    def named(text: str) -> SparkJob:
        return compiled(table(spent(sales().filter(text)).named("spent")))

    assert versions(named("amount > 1"), named("amount > 1")) == ()
    assert refused(named("amount > 1"), named("amount > 2")) == (
        "spent reads rows that are computed differently, but the checkpoint holds state of the earlier version"
    )


@pytest.mark.parametrize("name", [None, "spent"])
def test_a_source_with_other_columns(name: str | None) -> None:
    """An operator that does not read them computes the same; what reads them all says which they are."""

    def job(schema: str, whole: bool = False) -> SparkJob:
        rows = hr.read.files("in", format="json", schema=schema, name="other")
        view = rows.top(1, by="amount", per="shop") if whole else spent(rows)
        return compiled(log(view if name is None else view.named(name)))

    assert versions(job(SALES), job(f"{SALES}, at date")) == ()
    assert versions(job(f"{SALES}, at date"), job(SALES)) == ()
    message = "reads rows with other columns: {}, but the checkpoint holds state of the earlier version"
    assert message.format("at is new") in refused(job(SALES, whole=True), job(f"{SALES}, at date", whole=True))
    assert message.format("amount is bigint instead of int") in refused(job(SALES), job("shop string, amount bigint"))
    assert message.format("they are in another order") in refused(job(SALES), job("amount int, shop string"))


def test_an_operator_that_a_rule_has_rewritten() -> None:
    def first_rows(text: str) -> SparkJob:
        query = (
            "SELECT shop, amount FROM (SELECT *, row_number() OVER (PARTITION BY shop ORDER BY amount) AS n FROM s WHERE {}) WHERE n <= 2"
        )
        return compiled(log(hr.sql(query.format(text), s=sales())))

    assert versions(first_rows("amount > 1"), first_rows("amount > 1")) == ()
    refused(first_rows("amount > 1"), first_rows("amount > 2"))


def test_what_lies_between_an_operator_and_its_sink() -> None:
    """Changes of rows that were written by an earlier text would not find them; rows that are only added go on."""

    def large(text: str) -> SparkJob:
        return compiled(log(spent(sales()).named("spent").filter(text)))

    refused(large("spent > 5"), large("spent > 6"))
    assert versions(large("spent > 5"), large("spent > 5")) == ()

    def view(text: str) -> SparkJob:
        return compiled(log(spent(sales()).filter(text).named("large")))

    assert versions(view("spent > 5"), view("spent > 5")) == ()
    assert refused(view("spent > 5"), view("spent > 6")) == (
        "out has rows of aggregate(sales) in <here>/out that were computed differently, so changes would not match them"
    )

    def rows(text: str) -> SparkJob:
        return compiled(sales().filter(text).write.files("raw", format="json"))

    assert versions(rows("amount > 5"), rows("amount > 6")) == ("raw receives differently computed rows from epoch 4 on",)
    assert versions(rows("amount > 5"), rows("amount > 5")) == ()

    def by_key(text: str) -> SparkJob:
        return compiled(table(sales().filter(text)))

    # a row takes the place of the one before, whatever that was; and back again
    message = "per_shop receives differently computed rows from epoch {} on"
    assert versions(by_key("amount > 5"), by_key("amount > 6")) == (message.format(4),)
    assert versions(by_key("amount > 5"), by_key("amount > 6"), by_key("amount > 5")) == (message.format(8),)


def test_the_rows_of_a_table_that_never_changes() -> None:
    """They are a part of the job, as a filter is."""

    def job(*rates: int, options: dict[str, str] | None = None) -> SparkJob:
        rows = [("tea", rate) for rate in rates]
        table = hr.lookup.memory(rows, "shop string, rate int", name="rates", constant=True)
        if options is not None:
            table = hr.lookup.files("rates", format="json", schema="shop string, rate int", name="rates", constant=True, options=options)
        return compiled(log(sales().lookup(table, on="shop").group_by("rate").agg(spent="sum(amount)").named("spent")))

    assert versions(job(1, 2), job(2, 1)) == ()
    message = "spent reads rows that are computed differently, but the checkpoint holds state of the earlier version"
    assert refused(job(1), job(2)) == refused(job(options={}), job(options={"multiLine": "true"})) == message

    def seen(rate: int) -> SparkJob:
        table = hr.lookup.memory([("tea", rate)], "shop string, rate int", name="rates")
        return compiled(log(spent(sales()).lookup(table, on="shop")))

    assert "computed differently" in refused(seen(1), seen(2))


def test_a_source_that_is_read_in_another_way() -> None:
    """Its options are no part of what is stored of origins: rows are other ones all the same."""

    def source(zone: str | None, **more: Any) -> hr.Stream:
        options = {} if zone is None else {"timeZone": zone}
        schema = "op string, shop string, amount int, at timestamp"
        return hr.read.files("in", format="json", schema=schema, name="timed", options=options, **more)

    def grouped(zone: str | None, name: str | None = None, **more: Any) -> SparkJob:
        last = source(zone, **more).group_by("shop").agg(last="max(at)")
        return compiled(table(last if name is None else last.named(name)))

    how = "timed is read with a different timezone"
    for name in (None, "last"):
        for before, now in (("UTC", "Asia/Tokyo"), (None, "UTC"), ("UTC", None)):
            shown = name or "aggregate(timed)"
            message = f"per_shop has rows of {shown} in {TABLE}, and changes would not match them: {how}"
            assert refused(grouped(before, name), grouped(now, name)) == message
    assert versions(grouped("UTC"), grouped("UTC", malformed="skip", files_per_epoch=3, follow=True)) == ()

    def once(zone: str) -> SparkJob:
        return compiled(source(zone).distinct().write.files("once", format="json"))

    assert f"has state of rows that were read differently: {how}" in refused(once("UTC"), once("Asia/Tokyo"))

    def fed(zone: str, trusted: bool) -> SparkJob:
        return compiled(log(source(zone, change_column="op", trusted=trusted)))

    assert f"has state of rows that were read differently: {how}" in refused(fed("UTC", False), fed("Asia/Tokyo", False))
    assert refused(fed("UTC", True), fed("Asia/Tokyo", True)) == (
        "out has rows of timed in <here>/out, and changes would not match them: " + how
    )

    def sent(zone: str) -> SparkJob:
        counts = source(zone, change_column="op", trusted=True).changes().key_by("shop").process(Count).named("counts")
        return compiled(counts.write.files("counts", format="json", name="counted"))

    assert refused(sent("UTC"), sent("Asia/Tokyo")).startswith("counts has state of ")

    def added(zone: str) -> SparkJob:
        return compiled(source(zone).write.files("raw", format="json", name="raw"))

    assert versions(added("UTC"), added("Asia/Tokyo")) == (f"raw receives differently read rows from epoch 4 on: {how}",)
    assert versions(added("UTC"), added("UTC")) == ()

    def of(format: str) -> SparkJob:
        files = hr.read.files("in", format=format, schema="shop string, amount int", name="sales")
        return compiled(table(files.group_by("shop").agg(n="count(*)").named("n")))

    assert versions(of("json"), of("parquet")) == ()  # other files


def test_outputs_of_a_program() -> None:
    class Two(hr.Program):
        n = hr.Value("int")
        one, two = hr.Output(), hr.Output()

        def on_event(self, e: Any) -> None:
            self.one.emit(shop=self.key.shop)
            self.two.emit(shop=self.key.shop)
            hr.emit(shop=self.key.shop)

    def view(output: str) -> SparkJob:
        return compiled(log(counted(Two).output(output).named("rows").group_by("shop").agg(n="count(*)").named("n")))

    def rows(output: str) -> SparkJob:
        return compiled(counted(Two).output(output).named("rows").write.files("raw", format="json", name="raw"))

    assert versions(rows("one"), rows("two")) == ("raw receives differently computed rows from epoch 4 on",)
    assert versions(view("one"), view("one")) == versions(rows("one"), rows("one")) == ()
    assert "n reads rows that are computed differently" in refused(view("one"), view("two"))


def test_a_checkpoint_that_knows_origins_alone() -> None:
    """What it does not tell is not compared."""

    def shape(way: str) -> Shape:
        return Shape("out", "sink", origin="same", way=way)

    stored = Entry(1, shape("")).to_json()
    assert "way" not in stored
    old = Entry.from_json(stored).shape
    assert shape("now").reads_like(old)
    assert not shape("now").reads_like(shape("before"))
    assert not replace(shape("now"), origin="other").reads_like(old)


def test_a_source_whose_position_says_nothing() -> None:
    """Rows below the value of the other column or table would be left out, those above it read twice."""

    def job(rows: str = "orders", by: str | None = "id", url: str = "sqlite:shop.db", **more: Any) -> SparkJob:
        orders = hr.read.jdbc(url, rows, by=by, schema="id bigint, shop string", name="orders", **more)
        return compiled(orders.write.files("raw", format="json", name="raw"))

    message = "the position of orders was recorded"
    assert refused(job(), job(by="number")) == f"{message} with by='id', and is not valid with by='number'"
    assert refused(job(), job(by=None)) == f"{message} with by='id', and is not valid without by="
    assert refused(job(by=None), job()) == f"{message} without by=, and is not valid with by='id'"
    assert refused(job(), job("items")) == f"{message} with table='orders', and is not valid with table='items'"
    assert versions(job(), job(by="ID", follow=True, settle="5 s")) == ()


def test_a_source_that_reads_elsewhere() -> None:
    def job(stream: hr.Stream) -> SparkJob:
        return compiled(stream.write.files("raw", format="json", name="raw"))

    def orders(rows: str, url: str = "postgresql://db/shop") -> SparkJob:
        return job(hr.read.jdbc(url, rows, by="id", schema="id bigint, shop string", name="orders"))

    def files(path: str) -> SparkJob:
        return job(hr.read.files(path, format="json", schema=SALES, name="sales"))

    def topic(name: str) -> SparkJob:
        return job(hr.read.kafka(name, servers="db:9092", value="json", schema=SALES, name="sales"))

    shop, query = "postgresql://db:5432/shop", "SELECT id, shop FROM orders"
    assert versions(orders("orders"), orders(query)) == (
        "raw receives differently read rows from epoch 4 on: orders is read with a different query",
        f"orders now reads a query of {shop} instead of table orders of {shop}",
    )
    assert versions(orders("orders"), orders("orders", "postgres://db:5432/shop?sslmode=require")) == ()
    assert versions(orders("orders"), orders("orders", "postgresql://new/shop")) == (
        f"orders now reads table orders of postgresql://new:5432/shop instead of table orders of {shop}",
    )
    assert versions(files("in"), files("in/*.json")) == (f"sales now reads {HERE}/in/*.json instead of {HERE}/in",)
    assert versions(files("in"), files(f"{HERE}/in")) == ()
    assert versions(topic("sales"), topic("sold")) == ("sales now reads sold instead of sales",)


def test_a_program_that_is_sent_changes() -> None:
    """Deletes of rows that it was never sent would be handled all the same."""

    def job(text: str, program: bool = True) -> SparkJob:
        view = spent(sales()).named("spent")
        counts = view.filter(text).changes().key_by("shop").process(Count).named("counts")
        out = [counts.write.files("counts", format="json", name="counted")] if program else []
        return compiled(log(view), *out)

    assert versions(job("spent > 5"), job("spent > 5")) == ()
    assert refused(job("spent > 5"), job("spent > 6")) == "counts has state of rows of spent that were computed differently"


def test_what_lies_in_front_of_a_program() -> None:
    """It takes rows as they come, so it goes on, and a start says so."""

    def job(text: str = "amount > 0", zone: str = "UTC") -> SparkJob:
        rows = hr.read.files("in", format="json", schema=SALES, name="sales", options={"timeZone": zone})
        counts = rows.filter(text).key_by("shop").process(Count).named("counts")
        return compiled(counts.write.files("counts", format="json", name="counted"))

    assert versions(job(), job()) == ()
    assert versions(job(), job("amount > 1")) == ("counts receives differently computed rows from epoch 4 on",)
    message = "counts receives differently read rows from epoch 4 on: sales is read with a different timezone"
    assert versions(job(), job(zone="Asia/Tokyo")) == (message,)


def test_a_source_by_another_name() -> None:
    assert refused(compiled(log(sales())), compiled(log(sales("other")))) == (
        "out would write rows of other to <here>/out, which has rows of sales"
    )


def test_a_watermark_by_another_column() -> None:
    """What is kept would be judged by times of another clock."""

    class Timed(hr.Program):
        due = hr.Timer()

        def on_event(self, e: Any) -> None:
            self.due.set(e.ts + hr.minutes(1))

        def on_due(self, at: Any) -> None:
            hr.emit(shop=self.key.shop, at=at)

    def rows(by: str, delay: str) -> hr.Stream:
        return hr.read.files("in", format="json", schema=f"{SALES}, ts timestamp, ts2 timestamp", name="timed").watermark(by, delay)

    def expiring(by: str, delay: str = "1 minute") -> SparkJob:
        return compiled(log(rows(by, delay).group_by("shop", expires="1 day").agg(spent="sum(amount)").named("spent")))

    def arriving(by: str, delay: str = "1 minute") -> SparkJob:
        timed = rows(by, delay).key_by("shop").process(Timed, order="arrival").named("timers")
        return compiled(timed.write.files("out", format="json", name="out"))

    def timeless(by: str) -> SparkJob:
        return compiled(log(rows(by, "1 minute").group_by("shop").agg(spent="sum(amount)")))

    message = "the watermark of timed uses ts2 instead of ts, and the state of {} expires by the times in ts"
    assert refused(expiring("ts"), expiring("ts2")) == message.format("spent")
    assert refused(arriving("ts"), arriving("ts2")) == message.format("timers")
    assert versions(expiring("ts"), expiring("ts", "1 hour")) == versions(timeless("ts"), timeless("ts2")) == ()
    assert versions(arriving("ts"), arriving("ts2"), epoch=0) == ()


def test_duplicates_within_another_time() -> None:
    """It is a part of a query: the rows would be those of neither time. A program of one's own may let a value expire otherwise."""

    def first(within: str, least: int = 0) -> SparkJob:
        rows = hr.read.files("in", format="json", schema=f"{SALES}, ts timestamp", name="timed").watermark("ts", "1 minute")
        return compiled(rows.filter(f"amount > {least}").dedupe(on="shop", within=within).write.files("out", format="json"))

    class Seen(hr.Program):
        def __init__(self, within: str) -> None:
            self.seen = hr.Value("boolean", expires=within)

        def on_event(self, e: Any) -> None:
            self.seen.set(True)
            hr.emit(e)

    def own(within: str) -> SparkJob:
        rows = hr.read.files("in", format="json", schema=f"{SALES}, ts timestamp", name="timed").watermark("ts", "1 minute")
        return compiled(rows.key_by("shop").process(Seen(within)).write.files("out", format="json"))

    assert (
        refused(first("1 hour"), first("2 hours"))
        == "timed.Dedupe drops duplicates within 2 hours, and earlier rows were compared within 1 hour"
    )
    assert versions(first("1 hour"), first("60 minutes")) == ()
    assert versions(first("1 hour"), first("1 hour", 5)) == ("timed.Dedupe receives differently computed rows from epoch 4 on",)
    assert versions(own("1 hour"), own("2 hours")) == ()


def test_a_sink_that_is_new_or_was_left_out() -> None:
    view = spent(sales())
    both, one = compiled(table(view), log(view)), compiled(table(view))
    assert refused(one, both) == "out is new on this checkpoint, and changes of aggregate(sales) refer to rows it never received"
    assert refused(both, one, both) == "out was left out for a while, and <here>/out lacks the changes of aggregate(sales) from that time"
    raw = sales().write.files("raw", format="json")
    both, one = compiled(table(view), raw), compiled(table(view))
    assert versions(one, both) == ("raw is new on this checkpoint: it receives rows from epoch 4 on, none from before",)
    assert versions(both, one, both) == (f"raw was left out for a while: {Path('raw').absolute()} lacks the rows of that time",)
    assert versions(one, compiled(table(view), log(spent(sales(), "amount + 1")))) == (
        "out is new on this checkpoint: it receives rows from epoch 4 on, none from before",
        "aggregate(sales)#2 is new on this checkpoint: it starts empty at epoch 4",
    )


def test_a_sink_that_moves() -> None:
    def job(path: str) -> SparkJob:
        return compiled(sales().write.files(path, format="json", name="out"))

    here = Path().absolute()
    begins = f"out writes to {here}/else from epoch 4 on; what it wrote"
    stays = (f"{begins} before stays in {here}/out",)
    assert versions(job("out"), job("else")) == versions(job("out"), job("else"), held=Mark()) == stays
    # what it wrote was moved along, and is where it writes
    assert versions(job("out"), job("else"), held=Mark(3, "x")) == versions(job("out"), job("else"), held=Mark(1, "x", fades=True)) == ()
    assert versions(job("out"), job("else"), held=Mark(1, "x")) == (f"{begins} after epoch 1, the last one there, stays in {here}/out",)


def test_messages_about_moved_rows_name_their_place() -> None:
    def job(path: str, amount: str = "amount", *more: str) -> SparkJob:
        return compiled(sales().select("shop", *more, n=amount).write.files(path, format="json", name="out"))

    assert versions(job("out"), job("else", "amount + 1", "amount"), held=Mark(3, "x")) == (
        "out receives differently computed rows from epoch 4 on",
        "out writes the columns shop, amount, n from epoch 4 on; earlier rows have shop, n",
    )
    moved = compiled(spent(sales(), "amount * 2").write.files("else", format="json", mode="changes", name="out"))
    first = compiled(spent(sales()).write.files("out", format="json", mode="changes", name="out"))
    assert "out has rows of an earlier version in <here>/else" in refused(first, moved, held=Mark(3, "x"))


def test_the_place_of_another_sink_is_not_that_to_which_rows_were_moved() -> None:
    def job(one: str, other: str) -> SparkJob:
        return compiled(*(sales().write.files(path, format="json", name=name) for path, name in ((one, "one"), (other, "other"))))

    message = refused(job("a", "b"), job("b", "a"), held=Mark(3, "x"))
    assert message == "one would write to <here>/b, which has rows of other"


def test_a_sink_of_changes_that_moves() -> None:
    """With what it has written, or not at all."""

    def job(path: str) -> SparkJob:
        return compiled(spent(sales()).write.files(path, format="json", mode="changes", name="out"))

    assert refused(job("out"), job("else"), held=Mark()) == (
        "out would write to <here>/else, and changes of aggregate(sales) refer to rows that it has written to <here>/out"
    )
    assert refused(job("out"), job("else"), held=Mark(1, "x")) == (
        "out would write to <here>/else, which ends with epoch 1, and changes of aggregate(sales) refer to rows that it has written to "
        "<here>/out up to epoch 3"
    )
    assert versions(job("out"), job("else"), held=Mark(3, "x")) == ()


def test_two_sinks_that_change_places() -> None:
    total, most = spent(sales()), sales().group_by("shop").agg(most="max(amount)")
    first = compiled(table(total, "one"), table(most, "two"))
    assert "one would write to sqlite:<here>/shops.db, table one, which has rows of" in refused(
        first, compiled(table(most, "one"), table(total, "two"))
    )


def test_a_sink_that_is_called_otherwise_for_a_while() -> None:
    def job(name: str) -> SparkJob:
        return compiled(table(spent(sales()), called=name))

    assert versions(job("old"), job("new")) == versions(job("old"), job("new"), job("old")) == ()


def test_before_the_first_epoch_everything_may_change() -> None:
    assert versions(compiled(table(spent(sales()))), compiled(table(spent(sales(), "amount * 2"))), epoch=0) == ()


def test_programs_and_cells_that_begin_empty() -> None:
    def job(program: Any, name: str = "counts") -> SparkJob:
        return compiled(counted(program, name).write.files("out", format="json", name="out"))

    assert versions(job(Count), job(Count)) == ()
    assert versions(job(Count), job(Count2)) == ('the cell m of counts starts empty, and n is gone: to keep its values, write was="n"',)


def test_a_program_that_lost_its_name() -> None:
    """It would begin empty, and the state under the other name would go."""

    def job(*names: str) -> SparkJob:
        return compiled(*(counted(Count, name).write.files(name, format="json", name=f"{name}_out") for name in names))

    check_error(
        """
        STATE_CHANGED: numbers is new, and counts is gone, whose state would be lost
          at test_succession.py:*: return sales().key_by("shop").process(program).named(name)
          hint: nothing was changed: if it was renamed, keep its state with .named("counts"); `headrace deploy FILE` drops the state
          more: headrace error STATE_CHANGED
        """,
        lambda: versions(job("counts"), job("numbers")),
    )
    assert versions(job("counts"), job("counts", "numbers")) == (
        "numbers_out is new on this checkpoint: it receives rows from epoch 4 on, none from before",
        "numbers is new on this checkpoint: it starts empty at epoch 4",
    )


def test_a_view_that_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused before anything is touched, and the version before goes on as if nothing had been tried."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, amount: int) -> None:
        Path("in").mkdir(exist_ok=True)
        atomic.replace(Path("in", name), json.dumps({"shop": "tea", "amount": amount}) + "\n")

    def run(of: str, *more: Any) -> None:
        hr.job("shops", log(spent(sales(), of)), *more).run(flush=False, progress=False)

    put("1.json", 10)
    run("amount")
    put("2.json", 5)
    check_error(
        """
        STATE_CHANGED: out has rows of an earlier version in <tmp>/out, and aggregate(sales), which is new or was changed, would start without the rows read before
          at test_succession.py:*: return rows.group_by("shop").agg(spent=f"sum({of})")
          hint: nothing was changed: `headrace deploy FILE` rebuilds what has no usable state and corrects the sinks, if that is possible; or continue with the version that wrote the checkpoint; or start over with fresh=True, which empties the sinks and reads all again; or run this version as a job with another name and sinks of its own.
          more: headrace error STATE_CHANGED
        """,
        lambda: run("amount * 2"),
        hide={str(tmp_path): "<tmp>"},
    )
    shown = sales().write.memory(name="shown")
    run("amount", shown)
    assert [(row["_change"], row["spent"]) for row in lines(tmp_path / "out")] == [("insert", 10), ("delete", 10), ("insert", 15)]
    assert shown.rows() == [("tea", 5)]
    assert "shops: shown shows the output of this run, from epoch 1 on\n" in capsys.readouterr().err


def test_an_expectation_with_another_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its counts are never of two conditions."""
    monkeypatch.chdir(tmp_path)

    def run(number: int, condition: str) -> tuple[int, int]:
        Path("in").mkdir(exist_ok=True)
        atomic.replace(Path("in", f"{number}.json"), "".join(json.dumps({"shop": "tea", "amount": n}) + "\n" for n in (1, 9)))
        rows = sales().expect(positive=condition, on_violation="keep")
        summary = hr.job("shops", rows.write.files("out", format="json", name="out")).run(flush=False, progress=False)
        return summary.expectations[0].passed, summary.expectations[0].violated

    assert (run(1, "amount >= 0"), run(2, "amount >= 0")) == ((2, 0), (4, 0))
    capsys.readouterr()
    assert run(3, "amount > 5") == (1, 1)
    message = "the expectation positive of sales.expect has another condition: rows are counted for it from epoch 2 on"
    assert message in capsys.readouterr().err
    assert run(4, "amount > 5") == (2, 2)
    assert message not in capsys.readouterr().err


def test_a_version_that_a_sink_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not even in job.json: else the version before would begin with an empty cell."""

    def job(program: Any, columns: str) -> hr.Job:
        rows = hr.read.memory([("tea", 1)], SALES, name="sales")
        counts = rows.key_by("shop").process(program).named("counts")
        table = rows.select(*columns.split()).write.jdbc(f"sqlite:{tmp_path}/shops.db", "raw", name="raw")
        return hr.job("shops", counts.write.files(tmp_path / "out", format="json", name="out"), table)

    state = tmp_path / "state"
    job(Count, "shop").run(checkpoint=state, flush=False, progress=False)
    stored = (state / "job.json").read_bytes()
    with pytest.raises(HeadraceError, match="TABLE_SCHEMA"):
        job(Count2, "shop amount").run(checkpoint=state, flush=False, progress=False)
    assert (state / "job.json").read_bytes() == stored


SHOPS = "a string, b string, n int"


@cache
def shops() -> hr.Stream:
    return hr.read.files("in", format="json", schema=SHOPS, name="shops")


def out(stream: hr.Stream, format: str = "parquet", path: str = "out", **options: Any) -> SparkJob:
    return compiled(stream.write.files(path, format=format, name="out", **options))


def lake(**options: Any) -> SparkJob:
    return compiled(shops().write.delta("lake", name="lake", **options))


def cache_of(**options: Any) -> SparkJob:
    return compiled(shops().write.redis("redis://cache:6379/0", prefix="t:", name="cache", **options))


def topic(key: str) -> SparkJob:
    return compiled(shops().write.kafka("t", servers="b:9092", key=key, mode="upsert", name="topic"))


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (
            lambda: lake(key="a"),
            lambda: lake(key="b"),
            "lake has rows in <here>/lake that were written with key a, and new rows would be written with key b",
        ),
        (
            lambda: cache_of(key="a"),
            lambda: cache_of(key="b"),
            "cache has rows in redis://cache:6379/0, keys t:* that were written with key a, and new rows would be written with key b",
        ),
        (
            lambda: cache_of(key="a"),
            lambda: cache_of(key="a", value="hash"),
            "cache has rows in redis://cache:6379/0, keys t:* that were written with value json, and new rows would be written with value hash",
        ),
        (
            lambda: topic("a"),
            lambda: topic("b"),
            "topic has rows in kafka t (json by b) that were written with key a, and new rows would be written with key b",
        ),
        (
            lambda: out(shops(), "json"),
            lambda: out(shops(), "csv"),
            "out has rows in <here>/out that were written with format json, and new rows would be written with format csv",
        ),
        (
            lambda: out(shops(), "csv"),
            lambda: out(shops(), "csv", options={"header": "false"}),
            "out has rows in <here>/out that were written with options header='true', and new rows would be written with options header='false'",
        ),
        (
            lambda: out(shops(), "csv", options={"header": False}),
            lambda: out(shops().select("b", "n", "a"), "csv", options={"header": False}),
            "out has rows in <here>/out that were written without column names as a, b, n, and new rows would be written as b, n, a",
        ),
        (
            lambda: out(shops(), "csv", options={"header": False}),
            lambda: out(shops().select("a", m="n", n="n"), "csv", options={"header": False}),
            "out has rows in <here>/out that were written without column names as a, b, n, and new rows would be written as a, m, n",
        ),
        (
            lambda: out(shops()),
            lambda: out(shops(), partition_by="a"),
            "out has rows in <here>/out that were written with no partition_by, and new rows would be written with partition_by a",
        ),
        (
            lambda: out(shops(), mode="append"),
            lambda: out(shops(), mode="changes"),
            "out has rows in <here>/out that were written with mode append, and new rows would be written with mode changes",
        ),
        (
            lambda: out(shops()),
            lambda: out(shops().with_columns(n="cast(n as string)")),
            "out has rows in <here>/out that were written with n as int, and new rows would have it as string",
        ),
        (
            lambda: out(shops().select("a", s="named_struct('x', 1)")),
            lambda: out(shops().select("a", s="named_struct('x', 'one')")),
            "out has rows in <here>/out that were written with s as struct<x: int>, and new rows would have it as struct<x: string>",
        ),
        (
            lambda: out(shops()),
            lambda: compiled(shops().write.delta("out", name="out")),
            "out has rows in <here>/out that were written with connector files, and new rows would be written with connector delta",
        ),
    ],
)
def test_a_sink_whose_rows_would_not_fit_those_that_are_there(before: Any, now: Any, message: str) -> None:
    first = before()
    assert versions(first, first) == ()
    assert refused(first, now(), held=Mark(4, "x")) == message


def test_the_columns_of_a_key_in_another_order() -> None:
    """The rows are the same. Earlier versions stored the order: there a job that is as it was still says nothing."""

    def before(job: SparkJob) -> SparkJob:
        shapes = (replace(query, shapes=tuple(replace(one, way=one.ordered_way) for one in query.shapes)) for query in job.shapes)
        return replace(job, shapes=tuple(shapes))

    def spends(*key: str) -> SparkJob:
        return compiled(shops().group_by("a", "b").agg(n="sum(n)").write.jdbc("sqlite:shops.db", "spends", key=key, name="spends"))

    for job in (lambda *key: lake(key=list(key)), spends):
        one, other = job("a", "b"), job("b", "a")
        assert versions(one, other) == versions(other, one) == ()
        assert versions(before(one), one) == versions(before(other), other) == versions(before(one), other) == ()
    assert "differently computed" in versions(lake(key="a"), compiled(shops().filter("n > 1").write.delta("lake", name="lake", key="a")))[0]


def test_a_sink_may_have_other_options_and_columns() -> None:
    otherwise = "out receives differently computed rows from epoch 4 on"

    def differences(now: str, was: str) -> tuple[str, str]:
        return otherwise, f"out writes the columns {now} from epoch 4 on; earlier rows have {was}"

    renamed = out(shops().select("a", "b", m="n"))
    assert versions(out(shops()), renamed) == differences("a, b, m", "a, b, n")
    assert versions(out(shops().select("a")), out(shops())) == differences("a, b, n", "a")
    assert versions(out(shops()), out(shops().select("b", "n", "a"))) == (otherwise,)
    grown = out(shops().select("a", s="named_struct('x', 1, 'y', 2)"))
    assert versions(out(shops().select("a", s="named_struct('x', 1)")), grown) == (otherwise,)
    # a reader that goes by names finds them; one that goes by places, those that stay where they were
    assert versions(out(shops(), "csv"), out(shops().select("b", "n", "a"), "csv")) == (otherwise,)
    nameless = {"options": {"header": False}, "partition_by": "n"}
    assert versions(out(shops(), "csv", **nameless), out(shops().select("n", "a", "b"), "csv", **nameless)) == (otherwise,)
    assert len(versions(out(shops(), "csv", **nameless), out(shops().with_columns(m="n"), "csv", **nameless))) == 2
    # texts are read as any type
    assert versions(out(shops(), "json"), out(shops().with_columns(n="cast(n as string)"), "json")) == (otherwise,)
    assert versions(out(shops(), "json"), out(shops(), "json", options={"compression": "gzip"})) == ()
    # another place has no rows yet
    assert "writes to" in versions(out(shops(), "json"), out(shops(), "csv", path="other"))[0]


def test_what_an_earlier_version_wrote_is_known_from_its_plan() -> None:
    first = out(shops(), "json")
    identity, names = identify(Identity(), first.shapes)
    stored = Stored("id", "shops", first.plan.to_json(), {}, 2, identity)
    written = {"out": Written(4, "x", str(Path("out").absolute()))}
    now = out(shops(), "csv")
    again, names = identify(identity, now.shapes)
    with pytest.raises(HeadraceError, match="written with format json"):
        refuse_mixed_results(now, stored, again, names, {"main": Totals(4, written=written)})


def test_places_of_columns_that_were_left_out_for_a_while_are_remembered() -> None:
    long, short, other = ({"places": places} for places in (["a", "b"], ["a"], ["a", "c"]))
    assert misfit(long, short) is misfit(short, other) is None
    assert misfit(joined(long, short), other) == "without column names as a, b, and new rows would be written as a, c"


def test_types_of_columns_that_were_left_out_for_a_while_are_remembered() -> None:
    def form(stream: hr.Stream) -> Form:
        job = out(stream)
        (sink,) = job.queries[0].sinks
        return form_of(sink.connect(), sink.mode, job.schemas.of["out"])

    without = joined(form(shops()), form(shops().select("a")))
    assert list(other_columns(without, form(shops()))) == [("a, b, n", "a")]
    assert misfit(without, form(shops())) is None
    assert misfit(without, form(shops().with_columns(n="1.5D"))) == "with n as int, and new rows would have it as double"
    assert joined(without, form(shops())) == form(shops())
