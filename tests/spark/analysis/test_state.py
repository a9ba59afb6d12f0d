"""What explain says of the state of operators, and whether the state then is what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.plan import Plan, facts
from tests.unit.analysis.test_expiry import VERBS
from tests.unit.analysis.test_expiry import plan as expiring
from tests.unit.analysis.test_queries import as_of, cards, changing, charges, orders, rates, spent, timed
from tests.unit.ops import test_windows as windows

pytestmark = pytest.mark.usefixtures("spark")


def kept(stream: hr.Stream) -> str:
    """What the last operator of a stream keeps."""
    plan = Plan.of("job", [stream.write.memory(name="out")._use()])
    return list(facts(plan, "state").values())[-1].text


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (charges.join(cards, on="card = number"), "grows with the rows of both sides; a later row may match any of them"),
        (
            charges.join(cards, on="card = number", how="anti"),
            "grows with the left rows; a right row may match any of them; of the right rows it keeps a count for each key",
        ),
        (
            as_of(orders, rates),
            "grows with the rows of both sides, as any row may get another version; a watermark on both sides would bound it",
        ),
        (
            as_of(*timed),
            "grows with the number of keys: the last version of a key of pair; released by the watermark: rows when it has passed them; rows and versions that arrive after it has passed them are late",
        ),
        (
            as_of(*timed, direction="nearest", within="1 hour"),
            "released by the watermark: rows when no other version can match them, versions when no row can need them; rows and versions that arrive after it has passed them are late",
        ),
        (
            as_of(*timed, direction="nearest"),
            "grows with the rows that wait for a version: those of a key of pair without versions; `within` would bound it; released by the watermark: rows when no other version can match them; rows and versions that arrive after it has passed them are late",
        ),
        (
            as_of(*timed, direction="forward"),
            "grows with the rows that wait for a version: those after the last version of a key of pair; `within` would bound it; released by the watermark: rows when no other version can match them; rows and versions that arrive after it has passed them are late",
        ),
        (spent, "grows with the number of groups: a row of numbers for a group of card"),
        (charges.group_by().agg(n="count(*)"), "bounded: a row of numbers for the one group"),
        (charges.group_by("card").agg(m="max(amount)"), "grows with the number of groups: a row of numbers for a group of card"),
        (
            changing.group_by("card").agg(m="max(amount)"),
            "grows with the distinct values; for a group of card it keeps the values of max(amount), as any may become the result after a retraction",
        ),
        (charges.top(3, by="amount"), "bounded: the first 3 rows of each partition (there is one)"),
        (
            charges.top(3, by="amount", per="card", ties="rank"),
            "grows with the rows that tie: the first 3 of each partition of card, and those that tie with the last",
        ),
        (
            charges.top(3, by="amount", ties="dense_rank"),
            "grows with the rows that tie: those of the first 3 values of each partition (there is one)",
        ),
        (
            changing.top(3, by="amount", per="card", ties="rank"),
            "grows with the rows, as later ones move up after a retraction; in the order of each partition of card",
        ),
        (
            changing.top(3, by="amount", per="card"),
            "grows with the rows, as later ones move up after a retraction; in the order of each partition of card",
        ),
        (changing, "grows with the current rows: the count of each, to check retractions"),
        (changing.changes(), "bounded: it keeps nothing"),
        (charges.upserts("card"), "grows with the number of keys: the last row of a key of card"),
        (
            changing.upserts(["card", "amount"]),
            "grows with the number of keys: the row of a key of card, amount, to detect a second one",
        ),
        (spent.filter("spent > 1").upserts("card"), "bounded: it keeps nothing, as a key of card has at most one row"),
        (
            timed[0].group_by("pair", expires="1 day").agg(n="count(*)").upserts("pair"),
            "bounded: it keeps nothing, as a key of pair has at most one row; one whose group is forgotten and starts over has one more",
        ),
        (
            charges.join(cards, on="amount < length(number)"),
            "grows with the rows of both sides; a later row may match any of them; without keys each right row is kept in every partition",
        ),
    ],
)
def test_what_is_kept(stream: hr.Stream, expected: str) -> None:
    assert kept(stream) == expected


def test_when_groups_are_released() -> None:
    rest = "until then: grows with the number of groups: a row of numbers for a group of card, window_end"
    assert kept(windows.spent) == f"released when the watermark passes window_end; later rows are late; {rest}"
    assert kept(windows.once) == f"released when the watermark passes window_end and 1 minute more; later rows are late; {rest}"
    assert kept(windows.spent.top(1, by="spent", per="window_end")).startswith(
        "released when the watermark passes window_end; until then: "
    )
    assert kept(windows.plain.window(hr.tumble("ts", "1 hour")).group_by("window_end").agg(n="count(*)")).startswith("grows with")
    timed = windows.charges.with_columns(at="current_timestamp()").window(hr.tumble("at", "1 hour"), emit="close")
    assert kept(timed.group_by("window_end").agg(n="count(*)")).startswith("released when processing time passes window_end; until then: ")


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_forgotten(verb: str) -> None:
    make, expected = VERBS[verb]
    plan = expiring(make("7 days"))  # type: ignore[no-untyped-call]  # a verb of any kind
    [node] = [one for one in plan.to_json()["nodes"] if "expires_ms" in one]
    fact = facts(plan, "state")[node["name"]]
    assert (fact.value, fact.text) == ("given back", expected)


AGGREGATES = {
    "sum(v)": "never",
    "count(*)": "never",
    "count(DISTINCT v)": "always",
    "sum(DISTINCT v) + 1": "always",
    "approx_count_distinct(v)": "always",
    "avg(d)": "never",
    "stddev(v) / count(v)": "never",
    "corr(v, d)": "never",
    "regr_slope(v, d)": "never",
    "bit_xor(v)": "never",
    "every(v > 0)": "never",
    "max(v)": "with changes",
    "min(v > 1)": "never",
    "max_by(v, d)": "with changes",
    "first(v)": "with changes",
    "any_value(v)": "with changes",
    "sum(v) + max(v)": "with changes",
    "collect_list(v)": "always",
    "sum(v) + size(collect_list(v))": "always",
    "sum(v) FILTER (WHERE v > 1)": "never",
    "max(v) FILTER (WHERE v > 1)": "with changes",
    "percentile(v, 0.5)": "always",
    "mode(v)": "always",
    "listagg(s, ',') WITHIN GROUP (ORDER BY s)": "always",
    "histogram_numeric(v, 3)": "always",
    "'max(' || count(*) || ')'": "never",
    "count(if(s = 'count(DISTINCT v)', 1, NULL))": "never",
}
"""When an aggregate keeps the values that differ."""


@pytest.mark.parametrize("kind", ["append", "changes"])
def test_aggregates_keep_what_their_fact_says(kind: str, tmp_path: Path) -> None:
    added = [("a", v, v / 2, str(v)) for v in range(1, 6)]
    schema = "k string, v int, d double, s string"
    if kind == "append":
        rows = hr.read.memory(added, schema, name="rows")
    else:
        rows = hr.read.memory([(*row, "insert") for row in added], f"{schema}, op string", name="rows", change_column="op")
    counts = [rows.group_by("k").agg(x=text).named(f"g{number}") for number, text in enumerate(AGGREGATES)]
    sinks = [counted.write.memory(name=f"out{number}") for number, counted in enumerate(counts)]
    job = hr.job("kept", *sinks)
    growth = facts(Plan.of("kept", [sink._use() for sink in sinks]), "state")
    job.run(checkpoint=tmp_path / "s", progress=False, partitions=1)
    state = hr.state(tmp_path / "s")
    for number, (text, when) in enumerate(AGGREGATES.items()):
        kept = f"g{number}_x" in state.tables
        assert kept == (when == "always" or (when == "with changes" and kind == "changes")), text
        assert (growth[f"g{number}"].value == "grows with rows") == kept, text
        assert not kept or state.count(f"g{number}_x") > 1, text


def test_a_key_with_a_collation_keeps_its_spellings_where_rows_go() -> None:
    def state_of(rows: hr.Stream) -> str:
        counted = rows.group_by("k").agg(n="count(*)").named("counted")
        return facts(Plan.of("kept", [counted.write.memory(name="out")._use()]), "state")["counted"].text

    assert (
        state_of(hr.read.memory([], "k string collate utf8_lcase", name="rows"))
        == "grows with the number of groups: a row of numbers for a group of k"
    )
    assert state_of(hr.read.memory([], "k string collate utf8_lcase, op string", name="rows", change_column="op")) == (
        "grows with the distinct values; for a group of k it keeps the values of k, as any may become the result after a retraction"
    )
