"""Looking into the state of queries: every table says what a plain computation over the live rows says, and nothing is left of what is gone."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli

pytestmark = pytest.mark.usefixtures("spark")

ROWS = ("k", "v", "x", "s")
SHOPS = ("name", "country")
Live = Counter[tuple[Any, ...]]
Tables = dict[str, Counter[tuple[Any, ...]]]


def changing(folder: Path, name: str, schema: str) -> hr.Stream:
    return hr.read.files(folder / name, format="json", schema=f"{schema}, op string", name=name, change_column="op")


def views(folder: Path) -> hr.Job:
    rows = changing(folder, "rows", "k string, v int, x double, s string")
    shops = changing(folder, "shops", "name string, country string")
    prices = hr.read.files(folder / "prices", format="json", schema="k string, p int", name="prices", change_format="upsert", key="k")
    on = "k = name AND v > length(country)"
    kept = rows.group_by("k").agg(most="max(v)", one="count(DISTINCT s)", all="sort_array(collect_list(v))", middle="median(x)")
    ends = [
        rows.join(shops, on=on).named("inner"),
        rows.join(shops, on=on, how="full").named("full"),
        rows.join(shops, on="k = name", how="semi").named("semi"),
        rows.join(shops, on="v > length(country)").named("cross"),
        rows.group_by("k").agg(n="count(*)", total="sum(v)").named("sums"),
        kept.named("kept"),
        rows.group_by().agg(rows="count(*)", least="min(s)").named("whole"),
        rows.select("k", "s").distinct().named("once"),
        rows.top(2, by=["v desc", "s"], per="k").named("top"),
        rows.select("k", "v", at="timestamp_seconds(v * 60)").window(hr.sessions("at", "1 minute", per="k")).named("visits"),
        rows.select("k", "v", place=hr.f.rank().over(per="k", by="v desc")),
        prices,
    ]
    return hr.job("views", *(end.write.memory(name=f"out {number}") for number, end in enumerate(ends)))


def changes(folder: Path, number: int, columns: Iterable[str], rows: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({**dict(zip(columns, row, strict=True)), "op": op}) for op, row in rows]
    (folder / f"{number}.json").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


class Input:
    """Rows that come and go at random; one key has so many that its bags have several pages."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.rng = random.Random(seed)
        self.rows: Live = Counter()
        self.shops: Live = Counter()
        self.prices: dict[str, int] = {}
        self.number = 0

    def row(self) -> tuple[Any, ...]:
        rng = self.rng
        v = rng.randrange(6)
        return (rng.choice(["a", "b", "c", None]), v, v / 4, rng.choice(["x", "y", None]))

    def write(self, rows: Iterable[tuple[str, tuple[Any, ...]]], shops: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        self.number += 1
        inputs = {"rows": (self.rows, ROWS, list(rows)), "shops": (self.shops, SHOPS, list(shops))}
        for name, (live, columns, changed) in inputs.items():
            changes(self.folder / name, self.number, columns, changed)
            for op, row in changed:
                live[row] += 1 if op == "+" else -1
                live += Counter()  # drops what is 0
            if name == "rows":
                self.rows = live
            else:
                self.shops = live
        price = {self.rng.choice("abc"): self.number}
        self.prices |= price
        (self.folder / "prices").mkdir(exist_ok=True)
        lines = [json.dumps({"k": k, "p": p}) for k, p in price.items()]
        (self.folder / "prices" / f"{self.number}.json").write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def first(self) -> None:
        many = [("m", i % 50, i / 8, f"a longer text, so that a group has several pages: {i}") for i in range(400)]
        shops = [(name, country) for name in ("a", "b", "m", None) for country in ("SE", "NO", "FIN")]
        self.write([("+", row) for row in (*many, *(self.row() for _ in range(40)))], [("+", row) for row in shops])

    def some(self) -> None:
        gone = self.rng.sample(sorted(self.rows.elements(), key=str), 60)
        shops = self.rng.sample(sorted(self.shops.elements(), key=str), 2)
        come = [self.row() for _ in range(20)]
        self.write([*(("-", row) for row in gone), *(("+", row) for row in come)], [*(("-", row) for row in shops), ("+", ("c", "SE"))])

    def none(self) -> None:
        self.write([("-", row) for row in self.rows.elements()], [("-", row) for row in self.shops.elements()])


def total(rows: Live, row: Callable[..., tuple[Any, ...] | None]) -> Live:
    """The live rows made into others."""
    totals: Live = Counter()
    for one, count in rows.items():
        mapped = row(*one)
        if mapped is not None:
            totals[mapped] += count
    return totals


def counted(rows: Live) -> Live:
    """As tables have them: how often a row is there is its last column."""
    return Counter((*row, count) for row, count in rows.items())


def model(rows: Live, shops: Live, prices: dict[str, int], partitions: int) -> Tables:
    """What each table has, by the rows that are there."""

    def met(k: Any, v: int) -> int:
        return sum(n for (name, country), n in shops.items() if name == k is not None and v > len(country))

    def meets(name: Any, country: str) -> int:
        return sum(n for (k, v, _, _), n in rows.items() if name == k is not None and v > len(country))

    groups = {k: Counter({row: n for row, n in rows.items() if row[0] == k}) for k in {row[0] for row in rows}}

    def column(k: Any, at: int) -> list[Any]:
        return [row[at] for row in groups[k].elements()]

    def median(values: list[float]) -> float:
        values.sort()
        return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2

    keyed = counted(total(rows, lambda k, v, x, s: None if k is None else ((k,), k, v, x, s)))
    named = counted(total(shops, lambda name, country: None if name is None else ((name,), name, country)))
    texts = [s for (_, _, _, s), n in rows.items() if s is not None]
    return {
        "rows_ledger": counted(rows),
        "shops_ledger": counted(shops),
        "inner_left": keyed,
        "inner_right": named,
        "full_left": Counter((*row, n, met(row[0], row[1])) for row, n in rows.items()),
        "full_right": Counter((*row, n, meets(*row)) for row, n in shops.items()),
        "semi_left": keyed,
        "semi_right": counted(total(shops, lambda name, _: None if name is None else ((name,),))),
        "cross_left": counted(rows),
        "cross_right": Counter({row: n * partitions for row, n in counted(shops).items()}),
        "sums": Counter(((k,), len(column(k, 1)), len(column(k, 1)), sum(column(k, 1))) for k in groups),
        "kept": Counter(
            (
                (k,),
                groups[k].total(),
                max(column(k, 1)),
                len({*column(k, 3)} - {None}),
                tuple(sorted(column(k, 1))),
                median(column(k, 2)),
            )
            for k in groups
        ),
        "kept_most": counted(total(rows, lambda k, v, x, s: ((k,), v))),
        "kept_one": counted(total(rows, lambda k, v, x, s: ((k,), s))),
        "kept_middle": counted(total(rows, lambda k, v, x, s: ((k,), x))),
        "whole": Counter([(rows.total(), rows.total(), min(texts, default=None))]),
        "whole_least": counted(total(rows, lambda k, v, x, s: (s,))),
        "once": counted(total(rows, lambda k, v, x, s: ((k, s),))),
        "top": counted(total(rows, lambda k, v, x, s: ((k,), k, v, x, s))),
        "visits": counted(total(rows, lambda k, v, x, s: ((k,), k, v, dt.datetime.fromtimestamp(v * 60, dt.UTC)))),
        "partition": counted(total(rows, lambda k, v, x, s: (k, v))),
        "upserts": Counter(((k,), k, p) for k, p in prices.items()),
    }


# Where the key has more than the model says (the shard of a row, where rows without partners are spread), or columns that nobody asked for.
_COLUMNS = {
    "full_left": "k, v, x, s, count, partners",
    "full_right": "name, country, count, partners",
    "cross_left": "k, v, x, s, count",
    "cross_right": "name, country, count",
}


def shown(snapshot: hr.State) -> Tables:
    """All tables; those of operators that are named after what they say are called after their verb."""
    tables: Tables = {}
    for name in snapshot.tables:
        verb = name.partition("_")[0] if name.startswith(("partition_", "upserts_")) else name
        if verb == "partition":
            rows = snapshot.query(f"SELECT k, v, sum(count) FROM {name} GROUP BY k, v").rows()
        elif name in _COLUMNS:
            rows = snapshot.query(f"SELECT {_COLUMNS[name]} FROM {name}").rows()
        else:
            rows = snapshot.table(name).rows()
        tables[verb] = Counter(tuple(tuple(one) if isinstance(one, list | tuple) else one for one in row) for row in rows)
    return tables


@pytest.mark.full
def test_every_table_of_every_epoch_that_is_kept(tmp_path: Path) -> None:
    inputs, state, partitions = Input(tmp_path, 1), tmp_path / "state", 3
    wanted: dict[int, Tables] = {}
    for step in (inputs.first, inputs.some, inputs.none):
        step()
        # each run is a restart of the one before
        views(tmp_path).run(checkpoint=state, flush=False, progress=False, partitions=partitions)
        wanted[hr.state(state).epoch] = model(inputs.rows, inputs.shops, inputs.prices, partitions)
    assert len(wanted) == 3
    for epoch, tables in wanted.items():
        actual = shown(hr.state(state, epoch=epoch))
        assert set(actual) == set(tables)
        for name, expected in tables.items():
            assert actual[name] == expected, f"{name} of epoch {epoch}"
    first, last = wanted[min(wanted)], wanted[max(wanted)]
    assert all(first.values()), "every table has rows at first"
    # only the group without keys is there without rows, and prices never go
    assert {name for name, rows in last.items() if rows} == {"whole", "upserts"}
    assert last["whole"] == Counter([(0, 0, None)])


@pytest.mark.full
def test_columns_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, state = Input(tmp_path, 3), tmp_path / "state"
    inputs.first()
    views(tmp_path).run(checkpoint=state, flush=False, progress=False, partitions=1)
    snapshot = hr.state(state)
    columns = {name: ddl for name, ddl in snapshot.tables.items() if not name.startswith(("partition_", "upserts_"))}
    row = "k string, v int, x double, s string"
    assert columns == {
        "rows_ledger": f"{row}, count bigint",
        "shops_ledger": "name string, country string, count bigint",
        "inner_left": f"key struct<k: string>, {row}, count bigint",
        "inner_right": "key struct<k: string>, name string, country string, count bigint",
        "full_left": f"key struct<k: string, spread: int>, {row}, count bigint, partners bigint",
        "full_right": "key struct<k: string, spread: int>, name string, country string, count bigint, partners bigint",
        "semi_left": f"key struct<k: string>, {row}, count bigint",
        "semi_right": "key struct<k: string>, count bigint",
        "cross_left": f"key struct<shard: int>, {row}, count bigint",
        "cross_right": "key struct<shard: int>, name string, country string, count bigint",
        "sums": "key struct<k: string>, rows bigint, n bigint, total bigint",
        "kept": "key struct<k: string>, rows bigint, most int, one bigint, `all` array<int>, middle double",
        "kept_most": "key struct<k: string>, v int, count bigint",
        "kept_one": "key struct<k: string>, s string, count bigint",
        "kept_middle": "key struct<k: string>, x double, count bigint",
        # a column of the row keeps its name
        "whole": "rows_ bigint, rows bigint, least string",
        "whole_least": "s string, count bigint",
        "once": "key struct<k: string, s: string>, rows bigint",
        "top": f"key struct<k: string>, {row}, count bigint",
        "visits": "key struct<k: string>, k string, v int, at timestamp, count bigint",
    }
    assert snapshot.count("inner_left") == len([one for one in inputs.rows if one[0] is not None])
    head = snapshot.table("top", limit=2)
    assert (len(head), head.more) == (2, True)
    assert cli.main(["state", "show", str(state)]) == 0
    assert f"sums: {len({one[0] for one in inputs.rows})} rows\n  {columns['sums']}\n" in capsys.readouterr().out
    ask = "SELECT key.k, sum(count) AS n FROM inner_left GROUP BY key.k ORDER BY n DESC"
    assert cli.main(["state", "query", str(state), ask, "--limit", "1"]) == 0
    assert capsys.readouterr().out == "k  n\n-  ---\nm  400\n... more\n"


def test_what_is_kept_where_rows_are_only_added(tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1), ("a", 3), ("a", 2), ("b", 5)], "k string, v int", name="rows")
    ends = (
        rows.group_by("k").agg(most="max(v)").named("most"),
        rows.top(2, by="v desc", per="k").named("top"),
        rows.select("k").upserts("k").named("last"),
        rows.group_by("k").agg(n="count(*)").upserts("k").named("sure"),
    )
    hr.job("added", *(end.write.memory() for end in ends)).run(checkpoint=tmp_path / "s", progress=False)
    snapshot = hr.state(tmp_path / "s")
    # the end alone is kept, and only the first rows; of a key that is known to be unique nothing
    aggregates = [name for name in snapshot.tables if name.startswith("aggregate_")]
    assert len(aggregates) == 1 and [*snapshot.tables] == ["most", "top", "last", *aggregates]
    assert snapshot.table("most").rows() == [(("a",), 3, 3), (("b",), 1, 5)]
    assert snapshot.table("top").rows() == [(("a",), "a", 2, 1), (("a",), "a", 3, 1), (("b",), "b", 5, 1)]
    assert snapshot.table("last").rows() == [(("a",), "a"), (("b",), "b")]
    assert snapshot.table(aggregates[0]).rows() == [(("a",), 3, 3), (("b",), 1, 1)]


