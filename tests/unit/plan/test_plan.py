"""Plans: round trip, fingerprint, names, explain."""

from __future__ import annotations

import json

import pytest

import headrace as hr
import headrace.ops  # registers the nodes
from headrace.ops import Partition, Temporal, kind_of
from headrace.ops.operator import Stepwise
from headrace.plan import Node, Plan, explain, facts, order
from headrace.plan.drawing import drawn
from headrace.plan.node import Role

charges = hr.read.memory(
    [("a", 1, ["x"], "2026-01-01 00:00:00")], "card string, amount int, goods array<string>, ts timestamp", name="charges"
)
timed = charges.watermark("ts", "5 minutes")


class Count(hr.Program):
    n = hr.Value("bigint")
    forget = hr.Timer()
    large = hr.Output()

    def on_event(self, e: hr.Row) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), hr.lit(0)) + 1)
        with hr.when(e.amount > 500):
            self.large.emit(card=self.key.card, at=e.ts)
        self.forget.set(e.ts + hr.minutes(1))
        hr.emit(card=self.key.card, n=self.n.get(), at=e.ts)

    def on_forget(self, at: hr.Column) -> None:
        self.n.clear()


def job(*streams: hr.Stream) -> Plan:
    return Plan.of("job", [sink(stream, f"sink {number}") for number, stream in enumerate(streams)])


def sink(stream: hr.Stream, name: str) -> Node:
    write = stream.write.console if kind_of(stream._node) == "append" else stream.write.memory
    return write(name=name)._use()


cards = hr.read.memory([], "card string, country string, op string", name="cards", change_column="op")
counts = timed.filter("amount > 0").key_by("card").process(Count, time="at")
EVERYTHING = [
    counts,
    counts.output("late"),
    counts.output("dead_letter"),
    counts.output(Count.large),
    charges.select("card", twice="amount * 2").drop("twice").rename({"card": "c"}),
    charges.explode("goods").with_columns(z=hr.lit(1)),
    charges.explode("goods", as_="good", outer=True),
    charges.union(timed.filter("amount > 1")),
    charges.output("dead_letter"),
    charges.expect(positive="amount > 0", on_violation="keep"),
    timed.key_by(hr.f.upper("card").alias("card")).process(Count).named("upper"),
    charges.lookup(hr.lookup.memory([], "card string, country string", name="cards"), on="card"),
]

spent = charges.group_by("card").agg(spent="sum(amount)")
QUERIES = [
    spent.join(cards, on="card", how="left"),
    spent.top(3, by="spent desc"),
    spent.top(3, by="spent desc", ties="rank"),
    charges.intersect(charges.filter("amount > 1"), all=True).distinct(),
    hr.Stream(Partition(spent._node, (), (("spent", "desc", "last"),), (("place", "rank() OVER (ORDER BY spent DESC)"),))),
    charges.join_asof(
        charges.rename({"ts": "at", "amount": "then"}).select("card", "at", "then"), on="card", time=("ts", "at"), within="1 hour"
    ),
    timed.window(hr.sessions("ts", "1 hour", per="card"), emit="close", lateness="1 minute"),
    spent.changes(),
    spent.upserts("card").changes(),
    hr.Stream(Temporal(timed._node, (), ("ts + INTERVAL 1 HOUR",))),
    timed.window(hr.hop("ts", "1 hour", "5 minutes"), lateness="1 minute").group_by("window_end").agg(n="count(*)").output("late"),
]


def test_round_trip() -> None:
    plan = job(*EVERYTHING, *QUERIES)
    data = json.loads(json.dumps(plan.to_json()))
    again = Plan.from_json(data)
    assert again.to_json() == data
    assert again.fingerprint == plan.fingerprint
    assert [node.columns for node in again.nodes.values()] == [node.columns for node in plan.nodes.values()]


