"""What verbs make of columns, names and time."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

import pytest

import headrace as hr
from headrace.ops import event_time
from headrace.words import WORDS

charges = hr.read.memory([], "card string, amount int, goods array<string>, place struct<city: string>, ts timestamp", name="charges")
timed = charges.watermark("ts", "5 minutes")


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        hr.emit(card=self.key.card, n=self.n.get(), at=e.ts)


class Pair(hr.Program):
    side = hr.Output()

    def on_event(self, e: hr.Row) -> None:
        hr.emit(card=self.key.card, at=e.ts)

    def on_other(self, o: hr.Row) -> None:
        self.side.emit(o)


def items(stream: hr.Stream) -> list[tuple[str, str]]:
    return list(vars(stream._node)["items"])


def test_select() -> None:
    stream = charges.select(
        "card", "place.city", hr.expr("amount + 1 AS more"), hr.col("amount").alias("again"), twice=hr.col("amount") * 2
    )
    assert items(stream) == [
        ("card", "card"),
        ("city", "place.city"),
        ("more", "amount + 1"),
        ("again", "amount"),
        ("twice", "amount * 2"),
    ]


def test_select_all() -> None:
    assert charges.select("*", twice="amount * 2").columns == (*charges.columns, "twice")


def test_with_columns_keeps_places_and_names() -> None:
    stream = charges.select("card", "amount").with_columns(AMOUNT="amount + 1", large="amount > 500")
    assert items(stream) == [("card", "card"), ("amount", "amount + 1"), ("large", "amount > 500")]


def test_names_are_compared_without_case() -> None:
    assert charges.drop("AMOUNT", "`ts`").columns == ("card", "goods", "place")
    assert charges.rename({"Card": "c"}).columns[0] == "c"
    assert charges.filter("Amount > 3").columns == charges.columns


def test_rename_may_swap() -> None:
    assert items(charges.select("card", "amount").rename({"card": "amount", "amount": "card"})) == [("amount", "card"), ("card", "amount")]


def test_alias_is_a_qualifier() -> None:
    stream = charges.alias("c").filter("c.amount > 3 AND c.place.city = 'x'")
    assert vars(stream._node)["where"] == ("amount > 3 AND place.city = 'x'",)
    assert items(stream.select("c.card")) == [("card", "card")]


def test_streams_are_immutable() -> None:
    charges.filter("amount > 3").drop("card")
    assert charges.columns == ("card", "amount", "goods", "place", "ts")


def test_explode() -> None:
    assert charges.explode("goods").columns == charges.columns
    assert charges.explode("goods", as_="good").columns == (*charges.columns, "good")
    assert charges.explode("map('a', amount)", as_=("k", "v")).columns == (*charges.columns, "k", "v")


def test_explode_beside_a_column_of_the_name_it_would_take() -> None:
    stream = hr.read.memory([], "item int, xs array<int>", name="s").explode("xs")
    assert vars(stream._node)["names"] == ("item_",)


@pytest.mark.parametrize(
    ("stream", "time"),
    [
        (charges, None),
        (timed, "ts"),
        (timed.filter("amount > 1").explode("goods"), "ts"),
        (timed.rename({"ts": "at"}), "at"),
        (timed.select("card", at="ts"), "at"),
        (timed.with_columns(copy="ts"), "ts"),
        (timed.with_columns(ts="ts + interval 1 hour"), None),
        (timed.drop("ts"), None),
        (timed.union(timed.filter("amount > 1")), "ts"),
        (timed.union(charges), None),
        (timed.key_by("card").process(Count), None),
        (timed.key_by("card").process(Count, time="at"), "at"),
        (timed.key_by("card").process(Count, time="AT").filter("n > 1"), "at"),
        (timed.key_by("card").process(Count, time="at").output("late"), None),
        (timed.output("dead_letter"), None),
    ],
)
def test_event_time_follows_the_column(stream: hr.Stream, time: str | None) -> None:
    assert event_time(stream._node) == time


def test_order_is_time_where_every_input_has_time() -> None:
    def order(stream: hr.Stream) -> str:
        return str(vars(stream._node)["order"])

    assert order(timed.key_by("card").process(Count)) == "time"
    assert order(charges.key_by("card").process(Count)) == "arrival"
    assert order(timed.key_by("card").process(Pair, other=charges.key_by("card"))) == "arrival"
    assert order(timed.key_by("card").process(Count, order="arrival")) == "arrival"


def test_outputs_and_their_columns() -> None:
    stream = timed.key_by("card").process(Pair, other=timed.select("card", "ts").key_by("card"))
    assert stream.columns == ("card", "at")
    assert stream.output(Pair.side).columns == stream.output("side").columns == ("card", "ts")
    assert stream.output("late").columns == charges.columns
    assert stream.output("late_other").columns == ("card", "ts")
    assert stream.output("dead_letter").columns == ("node", "reason", "file", "position", "raw")


def test_keys_are_named_by_the_main_input() -> None:
    other = timed.rename({"card": "number"})
    stream = timed.key_by(hr.f.upper("card").alias("card")).process(Pair, other=other.key_by("number"))
    assert vars(stream._node)["keys"] == ((("card", "upper(card)"),), (("card", "number"),))


def test_a_program_for_the_whole_stream() -> None:
    class Total(hr.Program):
        n = hr.Value("bigint")

        def on_event(self, e: hr.Row) -> None:
            self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + e.amount)
            hr.emit(n=self.n.get())

    assert vars(charges.process(Total)._node)["keys"] == ((),)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_join_that_gives_one_side_takes_names_that_both_have(how: str) -> None:
    cards = hr.read.memory([], "card string, amount int, ts timestamp", name="cards")
    met = charges.alias("a").join(cards.alias("b"), on="a.card = b.card AND a.amount > b.`AMOUNT`", how=how)
    assert met.columns == charges.columns
    assert met._node.describe() == f"{how} join on card = card_right AND (amount > amount_right)"
    of_itself = charges.alias("a").join(charges.alias("b"), on="a.card = b.card AND a.ts < b.ts", how=how)
    assert of_itself.columns == charges.columns


def test_a_sink_that_no_job_takes_warns() -> None:
    with pytest.warns(
        UserWarning, match=r"charges\.write\.memory\(\.\.\.\) was never passed to hr\.job\(\.\.\.\), so it writes nothing"
    ) as warned:
        charges.write.memory()
    assert warned[0].filename == __file__


def test_a_sink_is_named_after_the_stream_that_was_written() -> None:
    spent = charges.group_by("card").agg(spent="sum(amount)")
    with pytest.warns(UserWarning, match=r"aggregate\(charges\)\.write\.memory\(\.\.\.\) was never passed"):
        assert repr(spent.write.memory(key="card")) == "<Sink aggregate(charges) to memory>"


def test_streams_without_names_are_called_after_what_they_read() -> None:
    cards = hr.read.memory([], "card string, country string", name="cards")
    joined = charges.filter("amount > 3").join(cards, on="card")
    assert repr(joined).startswith("<Stream join(charges, cards): card")
    assert repr(joined.filter("amount > 3")).startswith("<Stream join(charges, cards).filter: card")
    assert repr(charges.group_by().agg(n="count(*)")) == "<Stream aggregate(charges): n>"


def test_a_sink_that_a_job_takes_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        charges.write.memory()._use()


def test_a_sink_that_an_error_keeps_from_its_job_does_not_warn() -> None:
    def built() -> None:
        sink = charges.write.memory()
        hr.job("copy", charges.filter("amout > 3").write.memory(name="other"), sink)

    with warnings.catch_warnings(record=True) as caught:
        with pytest.raises(hr.PlanError):
            built()
        gc.collect()
    assert not caught


@pytest.mark.parametrize("wrong", ['charges.filter("amout > 3")', "1 / 0"])
def test_a_program_that_fails_says_only_why(wrong: str) -> None:
    script = f"""