def test_an_as_of_join_shows_rows_and_versions(tmp_path: Path) -> None:
    bids = hr.read.memory([("a", 5, "2026-01-01 10:00:07"), ("b", 1, "2026-01-01 10:00:09")], "k string, n int, ts timestamp", name="bids")
    rates = hr.read.memory(
        [("a", 0.5, "2026-01-01 10:00:01"), ("a", 0.7, "2026-01-01 10:00:08")], "k string, rate double, at timestamp", name="rates"
    )
    joined = bids.join_asof(rates, on="k", time=("ts", "at")).named("rated")
    hr.job("rated", joined.write.memory(mode="changes")).run(checkpoint=tmp_path / "s", progress=False)
    snapshot = hr.state(tmp_path / "s")
    assert snapshot.tables == {
        "rated_left": "key struct<k: string, spread: int>, k string, n int, ts timestamp, count bigint",
        "rated_right": "key struct<k: string, spread: int>, rate double, at timestamp, count bigint",
    }
    clock = [dt.datetime(2026, 1, 1, 10, 0, second, tzinfo=dt.UTC) for second in range(10)]
    assert snapshot.table("rated_left").rows() == [(("a", None), "a", 5, clock[7], 1), (("b", None), "b", 1, clock[9], 1)]
    assert snapshot.table("rated_right").rows() == [(("a", None), 0.5, clock[1], 1), (("a", None), 0.7, clock[8], 1)]


