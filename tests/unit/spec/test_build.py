"""What is built of a document, where no view is SQL: the streams that the same calls in Python give."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.ops.stream import Stream
from headrace.plan import Plan
from headrace.spec.build import Built, build, ordered
from headrace.spec.document import document
from headrace.spec.verbs import verbs
from tests.unit.spec.conftest import Write

SOURCES = """
job: fraud
sources:
  charges: {connector: files, path: in, format: json, schema: "card string, amount int, goods array<string>, ts timestamp"}
  cards:
    connector: memory
    schema: card string, country string
    rows: [[a, SE], [b, "NO"]]
"""
VERBS = Path(__file__).resolve().parents[2] / "spark" / "verbs"
LOOKUPS = """
lookups:
  names: {connector: files, path: names.csv, format: csv, schema: "card string, id string, name string", refresh: 5 minutes, constant: true}
"""
SINKS = """
sinks:
  out: {from: view, connector: memory}
"""


def fingerprint(stream: Stream) -> str:
    return Plan.of("", [stream._node]).fingerprint


def of(write: Write, steps: str) -> Stream:
    """The view that these steps make of charges."""
    built = build(document(write(SOURCES + LOOKUPS + "views:\n  view:\n    from: charges\n    steps:\n" + steps + SINKS)))
    plan(built)
    view = built.streams["view"]
    assert isinstance(view, Stream)
    return view


def charges() -> Stream:
    return hr.read.files("in", format="json", schema="card string, amount int, goods array<string>, ts timestamp", name="charges")


def cards() -> Stream:
    return hr.read.memory([("a", "SE"), ("b", "NO")], "card string, country string", name="cards")


def names() -> Any:
    schema = "card string, id string, name string"
    return hr.lookup.files("names.csv", format="csv", schema=schema, refresh="5 minutes", name="names", constant=True)


STEPS: dict[str, Callable[[Stream, Stream], Stream]] = {
    "lookup: {table: names, on: card}": lambda charges, cards: charges.lookup(names(), on="card"),
    "lookup: {table: names, on: [card], how: inner, batch: 7, in_flight: 2, retry: 1 hour}": lambda charges, cards: charges.lookup(
        names(), on=["card"], how="inner", batch=7, in_flight=2, retry="1 hour"
    ),
    "rename: {card: c}\n      - lookup: {table: names, on: {upper(c): card, c: id}}": lambda charges, cards: charges.rename(
        {"card": "c"}
    ).lookup(names(), on={"upper(c)": "card", "c": "id"}),
    "filter: amount > 500": lambda charges, cards: charges.filter("amount > 500"),
    "filter: [amount > 500, card <> 'a']": lambda charges, cards: charges.filter("amount > 500", "card <> 'a'"),
    "select: card": lambda charges, cards: charges.select("card"),
    "select: [card, {cents: amount * 100, one: 1}, ts]": lambda charges, cards: charges.select(
        "card", hr.expr("amount * 100").alias("cents"), hr.expr("1").alias("one"), "ts"
    ),
    'select: ["*"]': lambda charges, cards: charges.select("*"),
    "with_columns: {large: amount > 500}": lambda charges, cards: charges.with_columns(large="amount > 500"),
    "drop: [goods, ts]": lambda charges, cards: charges.drop("goods", "ts"),
    "drop: goods": lambda charges, cards: charges.drop("goods"),
    "rename: {card: number}": lambda charges, cards: charges.rename({"card": "number"}),
    "explode: goods": lambda charges, cards: charges.explode("goods"),
    "explode: {column: goods, as: good, outer: true}": lambda charges, cards: charges.explode("goods", as_="good", outer=True),
    "union: charges": lambda charges, cards: charges.union(charges),
    "join: {with: cards, on: card}": lambda charges, cards: charges.join(cards, on="card"),
    "join: {with: Cards, on: [card], how: left}": lambda charges, cards: charges.join(cards, on=["card"], how="left"),
    "join: {with: cards, on: [card], how: left, emit: close}": lambda charges, cards: charges.join(
        cards, on=["card"], how="left", emit="close"
    ),
    "join_asof: {versions: cards, on: card, time: [ts, CAST(country AS timestamp)], within: 1 hour}": lambda charges, cards: (
        charges.join_asof(cards, on="card", time=("ts", "CAST(country AS timestamp)"), within="1 hour")
    ),
    "group_by: {keys: [card], agg: {n: count(*), spent: sum(amount)}}": lambda charges, cards: charges.group_by("card").agg(
        n="count(*)", spent="sum(amount)"
    ),
    "group_by: {keys: {day: date(ts)}, agg: {n: count(*)}}": lambda charges, cards: charges.group_by(hr.expr("date(ts)").alias("day")).agg(
        n="count(*)"
    ),
    "group_by: {agg: {n: count(*)}}": lambda charges, cards: charges.group_by().agg(n="count(*)"),
    "distinct": lambda charges, cards: charges.distinct(),
    "distinct: {expires: 7 days}": lambda charges, cards: charges.distinct(expires="7 days"),
    "group_by: {keys: [card], agg: {n: count(*)}, expires: 7 days}": lambda charges, cards: charges.group_by("card", expires="7 days").agg(
        n="count(*)"
    ),
    "top: {n: 3, by: amount, per: card, expires: 7 days}": lambda charges, cards: charges.top(3, by="amount", per="card", expires="7 days"),
    "dedupe: {on: card, expires: 7 days}": lambda charges, cards: charges.dedupe(on="card", expires="7 days"),
    "join: {with: cards, on: card, expires: 7 days}": lambda charges, cards: charges.join(cards, on="card", expires="7 days"),
    "distinct:": lambda charges, cards: charges.distinct(),
    "changes": lambda charges, cards: charges.changes(),
    "top: {n: 3, by: amount desc, per: [card]}": lambda charges, cards: charges.top(3, by="amount desc", per=["card"]),
    "intersect: charges": lambda charges, cards: charges.intersect(charges),
    "intersect: {with: charges, all: true}": lambda charges, cards: charges.intersect(charges, all=True),
    "subtract: {with: charges}": lambda charges, cards: charges.subtract(charges),
    "upserts: card": lambda charges, cards: charges.upserts("card"),
    "upserts: [card, ts]": lambda charges, cards: charges.upserts(["card", "ts"]),
    "dedupe: card": lambda charges, cards: charges.dedupe(on="card"),
    "dedupe: {on: card, keep: last, by: ts}": lambda charges, cards: charges.dedupe(on="card", keep="last", by="ts"),
    "window: {kind: tumble, time: ts, size: 1 hour, emit: close, early: 5 minutes}": lambda charges, cards: charges.window(
        hr.tumble("ts", "1 hour"), emit="close", early="5 minutes"
    ),
    "window: {kind: tumble, time: ts, size: 1 hour, lateness: 1 minute}": lambda charges, cards: charges.window(
        hr.tumble("ts", "1 hour"), lateness="1 minute"
    ),
    "window: {kind: hop, time: ts, size: 1 hour, step: 5 minutes, offset: 1 minute}": lambda charges, cards: charges.window(
        hr.hop("ts", "1 hour", "5 minutes", offset="1 minute")
    ),
    "window: {kind: sessions, time: ts, gap: 10 minutes, per: card, emit: close}": lambda charges, cards: charges.window(
        hr.sessions("ts", "10 minutes", per="card"), emit="close"
    ),
    "window: {kind: sessions, time: ts, gap: 10 minutes, per: []}": lambda charges, cards: charges.window(
        hr.sessions("ts", "10 minutes", per=())
    ),
    "expect: amount > 0": lambda charges, cards: charges.expect("amount > 0"),
    "expect: {conditions: {positive: amount > 0, known: card IS NOT NULL}, on_violation: drop}": lambda charges, cards: charges.expect(
        positive="amount > 0", known="card IS NOT NULL", on_violation="drop"
    ),
    "output: dead_letter": lambda charges, cards: charges.output("dead_letter"),
    "watermark: {column: ts, delay: 5 minutes, idle: 1 hour}": lambda charges, cards: charges.watermark("ts", "5 minutes", idle="1 hour"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_the_call_of_python(step: str, write: Write) -> None:
    stream, python = of(write, f"      - {step}\n"), STEPS[step](charges(), cards())
    # what gives a stream with a name of its own keeps that
    assert fingerprint(stream) == fingerprint(python if python._node.name else python.named("view"))


def test_every_verb_is_a_step_or_only_for_python() -> None:
    python = {"as_dataframe", "explain", "key_by", "process", "columns", "schema", "write"}
    public = {name for name, _ in inspect.getmembers(Stream) if not name.startswith("_")}
    assert public - python == set(verbs())
    tried = {step.partition(":")[0] for step in STEPS}
    assert [verb for verb in verbs() if verb not in tried and not _spelled(verb)] == []


def _spelled(verb: str) -> bool:
    """Whether the file of a verb's tests compares it with a step (`check_yaml`)."""
    file = VERBS / f"test_{verb}.py"
    return file.is_file() and re.search(rf"check_yaml\(.*\b{verb}\b", file.read_text(encoding="utf-8")) is not None