def test_what_nodes_got_later_changes_no_plan_without_it() -> None:
    empty = hr.read.memory([], "card string, amount int", name="charges")

    def ranked(ties: str) -> Plan:
        return job(empty.top(3, by="amount desc", per="card", ties=ties))

    [top] = [item for item in ranked("row_number").to_json()["nodes"] if item["op"] == "top"]
    assert (top["name"], sorted(top)) == ("top-f41eec97", ["count", "input", "name", "offset", "op", "order", "per", "site"])
    [top] = [item for item in ranked("rank").to_json()["nodes"] if item["op"] == "top"]
    assert (top["name"] == "top-f41eec97", top["ties"]) == (False, "rank")
    assert len({ranked(ties).fingerprint for ties in ("row_number", "rank", "dense_rank")}) == 3


def test_the_fingerprint_forgets_lines_and_nothing_else() -> None:
    def fingerprint(text: str) -> str:
        return job(charges.filter(text)).fingerprint

    first = fingerprint("amount > 1")
    second = fingerprint("amount > 1")
    assert first == second
    assert fingerprint("amount > 2") != first
    assert Plan.of("other", [charges.filter("amount > 1").write.console(name="sink 0")._use()]).fingerprint != first
    assert (
        Plan.of("job", [charges.filter("amount > 1").write.console(name="sink 0")._use()], {"spark.sql.ansi.enabled": "false"}).fingerprint
        != first
    )


def test_nodes_that_say_the_same_are_one() -> None:
    plan = job(charges.filter("amount > 1").select("card"), charges.filter("amount > 1").select("amount"))
    assert [name for name in plan.nodes if name.startswith("charges.filter")].count("charges.filter") == 1
    assert len([node for node in plan.nodes.values() if node.op == "filter"]) == 1


def test_a_stream_without_its_watermark_or_name_is_the_same_stream() -> None:
    plan = job(timed.filter("amount > 1"), charges.output("dead_letter"), counts.output("late"), counts.named("counts"))
    assert [name for name, node in plan.nodes.items() if node.role in (Role.SOURCE, Role.STATEFUL)] == ["charges", "counts"]


def test_names_by_place() -> None:
    plan = job(counts, counts.filter("n > 1").select("card"), counts.output("late"))
    assert list(plan.nodes) == [
        "charges",
        "charges.filter",
        "charges.Count",
        "sink 0",
        "charges.Count.filter",
        "charges.Count.filter.select",
        "sink 1",
        "charges.Count.late",
        "sink 2",
    ]


def test_stateful_names_survive_edits_of_what_stands_before() -> None:
    edited = charges.watermark("ts", "5 minutes").filter("amount > 5").with_columns(z="amount").key_by("card").process(Count)
    assert "charges.Count" in job(edited, charges.filter("amount > 7"), charges.filter("amount > 8")).nodes


def test_stateless_siblings_get_a_hash_of_what_they_say() -> None:
    first = job(charges.filter("amount > 1"), charges.filter("amount > 2"))
    second = job(charges.filter("amount > 2"), charges.filter("amount > 3"), charges.filter("amount > 1"))
    names = [name for name in first.nodes if "filter" in name]
    assert len(names) == 2 and all(name.startswith("charges.filter-") and len(name) == len("charges.filter-") + 6 for name in names)
    assert set(names) < set(second.nodes)


def test_programs_that_would_be_called_the_same() -> None:
    with pytest.raises(hr.PlanError) as raised:
        job(timed.key_by("card").process(Count), timed.filter("amount > 1").key_by("card").process(Count))
    assert raised.value.code == "NAME_CLASH" and raised.value.message.startswith("two nodes of the job would be named `charges.Count`")


def test_a_chain_may_be_longer_than_the_stack() -> None:
    stream = charges
    for _ in range(1200):
        stream = stream.filter("amount > 0")
    plan = job(stream)
    assert len(plan.nodes) == 1202
    assert Plan.from_json(plan.to_json()).fingerprint == plan.fingerprint


def test_inputs_come_first() -> None:
    plan = job(*EVERYTHING)
    seen: set[str] = set()
    for name, node in plan.nodes.items():
        assert {str(before.name) for before in node.inputs} <= seen
        seen.add(name)
    assert list(order(plan.nodes[name] for name in plan.sinks)) == list(plan.nodes.values())


