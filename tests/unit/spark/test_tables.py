"""What the tables of a state are called after, and which epochs of it can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
from headrace.plan import Plan, Role
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import Entry, Identity, QueryIdentity
from headrace.spark.compile.layout import Cell, first
from headrace.spark.compile.lower.stateful import _named_key
from headrace.spark.compile.shapes import InputShape, Shape
from headrace.spark.inspect.tables import epochs, kept

charges = hr.read.memory([], "card string, amount int, ts timestamp", name="charges").watermark("ts", "1 minute")


class Program(hr.Program):
    rules = hr.Broadcast("string", "int")

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card)

    def on_rules(self, r: Any) -> None:
        self.rules.set(r.card, r.amount)


def stored(*names: str, entries: tuple[Entry, ...]) -> Stored:
    """What `job.json` says of a job with programs of these names."""
    rules = hr.read.memory([], "card string, amount int, ts timestamp", name="rules").watermark("ts", "1 minute")
    sinks = [
        charges.key_by("card").process(Program, rules=hr.broadcast(rules)).named(name).write.memory(name=f"out {name}") for name in names
    ]
    plan = Plan.of("fraud", [sink._use() for sink in sinks]).to_json()
    return Stored("id", "fraud", plan, {}, 2, Identity((QueryIdentity("main", ("charges",), 1, "event", entries),), 9))


def entry(op: int, name: str, *cells: Cell, order: str = "time", key: str = "card string", retired: bool = False, **more: Any) -> Entry:
    inputs = {one: InputShape("card string", (), ()) for one in ("event", "rules")}
    layouts = more.get("layouts", (first(cells),))
    return Entry(op, Shape(name, "program", 1, key, order, "event", inputs), layouts, retired)


def names(stored: Stored) -> list[str]:
    return [one.name for one in kept(stored)]


def test_names_that_clash_are_numbered() -> None:
    entries = (entry(1, "a.b", order="arrival"), entry(2, "a_b_2", order="arrival"), entry(3, "A_b", order="arrival"))
    assert names(stored("a.b", "a_b_2", "A_b", entries=entries)) == ["a_b", "a_b_2", "A_b_3"]


def test_what_the_job_has_no_more_is_left_out() -> None:
    entries = (entry(1, "alerts", retired=True), entry(2, "alerts"), entry(3, "elsewhere"))
    assert [(one.entry.op, one.name) for one in kept(stored("alerts", entries=entries))] == [(2, "alerts")]


def test_epochs_are_those_that_are_committed_and_have_their_state(tmp_path: Path) -> None:
    main = tmp_path / "queries" / "main"
    for folder in ("commits", "offsets", "state/0/0", "state/1/0", "state/1/1", "state/0/_metadata/v2"):
        (main / folder).mkdir(parents=True)
    assert epochs(tmp_path, "main") == ()
    for epoch in range(10):
        (main / "offsets" / str(epoch)).touch()
        (main / "offsets" / f".{epoch}.crc").touch()
        if epoch < 9:
            (main / "commits" / str(epoch)).touch()
        for level in (0, 1):
            if epoch >= 3 + level:
                (main / f"state/{level}/0/{epoch + 1}_a4d4-9f.changelog").touch()
    assert epochs(tmp_path, "main") == (4, 5, 6, 7, 8)
    assert epochs(tmp_path, "other") == ()


def of_queries(*ends: hr.Stream, retired: tuple[str, ...] = ()) -> Stored:
    """What `job.json` says of a job of queries."""
    plan = Plan.of("views", [end.write.memory(name=f"out {number}")._use() for number, end in enumerate(ends)])
    nodes = [node for node in plan.nodes.values() if node.role is Role.STATEFUL]
    entries = tuple(
        Entry(op, Shape(str(node.name), node.op, 1, "key_1 string", inputs={}), (first(()),), str(node.name) in retired)
        for op, node in enumerate(nodes, 1)
    )
    return Stored("id", "views", plan.to_json(), {}, 2, Identity((QueryIdentity("main", (), 1, "none", entries),), 99))


sales = hr.read.memory([], "shop string, amount int", name="sales")
shops = hr.read.memory([], "name string, country string", name="shops")


def test_operators_of_queries_have_names_that_sql_takes() -> None:
    changes = hr.read.files("in", format="json", schema="shop string, amount int, op string", name="changes", change_column="op")
    last = sales.upserts("shop").named("last")
    met = changes.join(shops, on="shop = name").named("met-both")
    assert names(of_queries(met, changes.top(1, by="amount", per="shop"), last)) == [
        "changes_ledger",
        "met_both",
        "top_changes_ledger",
        "last",
    ]
    assert "last" not in names(of_queries(last, retired=("last",)))


def test_the_columns_of_a_key_are_called_after_what_they_are() -> None:
    def key(end: hr.Stream, stored: str) -> str:
        return _named_key(end._node, stored)

    assert key(sales.join(shops, on="shop = name"), "key_1 string") == "shop string"
    # rows without partners are spread
    assert key(sales.join(shops, on="shop = name", how="left"), "key_1 string, spread int") == "shop string, spread int"
    assert key(sales.join(shops, on="upper(shop) = name AND shop = country"), "key_1 string, key_2 string") == "key_1 string, shop string"
    assert key(sales.join(shops, on="amount > length(name)"), "shard int not null") == "shard int not null"
    assert key(sales.top(1, by="amount", per="shop"), "key_1 string") == "shop string"
    assert key(sales.top(1, by="amount"), "") == ""
    assert key(sales.upserts(["amount", "shop"]), "key_1 int, key_2 string") == "amount int, shop string"
    assert key(sales.group_by(hr.expr("upper(shop)").alias("s")).agg(n="count(*)"), "s string") == "s string"
    spread = sales.rename({"shop": "spread"}).join(shops, on="spread = name", how="left")
    assert key(spread, "key_1 string, spread int") == "key_1 string, spread int"