import headrace as hr
charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
sink = charges.write.memory()
{wrong}
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 1
    assert "never passed" not in run.stderr


def test_building_starts_nothing() -> None:
    script = """
import sys, time
import headrace as hr
s = hr.read.memory([("a", 1)], "card string, amount int", name="charges").filter("amount > 0").select(x="amount + 1")
hr.Plan.of("job", [s.write.memory()._use()]).to_json()
print(*sorted({"pyspark", "py4j"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


def test_import_takes_less_than_a_third_of_a_second() -> None:
    script = "import time; t = time.perf_counter(); import headrace; print(time.perf_counter() - t)"
    times = [float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(times) < 0.3


def test_public_names() -> None:
    import types

    assert set(hr.__all__) <= set(dir(hr))
    for name in hr.__all__:
        assert not isinstance(getattr(hr, name), types.ModuleType), name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("jop", "hr.job"),
        ("flter", "stream.filter"),
        ("filter", "stream.filter"),
        ("withColumn", "stream.with_columns(...)"),
        ("count", "hr.f.count"),
        ("collectt", "hr.collect"),
        ("display", "hr.show(stream)"),
    ],
)
def test_a_name_that_the_package_has_not(name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(hr, name)
    assert str(raised.value) == f"headrace has no {name}; did you mean {meant}?"


@pytest.mark.parametrize("name", ["udf", "read_files", "date", "_private"])
def test_a_name_that_is_like_none_of_the_package(name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(hr, name)
    assert str(raised.value) == f"headrace has no {name}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("where", "filter(...)"),
        ("withColumn", "with_columns(...)"),
        ("groupBy", "group_by(...)"),
        ("dropDuplicates", "dedupe(on=...)"),
        ("dropDuplicatesWithinWatermark", "dedupe(on=..., within=...)"),
        ("sort_values", "top(...)"),
        ("unionAll", "union(...)"),
        ("flter", "filter"),
    ],
)
def test_a_verb_that_streams_have_not(name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(charges, name)
    assert str(raised.value) == f"a stream has no `{name}`; did you mean `.{meant}`?"
    assert not hasattr(charges, name)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("show", "hr.show(stream)"),
        ("collect", "hr.collect(stream)"),
        ("toPandas", "hr.collect(stream).to_pandas()"),
        ("run", 'hr.job("name", stream.write...).run()'),
    ],
)
def test_what_is_called_with_a_stream_and_is_no_verb_of_it(name: str, call: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(charges, name)
    assert str(raised.value) == f"a stream has no `{name}`; write {call}"


def test_a_verb_that_grouped_and_keyed_streams_have_not() -> None:
    with pytest.raises(AttributeError, match=r"^a grouped stream has no `count`; it has: agg$"):
        charges.group_by("card").count()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^a keyed stream has no `proces`; did you mean `\.process`\?$"):
        charges.key_by("card").proces()  # type: ignore[attr-defined]


def test_words_of_other_libraries_stand_for_verbs_that_exist() -> None:
    has = {name for name in dir(hr.Stream) if not name.startswith("_")}
    assert {verb.partition("(")[0].partition(".")[0] for verb in WORDS.values()} <= has
    assert not {word for word in WORDS if word in has}


def test_submodules_do_not_hide_functions() -> None:
    script = (
        "import headrace.expr, headrace.load, headrace as hr; from headrace.expr import Column; print(callable(hr.expr), callable(hr.load))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "True True\n"


def test_a_column_may_be_called_as_a_word_of_sql() -> None:
    visits = hr.read.memory([], "user string, `case` int, current_date date", name="visits")
    assert repr(visits.select("user", "case", "CURRENT_DATE").key_by("user")) == "<Keyed visits.select by user>"
    assert repr(visits.drop("user")) == "<Stream visits.drop: case, current_date>"


def test_a_word_that_is_no_column_may_be_a_text() -> None:
    stream = hr.read.memory([], "card string, amount int", name="s")
    for build in (lambda: stream.with_columns(kind="wholesale"), lambda: stream.select(kind=hr.struct(n="wholesale"))):
        with pytest.raises(hr.PlanError) as raised:
            build()
        assert raised.value.hint == 'it has: card, amount. For a string write hr.lit("wholesale").'
    with pytest.raises(hr.PlanError) as raised:
        stream.select("wholesale")
    assert raised.value.hint == "it has: card, amount"


def test_a_source_with_a_watermark_stands_where_it_is_read() -> None:
    read = hr.read.memory([], "card string, ts timestamp", name="s")
    marked = read.watermark("ts", "1 minute")
    assert marked._node.site == read._node.site is not None
