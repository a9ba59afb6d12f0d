"""What people read in place of stored names, and the summary that explain begins with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.plan import DisplayNames, Plan, displayed, explain

orders = hr.read.files("in/orders", format="json", schema="id int, item int, qty int", change_format="debezium", name="orders")
items = hr.read.files("in/items", format="json", schema="item int, price int", change_format="debezium", name="items")
joined = orders.join(items, on="item")


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(item=self.key.item, n=self.n.get())


def plan(*sinks: hr.Sink) -> Plan:
    return Plan.of("job", [sink._use() for sink in sinks])


def names(plan: Plan) -> dict[str, str]:
    """Display name by the stored one, of which hashes are left out."""
    shown = DisplayNames.of(plan).names
    assert len(set(shown.values())) == len(shown)
    return {re.sub(r"-[0-9a-f]{6,8}", "-HASH", name): one for name, one in shown.items()}


def test_operators_are_called_after_what_they_read_and_sinks_after_where_they_write() -> None:
    spent = joined.group_by("item").agg(spent="sum(qty * price)")
    shown = names(plan(spent.write.files("out/best", format="json", mode="changes")))
    assert shown["join-HASH"] == "join(orders, items)"
    assert shown["aggregate-HASH"] == "aggregate(join(orders, items))"
    assert shown["consolidate-HASH.files"] == "best"
    assert not [name for name in shown.values() if re.search(r"-[0-9a-f]{6}", name)]
    # a name of the user's stays, whatever it is
    assert names(plan(spent.named("join-0a1b2c3d").write.memory(name="best.files")))["best.files"] == "best.files"


def test_sinks_are_called_after_the_stream_that_was_written() -> None:
    spent = joined.group_by("item").agg(spent="sum(qty * price)")
    best = spent.named("best")
    shown = names(plan(best.write.memory(key="item"), best.write.console(mode="changes")))
    assert shown["upserts-HASH.memory"] == "best.memory"
    assert shown["consolidate-HASH.console"] == "best.console"
    # of two at one stream the second says how its rows are sent
    shown = names(plan(best.write.memory(), best.write.memory(key="item")))
    assert (shown["best.memory"], shown["upserts-HASH.memory"]) == ("best.memory", "upserts(best).memory")
    shown = names(plan(spent.write.memory(key="item")))
    assert shown["upserts-HASH.memory"] == "aggregate(join(orders, items)).memory"


def test_an_output_is_called_after_its_operator() -> None:
    job_plan = plan(joined.write.files("out/best", format="json", mode="changes"))
    stored = next(name for name in job_plan.nodes if name.startswith("join-") and "." not in name)
    assert (
        DisplayNames.of(job_plan).text(f'it is in {stored}.output("dead_letter")') == 'it is in join(orders, items).output("dead_letter")'
    )


def test_a_name_that_another_node_has_is_not_taken() -> None:
    rows = hr.read.files("in/charges", format="json", schema="a int", name="charges")
    shown = DisplayNames.of(plan(rows.write.files("out/charges", format="json"), rows.distinct().write.jdbc("sqlite:x.db", "t"))).names
    assert shown["charges.files"] == "charges.files"
    two = plan(
        joined.write.files("a/out", format="json", mode="changes"), joined.distinct().write.files("b/out", format="json", mode="changes")
    )
    first, second = (DisplayNames.of(two)(name) for name in two.sinks)
    assert (first, second.endswith(".files")) == ("out", True)


def test_long_names_are_cut_to_their_sources() -> None:
    wide = joined
    for number in range(6):
        wide = wide.group_by("item").agg(**{f"a_number_{number}": "count(*)"})
    shown = list(DisplayNames.of(plan(wide.write.memory())).names.values())
    assert max(map(len, shown)) < 80
    assert "aggregate(orders, items)" in shown


def test_both_names_are_understood_and_errors_say_the_one_that_people_read() -> None:
    job_plan = plan(joined.write.files("out/best", format="json", mode="changes"))
    shown, (stored,) = DisplayNames.of(job_plan), job_plan.sinks
    assert (shown.stored("best"), shown.stored(stored), shown.stored("other")) == (stored, stored, "other")
    # in a path, a longer name or a call the stored name is what it is
    assert shown.text(f"{stored}: no, {stored}.") == "best: no, best."
    for text in (f"/x/{stored}/y", f"a.{stored}", f"{stored}()", f"{stored}.more"):
        assert shown.text(text) == text
    with pytest.raises(HeadraceError) as raised, displayed(job_plan):
        raise HeadraceError("SINK_FAILED", f"{stored} fails", hint=f"look at {stored}")
    assert (raised.value.message, raised.value.hint, raised.value.args[1]) == ("best fails", "look at best", "best fails")


def test_a_clash_of_names_is_reported_without_a_hash() -> None:
    with pytest.raises(HeadraceError) as raised:
        plan(joined.write.files("a", format="json", mode="changes"), joined.write.files("b", format="json", mode="changes"))
    assert raised.value.code == "NAME_CLASH" and "would be named `consolidate.files`" in raised.value.message


def test_explain_begins_with_a_summary() -> None:
    job_plan = plan(joined.write.files("out/best", format="json", mode="changes"))
    lines = [line.split("    [")[0] for line in str(explain(job_plan, only=["rows", "state", "order"])).split("\n")]
    assert lines[0].startswith("job job  (fingerprint ")
    assert lines[1:] == [
        "  source  orders: files in/orders (json), bounded, append only, in the order of names",
        "  source  items: files in/items (json), bounded, append only, in the order of names",
        "  sink    best: files out/best (json)",
        "  state   without bound: join(orders, items) grows with rows",
        "",
        "join(orders, items) = inner join on item = item_right",
        "consolidate(join(orders, items)) = consolidate: the net changes of each epoch",
        "",
        "explain(verbose=True), headrace explain --verbose or EXPLAIN EXTENDED adds columns, reasons and the place of each operator.",
    ]


def test_lines_are_cut_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = explain(plan(items.changes().write.files("o" * 200, format="json")), only=[])
    whole = str(explanation)
    assert "o" * 200 in whole and "…" not in whole
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "o" * 200 not in str(explanation) and max(map(len, str(explanation).splitlines())) == 160


def test_the_summary_has_ten_lines_at_the_most() -> None:
    rows = [
        hr.read.files(f"in/{n}", format="json", schema="item int, ts timestamp", name=f"t{n}").watermark("ts", "1 minute") for n in range(6)
    ]
    sinks = [one.key_by("item").process(Count).write.files(Path("out", str(n)), format="json") for n, one in enumerate(rows)]
    text = str(explain(plan(*sinks), only=["rows", "state", "order", "dead letters"]))
    head = text.split("\n\n")[0].split("\n")
    assert len(head) == 10
    assert head[3].endswith("; 3 more") and head[6].endswith("; 3 more")
    assert "-" not in "".join(line.split(" = ")[0] for line in text.split("\n\n")[1].split("\n"))
