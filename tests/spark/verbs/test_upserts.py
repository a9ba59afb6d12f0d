"""One row for each key: streams and sources of which each row takes the place of the one before, update pairs, sinks by key."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Harness
from tests.unit.errors import check_error

Row = tuple[Any, ...]


def test_the_last_row_of_each_key_is_there(spark: SparkSession) -> None:
    """Against a dict, with random epochs of rows that repeat, come back and follow each other, and restarts."""
    rng = random.Random(3)
    last: dict[str, Row] = {}
    with Harness() as h:
        updates = h.source("updates", "k string, v int")
        out = h.collect(updates.upserts("k"))
        total = h.collect(hr.sql("SELECT count(*) AS n, sum(v) AS total FROM t", t=updates.upserts("k")))
        for epoch in range(6):
            rows = [(f"k{rng.randrange(8)}", rng.choice([None, *range(5)])) for _ in range(rng.randrange(30))]
            h.commit({"updates": [("+", row) for row in rows]})
            last |= {row[0]: row for row in rows}
            assert sorted(out.rows()) == sorted(last.values(), key=lambda row: row[0])
            values = [row[1] for row in last.values() if row[1] is not None]
            assert total.rows() == [(len(last), sum(values) if values else None)]
            if epoch == 2:
                h.restart()


def test_an_epoch_changes_a_key_once(spark: SparkSession) -> None:
    with Harness() as h:
        updates = h.source("updates", "k string, v int")
        out = h.collect(updates.upserts("k"))
        h.commit({"updates": [("+", ("a", 1)), ("+", ("a", 2))]})
        h.commit({"updates": [("+", ("a", 3)), ("+", ("a", 2)), ("+", ("b", 1))]})
        h.commit({"updates": [("+", ("a", 5)), ("+", ("b", 1))]})
        assert out.changes() == [(1, "+", ("a", 2)), (2, "+", ("b", 1)), (3, "-", ("a", 2)), (3, "+", ("a", 5))]


def test_changes_of_keys_are_update_pairs(spark: SparkSession) -> None:
    with Harness() as h:
        updates = h.source("updates", "k string, v int", changes=True)
        out = h.collect(updates.upserts(["k"]).changes())
        h.commit({"updates": [("+", ("a", 1)), ("+", ("b", 1))]})
        h.commit({"updates": [("-", ("a", 1)), ("+", ("a", 2)), ("-", ("b", 1))]})
        h.commit({"updates": [("+", ("b", 4)), ("-", ("b", 4)), ("+", ("c", 4))]})
        changes = [(epoch, *row) for epoch, _, row in out.changes()]
        assert sorted(changes) == [
            (1, "a", 1, "insert"),
            (1, "b", 1, "insert"),
            (2, "a", 1, "update_before"),
            (2, "a", 2, "update_after"),
            (2, "b", 1, "delete"),
            (3, "c", 4, "insert"),
        ]


def test_changes_of_groups_are_update_pairs_without_state(spark: SparkSession) -> None:
    with Harness() as h:
        updates = h.source("updates", "k string, v int", changes=True)
        spent = updates.group_by("k").agg(spent="sum(v)").rename({"k": "card"}).filter("spent > 0").upserts("card")
        out = h.collect(spent.changes())
        h.commit({"updates": [("+", ("a", 1))]})
        h.restart()
        h.commit({"updates": [("+", ("a", 1)), ("+", ("b", 2))]})
        h.commit({"updates": [("-", ("a", 1)), ("-", ("a", 1))]})
        changes = [(epoch, *row) for epoch, _, row in out.changes()]
        assert sorted(changes) == [
            (1, "a", 1, "insert"),
            (2, "a", 1, "update_before"),
            (2, "a", 2, "update_after"),
            (2, "b", 2, "insert"),
            (3, "a", 2, "delete"),
        ]
        assert "it keeps nothing, as a key of card has at most one row" in str(spent.explain(verbose=True))


def test_a_null_is_a_key_of_a_result_and_none_of_a_source(spark: SparkSession) -> None:
    with Harness() as h:
        updates, changing = h.source("updates", "k string, v int"), h.source("changing", "k string, v int", changes=True)
        last = updates.upserts("k")
        out, dead, one = h.collect(last), h.collect(updates.output("dead_letter")), h.collect(changing.upserts("k"))
        h.commit({"updates": [("+", (None, 1)), ("+", ("a", 1))], "changing": [("+", (None, 1))]})
        h.commit({"changing": [("-", (None, 1)), ("+", (None, 2))]})
        assert (out.rows(), one.rows()) == ([("a", 1)], [(None, 2)])
        assert [(row[1], row[4]) for row in dead.rows()] == [("NULL_KEY: a key column is null", '{"k":null,"v":1}')]


def test_two_rows_of_a_key_stop_the_job(spark: SparkSession, tmp_path: Path) -> None:
    charges = hr.read.memory([("a", "SE", 1), ("b", "SE", 2)], "card string, country string, amount int", name="charges")
    spent = charges.group_by("card", "country").agg(spent="sum(amount)").upserts("country").named("by country")
    check_error(
        """
        KEY_NOT_UNIQUE: by country: two rows have the key {"country":"SE"}: {"card":"a","country":"SE","spent":1} and {"card":"b","country":"SE","spent":2}
          at test_upserts.py:*: spent = charges.group_by("card", "country").agg(spent="sum(amount)").upserts("country").named("by country")
          hint: name columns that identify each row, or keep one row per key: .top(1, by=..., per=...)
          more: headrace error KEY_NOT_UNIQUE
        """,
        lambda: hr.job("spent", spent.write.memory(key="country")).run(checkpoint=tmp_path / "c", progress=False, partitions=1),
    )


def test_a_sink_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """An epoch takes at the most one row of a key away, and adds at the most one."""
    charges = hr.read.memory([("a", 1), ("b", 2), ("a", 3)], "card string, amount int", name="charges")
    plain, summed = (
        charges.write.memory(key="card", name="plain"),
        charges.group_by("card").agg(n="sum(amount)").write.memory(mode="upsert", key="card"),
    )
    hr.job("spent", plain, summed).run(checkpoint=tmp_path / "c", progress=False)
    assert (sorted(plain.rows()), sorted(summed.rows())) == ([("a", 3), ("b", 2)], [("a", 4), ("b", 2)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "upsert"}, "write.memory: mode='upsert' needs a key"),
        ({"mode": "append", "key": "card"}, "write.memory: key and mode='append' cannot be combined"),
        ({"key": "number"}, "no column `number` in told"),
    ],
)
def test_a_sink_says_what_is_missing_of_its_key(options: dict[str, Any], message: str) -> None:
    charges = hr.read.memory([], "card string, amount int", name="told")
    with pytest.raises(HeadraceError) as caught:
        charges.write.memory(**options)
    assert caught.value.message == message


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_files_of_upserts(spark: SparkSession, tmp_path: Path) -> None:
    """The last row of a key is that of the last file, whatever the files' sizes and the tasks that read them."""
    many = [{"id": i, "v": "first", "op": "insert"} for i in range(2000)]
    lines(tmp_path / "in" / "1.json", many)
    lines(
        tmp_path / "in" / "2.json",
        [
            {"id": 1, "v": "second", "op": "update_after"},
            {"id": 1, "v": "third", "op": "update_after"},
            {"id": 2, "op": "delete"},
            {"id": 3, "op": "d"},
        ],
    )
    lines(tmp_path / "in" / "3.json", [{"id": 3, "v": "back", "op": "update_after"}, {"v": "of nobody", "op": "c"}])
    schema = "id int, v string, op string"
    rows = hr.read.files(tmp_path / "in", format="json", schema=schema, change_format="upsert", key="id", change_column="op", name="rows")
    with pytest.warns(RuntimeWarning, match="NULL_KEY"):
        last = {row[0]: row[1] for row in hr.collect(rows).rows()}
    assert len(last) == 1999
    assert (last[0], last[1], last.get(2), last[3]) == ("first", "third", None, "back")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"change_format": "upsert"}, 'read.files: change_format="upsert" needs a key'),
        ({"key": "id"}, 'read.files: a key needs change_format="upsert"'),
        (
            {"change_format": "upsert", "key": "id", "by": "time"},
            "the order of file times does not determine the last row of a key",
        ),
        ({"change_format": "debezium", "change_column": "op"}, "read.files: change_column and change_format cannot be combined"),
        ({"change_format": "upsert", "key": "ident"}, "no column `ident` in rows"),
    ],
)
def test_a_source_says_what_is_missing_of_its_key(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        hr.read.files(tmp_path / "in", format="json", schema="id int, v string, op string", name="rows", **options)