VALUES: dict[str, tuple[str, list[Any]]] = {
    "truth": ("boolean", [True, False]),
    "tiny": ("tinyint", [-128, 0, 127]),
    "small": ("smallint", [-32768, 258, 32767]),
    "whole": ("int", [-(2**31), -1, 2**31 - 1]),
    "large": ("bigint", [-(2**63), 0, 2**63 - 1]),
    "single": ("float", [-1.5, 0.0, 3.25]),
    "double": ("double", [-1e300, 0.0, 5e-324, math.inf]),
    "money": ("decimal(10,2)", [Decimal("-12.30"), Decimal("0.01")]),
    "wide": ("decimal(38,3)", [Decimal("-12345678901234567890123456789012345.678"), Decimal("1.000"), Decimal("300.000")]),
    "text": ("string", ["", "a\0b\0", "\0\1", "ünï"]),
    "raw": ("binary", [b"", b"\0\0\1", b"\xff\0"]),
    "day": ("date", [dt.date(1, 1, 1), dt.date(2026, 1, 1)]),
    "at": ("timestamp_ntz", [dt.datetime(1969, 1, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 7)]),
    "many": ("array<string>", [[], ["b", None, ""], [None]]),
    "nested": ("struct<a: int, b: array<decimal(20,1)>>", [(1, [Decimal("2.5"), None]), (None, None)]),
}


