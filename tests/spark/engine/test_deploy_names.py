"""Deploys of jobs with several programs, levels and queries: what of their state is converted, kept, or left to be projected."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import lines
from tests.spark.engine.test_changed import files
from tests.spark.engine.test_deploy_cells import lay_out, moment

pytestmark = pytest.mark.usefixtures("spark")


class Pairs(hr.Program):
    """A running count per shop and item, whichever order and names the two have."""

    n = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(shop=e.shop, item=e.item, n=self.n.get(), amount=e.amount)


def again(whole: str, *, renamed: bool) -> type[hr.Program]:
    class Again(hr.Program):
        """Behind the first one: all its counts of an item."""

        counts = hr.List(whole)
        if renamed:
            rows = hr.Value("bigint", was="n")
        else:
            n = hr.Value("int")

        def on_event(self, e: Any) -> None:
            seen = self.rows if renamed else self.n
            seen.set(hr.f.coalesce(seen.get(), 0) + 1)
            self.counts.append(e.n)
            hr.emit(item=self.key.item, rows=seen.get(), counts=hr.f.to_json(self.counts.get()))

    return Again


class Quiet(hr.Program):
    """Says when a shop has been quiet; nothing of it changes."""

    seen = hr.Map("int", "int")
    quiet = hr.Timer()

    def on_event(self, e: Any) -> None:
        self.seen.set(e.amount, 1)
        self.quiet.set(e.ts + hr.minutes(40))

    def on_quiet(self, at: Any) -> None:
        hr.emit(shop=self.key.shop, seen=self.seen.size(), ts=at)


def job(folder: Path, version: int) -> hr.Job:
    item = "int" if version == 1 else "bigint"
    names = ["sales", "rules"]
    schemas = [f"shop int, item {item}, amount int, ts timestamp", "item int, limit int, ts timestamp"]
    sales, rules = (
        hr.read.files(folder / name, format="json", schema=schema, name=name, files_per_epoch=1).watermark("ts", "5 minutes")
        for name, schema in zip(names, schemas, strict=True)
    )
    if version == 1:
        keyed = sales.key_by("shop", "item")
    else:
        keyed = sales.rename({"shop": "store"}).with_columns(shop="store").key_by(hr.col("item").alias("what"), "store")
    pairs = keyed.process(Pairs, order="arrival").named("pairs")
    behind = pairs.key_by("item").process(again(item, renamed=version > 1), order="arrival").named("again")
    quiet = sales.key_by("shop").process(Quiet).named("quiet")
    other = rules.key_by("item").process(Ruled, order="arrival").named("ruled")
    streams = {"pairs": pairs, "again": behind, "quiet": quiet, "ruled": other}
    return hr.job(
        "several", *(stream.write.files(folder / "out" / name, format="json", name=f"{name}_out") for name, stream in streams.items())
    )


class Ruled(hr.Program):
    """In a query of its own."""

    limits = hr.List("int")

    def on_event(self, e: Any) -> None:
        self.limits.append(e.limit)
        hr.emit(item=self.key.item, limits=hr.f.to_json(self.limits.get()))


def results(folder: Path) -> dict[str, list[str]]:
    names = ("pairs", "again", "quiet", "ruled")
    return {name: sorted(json.dumps(row, sort_keys=True) for row in lines(folder / "out" / name)) for name in names}


@pytest.mark.full
def test_names_levels_and_queries(tmp_path: Path) -> None:
    moved, straight = tmp_path / "moved", tmp_path / "straight"
    lay_out(moved, 0)
    lay_out(moved, 1)
    old = moved / "state"
    job(moved, 1).run(checkpoint=old, flush=False, partitions=2)
    with pytest.raises(HeadraceError) as refused:
        job(moved, 2).run(checkpoint=old, flush=False)
    assert {error.hint for error in (refused.value, *refused.value.also)} == {
        "`headrace deploy FILE` moves the state to where this version needs it, and --dry-run shows how; fresh=True starts over"
    }
    # the last epoch was not committed, and the sinks hold it: the version that began it ends it
    for query in (old / "queries").iterdir():
        last = max(int(path.name) for path in (query / "commits").iterdir() if path.name.isdigit())
        (query / "commits" / f"{last}").unlink()
    before = files(old)
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED"):
        job(moved, 2).deploy(checkpoint=old)
    assert files(old) == before
    job(moved, 1).run(checkpoint=old, flush=False)
    lay_out(moved, 2)
    before = files(old)
    preview = job(moved, 2).deploy(checkpoint=old, dry_run=True)
    assert files(old) == before
    assert str(preview) == "\n".join(
        [
            f"several: would be deployed to {old}",
            "  kept      source   rules",
            "  kept      source   sales",
            "  evolved   operator pairs: its key is what bigint, store int instead of shop int, item int",
            "  evolved   operator quiet: held rows of its input event have the columns shop int, item bigint, amount int, ts timestamp"
            " instead of shop int, item int, amount int, ts timestamp",
            "  evolved   operator again: its key is item bigint instead of item int; counts is a list of bigint instead of a list of int;"
            " n is renamed to rows; rows is bigint instead of int",
            "  kept      operator ruled",
            "  kept      sink     pairs_out",
            "  kept      sink     again_out",
            "  kept      sink     quiet_out",
            "  kept      sink     ruled_out",
            "  pairs receives differently computed rows from epoch 3 on",
            "nothing was changed",
        ]
    )
    deployment = job(moved, 2).deploy(checkpoint=old)
    assert {one.name: (one.keys > 0, one.entries > 0) for one in deployment.verdicts if one.part == "operator"} == {
        "pairs": (True, False),
        "again": (True, True),
        "quiet": (True, False),
        "ruled": (False, False),
    }
    read = [json.loads(line) for part in (0, 1) for line in (moved / "sales" / f"{part}.json").read_text().splitlines()]
    seen = {(row["shop"], row["item"]) for row in read}
    assert f"instead of shop int, item int; {len(seen)} keys\n" in str(deployment)
    with pytest.raises(HeadraceError, match="STATE_CHANGED"):
        job(moved, 1).run(checkpoint=old, flush=False)
    job(moved, 2).run(checkpoint=old, flush=False)
    # and it can be moved, and started again
    new = old.rename(moved / "new")
    lay_out(moved, 3)
    job(moved, 2).run(checkpoint=new)
    for part in range(4):
        lay_out(straight, part)
    job(straight, 2).run(checkpoint=straight / "state", partitions=2)
    assert results(moved) == results(straight)
    assert all(results(moved).values())


class Kept(hr.Program):
    """Three lists of what came."""

    some = hr.List("int")
    others = hr.Map("int", "int", expires="10 minutes")
    n = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.some.append(e.v)
        self.others.set(e.v, 1)
        self.n.set(e.v)
        hr.emit(k=self.key.k, v=e.v, some=hr.f.to_json(self.some.get()), others=self.others.size())


class KeptLess(Kept):
    """The same; what expires is the other way round."""

    some = hr.List("int", expires="10 minutes")
    others = hr.Map("int", "int")


def kept(folder: Path, program: type[hr.Program]) -> hr.Job:
    read = hr.read.files(folder / "in", format="json", schema="k int, v int, ts timestamp", name="in").watermark("ts", "1 second")
    return hr.job("kept", read.key_by("k").process(program).named("kept").write.files(folder / "out", format="json", name="out"))


def add(folder: Path, name: str, *rows: tuple[int, int, str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    text = "".join(json.dumps({"k": k, "v": v, "ts": ts}) + "\n" for k, v, ts in rows)
    (folder / "in" / name).write_text(text)


def test_entries_that_expire_or_no_longer_do(tmp_path: Path) -> None:
    add(tmp_path, "1.json", (1, 1, moment(0)), (1, 2, moment(60)), (2, 9, moment(90)))
    kept(tmp_path, Kept).run(checkpoint=tmp_path / "a", flush=False, partitions=2)
    kept(tmp_path, KeptLess).deploy(checkpoint=tmp_path / "a")
    # Of `others` what was there stays, as nothing expires; of `some` what was there stays, and what comes now goes. The 9 was held: it comes
    # now, too.
    add(tmp_path, "2.json", (1, 3, moment(120)), (1, 4, moment(5000)), (2, 8, moment(5001)))
    kept(tmp_path, KeptLess).run(checkpoint=tmp_path / "a", flush=False)
    # and back: what is left of `some` stays, and `others` begin to expire when they are set again
    kept(tmp_path, Kept).deploy(checkpoint=tmp_path / "a")
    add(tmp_path, "3.json", (1, 3, moment(6000)), (1, 5, moment(9000)))
    kept(tmp_path, Kept).run(checkpoint=tmp_path / "a")
    rows = [(row["k"], row["v"], row["some"], row["others"]) for row in lines(tmp_path / "out")]
    assert sorted(rows) == [
        (1, 1, "[1]", 1),
        (1, 2, "[1,2]", 2),
        (1, 3, "[1,2,3]", 3),
        (1, 3, "[1,2,4,3]", 4),
        (1, 4, "[1,2,4]", 4),
        (1, 5, "[1,2,4,3,5]", 4),
        (2, 8, "[8]", 2),
        (2, 9, "[9]", 1),
    ]


JOB = """
import headrace as hr

