"""Where changes come from and where they go: columns that say it, Debezium's envelopes, ledgers; sinks of changes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace import Table
from headrace.testing import Harness
from tests.mutated import letters
from tests.unit.errors import check_error


def lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_column_says_what_a_row_changes(spark: SparkSession, tmp_path: Path) -> None:
    changes = [("a", 1, "insert"), ("b", 2, "I"), ("c", 3, "+"), ("a", 1, "delete"), ("b", 2, "update_before"), ("b", 9, "update_after")]
    lines(tmp_path / "in" / "1.json", [{"k": k, "v": v, "op": op} for k, v, op in changes])
    rows = hr.read.files(tmp_path / "in", format="json", schema="k string, v int, op string", change_column="op", name="rows")
    assert rows.columns == ("k", "v")
    assert sorted(hr.collect(rows).rows()) == [("b", 9), ("c", 3)]


def reasons(table: Table) -> dict[str, str]:
    """The reason of each dead letter, by the key of its row."""
    return {json.loads(letter["raw"])["k"]: letter["reason"] for letter in table.to_json()}


ADDED = "insert, i, c, r, +, +i, update_after, +u"
TAKEN = "delete, d, -, -d, update_before, -u"


def test_a_word_that_says_nothing_is_a_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "in.json", [{"k": "a", "op": "insert"}, {"k": "b", "op": "perhaps"}, {"k": "c"}, {"k": "d", "op": "Update"}])
    rows = hr.read.files(tmp_path / "in.json", format="json", schema="k string, op string", change_column="op", name="rows")
    with pytest.warns(
        RuntimeWarning,
        match=r"^3 rows failed and are missing; the first at rows.weigh: NO_WEIGHT: .* \(hr.collect\(...\).dead_letters has them",
    ):
        collected = hr.collect(rows)
    assert collected.rows() == [("a",)]
    words = f"; expected {ADDED} for an insertion, {TAKEN} for a deletion"
    cure = '. An update does not name the row that it replaces: use change_format="upsert" with a key, or the words update_before and update_after'
    assert reasons(collected.dead_letters) == {
        "b": f"NO_WEIGHT: `op` is 'perhaps'{words}",
        "c": f"NO_WEIGHT: `op` is null{words}",
        "d": f"NO_WEIGHT: `op` is 'Update'{words}{cure}",
    }
    assert reasons(hr.collect(rows.output("dead_letter"))) == reasons(collected.dead_letters)


def test_an_update_is_a_word_where_a_key_names_the_row_that_goes(spark: SparkSession, tmp_path: Path) -> None:
    words = ["update", "u", "U", "INSERT", "upsert", "update_after", "Replace", "+", "Delete", "update_before", "", None, "perhaps"]
    lines(tmp_path / "in" / "1.json", [{"k": f"{word}", "v": 1, "op": "c"} for word in words])
    lines(tmp_path / "in" / "2.json", [{"k": f"{word}", "v": 2, "op": word} for word in words])
    schema = "k string, v int, op string"
    rows = hr.read.files(tmp_path / "in", format="json", schema=schema, change_format="upsert", key="k", change_column="op", name="rows")
    with pytest.warns(RuntimeWarning, match="3 rows failed"):
        collected = hr.collect(rows)
    kept = dict(collected.rows())
    assert kept == {f"{word}": 2 if index < 8 else 1 for index, word in enumerate(words) if index not in (8, 9)}
    allowed = f"; expected {ADDED}, update, u, upsert, replace for an insertion, {TAKEN} for a deletion"
    assert reasons(collected.dead_letters) == {
        "": f"NO_WEIGHT: `op` is ''{allowed}",
        "None": f"NO_WEIGHT: `op` is null{allowed}",
        "perhaps": f"NO_WEIGHT: `op` is 'perhaps'{allowed}",
    }


@pytest.mark.parametrize(
    ("how", "records", "dead"),
    [
        (
            {"change_column": "op"},
            [{"k": "a", "op": "insert"}, {"k": "b", "op": "perhaps"}, {"k": "c", "op": "delete"}],
            ["NEVER_ADDED", "NO_WEIGHT", "not JSON"],
        ),
        (
            {"change_column": "op", "trusted": True},
            [{"k": "a", "op": "insert"}, {"k": "b", "op": "perhaps"}],
            ["NO_WEIGHT", "not JSON"],
        ),
        (
            {"change_column": "op", "change_format": "upsert", "key": "k"},
            [{"k": "a", "op": "u"}, {"k": "b", "op": "perhaps"}, {"op": "insert"}, {"op": "delete"}],
            ["NO_WEIGHT", "NULL_KEY", "NULL_KEY", "not JSON"],
        ),
        ({"change_format": "debezium"}, [{"op": "c", "after": {"k": "a"}}, {"op": "u", "after": {"k": "b"}}], ["NO_BEFORE", "not JSON"]),
        (
            {"change_format": "debezium", "trusted": False},
            [{"op": "c", "after": {"k": "a"}}, {"op": "t"}, {"op": "d", "before": {"k": "b"}}],
            ["NEVER_ADDED", "NO_CHANGE", "not JSON"],
        ),
    ],
)
def test_all_letters_of_changes_are_in_one_output(
    spark: SparkSession, tmp_path: Path, how: dict[str, Any], records: list[Any], dead: list[str]
) -> None:
    """With the rows in one job and without them."""
    lines(tmp_path / "in.json", records)
    with (tmp_path / "in.json").open("a") as file:
        file.write("broken\n")
    schema = "k string, op string" if "change_column" in how else "k string"
    rows = hr.read.files(tmp_path / "in.json", format="json", schema=schema, name="rows", **how)
    letters = rows.output("dead_letter")

    def codes(reasons: list[str]) -> list[str]:
        return sorted(reason.partition(":")[0] for reason in reasons)

    assert codes([reason for _, reason, *_ in hr.collect(letters).rows()]) == dead
    kept = rows.write.memory()
    summary = hr.job("both", kept, letters.write.files(tmp_path / "out", format="json", mode="changes")).run(
        checkpoint=tmp_path / "ck", progress=False
    )
    assert kept.rows() == [("a",)]
    written = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert codes([letter["reason"] for letter in written]) == dead
    assert {letter["_change"] for letter in written} == {"insert"}
    assert sum(summary.dead_letters.values()) == 0
    with pytest.warns(RuntimeWarning, match=f"{len(dead)} rows failed"):
        assert codes([letter["reason"] for letter in hr.collect(rows).dead_letters.to_json()]) == dead


def test_debezium(spark: SparkSession, tmp_path: Path) -> None:
    def change(op: str, before: Any, after: Any) -> dict[str, Any]:
        return {"op": op, "before": before, "after": after, "ts_ms": 1, "source": {"table": "cards"}}

    envelopes = [
        change("r", None, {"k": "a", "v": 1}),
        {"schema": {}, "payload": change("c", None, {"k": "b", "v": 2})},
        change("u", {"k": "a", "v": 1}, {"k": "a", "v": 5}),
        change("d", {"k": "b", "v": 2}, None),
        change("c", None, {"k": "c", "v": None}),
    ]
    lines(tmp_path / "in.json", envelopes)
    with (tmp_path / "in.json").open("a") as file:
        file.write("\n")  # a tombstone
    rows = hr.read.files(tmp_path / "in.json", format="json", schema="k string, v int", change_format="debezium", name="rows")
    assert sorted(hr.collect(rows).rows(), key=repr) == [("a", 5), ("c", None)]


def test_debezium_with_the_columns_that_are_found(spark: SparkSession, tmp_path: Path) -> None:
    def change(op: str, before: Any, after: Any) -> dict[str, Any]:
        return {"op": op, "before": before, "after": after}

    envelopes = [change("c", None, {"k": "a", "v": 1}), change("u", {"k": "a", "v": 1}, {"k": "b", "v": 5})]
    lines(tmp_path / "in.json", envelopes)
    lines(tmp_path / "with_schema.json", [{"schema": {"type": "struct"}, "payload": one} for one in envelopes])
    for file in ("in.json", "with_schema.json"):
        rows = hr.read.files(tmp_path / file, format="json", change_format="debezium", name="rows")
        assert rows.columns == ("k", "v")
        assert hr.collect(rows).rows() == [("b", 5)]
    # what else is in an envelope need not fit, and nothing may have been replaced yet
    lines(
        tmp_path / "added.json", [{**change("c", None, {"k": "a"}), "source": 1}, {**change("c", None, {"k": "b"}), "source": {"at": []}}]
    )
    assert sorted(hr.collect(hr.read.files(tmp_path / "added.json", format="json", change_format="debezium")).rows()) == [("a",), ("b",)]
    lines(tmp_path / "none.json", [{"k": "a", "op": "c"}])
    check_error(
        """
        SCHEMA_NEEDED: read.files: found no envelopes with `op` and the columns of rows in `after`
          at test_changes_in_and_out.py:*: lambda: hr.read.files(tmp_path / "none.json", format="json", change_format="debezium"),
          hint: give the columns of the rows: schema="id bigint, name string"
          more: headrace error SCHEMA_NEEDED
        """,
        lambda: hr.read.files(tmp_path / "none.json", format="json", change_format="debezium"),
    )


@pytest.mark.parametrize("how", [{"change_format": "debezium"}, {"change_column": "op"}])
def test_columns_that_were_found_stay(spark: SparkSession, tmp_path: Path, how: dict[str, str]) -> None:
    """A column that comes later is not one of the job's."""

    def record(op: str, row: dict[str, Any]) -> dict[str, Any]:
        return {"op": op, "after": row} if "change_format" in how else {"op": op, **row}

    def run() -> Any:
        rows = hr.read.files(tmp_path / "in", format="json", **how, name="rows")
        return hr.job("found", rows.write.files(tmp_path / "out", format="json", mode="changes", name="out")).run(
            checkpoint=tmp_path / "state", progress=False, flush=False
        )

    lines(tmp_path / "in" / "1.json", [record("c", {"k": "a"})])
    run()
    lines(tmp_path / "in" / "2.json", [record("c", {"k": "b", "w": 1})])
    run()
    kept = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(row["k"] for row in kept) == ["a", "b"]
    assert all("w" not in row for row in kept)


