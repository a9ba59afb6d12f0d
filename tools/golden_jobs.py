"""The jobs whose plans and checkpoints are kept as golden files: one for each kind of content in state and plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import headrace as hr
from headrace.ops import Partition

ROWS = "k string, v int, ts timestamp"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """One run of a job: its version, the rows of a new file of each of its sources, and files of earlier runs that have changed."""

    job: hr.Job
    files: dict[str, Rows]
    changed: dict[tuple[str, int], Rows] = field(default_factory=dict)
    deploys: Mapping[str, str] | None = None
    """If this version is deployed before it runs, what becomes of its sinks."""
    runs: bool = True
    """Whether it runs after that."""


def read(name: str, schema: str = ROWS, *, timed: bool = True) -> hr.Stream:
    stream = hr.read.files(f"in/{name}", format="json", schema=schema, files_per_epoch=1, name=name)
    return stream.watermark("ts", "5 minutes") if timed else stream


def kept(stream: hr.Stream, name: str) -> hr.Sink:
    return stream.write.files(f"result/{name}", format="json", name=f"{name}_kept")


def row(k: str, v: int, minute: int, **more: Any) -> dict[str, Any]:
    return {"k": k, "v": v, "ts": f"2026-01-01 {10 + minute // 60:02}:{minute % 60:02}:00", **more}


class Cells(hr.Program):
    """Every kind of cell, with and without expiry; each row shows the state before it."""

    fired = hr.Output()

    number = hr.Value("bigint", default=7)
    nested = hr.Value("struct<a: string, b: array<decimal(10,2)>>")
    brief = hr.Value("double", expires="1 hour")
    texts = hr.List("string")
    brief_list = hr.List("int", expires="1 hour")
    large = hr.Map("string", "timestamp")
    brief_map = hr.Map("int", "string", expires="1 hour")
    total = hr.Aggregate("sum(x) / count(*)", "x decimal(10,2)")
    middle = hr.Aggregate("percentile(x, 0.5)", "x double")
    brief_most = hr.Aggregate("max(x)", "x int", expires="1 hour")
    wake = hr.Timer()
    due = hr.Timer(key="int")

    def on_event(self, e):
        with hr.when(e.n == 1):
            hr.emit(
                k=self.key.k,
                v=e.v,
                number=self.number.get(),
                nested=self.nested.get(),
                brief=self.brief.get(),
                texts=hr.f.sha1(hr.f.to_json(self.texts.get())),
                brief_list=self.brief_list.get(),
                large=self.large.size(),
                last=self.large.last(),
                brief_map=self.brief_map.get(e.v - 1),
                total=self.total.get(),
                middle=self.middle.get(),
                brief_most=self.brief_most.get(),
                wake=self.wake.at(),
                due=self.due.at(e.v - 1),
            )
            self.number.set(self.number.get() + e.v)
            self.nested.set(hr.struct(a=e.k, b=hr.f.array(hr.expr("CAST(e.v AS decimal(10,2))"), None)))
            self.brief.set(e.v / 4)
            self.texts.append(hr.f.concat(hr.lit("text "), e.v))
            self.brief_list.append(e.v)
            self.brief_map.set(e.v, hr.f.concat(hr.lit("about "), e.v))
            self.total.add(x=e.v)
            self.middle.add(x=e.v)
            self.brief_most.add(x=e.v)
            self.wake.set(e.ts + hr.hours(2))
            self.due.set(e.ts + hr.hours(3), e.v)
            with hr.when(e.v == 1):
                self.texts.set(hr.expr("transform(sequence(1, 500), i -> concat('text number ', i))"))
        self.large.set(hr.f.format_string(hr.lit("%06d"), e.n), e.ts)

    def on_wake(self, at):
        self.fired.emit(k=self.key.k, what="wake", at=at, of=None)

    def on_due(self, at, of):
        self.fired.emit(k=self.key.k, what="due", at=at, of=of)


def cells() -> Iterator[Run]:
    rows = read("rows", "k string, v int, ts timestamp, many int").explode(hr.expr("sequence(1, many)"), as_="n")
    stream = rows.key_by("k").process(Cells, order="arrival").named("cells")
    job = hr.job("cells", kept(stream, "cells"), kept(stream.output(Cells.fired), "fired"))
    yield Run(job, {"rows": [row("a", 1, 0, many=300), row("b", 1, 1, many=1), row("a", 2, 2, many=1), row("c", 5, 9, many=2)]})
    yield Run(job, {"rows": [row("a", 3, 30, many=2), row("b", 2, 100, many=1), row("a", 4, 200, many=301), row("b", 3, 201, many=1)]})


class InTime(hr.Program):
    """Two inputs in the order of time, and a timer that sets itself."""

    price = hr.Value("int")
    left = hr.Value("int", default=0)
    again = hr.Timer()

    def on_event(self, e):
        hr.emit(k=self.key.k, what="row", v=e.v, price=self.price.get(), at=e.ts)
        self.left.set(3)
        self.again.set(e.ts + hr.minutes(2))

    def on_prices(self, r):
        self.price.set(r.price)

    def on_late(self, e):
        hr.emit(k=self.key.k, what="late", v=e.v, price=self.price.get(), at=e.ts)

    def on_again(self, at):
        hr.emit(k=self.key.k, what="again", v=self.left.get(), price=self.price.get(), at=at)
        with hr.when(self.left.get() > 0):
            self.left.set(self.left.get() - 1)
            self.again.set(at + hr.minutes(2))


def held() -> Iterator[Run]:
    prices = read("prices", "k string, price int, ts timestamp")
    stream = read("rows").key_by("k").process(InTime, prices=prices.key_by("k"), time="at").named("in_time")
    job = hr.job("held", kept(stream, "made"), kept(stream.output("late"), "late"), kept(stream.output("late_prices"), "late_prices"))
    first = {"rows": [row(k, n, n) for n in range(1, 13) for k in ("a", "b", "c")]}
    first["prices"] = [{"k": k, "price": 10 * n, "ts": f"2026-01-01 10:{n:02}:30"} for n in range(0, 12, 2) for k in ("a", "b")]
    yield Run(job, first)
    then = {"rows": [row("a", 90, 1), row("b", 91, 11), row("c", 92, 14), row("d", 93, 40)]}
    then["prices"] = [{"k": "a", "price": 5, "ts": "2026-01-01 10:02:00"}, {"k": "c", "price": 6, "ts": "2026-01-01 10:13:00"}]
    yield Run(job, then)


class Limits(hr.Program):
    """A map that all keys read, as of the time of each row."""

    limits = hr.Broadcast("string", "int")

    def on_rules(self, r):
        with hr.when(r.most.is_null()):
            self.limits.remove(r.name)
        with hr.otherwise():
            self.limits.set(r.name, r.most)

    def on_event(self, e):
        hr.emit(k=self.key.k, v=e.v, most=self.limits.get("all"), known=self.limits.size(), at=e.ts)


def broadcast() -> Iterator[Run]:
    rules = read("rules", "name string, most int, ts timestamp")
    stream = read("rows").key_by("k").process(Limits, rules=hr.broadcast(rules)).named("limits")
    job = hr.job("broadcast", kept(stream, "made"))

    def rule(name: str, most: int | None, minute: int) -> dict[str, Any]:
        return {"name": name, "most": most, "ts": f"2026-01-01 10:{minute:02}:30"}

    first = [rule("all", 10, 0), rule("other", 1, 1), rule("all", 20, 6), rule("all", 30, 11)]
    yield Run(job, {"rows": [row(k, n, n) for n in range(1, 13) for k in ("a", "b")], "rules": first})
    yield Run(job, {"rows": [row("a", 50, 13), row("c", 51, 30)], "rules": [rule("other", None, 12), rule("all", 40, 20)]})


class ByTheWall(hr.Program):
    """Cells and timers of processing time, none of them due for a long time."""

    last = hr.Value("int", expires="10000 days", clock="processing")
    seen = hr.List("int", expires="10000 days", clock="processing")
    wake = hr.Timer(clock="processing")

    def on_event(self, e):
        hr.emit(k=self.key.k, v=e.v, last=self.last.get(), seen=self.seen.get(), wake=self.wake.at())
        self.last.set(e.v)
        self.seen.append(e.v)
        self.wake.set(hr.f.coalesce(self.wake.at(), hr.expr("TIMESTAMP '2200-01-01'")) + hr.days(1))

    def on_wake(self, at):
        hr.emit(k=self.key.k, v=None, last=None, seen=None, wake=at)


def processing() -> Iterator[Run]:
    stream = read("rows", timed=False).key_by("k").process(ByTheWall).named("by_the_wall")
    job = hr.job("processing", kept(stream, "made"))
    yield Run(job, {"rows": [row("a", 1, 0), row("b", 2, 0), row("a", 3, 1)]})
    yield Run(job, {"rows": [row("a", 4, 2), row("c", 5, 3)]})


def temporal() -> Iterator[Run]:
    """Rows that are there for centuries, and one that will be."""
    query = "SELECT k, v FROM rows WHERE ts <= now() AND ts + INTERVAL '200' YEARS > now()"
    there = hr.sql(query, rows=read("rows", timed=False))
    job = hr.job("temporal", there.write.files("result/there", format="json", name="there_kept", mode="changes"))
    later = {**row("z", 9, 0), "ts": "2220-01-01T00:00:00Z"}
    yield Run(job, {"rows": [row("a", 1, 0), row("b", 2, 0), later]})
    yield Run(job, {"rows": [row("a", 4, 2), row("a", 1, 0)]})


class Pairs(hr.Program):
    """Each row with the previous one; rows that are too large are rejected."""

    last = hr.Value("int")

    def on_event(self, e):
        with hr.when(e.v > 99):
            hr.reject("too large")
        hr.emit(k=self.key.k, v=e.v, before=self.last.get(), at=e.ts)
        self.last.set(e.v)


class Steps(hr.Program):
    """How often a row was larger than the previous one, over all keys."""

    up = hr.Value("bigint", default=0)

    def on_event(self, e):
        with hr.when(e.v > e.before):
            self.up.set(self.up.get() + 1)
        hr.emit(k=e.k, v=e.v, up=self.up.get(), at=e.at)


def levels() -> Iterator[Run]:
    pairs = read("rows").key_by("k").process(Pairs, time="at").named("pairs")
    steps = pairs.filter("before IS NOT NULL").process(Steps).named("steps")
    job = hr.job("levels", kept(steps, "steps"), kept(pairs, "pairs"), kept(pairs.output("dead_letter"), "dead"))
    yield Run(job, {"rows": [row(k, 7 * n % 5, n) for n in range(1, 12) for k in ("a", "b")] + [row("a", 100, 3)]})
    yield Run(job, {"rows": [row("a", 8, 12), row("b", 0, 12), row("c", 1, 20), row("c", 101, 21), row("c", 2, 40)]})


def moved() -> Iterator[Run]:
    """Two queries become one, in more partitions. Their sinks are known to their places by the queries that they began in, and a join
    without keys keeps its shards.
    """
    rows, others = read("rows"), read("others")

    def version(*more: hr.Sink) -> hr.Job:
        pairs = rows.key_by("k").process(Pairs, time="at").named("pairs")
        most = others.group_by("k").agg(v="max(v)").named("most")
        lower = most.join(most.select(other="k", most="v"), on="v < most").named("lower")
        return hr.job("moved", kept(pairs, "pairs"), kept(most.changes(), "most"), kept(lower.changes(), "lower"), *more)

    both = rows.union(others).key_by("k").process(Pairs, time="at").named("both")
    minutes = range(1, 8)
    files = {name: [row(k, 7 * n % 5, n) for n in minutes for k in ("a", "b")] for name in ("rows", "others")}
    yield Run(version(), files)
    later = {name: [row(k, 6 * n % 7, n) for n in range(8, 15) for k in ("a", "c")] for name in ("rows", "others")}
    yield Run(version(kept(both, "both")), later, deploys={"both_kept": "from now"})
    last = {name: [row(k, 5 * n % 9, n) for n in range(15, 40, 5) for k in ("a", "b", "c")] for name in ("rows", "others")}
    yield Run(version(kept(both, "both")), last)


def corrected() -> Iterator[Run]:
    """A deploy has made state anew, and its corrections have not reached their sinks."""

    def version(over: int) -> hr.Job:
        rows = read("rows", timed=False)
        sums = rows.filter(f"v > {over}").group_by("k").agg(v="sum(v)").named("sums")
        most = rows.group_by("k").agg(v="max(v)").named("most")
        return hr.job("corrected", kept(sums.changes(), "sums"), kept(most.changes(), "most"))

    first = [row(k, n, n) for n in range(1, 9) for k in ("a", "b")]
    yield Run(version(2), {"rows": first})
    yield Run(version(5), {}, changed={("rows", 1): first}, deploys={}, runs=False)
    yield Run(version(5), {"rows": [row(k, n, n) for n in range(3, 12) for k in ("a", "c")]})


class Before(hr.Program):
    """The version that `After` follows."""

    small = hr.Value("int")
    large = hr.Value("int")
    old_name = hr.Value("date")
    gone = hr.List("int")
    wake = hr.Timer()

    def on_event(self, e):
        self.small.set(hr.f.coalesce(self.small.get(), 0) + 1)
        self.large.set(hr.f.coalesce(self.large.get(), 0) + e.v)
        self.old_name.set(hr.expr("CAST(e.ts AS date)"))
        self.gone.append(e.v)
        self.wake.set(e.ts + hr.hours(1))
        hr.emit(k=self.key.k, large=self.large.get())

    def on_wake(self, at):
        hr.emit(k=self.key.k, large=-1)


class After(hr.Program):
    """One cell is wider, one has another name and type, one is removed, two are computed from others."""

    large = hr.Value("decimal(20,2)")
    mean = hr.Value("double", was=hr.col("large") / hr.col("small"))
    new_name = hr.Value("timestamp", was="old_name")
    later = hr.Timer(was=hr.col("wake") + hr.hours(1))

    def on_event(self, e):
        self.large.set(hr.f.coalesce(self.large.get(), 0) + e.v)
        hr.emit(k=self.key.k, large=self.large.get(), mean=self.mean.get(), new_name=self.new_name.get(), later=self.later.at())

    def on_later(self, at):
        hr.emit(k=self.key.k, large=None, mean=None, new_name=None, later=at)


def evolved() -> Iterator[Run]:
    def version(program: type[hr.Program]) -> hr.Job:
        return hr.job("evolved", kept(read("rows").key_by("k").process(program, order="arrival").named("sums"), "made"))

    yield Run(version(Before), {"rows": [row(k, n, n) for n in range(1, 4) for k in ("a", "b", "c")]})
    yield Run(version(After), {"rows": [row("a", 5, 5)]})
    yield Run(version(After), {"rows": [row("a", 6, 6), row("b", 7, 7), row("d", 8, 8)]})


def changing(name: str, schema: str) -> hr.Stream:
    return hr.read.files(f"in/{name}", format="json", schema=f"{schema}, op string", files_per_epoch=1, name=name, change_column="op")


def views() -> Iterator[Run]:
    """The state of each operator of queries: small groups and one of several pages, some of whose rows are deleted in the last run."""
    rows = changing("rows", "k string, v int, x double, s string")
    shops = changing("shops", "name string, country string")
    prices = hr.read.files("in/prices", format="json", schema="k string, p decimal(10,2)", name="prices", change_format="upsert", key="k")
    met = {how: rows.join(shops, on="k = name AND v > length(country)", how=how) for how in ("inner", "left", "full", "anti")}
    numbers = rows.group_by("k").agg(n="count(*)", total="sum(v)", mean="avg(x)", spread="stddev(x)")
    values = rows.group_by("k").agg(most="max(v)", one="count(DISTINCT s)", all="sort_array(collect_list(v))", middle="median(x)")
    placed = rows.select("k", "v", place=hr.f.rank().over(per="k", by="v desc"), before=hr.f.lag("v").over(per="k", by=["v", "s"]))
    ends = {
        **met,
        "cross": rows.filter("v < 3").join(prices.rename({"k": "priced"}), on="x > p"),
        "numbers": numbers,
        "values": values,
        "all": rows.group_by().agg(n="count(*)", least="min(s)"),
        "once": rows.select("k", "s").distinct(),
        "top": rows.top(3, by=["v desc", "s"], per="k"),
        "placed": placed,
        "prices": prices,
        "keyed": values.select("k", "most").upserts("k"),
        "both": rows.select("k").intersect(shops.select(k="name"), all=True),
    }
    sinks = [stream.write.files(f"result/{name}", format="json", name=f"{name}_kept", mode="changes") for name, stream in ends.items()]
    many = [{"k": "m", "v": i % 50, "x": i / 8, "s": f"a longer text, so that a group has several pages: {i}"} for i in range(400)]
    few = [
        {"k": k, "v": v, "x": v / 4, "s": s} for k, v, s in (("a", 1, "x"), ("a", 7, "y"), ("b", 2, None), (None, 9, "x"), ("c", 5, "z"))
    ]
    shop = [{"name": name, "country": country} for name, country in (("a", "SE"), ("b", "NO"), ("d", "SE"), (None, "FI"))]
    price = [{"k": "a", "p": "0.10"}, {"k": "b", "p": "0.20"}]
    plus, minus = {"op": "+"}, {"op": "-"}
    job = hr.job("views", *sinks)
    yield Run(job, {"rows": [one | plus for one in (*many, *few)], "shops": [one | plus for one in shop], "prices": price})
    last = [one | minus for one in (*many[::3], *few[:3])] + [{"k": "d", "v": 8, "x": 1.5, "s": "new", "op": "+"}]
    gone = [shop[0] | minus, {"name": "c", "country": "DK", "op": "+"}]
    yield Run(job, {"rows": last, "shops": gone, "prices": [{"k": "a", "p": "0.30"}, {"k": "c", "p": "0.05"}]})


def priced() -> dict[str, hr.Stream]:
    """Rows with the price at their time; one row comes late."""
    rows, schema = read("rows"), "k string, price int, at timestamp"
    prices, rates = read("prices", schema, timed=False), read("rates", schema, timed=False).watermark("at", "5 minutes")
    return {
        "revised": rows.join_asof(prices, on="k", time=("ts", "at"), direction="nearest"),
        "once": rows.join_asof(rates, on="k", time=("ts", "at"), within="1 hour", emit="close"),
    }


def versions() -> Iterator[Run]:
    """Rows and their versions: one small group, and one of several pages that waits for the watermark."""
    sinks = [stream.write.files(f"result/{name}", format="json", name=f"{name}_kept", mode="changes") for name, stream in priced().items()]
    job = hr.job("versions", *sinks)

    def run(rows: Rows, **minutes: range) -> Run:
        rows_of_prices = [{"k": k, "price": minute, "at": row(k, 0, minute)["ts"]} for k, of in minutes.items() for minute in of]
        return Run(job, {"rows": rows, "prices": rows_of_prices, "rates": rows_of_prices})

    yield run([row("a", 1, 1), *(row("m", v, v % 60) for v in range(600))], a=range(2), m=range(0, 60, 2))
    yield run([row("a", 2, 70)], m=range(61, 66))
    yield run([row("m", 3, 80), row("m", 4, 1)], a=range(60, 70), m=range(3, 4))


def intervals() -> Iterator[Run]:
    """Rows that meet others near in time: a small group, and one of several pages. Rows expire as the watermark passes them."""
    rows, offers = read("rows"), read("offers", "l string, p int, at timestamp", timed=False).watermark("at", "5 minutes")
    on = "k = l AND ts BETWEEN at AND at + INTERVAL 30 MINUTES"
    ends = {"met": rows.join(offers, on=on, how="full"), "once": rows.join(offers, on=on, how="left", emit="close")}
    sinks = [stream.write.files(f"result/{name}", format="json", name=f"{name}_kept", mode="changes") for name, stream in ends.items()]
    job = hr.job("intervals", *sinks)

    def run(rows: Rows, **minutes: range) -> Run:
        return Run(job, {"rows": rows, "offers": [{"l": k, "p": m, "at": row(k, 0, m)["ts"]} for k, of in minutes.items() for m in of]})

    yield run([row("a", 1, 1), row("b", 1, 2), *(row("m", v, v % 20) for v in range(300))], a=range(2), c=range(1), m=range(0, 20, 10))
    yield run([row("a", 2, 30), row("m", 7, 18)], a=range(28, 30), m=range(12, 13))
    yield run([row("m", 8, 40), row("a", 3, 4), row("a", 4, 50)], a=range(48, 50), m=range(39, 40))


def sessions() -> Iterator[Run]:
    """Sessions: one of several pages that waits for the watermark, and the end of a closed one, before which rows are late."""
    rows = read("rows")
    half = hr.sessions("ts", "30 minutes", per="k")
    ends = {"open": rows.window(half), "once": rows.window(half, emit="close"), "late": rows.window(half).output("late")}
    sinks = [stream.write.files(f"result/{name}", format="json", name=f"{name}_kept", mode="changes") for name, stream in ends.items()]
    job = hr.job("sessions", *sinks)
    yield Run(job, {"rows": [row("a", 1, 1), *(row("m", v, v % 60) for v in range(600))]})
    yield Run(job, {"rows": [row("a", 2, 31), row("b", 2, 58)]})
    yield Run(job, {"rows": [row("b", 1, 70), row("m", 3, 95), row("a", 3, 2)]})


def counters() -> Iterator[Run]:
    """The most frequent values, in one page and in several; each run brings more values than there are counters."""
    rows = read("rows", timed=False)
    ends = {"few": rows.heavy_hitters(2, by="k", error=0.5), "many": rows.heavy_hitters(3, by=["k", "v"], error=0.005)}
    sinks = [stream.write.files(f"result/{name}", format="json", name=f"{name}_kept", mode="changes") for name, stream in ends.items()]
    job = hr.job("counters", *sinks)
    yield Run(job, {"rows": [row("abc"[v % 3], v // 2, v % 60) for v in range(500)]})
    yield Run(job, {"rows": [row("d", v % 7, 1) for v in range(40)]})
    yield Run(job, {"rows": [row("a", 1, 2), row("e", 300, 3)]})


def grown() -> Iterator[Run]:
    """A file that grows after it was read: the log of files has its length, and that the growth was reported."""
    rows = read("rows", timed=False)
    job = hr.job("grown", kept(rows, "rows"), kept(rows.output("dead_letter").select("reason"), "letters"))
    first = [row("a", 1, 0), row("b", 2, 1)]
    yield Run(job, {"rows": first})
    yield Run(job, {"rows": [row("a", 3, 2)]}, {("rows", 1): [*first, row("c", 9, 3)]})
    yield Run(job, {"rows": [row("b", 4, 4)]})


CASES = {
    job.__name__: job
    for job in (
        *(cells, held, broadcast, processing, temporal, levels, evolved, views, versions, intervals, sessions, counters, grown),
        *(moved, corrected),
    )
}
"""The runs of a job, by name; the test makes the last run."""


class Statements(hr.Program):
    """Every kind of statement."""

    other = hr.Output()

    n = hr.Value("int", default=0, was="old_n")
    t = hr.Value("int", was=hr.col("n") + 1)
    xs = hr.List("int", expires="1 day")
    m = hr.Map("string", "int")
    total = hr.Aggregate("sum(x)", "x int")
    rules = hr.Broadcast("string", "int")
    wake = hr.Timer()
    due = hr.Timer(key="string")

    def on_event(self, e):
        local = hr.let(0, "int")
        with hr.when(e.v > 1):
            self.xs.append(e.v)
        with hr.elsewhen(e.v.is_null()):
            hr.reject("no value")
        with hr.otherwise():
            self.n.clear()
        with hr.each(self.m.range("a", "b"), reverse=True) as it:
            local.set(local.get() + it.value)
            it.set(it.value + 1)
        with hr.each(self.xs) as it:
            it.remove()
        self.m.set(e.k, self.rules.get(e.k))
        self.total.add(x=e.v)
        self.wake.set(e.ts)
        self.due.set(e.ts, e.k)
        self.t.set(self.n.get())
        hr.emit(k=self.key.k, v=local.get(), total=self.total.get(), now=hr.now(), ts=e.ts)
        self.other.emit(k=self.key.k, watermark=hr.watermark())

    def on_more(self, r):
        self.n.set(r.v)

    def on_rules(self, r):
        self.rules.set(r.k, r.v)

    def on_late(self, e):
        self.n.set(-1)

    def on_wake(self, at):
        self.xs.clear()

    def on_due(self, at, of):
        self.m.remove(of)


def send(frame: Any, epoch: int) -> None:
    """A function for `foreach_batch`."""


def everything() -> hr.Job:
    """Every operator, statement and connector, with every option."""
    options = {"follow": False, "by": "time", "files_per_epoch": 3, "malformed": "fail"}
    csv = hr.read.files("in/*.csv", format="csv", schema=ROWS, name="csv", options={"sep": ";"}, **options).watermark(
        "ts", "1 minute", idle="1 hour"
    )
    parquet = hr.read.files("in/more.parquet", format="parquet", schema=ROWS, follow=True, name="parquet").watermark("ts", "2 minutes")
    memory = hr.read.memory([("a", 1, "2026-01-01 10:00:00")], ROWS, name="memory").watermark("ts", "3 minutes")
    rules = hr.read.files("in/rules.json", format="json", schema=ROWS, name="rules").watermark("ts", "1 minute")
    both = csv.union(parquet.filter("v > 1").rename({"v": "w"}).with_columns(v="w + 1").drop("w").select("k", "v", "ts"))
    inputs = {"more": memory.key_by("k"), "rules": hr.broadcast(rules)}
    stream = (
        both.explode("array(k, 'x')", as_="k2")
        .key_by(hr.col("k2").alias("k"))
        .process(Statements, order="time", time="ts", **inputs)
        .named("statements")
    )
    ticks = hr.read.rate(5, name="rate").filter("value % 2 = 0")
    return hr.job(
        "everything",
        stream.write.files("result/made", format="parquet", partition_by="k", name="made"),
        stream.output(Statements.other).write.console(rows=5, name="console"),
        stream.output("late").write.memory(name="late"),
        stream.output("dead_letter").write.foreach_batch(send, name="dead"),
        ticks.write.console(name="ticks"),
    )


def kafka_sinks() -> hr.Job:
    """Topics as sinks, with every option."""
    rows = hr.read.memory([("a", 1, "2026-01-01 10:00:00")], ROWS, name="rows")
    return hr.job(
        "kafka sinks",
        rows.write.kafka(
            "added",
            servers=["one:9092", "two:9092"],
            columns=["k", "v"],
            headers={"trace": "k"},
            timestamp="ts",
            partition_by="k",
            epoch_headers=False,
            end_markers=True,
            create={"partitions": 4, "replication": 3, "config": {"cleanup.policy": "compact"}},
            transaction_timeout="5 minutes",
            prefix="golden",
            security={"user": "reader", "password": hr.secret("KAFKA_PASSWORD"), "ca": "ca.pem"},
            options={"compression.type": "zstd"},
            name="added",
        ),
        rows.group_by("k").agg(v="sum(v)").write.kafka("kept", servers="one:9092", key="k", key_format="json", value="csv", name="kept"),
        rows.upserts("k").write.kafka("told", servers="one:9092", key="k", value="debezium", name="told"),
    )


def kafka() -> hr.Job:
    """Topics with every option."""
    security = {"user": "me", "password": hr.secret("PASSWORD"), "mechanism": "SCRAM-SHA-512", "ca": "ca.pem"}
    ends = {"end": "latest", "rows_per_epoch": 5, "on_gap": "skip", "malformed": "fail", "tombstones": "skip", "group": "lag"}
    named = hr.read.kafka(["a", "b"], servers="one:9092", schema=ROWS, metadata={"at": "offset"}, start={"a": {0: 5}}, name="named", **ends)
    fits = hr.read.kafka(
        pattern="a.*", servers="two:9092", value="raw", start="2026-01-01", security=security, options={"x": "y"}, name="fits"
    )
    users = hr.read.kafka("users", servers="one:9092", schema=ROWS, change_format="upsert", key="k")
    return hr.job(
        "kafka", *(stream.write.memory(name=f"{name} out") for name, stream in (("named", named), ("fits", fits), ("users", users)))
    )


def as_of() -> hr.Job:
    """A join of rows with their versions, both ways."""
    return hr.job("as of", *(stream.write.memory(name=name) for name, stream in priced().items()))


def lakes() -> hr.Job:
    """Tables that other programs may write too, with every option."""
    from headrace.connectors import delta, iceberg
    from headrace.ops.source import source
    from headrace.schema import parse_schema

    schema = parse_schema(ROWS)
    # As when a plan is read: nothing is looked up in the tables, which do not exist.
    storage = {"AWS_REGION": "eu-north-1", "AWS_SECRET_ACCESS_KEY": {"env": "KEY"}}
    catalog = {"type": "rest", "uri": "https://catalog.example", "token": {"file": "/run/secrets/token"}}
    changes = delta.Source("s3://bucket/rows", follow=True, start=3, changes=True, files_per_epoch=5, storage_options=storage)
    snapshots = iceberg.Source("db.rows", catalog=catalog, follow=True, start="2026-01-01", changes=True, files_per_epoch=5)
    read = [
        hr.Stream(source(one.from_options(one.options(), schema), schema.ddl, name, inferred=True))
        for one, name in ((changes, "delta"), (snapshots, "iceberg"))
    ]
    options = {"key": "k", "partition_by": ["v"], "schema": "add", "properties": {"owner": "me"}}
    merged = read[0].union(read[1])
    return hr.job(
        "lakes",
        merged.write.delta("out/rows", compact_every=5, vacuum="7 days", storage_options=storage, name="to delta", **options),
        merged.write.iceberg("db.out", catalog=catalog, name="to iceberg", **options),
    )


def databases() -> hr.Job:
    """Tables of databases and keys of Redis, with every option."""
    who = {"user": "app", "password": hr.secret("DB_PASSWORD")}
    read = hr.read.jdbc(
        *("postgresql://db/shop", "public.rows"),
        by="ts",
        follow=True,
        updated=True,
        settle="5 seconds",
        schema=ROWS,
        name="rows",
        **{"change_format": "upsert", "key": "k", "options": {"sslmode": "require"}, **who},
    )
    whole = hr.read.jdbc("sqlite:in.db", "SELECT * FROM rows", schema=ROWS, name="whole")
    written = {"key": ["k"], "create": False, "retry": "1 minute", "options": {"sslMode": "verify-full"}}
    return hr.job(
        "databases",
        read.write.jdbc("mariadb://db/shop", "rows", name="to a table", **written, **who),
        whole.write.jdbc("sqlite:out.db", '"all rows"', name="to a file"),
        read.write.redis("rediss://cache:6379/1", prefix="row:", key="k", value="hash", retry="1 minute", name="to keys", **who),
    )


def queries() -> hr.Job:
    """Every operator of queries."""
    rows = hr.read.files("in/rows.json", format="json", schema=f"{ROWS}, op string", name="rows", change_column="op")
    cards = hr.read.files("in/cards.json", format="json", schema="k string, country string", name="cards", change_format="debezium")
    spent = rows.group_by("k").agg(spent="sum(v)", most="max(v)").named("spent")
    places = Partition(
        spent._node, ("most",), (("spent", "desc", "last"),), (("place", "rank() OVER (PARTITION BY most ORDER BY spent DESC)"),)
    )
    limits = hr.read.values([("country", "string"), ("limit", "int")], [["'SE'", "100"], ["NULL", "2 * 100"]], name="limits")
    known = spent.join(cards, on="k", how="left").join(limits.rename({"country": "c"}), on="country <=> c AND spent > limit")
    return hr.job(
        "queries",
        known.write.memory(name="known"),
        hr.Stream(places).write.memory(name="places"),
        rows.group_by().agg(n="count(*)").write.memory(name="count"),
        rows.top(3, by=["v desc", "k"], per="k").write.memory(name="top"),
        rows.intersect(rows.filter("v > 1"), all=True).write.memory(name="both"),
        rows.changes().write.files("result/changes", format="json", name="changes"),
        spent.upserts("k").write.files("result/upserts", format="json", name="upserts", mode="changes"),
        spent.write.memory(name="by key", key="k"),
    )


def frequent() -> hr.Job:
    """The most frequent values, and a sample of the rows."""
    rows = read("rows", timed=False)
    hitters = rows.sample(0.5, seed=7).heavy_hitters(3, by=["k", "v"], error=0.01)
    return hr.job("frequent", hitters.write.memory(name="hitters"))


def times() -> hr.Job:
    """A plan with operators of queries that use the time."""
    calls = read("calls", "city string, at timestamp", timed=False)
    now = hr.sql("SELECT city, count(*) AS n FROM calls WHERE at > now() - INTERVAL 1 HOUR AND at <= now() GROUP BY city", calls=calls)
    return hr.job("golden-times", now.named("now").write.memory(name="now_kept"))


def windows() -> hr.Job:
    """All kinds of time windows, emitted as they change and when they close."""
    rows = read("rows")
    hours = rows.window(hr.hop("ts", "1 hour", "15 minutes"), lateness="1 minute").group_by("k", "window_end").agg(s="sum(v)")
    days = rows.window(hr.cumulate("ts", "1 day", "1 hour", offset="2 hours"), emit="close").group_by("window_end").agg(n="count(*)")
    late = rows.window(hr.tumble("ts", "1 hour")).group_by("k", "window_start").agg(m="max(v)")
    return hr.job(
        "windows",
        hours.top(1, by="s desc", per="window_end").write.memory(name="best"),
        days.write.files("result/days", format="json", name="days"),
        late.output("late").write.files("result/late", format="json", name="late"),
        rows.dedupe(on="k", within="1 hour").write.files("result/once", format="json", name="once"),
    )


def visits() -> hr.Job:
    """Sessions of keys, and of the whole stream."""
    rows = read("rows")
    visits = rows.window(hr.sessions("ts", "30 minutes", per="k"), lateness="1 minute").group_by("k", "window_end").agg(s="sum(v)")
    closed = rows.window(hr.sessions("ts", "1 hour", per=()), emit="close")
    return hr.job(
        "visits",
        visits.write.memory(name="visits"),
        closed.write.files("result/closed", format="json", name="closed"),
        closed.output("late").write.files("result/late", format="json", name="late"),
    )


def contracts() -> hr.Job:
    """Expectations of rows, and the treatment of those that cannot be read."""
    rows = hr.read.files("in/rows.json", format="json", schema=ROWS, name="rows", malformed="skip")
    sound = rows.expect(positive="v > 0", known="k IS NOT NULL").expect("v < 100", on_violation="keep")
    sent = sound.write.http("https://example.org/sound", headers={"X-Job": "contracts"}, token=hr.secret("TOKEN"), name="sent")
    return hr.job("contracts", sound.write.files("result/sound", format="orc", name="sound"), sent)


def lookups() -> hr.Job:
    """Rows that are looked up in external tables."""
    rows = read("rows", timed=False)
    names = hr.lookup.files("in/names.csv", format="csv", schema="k string, name string", refresh="5 minutes", name="names")
    few = hr.lookup.memory([("a", "first")], "id string, place string", name="few", constant=True)
    secret = hr.secret("GOLDEN_PASSWORD")
    kept = hr.lookup.redis("redis://localhost", "number string, city string", key="number", prefix="city:", password=secret)
    joined = rows.lookup(names, on="k", how="inner")
    all = joined.lookup(few, on={"upper(k)": "id"}).lookup(kept, on={"name": "number"}, cache="1 hour")
    return hr.job(
        "lookups",
        all.write.files("result/found", format="json", name="found"),
        joined.output("missed").write.files("result/missed", format="json", name="missed"),
    )


def hybrid() -> hr.Job:
    """History, then live, cut at a time."""
    rows = hr.read.hybrid(read("archive"), then=read("rows"), at="2026-01-01 12:00:00")
    return hr.job("hybrid", rows.write.files("result/rows", format="json", name="rows_out"))


PLANS = {
    job.__name__: job
    for job in (
        everything,
        kafka,
        kafka_sinks,
        queries,
        frequent,
        as_of,
        times,
        windows,
        visits,
        contracts,
        lakes,
        databases,
        lookups,
        hybrid,
    )
}
"""The jobs whose plan alone is kept, by name."""