class Count(hr.Program):
    n = hr.Value("int")

    def on_event(self, e):
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(k=self.key.k, n=self.n.get())

rows = hr.read.files("in", format="json", schema="k {key}, v int, ts timestamp", name="in").watermark("ts", "1 second")
job = hr.job("counts", rows.key_by("k").process(Count).named("counts").write.files("out", format="json", name="out"))
"""


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    add(tmp_path, "1.json", (1, 1, moment(0)), (1, 2, moment(60)))
    file = tmp_path / "job.py"
    file.write_text(JOB.format(key="int"))
    # a job that was run to its end stays so
    assert cli.main(["run", str(file), "--partitions", "1"]) == 0
    file.write_text(JOB.format(key="bigint"))
    assert cli.main(["run", str(file)]) == 1
    capsys.readouterr()
    assert cli.main(["deploy", str(file), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "  evolved   operator counts: its key is k bigint instead of k int; held rows of " in output and output.endswith(
        "\nnothing was changed\n"
    )
    assert cli.main(["deploy", str(file)]) == 0
    output = capsys.readouterr().out
    assert " instead of k int, v int, ts timestamp; 1 key\n" in output
    assert output.endswith(" s; the next run continues with this version\n")
    file.write_text(JOB.format(key="string"))
    assert cli.main(["rescale", str(file), "--partitions", "3"]) == 1
    assert "rescale changes the number of partitions only, and this is another version of the job" in capsys.readouterr().err
    file.write_text(JOB.format(key="bigint"))
    assert cli.main(["rescale", str(file), "--partitions", "3"]) == 0
    assert "  moved     operator counts: 3 partitions instead of 1; 1 key\n" in capsys.readouterr().out
    assert cli.main(["run", str(file)]) == 0
    assert capsys.readouterr().out.startswith("counts: nothing new to read")
    add(tmp_path, "2.json", (1, 3, moment(120)))
    assert cli.main(["run", str(file)]) == 1
    assert capsys.readouterr().err.startswith("CHECKPOINT_SEALED")


class Soon(hr.Program):
    """A timer of processing time: nothing but its alarm tells when it is due."""

    soon = hr.Timer(clock="processing")

    def on_event(self, e: Any) -> None:
        self.soon.set(hr.now() + hr.seconds(10))
        hr.emit(k=self.key.k, what="came")

    def on_soon(self, at: Any) -> None:
        hr.emit(k=self.key.k, what="rang")


def test_alarms_of_processing_time(tmp_path: Path) -> None:
    def soon(key: str) -> hr.Job:
        read = hr.read.files(tmp_path / "in", format="json", schema=f"k {key}, v int, ts timestamp", name="in")
        processed = read.key_by("k").process(Soon, order="arrival").named("soon")
        return hr.job("soon", processed.write.files(tmp_path / "out", format="json", name="out"))

    add(tmp_path, "1.json", (1, 1, moment(0)), (2, 2, moment(0)), (3, 3, moment(0)))
    soon("int").run(checkpoint=tmp_path / "old", flush=False, partitions=2)
    came = time.monotonic()
    soon("bigint").deploy(checkpoint=tmp_path / "old")
    time.sleep(max(0.0, came + 10.5 - time.monotonic()))
    add(tmp_path, "2.json", (9, 9, moment(0)))
    soon("bigint").run(checkpoint=tmp_path / "old", flush=False)
    rows = sorted((row["k"], row["what"]) for row in lines(tmp_path / "out"))
    # Where the run itself takes ten seconds, the last one rings too.
    wanted = [(1, "came"), (1, "rang"), (2, "came"), (2, "rang"), (3, "came"), (3, "rang"), (9, "came")]
    assert [one for one in rows if one != (9, "rang")] == wanted
