"""From a dead letter to a row: what was repaired is read once, as a row of its source, also over restarts, moves and replays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines, minute, put

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "card string, amount int, ts timestamp"


class Last(hr.Program):
    """Rows in the order of their time, each with the amount before it."""

    before = hr.Value("int")

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, before=self.before.get(), amount=e.amount)
        self.before.set(e.amount)


def job(folder: Path, **options: Any) -> hr.Job:
    charges = hr.read.files(folder / "in", format="json", schema=SCHEMA, name="charges", files_per_epoch=1, **options).watermark(
        "ts", "5 minutes"
    )
    steps = charges.expect("amount > 0").key_by("card").process(Last).named("last")
    return hr.job(
        "repaired",
        steps.write.files(folder / "out", format="json", name="out"),
        steps.output("late").write.files(folder / "late", format="json", name="late"),
    )


def run(folder: Path, **options: Any) -> hr.Summary:
    return job(folder).run(checkpoint=folder / "checkpoint", progress=False, **options)


def rows(folder: Path) -> list[tuple[str, int | None, int]]:
    return [(row["card"], row.get("before"), row["amount"]) for row in lines(folder / "out")]


def mended(folder: Path, *texts: str) -> Path:
    file = folder / "mended.json"
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return file


def row(card: str, amount: int, at: str) -> str:
    return json.dumps({"card": card, "amount": amount, "ts": at})


def test_what_is_repaired_counts_once(tmp_path: Path) -> None:
    put(
        tmp_path / "in",
        "1.json",
        [row("a", 1, minute(1)), '{"card": "a", "amount": "x", "ts": "2026-01-01 00:02:00"}', row("a", -3, minute(3))],
    )
    first = run(tmp_path, flush=False)
    assert [(one.read, one.malformed) for one in first.sources] == [(3, 1)]
    letters = hr.letters(tmp_path / "checkpoint")
    assert sorted(letter[2:4] for letter in letters.table().rows()) == [("charges", "charges"), ("charges", "charges.expect")]
    assert letters.export("charges", tmp_path / "out.txt") == (2, {}, ())
    assert {json.loads(line)["amount"] for line in (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()} == {"x", -3}
    letters.replay("charges", mended(tmp_path, row("a", 2, minute(2)), row("a", 3, minute(3))))
    second = run(tmp_path, flush=False)
    assert [(one.read, one.malformed) for one in second.sources] == [(5, 1)]
    assert run(tmp_path, flush=False).rows == 0
    # A checkpoint that was moved knows what it has read.
    shutil.move(tmp_path / "checkpoint", tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "checkpoint")
    put(tmp_path / "in", "2.json", [row("a", 4, minute(30))])
    third = run(tmp_path, flush=False)
    assert third.rows == 1
    put(tmp_path / "in", "3.json", [row("a", 5, minute(50))])
    run(tmp_path, flush=False)
    assert rows(tmp_path) == [("a", None, 1), ("a", 1, 2), ("a", 2, 3), ("a", 3, 4)]
    [one] = third.expectations
    assert (one.stream, one.passed, one.violated) == ("charges.expect", 4, 1)


@pytest.mark.full
def test_a_moved_checkpoint_reads_what_was_given_there(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [row("a", 1, minute(1))])
    run(tmp_path, flush=False)
    hr.letters(tmp_path / "checkpoint").replay("charges", mended(tmp_path, row("a", 2, minute(2))))
    run(tmp_path, flush=False)
    (tmp_path / "checkpoint").rename(tmp_path / "other")
    hr.letters(tmp_path / "other").replay("charges", mended(tmp_path, row("a", 3, minute(3))))
    summary = job(tmp_path).run(checkpoint=tmp_path / "other", progress=False)
    assert (summary.rows, rows(tmp_path)) == (1, [("a", None, 1), ("a", 1, 2), ("a", 2, 3)])


@pytest.mark.full
def test_a_repaired_row_behind_the_watermark_is_late_and_one_that_is_still_broken_a_letter(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [row("a", 1, minute(1))])
    put(tmp_path / "in", "2.json", [row("a", 2, minute(40))])
    run(tmp_path, flush=False)
    hr.letters(tmp_path / "checkpoint").replay("charges", mended(tmp_path, row("b", 7, minute(2)), '{"card": "b", "amount": "y"}'))
    run(tmp_path, flush=False)
    assert [(one["card"], one["amount"]) for one in lines(tmp_path / "late")] == [("b", 7)]
    [letter] = hr.letters(tmp_path / "checkpoint").table().rows()
    assert letter[3] == "charges" and letter[5].endswith(".json") and "/repaired/charges/00001-" in letter[5]


def test_a_job_that_runs_takes_it_with_its_next_epoch(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [row("a", 1, minute(1))])
    going = job(tmp_path, follow=True).start(checkpoint=tmp_path / "checkpoint", progress=False)
    try:
        wait_for(going, 1)
        hr.letters(tmp_path / "checkpoint").replay("charges", mended(tmp_path, row("a", 2, minute(30))))
        wait_for(going, 2)
    finally:
        summary = going.stop()
    assert summary is not None and summary.sources[0].read == 2


def wait_for(going: hr.Run, read: int) -> None:
    while going.metrics["sources"][0]["read"] < read:
        assert going.wait(0.1) is None, "the run has ended"


@pytest.mark.full
def test_a_job_that_was_run_to_its_end_says_so(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", [row("a", 1, minute(1))])
    run(tmp_path)
    with pytest.raises(hr.HeadraceError) as raised:
        hr.letters(tmp_path / "checkpoint").replay("charges", mended(tmp_path, row("a", 2, minute(2))))
    assert raised.value.code == "CHECKPOINT_SEALED"


@pytest.mark.full
def test_rows_of_csv_and_of_parquet(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "1.csv").write_text("k;v\na;1\nb;x\n", encoding="utf-8")
    spark.sql("SELECT 'p' AS k, 1 AS v").write.parquet(str(tmp_path / "parquet"))
    sheets = hr.read.files(
        tmp_path / "csv", format="csv", schema="k string, v int", name="sheets", options={"sep": ";", "encoding": "UTF-8"}
    )
    others = hr.read.files(tmp_path / "parquet", format="parquet", schema="k string, v int", name="others")
    job = hr.job("both", sheets.union(others).write.files(tmp_path / "out", format="json", name="out"))
    job.run(checkpoint=tmp_path / "checkpoint", progress=False, flush=False)
    letters = hr.letters(tmp_path / "checkpoint")
    assert letters.export("sheets", tmp_path / "mended.csv") == (1, {}, ())
    text = (tmp_path / "mended.csv").read_text(encoding="utf-8")
    assert text == "k;v\nb;x\n"
    (tmp_path / "mended.csv").write_text(text.replace("x", "2"), encoding="utf-8")
    letters.replay("sheets", tmp_path / "mended.csv")
    letters.replay("others", mended(tmp_path, '{"k": "q", "v": 3}'))
    job.run(checkpoint=tmp_path / "checkpoint", progress=False, flush=False)
    assert sorted((one["k"], one["v"]) for one in lines(tmp_path / "out")) == [("a", 1), ("b", 2), ("p", 1), ("q", 3)]