def test_values_of_every_type_that_only_their_order_keeps(tmp_path: Path) -> None:
    """`count(DISTINCT …)` keeps no rows, but the bytes of their order."""
    numbered = itertools.zip_longest(*([*values, None] for _, values in VALUES.values()))
    schema = ", ".join(f"{name} {type}" for name, (type, _) in VALUES.items())
    rows = hr.read.memory([tuple(row) for row in numbered], schema, name="rows")
    counted = rows.group_by().agg(**{name: f"count(DISTINCT {name})" for name in VALUES}, loose="count(DISTINCT text COLLATE UTF8_LCASE)")
    hr.job("types", counted.named("types").write.memory()).run(checkpoint=tmp_path / "s", progress=False)
    snapshot = hr.state(tmp_path / "s")
    for name, (type, values) in VALUES.items():
        assert snapshot.tables[f"types_{name}"] == f"{name} {type}, count bigint"
        texts = {repr(value) for value, _ in snapshot.table(f"types_{name}").rows()}
        assert texts == {repr(value) for value in (*values, None)}, name
    # of a text with a collation only what equal texts have in common
    assert snapshot.tables["types_loose"] == "value binary, count bigint"
    assert {value for value, _ in snapshot.table("types_loose").rows()} == {None, *(text.lower().encode() for text in VALUES["text"][1])}


def test_keys_with_a_collation(tmp_path: Path) -> None:
    rows = hr.read.memory([("A", 1), ("a", 2), ("b", 3)], "k string collate UTF8_LCASE, v int", name="rows")
    sums = rows.group_by("k").agg(n="sum(v)").named("sums")
    hr.job("loose", sums.write.memory()).run(checkpoint=tmp_path / "s", progress=False)
    snapshot = hr.state(tmp_path / "s")
    assert snapshot.tables["sums"] == "key struct<k: binary>, rows bigint, n bigint, k string collate UTF8_LCASE"
    assert snapshot.table("sums").rows() == [((b"a",), 2, 3, "A"), ((b"b",), 1, 3, "b")]