def test_steps() -> None:
    plan = job(charges.filter("amount > 1", "card = 'a'").explode("goods"))
    steps = [step.to_json() for node in plan.nodes.values() if isinstance(node, Stepwise) for step in node.steps()]
    assert [{key: value for key, value in step.items() if key != "site"} for step in steps] == [
        {"where": "amount > 1", "node": "charges.filter"},
        {"where": "card = 'a'", "node": "charges.filter"},
        {"generate": "explode(goods)", "names": ["item"], "outer": False, "node": "charges.filter.explode"},
        {"project": [["card", "card"], ["amount", "amount"], ["goods", "item"], ["ts", "ts"]], "node": "charges.filter.explode"},
    ]
    assert all(step["site"].rpartition(":")[0].endswith("test_plan.py") for step in steps)


def test_explain() -> None:
    explanation = explain(job(counts), only=["rows", "order", "guarantee"], verbose=True)
    lines = [line.split("    [")[0] for line in str(explanation).split("\n")[1:]]
    assert lines == [
        "  source  charges: memory (1 row), watermark ts 5 minutes, bounded, append only",
        "  sink    sink 0: console (20 rows), at least once",
        "  delay   charges.Count: in the order of event time, held for 5 minutes of event time",
        "",
        "charges = memory (1 row), watermark ts 5 minutes",
        "    columns: card, amount, goods, ts",
        "    rows: bounded, append only",
        "charges.filter = charges > filter amount > 0",
        "    columns: card, amount, goods, ts",
        "charges.Count = charges.filter > program Count by card, order=time",
        "    columns: card, n, at",
        "    order: in the order of event time, held for 5 minutes of event time",
        "sink 0 = charges.Count > console (20 rows)",
        "    columns: card, n, at",
        "    guarantee: at least once: a repeated epoch is printed again",
    ]
    data = json.loads(json.dumps(explanation.to_json()))
    assert [node["name"] for node in data["nodes"]] == ["charges", "charges.filter", "charges.Count", "sink 0"]
    assert data["nodes"][3]["facts"]["guarantee"]["value"] == "at least once"


def test_what_cannot_be_read_again_counts_once_at_most_and_only_where_an_epoch_is_known_as_a_whole() -> None:
    rows = hr.read.jdbc("sqlite:shop.db", "orders", schema="id bigint", name="orders")
    writes = [
        rows.write.files("out", format="json", name="files"),
        rows.write.kafka("copy", servers="localhost:9092", name="topic"),
        rows.write.console(name="screen"),
    ]
    guarantees = {name: fact.text for name, fact in facts(Plan.of("copy", [write._use() for write in writes]), "guarantee").items()}
    why = "orders cannot be replayed: the table is read from its beginning, and may have changed"
    assert guarantees["files"] == f"at most once: {why}"
    assert guarantees["topic"].startswith(f"no guarantee: {why}; ")
    assert guarantees["screen"] == f"no guarantee: {why}; a repeated epoch is printed again"


def test_drawing() -> None:
    import xml.etree.ElementTree as xml

    plan = job(*EVERYTHING)
    drawing = xml.fromstring(drawn(plan))
    boxes = drawing.findall("{http://www.w3.org/2000/svg}g")
    arrows = drawing.findall("{http://www.w3.org/2000/svg}path")
    assert len(boxes) == len(plan.nodes)
    assert len(arrows) == sum(len(node.inputs) for node in plan.nodes.values())
    assert "<svg" in explain(plan, only=[])._repr_html_()


def test_what_is_unchanged_in_an_edited_query_keeps_its_name() -> None:
    def joined(limit: int) -> Plan:
        return job(spent.join(cards, on="card").filter("country = 'SE'").top(limit, by="spent desc"))

    def operators(plan: Plan) -> dict[str, str]:
        return {node.op: name for name, node in plan.nodes.items() if node.by_content}

    before, after = operators(joined(3)), operators(joined(4))
    assert before["aggregate"] == after["aggregate"]
    assert before["join"] == after["join"]
    assert before["top"] != after["top"]
    assert before["aggregate"].startswith("aggregate-")
    # the same question asked elsewhere in the job is the same operator
    assert operators(job(spent, spent.top(3, by="spent desc")))["aggregate"] == before["aggregate"]
