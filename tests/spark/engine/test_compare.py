"""The rows that another version of a job computes differently, over the input that the job has read. Spark batch and Python know them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace import cli
from headrace.engine.fork import named
from headrace.spark.deploy.rows_diff import SinkRows
from tests.spark.engine.jobs import files
from tests.spark.engine.pairs import ROWS, add, counting, held, read
from tests.spark.engine.test_deploy_running import running, until
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

SUMS = "SELECT k, sum(v) AS s, count(*) AS n FROM rows WHERE v > {} GROUP BY k"
ALL = 10_000

Row = Mapping[str, Any]


def put(folder: Path, name: str, rows: Iterable[Row]) -> None:
    place = folder / "in" / f"{name}.json"
    place.parent.mkdir(exist_ok=True)
    fresh = place.with_name(f".{name}")
    fresh.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fresh.rename(place)


def bag(rows: Iterable[Row]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def sinks(difference: hr.RowsDiff) -> dict[str, SinkRows]:
    return {one.name: one for one in difference.sinks}


def check(sink: SinkRows, old: Counter[str], new: Counter[str]) -> None:
    """The differences of a sink are those of two bags of rows."""
    gone, come = old - new, new - old
    assert (sink.equal, sink.only_old, sink.only_new) == ((old & new).total(), gone.total(), come.total())
    assert sink.verdict == ("differs" if gone or come else "equal")
    assert _examples(sink, "old") == gone
    assert _examples(sink, "new") == come
    if sink.key:
        keys = [{tuple(json.loads(row)[name] for name in sink.key) for row in rows} for rows in (gone, come)]
        assert sink.changed == len(keys[0] & keys[1])
    first = [json.dumps([(one.old or one.new or {})[name] for name in sink.key]) for one in sink.examples] if sink.key else []
    assert len(set(first)) == len(first)


def _examples(sink: SinkRows, version: str) -> Counter[str]:
    shown: Counter[str] = Counter()
    for one in sink.examples:
        row = one.old if version == "old" else one.new
        if row is not None:
            shown[json.dumps(row, sort_keys=True)] += one.times
    return shown


def batch(spark: SparkSession, folder: Path, text: str) -> Counter[str]:
    """The rows of a query over all rows so far, by Spark."""
    spark.read.schema(ROWS).json(str(folder / "rows")).createOrReplaceTempView("rows")
    return bag(row.asDict() for row in spark.sql(text).collect())


def job(folder: Path, limit: int, *, follow: bool = False) -> hr.Job:
    """Views of every form above a limit: changes as files and in Delta, a keyed table, added rows; and views that stay."""
    rows = read(folder, "rows", ROWS, follow=follow)
    sums, large = hr.sql(SUMS.format(limit), rows=rows), rows.filter(f"v > {limit}").select("k", "v")
    return hr.job(
        "sums",
        sums.write.files(folder / "sums", format="json", mode="changes", name="changes"),
        sums.write.delta(folder / "delta", key="k", name="delta"),
        sums.write.jdbc(f"jdbc:sqlite:{folder / 'db'}", "sums", key=["k"], name="table"),
        large.write.files(folder / "large", format="json", name="added"),
        large.group_by("v").agg(n="count(*)").changes().write.files(folder / "shown", format="json", name="shown"),
        rows.select("k", "v").write.files(folder / "stays", format="json", name="stays"),
        large.write.console(name="screen"),
    )


def wanted(spark: SparkSession, folder: Path, limit: int) -> dict[str, Counter[str]]:
    sums = batch(spark, folder, SUMS.format(limit))
    large = batch(spark, folder, f"SELECT k, v FROM rows WHERE v > {limit}")
    shown = batch(spark, folder, f"SELECT v, count(*) AS n FROM rows WHERE v > {limit} GROUP BY v")
    return {"changes": sums, "delta": sums, "table": sums, "added": large, "shown": shown}


def check_all(difference: hr.RowsDiff, old: dict[str, Counter[str]], new: dict[str, Counter[str]]) -> None:
    compared = sinks(difference)
    for name, before in old.items():
        check(compared[name], before, new[name])
    assert {name: compared[name].key for name in old} == {"changes": ("k",), "delta": ("k",), "table": ("k",), "added": (), "shown": ("v",)}
    assert str(compared["stays"]) == "equal     stays: its rows are computed as before"
    assert str(compared["screen"]) == "unknown   screen: it cannot be compared: a console sink cannot return its rows"


@pytest.mark.full
def test_every_form_of_sink(tmp_path: Path, spark: SparkSession) -> None:
    """A job that has stopped: its sinks are read where they are, and nothing changes."""
    state = tmp_path / "state"
    for part in range(2):
        add(tmp_path, part)
        job(tmp_path, 10).run(checkpoint=state, progress=False, flush=False, partitions=2)
    was = files(tmp_path)
    old, new = (wanted(spark, tmp_path, limit) for limit in (10, 44))
    difference = hr.compare(state, job(tmp_path, 44), examples=ALL)
    check_all(difference, old, new)
    assert (difference.differs, difference.pause_seconds) == (True, None)
    changes = sinks(difference)["changes"]
    assert changes.only_old and changes.only_new and changes.changed
    back = hr.compare(state, job(tmp_path, 10), examples=ALL)
    assert {one.verdict for one in back.sinks} == {"equal"} and not back.differs
    few = sinks(hr.compare(state, job(tmp_path, 44), examples=2))
    assert few["added"].examples == sinks(difference)["added"].examples[:2]
    assert sinks(hr.compare(state, job(tmp_path, 44), examples=0))["added"].examples == ()
    now = files(tmp_path)
    assert {name: data for name, data in now.items() if name != "state/candidate.lock"} == was
    assert difference.epochs == job(tmp_path, 10).savepoint("then", checkpoint=state).epochs != {}


@pytest.mark.full
def test_a_running_job_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    """The job reads more while the other version is computed: only what it had read when its sinks were read counts."""
    state = tmp_path / "state"
    add(tmp_path, 0)
    with running(job(tmp_path, 10, follow=True), state, partitions=2) as run:
        until(lambda: run.progress.rows == 60)
        old, new = (wanted(spark, tmp_path, limit) for limit in (10, 30))
        steps: list[str] = []

        def more(line: str) -> None:
            if not steps:
                add(tmp_path, 1)
                until(lambda: run.progress.rows == 120)
            steps.append(line)

        difference = hr.compare(state, job(tmp_path, 30, follow=True), examples=ALL, progress=more)
        check_all(difference, old, new)
        assert difference.pause_seconds is not None
        assert steps[0] == "computing the rows of 5 sinks"
        assert held(tmp_path / "sums") == dict(wanted(spark, tmp_path, 10)["changes"])
        check_all(hr.compare(state, job(tmp_path, 30, follow=True), examples=ALL), *(wanted(spark, tmp_path, limit) for limit in (10, 30)))
        assert not (state / "candidate").exists() and not (state / "history.jsonl").exists()
        assert (run.status, run.error) == ("running", None)
    assert held(tmp_path / "sums") == dict(wanted(spark, tmp_path, 10)["changes"])


PAIRS = {
    "aggregate": ("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, max(v) AS s FROM rows GROUP BY k"),
    "group": ("SELECT k AS g, count(*) AS n FROM rows GROUP BY k", "SELECT v % 7 AS g, count(*) AS n FROM rows GROUP BY v % 7"),
    "bag": ("SELECT v % 5 AS v FROM rows", "SELECT v % 4 AS v FROM rows WHERE v > 7"),
    "level": (
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM rows GROUP BY k) GROUP BY n",
        "SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM rows) GROUP BY k) GROUP BY n",
    ),
    "nothing": ("SELECT k, v FROM rows WHERE v > 10", "SELECT k, v FROM rows WHERE v > 1000"),
    "written otherwise": ("SELECT k, sum(v) AS s FROM rows GROUP BY k", "SELECT k, sum(v + 0) AS s FROM rows GROUP BY k"),
}


@pytest.mark.full
def test_queries(tmp_path: Path, spark: SparkSession) -> None:
    def version(which: int) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        views = ((name, hr.sql(texts[which], rows=rows)) for name, texts in PAIRS.items())
        return hr.job("views", *(view.write.files(tmp_path / name, format="parquet", mode="changes", name=name) for name, view in views))

    for part in range(2):
        add(tmp_path, part)
        version(0).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    compared = sinks(hr.compare(tmp_path / "state", version(1), examples=ALL))
    for name, texts in PAIRS.items():
        check(compared[name], *(batch(spark, tmp_path, text) for text in texts))
    assert compared["written otherwise"].verdict == "equal" and compared["group"].key == ("g",)


def windows(folder: Path, size: str, out: str) -> hr.Job:
    text = f"SELECT window.start AS began, k, count(*) AS n FROM rows GROUP BY k, window(ts, '{size}')"
    rows = read(folder, "rows", ROWS)
    closed = rows.window(hr.tumble("ts", size), emit="close").group_by("window_start", "window_end", "k").agg(n="count(*)")
    return hr.job(
        "windows",
        hr.sql(text, rows=rows).write.files(folder / out / "open", format="json", mode="changes", name="open"),
        closed.select("k", "n", began="window_start").write.files(folder / out / "closed", format="json", name="closed"),
    )


@pytest.mark.full
def test_windows_close_as_in_the_job(tmp_path: Path) -> None:
    """A window that has closed in the job has closed in the other version, and one that has not has not."""
    for part in range(2):
        add(tmp_path, part)
        windows(tmp_path, "10 minutes", "old").run(checkpoint=tmp_path / "state", progress=False, flush=False)
    windows(tmp_path, "15 minutes", "new").run(checkpoint=tmp_path / "fresh", progress=False, flush=False)
    compared = sinks(hr.compare(tmp_path / "state", windows(tmp_path, "15 minutes", "old"), examples=ALL))
    for name in ("open", "closed"):
        old, new = (Counter(held(tmp_path / out / name)) for out in ("old", "new"))
        check(compared[name], *(bag(map(_in_iso, map(json.loads, rows.elements()))) for rows in (old, new)))


def _in_iso(row: Row) -> Row:
    return {**row, "began": datetime.fromisoformat(row["began"]).isoformat()}


SCHEMA = "k string, x double, at struct<a: double, b: array<string>>, t timestamp, d decimal(6,2)"
MEASURED: list[Row] = [
    {"k": "a", "x": "NaN", "at": {"a": -0.0, "b": ["p", None]}, "t": "2026-01-01T00:00:00.123456Z", "d": 1.5},
    {"k": "a", "x": "NaN", "at": {"a": -0.0, "b": ["p", None]}, "t": "2026-01-01T00:00:00.123456Z", "d": 1.5},
    {"k": None, "x": -0.0, "at": None, "t": None, "d": None},
    {"k": "b", "x": 1.0, "at": {"a": None, "b": []}, "t": "2026-01-02T00:00:00Z", "d": 2},
    {"k": "c", "x": None, "at": {"a": 1.0, "b": None}, "t": None, "d": None},
]


def measured(folder: Path, text: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema=SCHEMA, name="rows")
    return hr.job("measured", rows.select("k", x=text, at="at", t="t", d="d").write.files(folder / "out", format="parquet", name="out"))


def test_values(tmp_path: Path) -> None:
    """NaN equals NaN, 0.0 equals -0.0, null equals null, also inside of other values. Examples are in the order of their columns."""
    put(tmp_path, "1", MEASURED)
    state = tmp_path / "state"
    measured(tmp_path, "x").run(checkpoint=state, progress=False)
    same = sinks(hr.compare(state, measured(tmp_path, "CASE WHEN x = 0 THEN 0.0D ELSE x + 0 END")))["out"]
    assert (same.verdict, same.equal, same.only_old, same.only_new) == ("equal", 5, 0, 0)
    difference = hr.compare(state, measured(tmp_path, "CASE WHEN k = 'a' THEN null WHEN k = 'b' THEN double('-Infinity') ELSE x END"))
    assert str(sinks(difference)["out"]).splitlines() == [
        "differs   out: 2 rows are equal, 3 only in the old version, 3 only in the new one",
        '          + k="a", x=null, at={"a": 0.0, "b": ["p", null]}, t="2026-01-01T00:00:00.123456+00:00", d="1.50"  (2 times)',
        '          - k="a", x="NaN", at={"a": 0.0, "b": ["p", null]}, t="2026-01-01T00:00:00.123456+00:00", d="1.50"  (2 times)',
        '          + k="b", x="-Infinity", at={"a": null, "b": []}, t="2026-01-02T00:00:00+00:00", d="2.00"',
        '          - k="b", x=1.0, at={"a": null, "b": []}, t="2026-01-02T00:00:00+00:00", d="2.00"',
    ]
    assert json.loads(json.dumps(difference.to_json(), allow_nan=False))["sinks"][0]["examples"][1] == {
        "old": {"k": "a", "x": "NaN", "at": {"a": 0.0, "b": ["p", None]}, "t": "2026-01-01T00:00:00.123456+00:00", "d": "1.50"},
        "new": None,
        "times": 2,
    }


def keyed(folder: Path, columns: Mapping[str, str], key: str = "k") -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k int, v int", name="rows")
    sums = rows.group_by(key).agg(**columns)
    return hr.job("keyed", sums.write.files(folder / "out", format="json", mode="changes", name="out"))


@pytest.mark.full
def test_columns(tmp_path: Path) -> None:
    """A column that only one version has, a wider one, and one of another type."""
    put(tmp_path, "1", [{"k": k, "v": v} for k, v in ((1, 5), (1, 6), (2, 7))])
    state = tmp_path / "state"
    keyed(tmp_path, {"n": "CAST(count(*) AS int)", "old": "max(v)"}).run(checkpoint=state, progress=False, flush=False)
    difference = hr.compare(state, keyed(tmp_path, {"n": "count(*)", "new": "min(v)"}))
    assert str(sinks(difference)["out"]).splitlines() == [
        "differs   out: 0 rows are equal, 2 only in the old version, 2 only in the new one; 2 keys have another row",
        "          ~ k=1, n=2, new=no column -> 5, old=6 -> no column",
        "          ~ k=2, n=1, new=no column -> 7, old=7 -> no column",
    ]
    other = sinks(hr.compare(state, keyed(tmp_path, {"n": "CAST(count(*) AS string)", "old": "max(v)"})))["out"]
    assert str(other) == "unknown   out: it cannot be compared: its column n is int in the old version, and string in the new one"
    maps = sinks(hr.compare(state, keyed(tmp_path, {"n": "CAST(count(*) AS int)", "old": "map('m', max(v))"})))["out"]
    assert str(maps) == "unknown   out: it cannot be compared: rows with maps or variants cannot be compared"


FILE = """
import headrace as hr