def test_steps_follow_each_other(write: Write) -> None:
    stream = of(write, "      - alias: c\n      - filter: c.amount > 3\n      - named: large\n      - select: [card]\n")
    assert fingerprint(stream) == fingerprint(charges().alias("c").filter("c.amount > 3").named("large").select("card").named("view"))


def test_sources_and_sinks_are_the_calls_of_python(write: Write) -> None:
    text = """
        job: fraud
        sources:
          charges:
            connector: files
            path: 2026
            format: csv
            schema: card string, op string, ts timestamp
            follow: ${FOLLOW}
            files_per_epoch: "${LIMIT:-3}"
            options: {header: true, sep: ";"}
            change_column: op
            trusted: true
            watermark: {column: ts, delay: 5 minutes}
          prices: {connector: memory, rows: [], schema: "id int, price decimal(10,2)", change_format: upsert, key: [id]}
        sinks:
          out: {from: charges, connector: files, path: out, format: json, mode: changes, partition_by: card}
          kept: {from: prices, connector: memory, key: id}
    """
    built = build(document(write(text), {"FOLLOW": "true"}))
    charges = hr.read.files(
        "2026",
        format="csv",
        schema="card string, op string, ts timestamp",
        follow=True,
        files_per_epoch=3,
        options={"header": True, "sep": ";"},
        change_column="op",
        trusted=True,
        name="charges",
    ).watermark("ts", "5 minutes")
    prices = hr.read.memory([], "id int, price decimal(10,2)", change_format="upsert", key=["id"], name="prices")
    sinks = [
        charges.write.files("out", format="json", mode="changes", partition_by="card", name="out"),
        prices.write.memory(key="id", name="kept"),
    ]
    assert plan(built).fingerprint == Plan.of("fraud", [sink._use() for sink in sinks]).fingerprint


