"""Lists and maps of programs: what they keep, in which order, in pages, and that a failing row leaves them as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import headrace as hr
from tests.spark.kernel.trial import Tried, epoch, row, traced, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tried(spark: SparkSession, written: Any, values: list[Any], *, v: str = "int", cuts: int = 1, **outputs: str) -> Tried:
    """One key's rows as they arrive, `cuts` of them an epoch."""
    p = traced(written, inputs={"event": f"v {v}, ts timestamp"}, outputs=outputs, order="arrival")
    epochs = [epoch(*(row(i + n, v=v) for n, v in enumerate(values[i : i + cuts]))) for i in range(0, len(values), cuts)]
    return trial(spark, p, *epochs)


class Kept(hr.Program):
    """A list that is cleared by 0 and replaced by -1."""

    xs = hr.List("int")

    def on_event(self, e):
        with hr.when(e.v == 0):
            self.xs.clear()
        with hr.elsewhen(e.v == -1):
            self.xs.set(hr.expr("array(7, NULL, 8)"))
        with hr.elsewhen(e.v == -2):
            self.xs.set(hr.f.filter(self.xs.get(), hr.expr("x -> x > 7")))
        with hr.otherwise():
            self.xs.append(e.v)
        hr.emit(xs=self.xs.get(), n=self.xs.size(), some=self.xs.exists())


def test_a_list(spark: SparkSession) -> None:
    wanted = [
        ([3], 1, True),
        ([3, 1], 2, True),
        ([3, 1, None], 3, True),
        ([], 0, False),
        ([2], 1, True),
        ([7, None, 8], 3, True),
        ([7, None, 8, 9], 4, True),
        ([8, 9], 2, True),
        ([], 0, False),
    ]
    for cuts in (1, 4, 9):
        result = tried(spark, Kept, [3, 1, None, 0, 2, -1, 9, -2, 0], cuts=cuts, main="xs array<int>, n bigint, some boolean")
        assert result.all() == wanted
        assert result.state == [], "an empty list leaves nothing behind"


class Ordered(hr.Program):
    """A map by the length of a word and the word; what is asked of it, and its entries in order."""

    words = hr.Map("struct<n: int, w: string>", "int")

    def on_event(self, e):
        key = hr.f.named_struct(hr.lit("n"), hr.f.length(e.v), hr.lit("w"), e.v)
        with hr.when(e.v.like("-%")):
            self.words.remove(hr.expr("named_struct('n', length(e.v) - 1, 'w', substr(e.v, 2))"))
        with hr.otherwise():
            hr.emit(what="had", n=hr.f.int(self.words.has(key)), word=e.v)
            self.words.set(key, hr.f.coalesce(self.words.get(key), 0) + 1)
        with hr.each(self.words) as it:
            hr.emit(what="up", n=it.value * 100 + it.index.cast("int"), word=it.key.w)
        with hr.each(self.words, reverse=True) as it:
            hr.emit(what="down", n=it.value, word=it.key.w)
        hr.emit(what="first", n=self.words.first().value, word=self.words.first().key.w)
        hr.emit(what="last", n=self.words.size().cast("int"), word=self.words.last().key.w)


def test_a_map_is_in_the_order_of_its_keys(spark: SparkSession) -> None:
    words = ["pear", "fig", "kiwi", "fig", "-pear", "a", "-none", "-fig", "-kiwi", "-a"]
    result = tried(spark, Ordered, words, v="string", cuts=3, main="what string, n int, word string")
    kept: dict[str, int] = {}
    wanted: list[Any] = []
    for word in words:
        if word.startswith("-"):
            kept.pop(word[1:], None)
        else:
            wanted.append(("had", int(word in kept), word))
            kept[word] = kept.get(word, 0) + 1
        order = sorted(kept, key=lambda w: (len(w), w))
        wanted += [("up", kept[w] * 100 + i, w) for i, w in enumerate(order)]
        wanted += [("down", kept[w], w) for w in reversed(order)]
        wanted.append(("first", kept[order[0]], order[0]) if order else ("first", None, None))
        wanted.append(("last", len(order), order[-1] if order else None))
    assert result.all() == wanted
    assert result.state == []


class Sieve(hr.Program):
    """Entries of a range are changed and taken away by the loop that stands at them."""

    numbers = hr.Map("int", "int")

    def on_event(self, e):
        with hr.when(e.v < 0):
            with hr.each(self.numbers.range(10, -e.v)) as it:
                with hr.when(it.key % 3 == 0):
                    it.remove()
                with hr.elsewhen(it.key % 3 == 1):
                    it.set(it.value * 2)
                    hr.emit(key=it.key, value=it.value)
                with hr.otherwise():
                    it.set(None)
            with hr.each(self.numbers.range(None, hr.expr("CAST(NULL AS int)"))) as it:
                hr.emit(key=-1, value=-1)
        with hr.otherwise():
            self.numbers.set(e.v, e.v)
        with hr.when(e.v == -40):
            with hr.each(self.numbers) as it:
                hr.emit(key=it.key, value=it.value)


def test_a_loop_changes_what_it_stands_at(spark: SparkSession) -> None:
    result = tried(spark, Sieve, [*range(5, 35), -20, -40], cuts=40, main="key int, value int")
    first = [(n, n) for n in range(10, 20) if n % 3 == 1]
    second = [(n, n * (2 if n < 20 else 1)) for n in range(10, 35) if n % 3 == 1]
    rest = [(n, n) for n in range(5, 10)] + [(n, n * (4 if n < 20 else 2)) for n in range(10, 35) if n % 3 == 1]
    assert result.values() == [first + second + rest]