def test_all_columns_of_files_that_have_more_since(tmp_path: Path) -> None:
    """The columns were found by looking. An operator keeps its name and state, and `*` is refused where it means more than at first."""

    def run(*columns: str) -> None:
        rows = hr.read.files(tmp_path / "in", format="json", change_column="op", name="rows")
        view = rows.select(*columns).group_by("k").agg(n="count(*)")
        hr.job("found", view.write.files(tmp_path / "out", format="json", mode="changes", name="out")).run(
            checkpoint=tmp_path / "state", progress=False, flush=False
        )

    def kept() -> list[tuple[str, int, str]]:
        files = [file.read_text().splitlines() for file in hr.committed_files(tmp_path / "out")]
        return [(row["k"], row["n"], row["_change"]) for part in files for row in map(json.loads, part)]

    lines(tmp_path / "in" / "1.json", [{"op": "c", "k": "a"}])
    run("k")
    lines(tmp_path / "in" / "2.json", [{"op": "c", "k": "a", "w": 1}])
    check_error(
        """
        UNKNOWN_COLUMN: rows.ledger.select: no column `w`, in `w`
          at test_changes_in_and_out.py:*: view = rows.select(*columns).group_by("k").agg(n="count(*)")
          hint: the files of rows had other columns at the first start, and the job keeps using those. Declare them: rows with schema="k string, op string"
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: run("*"),
    )
    run("k")
    assert sorted(kept()) == [("a", 1, "delete"), ("a", 1, "insert"), ("a", 2, "insert")]


def test_the_schema_of_rows_by_its_place(spark: SparkSession) -> None:
    rows = hr.read.memory([(None, ("a",), "c", None)], "k string", change_format="debezium", name="rows")
    assert hr.collect(rows).rows() == [("a",)]


def test_an_envelope_that_does_not_say_what_changed_is_a_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """Every operation with every choice of states, with and without `payload`: a change, or one dead letter."""
    a, b = {"k": "a"}, {"k": "b"}
    states: list[Any] = [{"before": before, "after": after} for before in (None, a) for after in (None, b)]
    tried: list[dict[str, Any]] = [{"op": op, **state} for op in ("c", "r", "u", "d", "t", "m", "x", None) for state in states]
    tried += [{}, {"op": "c"}, {"payload": None}, {"payload": {}}, {"op": "c", "after": a, "payload": {"op": "d", "before": b}}]
    tried += [{"op": "c", "after": a, "payload": {"op": "c"}}, {"op": "d", "before": a, "payload": {"op": "d"}}]
    lines(tmp_path / "in.json", tried)
    rows = hr.read.files(tmp_path / "in.json", format="json", schema="k string", change_format="debezium", name="rows")
    summary = hr.job("odd", rows.changes().write.files(tmp_path / "out", format="json")).run(checkpoint=tmp_path / "ck", progress=False)

    def outcome(envelope: dict[str, Any]) -> str | None:
        payload = envelope["payload"] if envelope.get("payload") is not None else envelope
        op, before, after = (payload.get(name) is not None and payload[name] for name in ("op", "before", "after"))
        if op not in ("c", "r", "u", "d"):
            return "NO_CHANGE"
        if op in ("u", "d") and not before:
            return "NO_BEFORE"
        if op != "d" and not after:
            return "NO_AFTER"
        return "ODD_BEFORE" if op in ("c", "r") and before else "ODD_AFTER" if op == "d" and after else None

    at, expected = 0, {}
    for one in tried:
        expected[at] = outcome(one)
        at += len(json.dumps(one)) + 1
    dead = {letter["position"]: letter["reason"].partition(":")[0] for letter in letters(tmp_path / "ck")["in.json"]}
    assert dead == {at: reason for at, reason in expected.items() if reason is not None}
    assert (summary.sources[0].read, summary.sources[0].rows, sum(summary.dead_letters.values())) == (len(tried), len(tried), len(dead))
    changes = Counter(
        (row["k"], row["_change"])
        for file in hr.committed_files(tmp_path / "out")
        for row in map(json.loads, file.read_text().splitlines())
    )
    # b is added by c, r and u, and taken away once in a `payload`; a is taken away by u and d
    assert changes == Counter({("b", "insert"): 2, ("a", "delete"): 2})


def test_a_ledger_judges_what_is_taken_away(spark: SparkSession) -> None:
    with Harness() as h:
        a = h.source("a", "k string", changes=True)
        out, dead = h.collect(a), h.collect(a.output("dead_letter"))
        h.commit({"a": [("-", ("x",)), ("+", ("x",))]})
        assert (out.rows(), dead.rows()) == ([], [])
        h.commit({"a": [("+", ("x",)), ("-", ("y",))]})
        h.restart()
        h.commit({"a": [("-", ("x",)), ("-", ("x",)), ("-", ("x",))]})
        assert out.rows() == []
        assert [(letter[1].partition(":")[0], letter[4]) for letter in dead.rows()] == [
            ("NEVER_ADDED", '{"k":"x"}'),
            ("NEVER_ADDED", '{"k":"x"}'),
            ("NEVER_ADDED", '{"k":"y"}'),
        ]


def test_a_trusted_source_is_not_judged(spark: SparkSession) -> None:
    with Harness() as h:
        out = h.collect(h.source("a", "k string", changes=True, trusted=True))
        h.commit({"a": [("-", ("x",))]})
        h.commit({"a": [("+", ("x",)), ("+", ("x",))]})
        assert out.rows() == [("x",)]


def test_changes_as_rows(spark: SparkSession, tmp_path: Path) -> None:
    charges = hr.read.memory([("a", 1), ("b", 2), ("a", 3)], "card string, amount int", name="charges")
    spent = charges.group_by("card").agg(spent="sum(amount)")
    kept = spent.write.memory()
    hr.job("spent", kept, spent.write.files(tmp_path / "out", format="json", mode="changes")).run(checkpoint=tmp_path / "c", progress=False)
    assert sorted(kept.rows()) == [("a", 4), ("b", 2)]
    assert sorted(kept.changes()) == [(0, "+", ("a", 4)), (0, "+", ("b", 2))]
    written = [json.loads(line) for file in hr.committed_files(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(written, key=str) == [
        {"card": "a", "spent": 4, "_change": "insert"},
        {"card": "b", "spent": 2, "_change": "insert"},
    ]


def test_a_program_takes_changes_as_rows(spark: SparkSession) -> None:
    class Seen(hr.Program):
        def on_event(self, e: hr.Row) -> None:
            hr.emit(k=self.key.k, n=e.n, change=e["_change"])

    with Harness() as h:
        a = h.source("a", "k string", changes=True)
        out = h.collect(a.group_by("k").agg(n="count(*)").changes().key_by("k").process(Seen))
        h.commit({"a": [("+", ("x",))]})
        h.commit({"a": [("+", ("x",))]})
        assert sorted(out.rows()) == [("x", 1, "delete"), ("x", 1, "insert"), ("x", 2, "insert")]