def plan(built: Built) -> Plan:
    return Plan.of("fraud", [sink._use() for sink in built.sinks])


def test_views_are_built_behind_what_they_read(write: Write) -> None:
    text = """
        job: fraud
        views:
          last: SELECT * FROM middle JOIN First USING (card)
          middle: {from: first, steps: [{join: {with: other, on: card}}]}
          other: WITH middle AS (SELECT card, 1 AS last FROM charges) SELECT * FROM middle
          first: SELECT card, max(amount) AS first FROM charges GROUP BY card
        sources:
          charges: {connector: memory, rows: [], schema: "card string, amount int"}
        sinks:
          out: {from: last, connector: console}
    """
    assert [named.name for named in ordered(document(write(text)))] == ["charges", "first", "other", "middle", "last"]


def test_a_query_that_only_spark_understands_comes_behind_what_it_may_read(write: Write) -> None:
    text = """
        job: fraud
        views:
          all: TABLE charges
        sources:
          other: {connector: memory, rows: [], schema: "card string"}
          charges: {connector: memory, rows: [], schema: "card string"}
        sinks:
          out: {from: all, connector: console}
    """
    assert [named.name for named in ordered(document(write(text)))] == ["other", "charges", "all"]
    [query] = [named for named in ordered(document(Path("job.yaml"))) if named.name == "all"]
    assert query.reads is None


def test_included_files_are_read_once_and_their_paths_begin_with_them(write: Write) -> None:
    write("include: [more/cards.yaml]\nsources:\n  charges: {connector: rate, rows_per_second: 1}\n", "parts/charges.yaml")
    write("include: ['../../base.yaml']\nviews:\n  few: {from: charges, steps: [{filter: value < 3}]}\n", "parts/more/cards.yaml")
    write("sources:\n  base: {connector: rate, rows_per_second: 2}\n", "base.yaml")
    job = write("job: fraud\ninclude: ['${PARTS}/charges.yaml', base.yaml]\nsinks:\n  out: {from: few, connector: console}\n")
    parsed = document(job, {"PARTS": "parts"})
    assert sorted(parsed.streams) == ["base", "charges", "few"]
    assert list(plan(build(parsed)).nodes) == ["charges", "few", "out"]


def test_a_sink_that_cannot_be_made_warns_of_no_other(write: Write, recwarn: pytest.WarningsRecorder) -> None:
    import gc

    text = SOURCES + "sinks:\n  first: {from: charges, connector: console}\n  second: {from: charges, connector: console, rows: 0}\n"
    with pytest.raises(hr.ConnectorError):
        build(document(write(text)))
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_a_plan_is_json_and_its_places_are_in_the_file(write: Write) -> None:
    job_plan = plan(
        build(document(write(SOURCES + LOOKUPS + "views:\n  view:\n    from: charges\n    steps:\n      - filter: amount > 3\n" + SINKS)))
    )
    sites = {item["name"]: item["site"] for item in json.loads(json.dumps(job_plan.to_json()))["nodes"]}
    assert sites == {"charges": "job.yaml:3:3", "view": "job.yaml:15:17", "out": "job.yaml:18:3"}
    again = Plan.from_json(job_plan.to_json())
    assert again.to_json() == job_plan.to_json()
    site = again.nodes["view"].site
    assert site is not None
    assert (site.line, site.column, site.text) == (15, 17, "- filter: amount > 3")