class Many(hr.Program):
    """Long texts in a list and a map, so that both need many pages."""

    texts = hr.List("string")
    by_number = hr.Map("bigint", "string")

    def on_event(self, e):
        text = hr.f.concat(e.v.cast("string"), hr.lit("-"), hr.f.repeat(hr.lit("x"), 300))
        self.texts.append(text)
        self.by_number.set(e.v * 7919 % 1000, text)
        with hr.when(e.v % 500 == 499):
            with hr.each(self.texts) as it:
                hr.emit(of="list", at=it.index, text=hr.f.substring_index(it.value, hr.lit("-"), 1))
            with hr.each(self.by_number.range(100, 110)) as it:
                hr.emit(of="map", at=it.key, text=hr.f.substring_index(it.value, hr.lit("-"), 1))
        with hr.when(e.v == 999):
            self.texts.clear()
            self.by_number.clear()


def test_many_pages(spark: SparkSession) -> None:
    result = tried(spark, Many, list(range(1000)), cuts=90, main="of string, at bigint, text string")
    wanted: list[Any] = []
    for last in (500, 1000):
        wanted += [("list", i, str(i)) for i in range(last)]
        wanted += sorted(("map", i * 7919 % 1000, str(i)) for i in range(last) if 100 <= i * 7919 % 1000 < 110)
    assert result.all() == wanted
    assert result.state == []


class Once(hr.Program):
    """Lets a value through once, and rejects 13; the list is only read."""

    seen = hr.Map("int", "int")
    values = hr.List("int")

    def on_event(self, e):
        with hr.when(~self.seen.has(e.v)):
            self.seen.set(e.v, 1)
            self.values.append(e.v)
            hr.emit(k=self.key.k, values=self.values.get())
        with hr.when(e.v == 13):
            hr.reject("no")


def test_a_key_that_only_reads_is_apart_from_the_next(spark: SparkSession) -> None:
    p = traced(Once, outputs={"main": "k string, values array<int>"}, order="arrival")
    tried = trial(
        spark,
        p,
        epoch(row(1, "a", v=1), row(1, "b", v=2)),
        epoch(row(1, "a", v=1), row(1, "b", v=1)),  # a reads only
        epoch(row(1, "a", v=13), row(1, "b", v=3)),  # what a did is undone
        epoch(row(1, "a", v=3), row(1, "b", v=3), row(1, "c", v=2)),
    )
    assert tried.values() == [[("a", [1]), ("b", [2])], [("b", [2, 1])], [("b", [2, 1, 3])], [("a", [1, 3]), ("c", [2])]]


class Failing(hr.Program):
    """Changes everything and then fails for 13: all must be as before."""

    n = hr.Value("int", default=100)
    xs = hr.List("int")
    m = hr.Map("int", "int")

    def on_event(self, e):
        hr.emit(n=self.n.get(), xs=self.xs.get(), keys=self.m.size())
        self.n.set(self.n.get() + 1)
        self.xs.append(e.v)
        self.m.set(e.v, 1)
        with hr.when(e.v == 13):
            self.xs.clear()
            self.xs.append(99)
            with hr.each(self.m) as it:
                it.remove()
        with hr.when(e.v == 14):
            hr.reject(hr.f.concat(hr.lit("not "), e.v))
        with hr.when(e.v == 15):
            self.m.set(hr.expr("CAST(NULL AS int)"), 1)
        self.n.set(100 / (e.v - 13))


def test_what_a_failing_row_did_is_undone(spark: SparkSession) -> None:
    for cuts in (1, 7):
        result = tried(spark, Failing, [23, 13, 14, 15, 33, 13, 3], cuts=cuts, main="n int, xs array<int>, keys bigint")
        assert result.all() == [(100, [], 0), (10, [23], 1), (5, [23, 33], 2)]
        reasons = [reason.partition(" at ")[0] for reason, _ in result.dead()]
        assert [reason.split(". ")[0] for reason in reasons] == [
            "[DIVIDE_BY_ZERO] Division by zero",
            "not 14",
            "IllegalArgumentException: a value is set for a null key",
            "[DIVIDE_BY_ZERO] Division by zero",
        ]


class Locals(hr.Program):
    """A local that loops and branches change, and the times of the epoch."""

    xs = hr.List("int")

    def on_event(self, e):
        self.xs.append(e.v)
        total = hr.let(0, "bigint")
        largest = hr.let(e.v)
        with hr.each(self.xs) as it:
            before = total.get()
            total.set(total.get() + it.value)
            with hr.when(it.value > largest.get()):
                largest.set(it.value)
            with hr.when(total.get() - before != it.value):
                hr.reject("a read of a local is a snapshot")
        hr.emit(total=total.get(), largest=largest.get(), now=hr.now(), mark=hr.watermark())


def test_locals_and_times(spark: SparkSession) -> None:
    p = traced(Locals, outputs={"main": "total bigint, largest int, now timestamp, mark timestamp"}, order="arrival")
    result = trial(
        spark, p, epoch(row(1, v=5), row(2, v=9), now=60_000_000), epoch(row(3_000_000, v=2), now=120_000_000, watermark=2_000_000)
    )
    stamp = "1970-01-01T00:0{}:0{}.000000Z"
    assert result.dead() == []
    assert result.values() == [
        [(5, 5, stamp.format(1, 0), None), (14, 9, stamp.format(1, 0), None)],
        [(16, 9, stamp.format(2, 0), stamp.format(0, 2))],
    ]
