"""Expectations: after every epoch the rows that batch says meet them, and counts that are those of the rows that are there."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.spark.engine.jobs import lines
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

Row = tuple[Any, ...]


def meets(row: Row) -> tuple[bool, bool]:
    """`v > 0` and `10 / v > 2`, which fails for 0; a null is not met."""
    _, v = row
    return v is not None and v > 0, v is not None and v != 0 and 10 / v > 2


def kept(rows: Counter[Row], *, all_of_them: bool = False) -> list[Row]:
    kept_rows = [row for row, n in rows.items() for _ in range(n) if all_of_them or all(meets(row))]
    return sorted(kept_rows, key=lambda row: (row[0], row[1] is not None, row[1] or 0))


def test_rows_come_and_go_as_in_batch() -> None:
    rng = random.Random(7)
    live: Counter[Row] = Counter()
    with Harness() as h:
        t = h.source("t", "k string, v int", changes=True)
        conditions = {"positive": "v > 0", "large": "10 / v > 2"}
        outs = {policy: h.collect(t.expect(**conditions, on_violation=policy)) for policy in ("dead_letter", "drop", "keep")}
        groups = h.collect(t.expect(**conditions, on_violation="drop").group_by("k").agg(n="count(*)"))
        for epoch in range(4):
            changes: list[tuple[str, Row]] = []
            for _ in range(20):
                if sum(live.values()) and rng.random() < 0.4:
                    row = rng.choice(sorted(live.elements(), key=repr))
                    live[row] -= 1
                    changes.append(("-", row))
                else:
                    row = (rng.choice("abc"), rng.choice([None, -1, 0, 1, 3, 7]))
                    live[row] += 1
                    changes.append(("+", row))
            h.commit({"t": changes})
            if epoch == 1:
                h.restart()
            there = kept(live)
            assert outs["dead_letter"].rows() == outs["drop"].rows() == there
            assert outs["keep"].rows() == kept(live, all_of_them=True)
            assert groups.rows() == sorted(Counter(k for k, _ in there).items())
            passed = [sum(n for row, n in live.items() if meets(row)[i]) for i in (0, 1)]
            counted = {"positive": passed[0], "large": passed[1]}
            all_rows = sum(live.values())
            expectations = h.metrics()["expectations"]
            assert len(expectations) == 3
            for one in expectations.values():
                assert one == {name: {"passed": n, "violated": all_rows - n} for name, n in counted.items()}


@pytest.mark.full
def test_what_letters_say_and_that_they_are_taken_away() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int", changes=True, trusted=True)
        h.collect(t.expect(positive="v > 0").expect("k <> 'x'", on_violation="drop"))
        letters = h.collect(t.output("dead_letter").select("node", "reason", "raw"))
        h.commit({"t": [("+", ("a", -1)), ("+", ("a", None)), ("+", ("x", 1))]})
        reason = "EXPECTATION: positive (v > 0)"
        assert letters.rows() == [("t.expect", reason, '{"k":"a","v":-1}'), ("t.expect", reason, '{"k":"a","v":null}')]


@pytest.mark.full
def test_a_condition_that_fails_is_not_met_and_says_why() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int")
        h.collect(t.expect("10 / v > 2", "k = 'a'"))
        letters = h.collect(t.output("dead_letter").select("reason"))
        h.commit({"t": [("+", ("b", 0))]})
        [(reason,)] = letters.rows()
        assert reason.startswith("EXPECTATION: 10 / v > 2: [DIVIDE_BY_ZERO] Division by zero.")
        assert reason.endswith("; k = 'a'")


def test_each_row_is_counted_once_however_many_read_it() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int")
        sound = t.expect("v > 0")
        h.collect(sound.filter("k = 'a'"))
        h.collect(sound.group_by("k").agg(n="count(*)"))
        h.collect(sound.union(sound.select("k", v="v + 1")))
        letters = h.collect(t.output("dead_letter").select("raw"))
        h.commit({"t": [("+", ("a", 1)), ("+", ("b", 2)), ("+", ("b", -2))]})
        assert h.metrics()["expectations"] == {"t.expect": {"v > 0": {"passed": 2, "violated": 1}}}
        assert letters.rows() == [('{"k":"b","v":-2}',)]


@pytest.mark.full
def test_rows_that_a_union_doubles_are_counted_twice() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int")
        h.collect(t.union(t).expect("v > 0"))
        letters = h.collect(t.output("dead_letter").select("raw"))
        h.commit({"t": [("+", ("a", 1)), ("+", ("b", -2))]})
        [counts] = h.metrics()["expectations"].values()
        assert counts == {"v > 0": {"passed": 2, "violated": 2}}
        assert letters.rows() == [('{"k":"b","v":-2}',)] * 2


@pytest.mark.full
def test_results_of_an_operator() -> None:
    with Harness() as h:
        t = h.source("t", "k string, v int")
        totals = t.group_by("k").agg(s="sum(v)").named("totals")
        good = h.collect(totals.expect(low="s < 10"))
        letters = h.collect(totals.output("dead_letter").select("raw"))
        h.commit({"t": [("+", ("a", 1)), ("+", ("b", 11))]})
        assert (good.rows(), letters.rows()) == ([("a", 1)], [('{"k":"b","s":11}',)])
        h.commit({"t": [("+", ("a", 20)), ("+", ("b", -5))]})
        assert (good.rows(), letters.rows()) == ([("b", 6)], [('{"k":"a","s":21}',)])
        assert h.metrics()["expectations"]["totals.expect"] == {"low": {"passed": 1, "violated": 1}}


def put(folder: Path, name: str, *rows: dict[str, Any] | str) -> None:
    folder.mkdir(exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    (folder / name).write_text(text, encoding="utf-8")


def job(folder: Path, on_violation: str, malformed: str = "dead_letter") -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, v int", name="rows", files_per_epoch=1, malformed=malformed)
    out = rows.expect(positive="v > 0", on_violation=on_violation).write.files(folder / "out", format="json", name="out")
    return hr.job("contract", out)


def test_a_run_that_is_to_fail_writes_nothing_of_the_epoch_and_goes_on_when_told_otherwise(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", {"k": "a", "v": 1})
    put(tmp_path / "in", "2.json", {"k": "b", "v": 2}, {"k": "c", "v": -3})
    error = check_error(
        """
        EXPECTATION_FAILED: rows.expect: a row at <folder>/in/2.json, position 19 does not meet positive (v > 0): {"k":"c","v":-3}
          at test_expect.py:*: out = rows.expect(positive="v > 0", on_violation=on_violation).write.files(folder / "out", format="json", name="out")
          hint: nothing of its epoch is written. Repair the input, or send such rows to the dead letters: on_violation="dead_letter".
          more: headrace error EXPECTATION_FAILED
        """,
        lambda: job(tmp_path, "fail").run(checkpoint=tmp_path / "checkpoint", progress=False),
        hide={f"file://{tmp_path}": "<folder>", str(tmp_path): "<folder>"},
    )
    assert error is not None and error.exit_code == 3
    assert lines(tmp_path / "out") == [{"k": "a", "v": 1}]
    summary = job(tmp_path, "drop").run(checkpoint=tmp_path / "checkpoint", progress=False)
    assert lines(tmp_path / "out") == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert summary.to_json()["expectations"] == [
        {"stream": "rows.expect", "name": "positive", "on_violation": "drop", "passed": 2, "violated": 1}
    ]
    assert "  rows.expect: positive       2         1" in str(summary)


def test_malformed_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", {"k": "a", "v": 1}, "{oops", {"k": "b", "v": -1})
    summary = job(tmp_path, "keep", "skip").run(checkpoint=tmp_path / "checkpoint", progress=False)
    document = summary.to_json()
    assert document["sources"] == [{"name": "rows", "read": 3, "malformed": 1, "skipped": 0, "tombstones": 0, "broken": 0, "rows": 2}]
    assert list(document["dead_letters"].values()) == [0]
    assert lines(tmp_path / "out") == [{"k": "a", "v": 1}, {"k": "b", "v": -1}]


@pytest.mark.full
def test_a_script_says_it_too(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", {"k": "a", "v": 1}, {"k": "b", "v": -1})
    script = tmp_path / "job.sql"
    script.write_text(
        f"""SET job = 'scripted';
CREATE SOURCE rows (k STRING, v INT) WITH (connector = 'files', path = '{tmp_path}/in', format = 'json');
CREATE VIEW good (CONSTRAINT positive EXPECT (v > 0) ON VIOLATION DROP ROW) AS SELECT k, v FROM rows;
CREATE SINK out WITH (connector = 'files', path = '{tmp_path}/out', format = 'json');
INSERT INTO out SELECT k FROM good;
""",
        encoding="utf-8",
    )
    summary = hr.load(script).run(checkpoint=tmp_path / "checkpoint", progress=False)
    assert lines(tmp_path / "out") == [{"k": "a"}]
    assert [(one.name, one.passed, one.violated) for one in summary.expectations] == [("positive", 1, 1)]