rows = hr.read.files("in", format="json", schema="k int, v int", name="rows")
above = rows.filter("v > {limit}")
job = hr.job(
    "shop",
    above.group_by("k").agg(s="sum(v)").write.files("sums", format="json", mode="changes", name="sums"),
    above.write.files("large", format="json", name="large"),
    rows.write.files("all", format="json", name="all"),
    rows.write.files("{name}", format="json", name="{name}"),
    above.write.files("texts", format="csv", name="texts"),
)
"""
SINKS = ("sums", "large", "all", "other", "texts")


@pytest.mark.full
def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The other version as a file, as a savepoint, as a fork. The whole output."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "1", [{"k": k, "v": v} for k, v in ((1, 3), (1, 7), (2, 4), (3, 9))])
    Path("one.py").write_text(FILE.format(limit=1, name="renamed"))
    Path("two.py").write_text(FILE.format(limit=5, name="other"))
    hr.load("one.py").run(progress=False, flush=False)
    hr.load("one.py").savepoint("then")
    state = tmp_path / ".headrace" / "shop"

    def compared(*arguments: str) -> tuple[int, list[str], str]:
        capsys.readouterr()
        code = cli.main(["compare", "shop", *arguments])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    code, output, steps = compared("two.py")
    body = [
        f"shop: from {state} to the job shop, over the rows read up to epoch 0",
        "  differs   sums: 1 row is equal, 2 only in the old version, 1 only in the new one; 1 key has another row",
        "            ~ k=1, s=10 -> 7",
        "            - k=2, s=4",
        "  differs   large: 2 rows are equal, 2 only in the old version, 0 only in the new one",
        "            - k=1, v=3",
        "            - k=2, v=4",
        "  equal     all: its rows are computed as before",
        "  new       other: only the new version has it",
        "  unknown   texts: it cannot be compared: CSV does not return every value as it was written",
        "  dropped   renamed: only the old version has it",
    ]
    assert (code, output[:-1], steps) == (1, body, "shop: computing the rows of 2 sinks\n")
    assert output[-1].startswith("nothing was changed; done in ")
    assert compared("two.py", "--examples", "1")[1][:-1] == [*body[:3], *body[4:6], *body[7:]]
    code, output, _ = compared("two.py", "--json", "--path", "sums=elsewhere")
    data = json.loads("\n".join(output))
    assert (code, data["epochs"], data["pause_seconds"]) == (1, {"main": 0}, None)
    assert data["sinks"][0] == {
        "name": "sums",
        "verdict": "differs",
        "reasons": [],
        "equal": 1,
        "only_old": 2,
        "only_new": 1,
        "key": ["k"],
        "changed": 1,
        "examples": [{"old": {"k": 1, "s": 10}, "new": {"k": 1, "s": 7}, "times": 1}, {"old": {"k": 2, "s": 4}, "new": None, "times": 1}],
    }
    code, output, steps = compared(str(state / "savepoints" / "then"))
    assert (code, steps, [line.split()[0] for line in output[1:-1]]) == (0, "", ["equal"] * 5)
    places = {sink: f"fork/{sink}" for sink in SINKS}
    hr.fork(state, named(hr.load("two.py").with_paths(places), "shop-2"), at="then")
    put(tmp_path, "2", [{"k": 1, "v": 8}])
    hr.load("one.py").run(progress=False, flush=False)
    code, output, _ = compared("shop-2")
    assert (code, output[0]) == (1, f"shop: from {state} to {tmp_path}/.headrace/shop-2, over the rows read up to epoch 1")
    assert output[1:4] == [
        "  differs   sums: 1 row is equal, 2 only in the old version, 1 only in the new one; 1 key has another row",
        "            ~ k=1, s=18 -> 15",
        "            - k=2, s=4",
    ]
    named(hr.load("two.py").with_paths({sink: f"alien/{sink}" for sink in SINKS}), "alien").run(progress=False, flush=False)
    check_error(
        """
        CHECKPOINT_OTHER_JOB: <folder>/alien is of the job alien, which is no fork of the job shop in <folder>/shop
          hint: compare it with another version of shop: a file, a savepoint, or a fork
          more: headrace error CHECKPOINT_OTHER_JOB
        """,
        lambda: hr.compare(state, state.with_name("alien")),
        hide={str(state.parent): "<folder>"},
    )


def programs(folder: Path, factor: int, out: str = "out") -> hr.Job:
    counted = read(folder, "rows", ROWS).key_by("k").process(counting("int", factor=factor)).named("counted")
    return hr.job("counted", counted.write.files(folder / out, format="json", name="counted_out"))


@pytest.mark.full
def test_programs(tmp_path: Path) -> None:
    """Handlers count, though a deploy keeps what they have written."""
    add(tmp_path, 0)
    state = tmp_path / "state"
    programs(tmp_path, 1).run(checkpoint=state, progress=False, flush=False)
    programs(tmp_path, 2, "other").run(checkpoint=tmp_path / "fresh", progress=False, flush=False)
    assert sinks(hr.compare(state, programs(tmp_path, 1)))["counted_out"].reasons == ("its rows are computed as before",)
    compared = sinks(hr.compare(state, programs(tmp_path, 2), examples=ALL))["counted_out"]
    check(compared, *(Counter(held(tmp_path / out)) for out in ("out", "other")))
    assert compared.verdict == "differs"


@pytest.mark.full
def test_refusals(tmp_path: Path) -> None:
    state = tmp_path / "state"
    version = keyed(tmp_path, {"n": "count(*)"})
    put(tmp_path, "1", [{"k": 1, "v": 5}])
    wrong: tuple[tuple[Any, Any, str], ...] = (
        (7, 10, "BAD_INPUT: hr.compare compares jobs and checkpoints, got 7"),
        (version, True, "BAD_INPUT: examples cannot be True"),
        (version, 10_001, "BAD_INPUT: examples cannot be 10001"),
    )
    with pytest.raises(hr.CheckpointError, match="NOT_A_CHECKPOINT"):
        hr.compare(state, version)
    version.run(checkpoint=state, progress=False, flush=False)
    for new, examples, error in wrong:
        with pytest.raises(hr.HeadraceError, match=error):
            hr.compare(state, new, examples=examples)
    keyed(tmp_path, {"n": "sum(v)"}).deploy(checkpoint=state)
    waiting = sinks(hr.compare(state, keyed(tmp_path, {"n": "max(v)"})))["out"]
    assert str(waiting) == "unknown   out: it did not get its rows of the last deploy so far"
    keyed(tmp_path, {"n": "sum(v)"}).run(checkpoint=state, progress=False, flush=False)
    (tmp_path / "in" / "1.json").unlink()
    with pytest.raises(hr.CheckpointError, match="HISTORY_GONE"):
        hr.compare(state, keyed(tmp_path, {"n": "max(v)"}))
    assert not (state / "candidate").exists()


@pytest.mark.full
def test_sinks_without_names(tmp_path: Path, spark: SparkSession) -> None:
    """The name of a sink behind a query operator changes with it; sinks of this process cannot return the rows of another run."""

    def version(limit: int) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        sums = hr.sql(SUMS.format(limit), rows=rows)
        large = rows.filter(f"v > {limit}").select("k").write.memory(name="shown")
        return hr.job("sums", sums.write.files(tmp_path / "sums", format="json", mode="changes"), large)

    add(tmp_path, 0)
    version(10).run(checkpoint=tmp_path / "state", progress=False, flush=False)
    compared = sinks(hr.compare(tmp_path / "state", version(40), examples=ALL))
    assert compared.keys() == {"sums", "shown"}
    check(compared["sums"], *(batch(spark, tmp_path, SUMS.format(limit)) for limit in (10, 40)))
    assert compared["sums"].verdict == "differs"
    assert str(compared["shown"]).startswith("unknown   shown: it cannot be compared: a memory sink")


def test_a_checkpoint_without_rows(tmp_path: Path) -> None:
    """A job whose first epoch has not ended holds nothing."""
    put(tmp_path, "1", [{"k": 1, "v": 1}])
    state = tmp_path / "state"
    keyed(tmp_path, {"n": "count(*)"}).run(checkpoint=state, progress=False, flush=False)
    for log in (state / "queries" / "main" / "commits").iterdir():
        log.unlink()
    check_error(
        """
        NO_STATE: the checkpoint <state> has no committed epoch, so there are no rows to compare
          hint: run the job first, or wait a moment
          more: headrace error NO_STATE
        """,
        lambda: hr.compare(state, keyed(tmp_path, {"n": "sum(v)"})),
        hide={str(state): "<state>"},
    )
