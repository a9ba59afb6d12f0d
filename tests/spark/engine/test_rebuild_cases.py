"""What a deploy rebuilds and corrects in less common cases, and what it asks or refuses."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import cli
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import lines
from tests.spark.engine.pairs import ROWS, add, held, read
from tests.spark.engine.test_deploy import moment
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


def run(job: hr.Job, folder: Path, name: str = "state", *, flush: bool = False, partitions: int | None = None) -> hr.Summary:
    return job.run(checkpoint=folder / name, progress=False, flush=flush, partitions=partitions)


def verdicts(deployment: hr.Deployment) -> dict[str, str]:
    return {one.name: one.verdict for one in deployment.verdicts if one.part != "source"}


def out(folder: Path, stream: hr.Stream, name: str, mode: str = "changes") -> Any:
    return stream.write.files(folder / name, format="json", mode=mode, name=name)


def sums(folder: Path, over: int, place: str = "sums") -> hr.Job:
    rows = read(folder, "rows", ROWS)
    return hr.job("shop", out(folder, rows.filter(f"v > {over}").group_by("k").agg(s="sum(v)").named("summed"), place))


def test_a_sink_that_only_adds_rows(tmp_path: Path) -> None:
    def job(over: int) -> hr.Job:
        return hr.job("shop", out(tmp_path, read(tmp_path, "rows", ROWS).filter(f"v > {over}"), "large", "append"))

    add(tmp_path, 0)
    run(job(10), tmp_path)
    earlier = lines(tmp_path / "large")
    check_error(
        """
        SINK_ONLY_ADDS: large gets other rows than before, and can only add rows
          at test_rebuild_cases.py:*: return stream.write.files(folder / name, format="json", mode=mode, name=name)
          hint: to replace its rows: on_change={"large": "replace"}; to keep its earlier rows and write those of this version from now on: on_change={"large": "from now"}
          more: headrace error SINK_ONLY_ADDS
        """,
        lambda: job(40).deploy(checkpoint=tmp_path / "state"),
    )
    preview = job(40).deploy(checkpoint=tmp_path / "state", dry_run=True)
    assert preview.diff.refusals == ("large gets other rows than before, and can only add rows",)
    with pytest.raises(HeadraceError, match="CANNOT_REBUILD: large can only add rows, so none can be retracted"):
        job(40).deploy(checkpoint=tmp_path / "state", on_change={"large": "retract"})
    with pytest.raises(HeadraceError, match="BAD_SETTING: on_change: the job has no sink larg\n  hint: did you mean `large`"):
        job(40).deploy(checkpoint=tmp_path / "state", on_change={"larg": "from now"})
    with pytest.raises(HeadraceError, match="BAD_SETTING: on_change: large cannot be 'now'"):
        job(40).deploy(checkpoint=tmp_path / "state", on_change={"large": "now"})
    job(40).deploy(checkpoint=tmp_path / "state", on_change={"large": "from now"})
    add(tmp_path, 1)
    run(job(40), tmp_path)
    later = [row for row in map(json.loads, (tmp_path / "rows" / "1.json").read_text().splitlines()) if row["v"] > 40]
    assert len(lines(tmp_path / "large")) == len(earlier) + len(later) > len(earlier)


def test_new_views_have_the_rows_read_before(tmp_path: Path) -> None:
    def job(*views: str) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        each = {
            "counts": lambda: out(tmp_path, rows.group_by("k").agg(n="count(*)").named("counted"), "counts"),
            "most": lambda: out(tmp_path, rows.group_by("k").agg(n="max(v)").named("mosts"), "most"),
            "copies": lambda: out(tmp_path, rows.filter("v > 25"), "copies", "append"),
            "late": lambda: out(tmp_path, rows.group_by("k").agg(n="min(v)").named("least"), "late"),
        }
        return hr.job("shop", *(each[name]() for name in views))

    add(tmp_path, 0)
    run(job("counts"), tmp_path)
    counts = sorted((tmp_path / "counts").rglob("*.json"))
    views = job("counts", "most", "copies", "late")
    deployment = views.deploy(checkpoint=tmp_path / "state", on_change={"late": "from now"})
    assert verdicts(deployment) == {
        "counted": "kept",
        "mosts": "new",
        "least": "new",
        "counts": "kept",
        "most": "new",
        "copies": "new",
        "late": "new",
    }
    assert "least: it begins empty: so do its sinks" in str(deployment)
    run(views, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "rows" / "0.json").read_text().splitlines()]
    most = {k: max(row["v"] for row in rows if row["k"] == k) for k in {row["k"] for row in rows}}
    assert held(tmp_path / "most") == {json.dumps({"k": k, "n": n}): 1 for k, n in most.items()}
    assert len(lines(tmp_path / "copies")) == sum(row["v"] > 25 for row in rows)
    assert held(tmp_path / "late") == {}
    assert sorted((tmp_path / "counts").rglob("*.json")) == counts


class Counts(hr.Program):
    """How many rows a key has had."""

    n = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(k=self.key.k, n=self.n.get())


@pytest.mark.full
def test_a_program_with_other_keys(tmp_path: Path) -> None:
    """Its state is made anew, and its sink goes on with the rows of now."""

    def job(key: str, place: str) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS).select(k=f"CAST({key} AS {'int' if key == 'k' else 'string'})", ts="ts")
        return hr.job("shop", out(tmp_path, rows.key_by("k").process(Counts).named("counts"), place, "append"))

    add(tmp_path, 0)
    run(job("k", "rows_out"), tmp_path)
    before = len(lines(tmp_path / "rows_out"))
    with pytest.raises(HeadraceError, match="SINK_ONLY_ADDS"):
        job("v % 3", "rows_out").deploy(checkpoint=tmp_path / "state")
    deployment = job("v % 3", "rows_out").deploy(checkpoint=tmp_path / "state", on_change={"rows_out": "from now"})
    assert verdicts(deployment) == {"counts": "rebuilt", "rows_out": "kept"}
    run(job("v % 3", "fresh"), tmp_path, "fresh_state")
    fresh = len(lines(tmp_path / "fresh"))
    add(tmp_path, 1)
    run(job("v % 3", "rows_out"), tmp_path)
    run(job("v % 3", "fresh"), tmp_path, "fresh_state")

    def later(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(map(json.dumps, rows))

    assert later(lines(tmp_path / "rows_out")[before:]) == later(lines(tmp_path / "fresh")[fresh:]) != []


@pytest.mark.full
def test_a_sealed_job(tmp_path: Path) -> None:
    """It was read to its end, and all its windows are closed."""

    def job(minutes: int, place: str) -> hr.Job:
        text = f"SELECT window.start AS began, k, count(*) AS n FROM rows GROUP BY k, window(ts, '{minutes} minutes')"
        return hr.job("shop", out(tmp_path, hr.sql(text, rows=read(tmp_path, "rows", ROWS)), place))

    add(tmp_path, 0)
    assert run(job(10, "windows"), tmp_path, flush=True).sealed
    deployment = job(15, "windows").deploy(checkpoint=tmp_path / "state")
    assert verdicts(deployment)["windows"] == "corrected"
    assert run(job(15, "windows"), tmp_path, flush=True).sealed
    run(job(15, "fresh"), tmp_path, "fresh_state", flush=True)
    assert held(tmp_path / "windows") == held(tmp_path / "fresh") != {}
    assert not run(job(15, "windows"), tmp_path, flush=True).epochs


@pytest.mark.full
def test_rows_that_were_late(tmp_path: Path) -> None:
    """The windows dropped rows, and what a new version builds on them must match: it gets windows without the loss."""

    def job(place: str, *, deeper: bool) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS, "0 seconds")
        windows = hr.sql("SELECT window.start AS began, count(*) AS n FROM rows GROUP BY window(ts, '10 minutes')", rows=rows)
        sinks = [out(tmp_path / place, windows, "windows")]
        if deeper:
            sinks.append(out(tmp_path / place, windows.group_by("n").agg(times="count(*)").named("sized"), "sizes"))
        return hr.job("shop", *sinks)

    for part in (1, 0):
        add(tmp_path, part)
        summary = run(job("old", deeper=False), tmp_path)
    assert sum(one.late for one in summary.inputs) > 0
    deployment = job("old", deeper=True).deploy(checkpoint=tmp_path / "state")
    assert verdicts(deployment)["windows"] == "corrected"
    run(job("old", deeper=True), tmp_path)
    run(job("fresh", deeper=True), tmp_path, "fresh_state")
    for name in ("windows", "sizes"):
        assert held(tmp_path / "old" / name) == held(tmp_path / "fresh" / name) != {}


@pytest.mark.full
def test_deploys_before_the_next_run(tmp_path: Path) -> None:
    """The corrections of the first never reached the sink: those of the second are for what it holds."""
    add(tmp_path, 0)
    run(sums(tmp_path, 10), tmp_path, partitions=2)
    for over, partitions in ((20, 3), (30, 1), (25, 2)):
        sums(tmp_path, over).deploy(checkpoint=tmp_path / "state", partitions=partitions)
    add(tmp_path, 1)
    run(sums(tmp_path, 25), tmp_path)
    run(sums(tmp_path, 25, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "sums") == held(tmp_path / "fresh") != {}
    # back to what the sink has: there is nothing to correct
    deployment = sums(tmp_path, 25).deploy(checkpoint=tmp_path / "state")
    assert deployment.unchanged


@pytest.mark.full
def test_a_history_that_is_gone(tmp_path: Path) -> None:
    add(tmp_path, 0)
    add(tmp_path, 1)
    run(sums(tmp_path, 10), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "lock" not in path.name}
    first = tmp_path / "rows" / "0.json"
    whole = first.read_bytes()
    first.unlink()
    check_error(
        """
        HISTORY_GONE: file:<tmp>/rows/0.json was deleted after it was read
          hint: nothing was changed: all rows that the job has read are needed. Bring them back; a deploy can also keep what the earlier version computes
          more: headrace error HISTORY_GONE
        """,
        lambda: sums(tmp_path, 20).deploy(checkpoint=tmp_path / "state"),
        hide={str(tmp_path): "<tmp>"},
    )
    first.write_bytes(whole[:-30])
    with pytest.raises(HeadraceError, match=r"HISTORY_GONE: .*/rows/0.json had .* bytes when it was read and has .* now\n  hint"):
        sums(tmp_path, 20).deploy(checkpoint=tmp_path / "state")
    first.write_bytes(whole)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "lock" not in path.name} == before
    sums(tmp_path, 20).deploy(checkpoint=tmp_path / "state")
    run(sums(tmp_path, 20), tmp_path)
    run(sums(tmp_path, 20, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "sums") == held(tmp_path / "fresh") != {}


def test_dead_letters_and_repaired_rows(tmp_path: Path) -> None:
    """A rebuild reads repaired rows, too, and what was malformed makes no second dead letter."""
    add(tmp_path, 0)
    with (tmp_path / "rows" / "0.json").open("a") as file:
        file.write('{"k": "many", "v": 48}\n')
    run(sums(tmp_path, 10), tmp_path)
    (tmp_path / "repaired.json").write_text(json.dumps({"k": 3, "v": 48, "ts": moment(60)}) + "\n")
    letters = hr.letters(tmp_path / "state")
    assert len(letters.table().rows()) == 1
    letters.replay("rows", tmp_path / "repaired.json")
    add(tmp_path, 1)
    run(sums(tmp_path, 10), tmp_path)
    sums(tmp_path, 20).deploy(checkpoint=tmp_path / "state")
    run(sums(tmp_path, 20), tmp_path)
    assert len(hr.letters(tmp_path / "state").table().rows()) == 1
    rows = [json.loads(line) for file in ("0", "1") for line in (tmp_path / "rows" / f"{file}.json").read_text().splitlines()]
    rows = [row for row in rows if row["k"] != "many"] + [{"k": 3, "v": 48}]
    sum_of = {k: sum(row["v"] for row in rows if row["k"] == k and row["v"] > 20) for k in {row["k"] for row in rows}}
    assert held(tmp_path / "sums") == {json.dumps({"k": k, "s": s}): 1 for k, s in sum_of.items()}


def test_what_cannot_be_computed_again(tmp_path: Path) -> None:
    def job(over: int) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS).filter(f"v > {over}").with_columns(day="CAST(current_timestamp() AS string)")
        return hr.job("shop", out(tmp_path, rows.group_by("k").agg(day="min(day)").named("first"), "days"))

    add(tmp_path, 0)
    run(job(10), tmp_path)
    with pytest.raises(
        HeadraceError, match=r"CANNOT_REBUILD: days gets other rows than before, and they cannot be corrected: .* goes by processing time"
    ):
        job(20).deploy(checkpoint=tmp_path / "state")


TYPES = """
    SELECT v AS id, CAST(k AS tinyint) AS t, CAST(v AS bigint) AS b, v / 3 AS d, CAST(v AS float) / 7 AS f, CAST(v / 7 AS decimal(9, 4)) AS m,
        if(k = 1, NULL, concat('ä', k)) AS s, CAST(ts AS date) AS day, ts, k > 3 AS flag,
        if(v % 5 = 0, double('NaN'), -0.0D) AS odd
    FROM rows WHERE {}
"""


@pytest.mark.full
@pytest.mark.parametrize("zone", ["America/New_York", "UTC"])
def test_equal_rows_are_not_corrected(zone: str, tmp_path: Path, spark: Any) -> None:
    """Another text for the same rows: what a sink holds is recognised, whatever its system makes of the types."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    kinds = ["parquet", "json", "sqlite", "delta", "iceberg"]
    try:
        # an hour that comes twice in New York
        rows = [{"k": i % 7, "v": i, "ts": f"2026-11-01T0{5 + i // 30}:{i % 30 * 2:02}:00.123456Z"} for i in range(60)]
        (tmp_path / "rows").mkdir()
        (tmp_path / "rows" / "0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

        def job(condition: str) -> hr.Job:
            read = hr.read.files(tmp_path / "rows", format="json", schema=ROWS, name="rows")
            stream = hr.sql(TYPES.format(condition), rows=read)
            # SQLite has no NaN: it stores a null
            without_nan = hr.sql(TYPES.format(condition).replace("double('NaN')", "1.5D"), rows=read)
            catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
            return hr.job(
                "types",
                stream.write.files(tmp_path / "parquet", format="parquet", mode="changes", name="parquet"),
                stream.write.files(tmp_path / "json", format="json", mode="changes", name="json"),
                without_nan.write.jdbc(f"sqlite:{tmp_path}/out.db", "t", key="id", mode="upsert", name="sqlite"),
                stream.write.delta(tmp_path / "delta", key="id", mode="upsert", name="delta"),
                stream.write.iceberg("s.t", catalog=catalog, key="id", mode="upsert", name="iceberg"),
            )

        def corrected(condition: str) -> list[tuple[str, str, int, int]]:
            deployment = job(condition).deploy(checkpoint=tmp_path / "state")
            return [(one.name, one.verdict, one.inserted, one.retracted) for one in deployment.verdicts if one.part == "sink"]

        run(job("v >= 0"), tmp_path, partitions=1)
        assert corrected("v + 0 >= 0") == [(kind, "corrected", 0, 0) for kind in kinds]
        assert hr.session() is spark
        # and what differs is
        assert corrected("v + 0 > 3") == [(kind, "corrected", 0, 4) for kind in kinds]
        run(job("v + 0 > 3"), tmp_path)
        assert corrected("v + 1 > 4") == [(kind, "corrected", 0, 0) for kind in kinds]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("others", [False, True])
def test_a_table_that_is_not_of_the_job_alone(others: bool, tmp_path: Path) -> None:
    """What others have written must not be removed: the author has to say that all rows are the job's."""

    def job(over: int, table: str = "sums", key: str = "k") -> hr.Job:
        sums = read(tmp_path, "rows", ROWS).filter(f"v > {over}").group_by("k").agg(s="sum(v)")
        return hr.job("shop", sums.write.jdbc(f"sqlite:{tmp_path}/shop.db", table, key=key, name="table"))

    add(tmp_path, 0)
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE sums (k INT PRIMARY KEY, s BIGINT)")
        database.execute("INSERT INTO sums VALUES (77, 77)")
    if others:
        with sqlite3.connect(tmp_path / "shop.db") as database:
            database.execute("DELETE FROM sums")
        hr.job(
            "other",
            read(tmp_path, "rows", ROWS)
            .select(k="k + 100", s="CAST(v AS bigint)")
            .write.jdbc(f"sqlite:{tmp_path}/shop.db", "sums", key="k", name="table"),
        ).run(checkpoint=tmp_path / "other", progress=False)
    run(job(10), tmp_path)
    with pytest.raises(
        HeadraceError, match=r"CANNOT_REBUILD: table gets other rows than before, and .*, table sums may have rows of others"
    ):
        job(20).deploy(checkpoint=tmp_path / "state")
    table = job(20).deploy(checkpoint=tmp_path / "state", on_change={"table": "retract"}).verdicts[-1]
    assert (table.verdict, table.retracted > 0) == ("corrected", True)


@pytest.mark.full
def test_a_correction_that_waits_is_not_lost(tmp_path: Path) -> None:
    """A later deploy, of another part or in other partitions, delivers it, too."""

    def job(over: int, more: int, place: str = "out") -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        sums = rows.filter(f"v > {over}").group_by("k").agg(s="sum(v)").named("summed")
        most = rows.filter(f"v < {more}").group_by("k").agg(m="max(v)").named("mosts")
        sinks = [out(tmp_path / place, sums, "sums"), out(tmp_path / place, most, "most")]
        if over > 10:
            sinks.append(out(tmp_path / place, rows.filter("v > 40"), "copies", "append"))
        return hr.job("shop", *sinks)

    add(tmp_path, 0)
    run(job(10, 30), tmp_path, partitions=2)
    job(20, 30).deploy(checkpoint=tmp_path / "state")
    job(20, 40).deploy(checkpoint=tmp_path / "state")
    job(20, 40).deploy(checkpoint=tmp_path / "state", partitions=3)
    add(tmp_path, 1)
    run(job(20, 40), tmp_path)
    run(job(20, 40, "fresh"), tmp_path, "fresh_state")
    for name in ("sums", "most"):
        assert held(tmp_path / "out" / name) == held(tmp_path / "fresh" / name) != {}
    each = (sorted(map(json.dumps, lines(tmp_path / place / "copies"))) for place in ("out", "fresh"))
    assert next(each) == next(each) != []


def test_a_correction_waits_for_its_sink(tmp_path: Path) -> None:
    """It is not given to another place, and not lost with a version that lacks the sink."""
    add(tmp_path, 0)
    run(sums(tmp_path, 10, "sums"), tmp_path)
    job = sums(tmp_path, 20, "sums")
    job.deploy(checkpoint=tmp_path / "state")
    other = hr.job("shop", out(tmp_path, read(tmp_path, "rows", ROWS).filter("v > 20").group_by("k").agg(s="sum(v)").named("summed"), "b"))
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED: sums did not get its rows of the last deploy"):
        run(other, tmp_path)
    run(job, tmp_path)
    run(sums(tmp_path, 20, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "sums") == held(tmp_path / "fresh") != {}


@pytest.mark.full
def test_a_sink_that_moves(tmp_path: Path) -> None:
    """Its new place gets all rows, and a start continues there."""

    def job(place: str) -> hr.Job:
        sums = read(tmp_path, "rows", ROWS).group_by("k").agg(s="sum(v)").named("summed")
        return hr.job("shop", sums.write.files(tmp_path / place, format="json", mode="changes", name="sums"))

    add(tmp_path, 0)
    run(job("one"), tmp_path)
    one = held(tmp_path / "one")
    assert verdicts(job("two").deploy(checkpoint=tmp_path / "state")) == {"summed": "kept", "sums": "corrected"}
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED"):
        run(job("one"), tmp_path)
    run(job("two"), tmp_path)
    assert (held(tmp_path / "one"), held(tmp_path / "two")) == (one, one)
    add(tmp_path, 1)
    run(job("two"), tmp_path)
    run(job("fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "two") == held(tmp_path / "fresh") != one


class Last(hr.Program):
    """The row of a key that was read last."""

    v = hr.Value("int")

    def on_event(self, e: Any) -> None:
        self.v.set(e.v)
        hr.emit(k=self.key.k, v=self.v.get())


def test_programs_that_handle_rows_as_they_arrive(tmp_path: Path) -> None:
    """Nobody knows the order in which the rows arrived, so a new one begins empty, and only if its sink does."""

    def job(*, more: bool) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        sinks = [out(tmp_path, rows.filter("v > 40"), "copies", "append")]
        if more:
            sinks.append(out(tmp_path, rows.key_by("k").process(Last, order="arrival").named("lasts"), "last", "append"))
        return hr.job("shop", *sinks)

    add(tmp_path, 0)
    run(job(more=False), tmp_path)
    check_error(
        """
        CANNOT_REBUILD: last is new, and the rows read before cannot be computed for it: lasts handles rows as they arrive, and may get them in another order
          at test_rebuild_cases.py:*: return stream.write.files(folder / name, format="json", mode=mode, name=name)
          hint: nothing was changed: on_change={"last": "from now"} lets it, and the operators that only it needs, begin now
          more: headrace error CANNOT_REBUILD
        """,
        lambda: job(more=True).deploy(checkpoint=tmp_path / "state"),
    )
    deployment = job(more=True).deploy(checkpoint=tmp_path / "state", on_change={"last": "from now"})
    assert verdicts(deployment)["lasts"] == "new"
    add(tmp_path, 1)
    run(job(more=True), tmp_path)
    assert len(lines(tmp_path / "last")) == 60


def test_a_program_behind_a_rebuilt_operator_goes_on(tmp_path: Path) -> None:
    def job(minutes: int) -> hr.Job:
        rows = read(tmp_path, "rows", ROWS)
        windows = (
            rows.window(hr.tumble("ts", f"{minutes} minutes"), emit="close").group_by("k", "window_end").agg(n="count(*)").named("windows")
        )
        tallies = windows.key_by("k").process(Counts, order="arrival").named("tallies")
        return hr.job("shop", tallies.upserts("k").write.files(tmp_path / "tallies", format="json", mode="changes", name="tallies_out"))

    add(tmp_path, 0)
    run(job(10), tmp_path)
    before = held(tmp_path / "tallies")
    deployment = job(15).deploy(checkpoint=tmp_path / "state")
    assert verdicts(deployment) | {"upserts(tallies)": "kept"} == {
        "windows": "rebuilt",
        "tallies": "kept",
        "upserts(tallies)": "kept",
        "tallies_out": "kept",
    }
    run(job(15), tmp_path)
    add(tmp_path, 1)
    run(job(15), tmp_path)
    assert held(tmp_path / "tallies") != before


@pytest.mark.full
def test_names_that_mean_something_in_a_scan(tmp_path: Path) -> None:
    names = ("_position", "_file", "_broken", "_problem", "_tombstone", "_epoch", "_time", "_last", "_most", "c1")

    def job(over: int, place: str = "named") -> hr.Job:
        sums = read(tmp_path, "rows", ROWS).filter(f"v > {over}").group_by("k").agg(s="sum(v)")
        return hr.job("shop", out(tmp_path, sums.select(k="k", **dict.fromkeys(names, "concat('x', s)")), place))

    add(tmp_path, 0)
    run(job(10), tmp_path)
    job(20).deploy(checkpoint=tmp_path / "state")
    run(job(20), tmp_path)
    run(job(20, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "named") == held(tmp_path / "fresh") != {}


@pytest.mark.full
def test_queries_that_become_one_at_different_times(tmp_path: Path) -> None:
    """Two queries without state are at different watermarks: the windows over both close once."""

    def job(place: str, *, both: bool) -> hr.Job:
        a, b = (read(tmp_path, name, ROWS if name == "rows" else "k int, p int, ts timestamp") for name in ("rows", "prices"))
        sinks = [out(tmp_path / place, a.filter("v > 40"), "a", "append"), out(tmp_path / place, b.filter("p > 3"), "b", "append")]
        if both:
            union = a.select("k", "ts").union(b.select("k", "ts"))
            windows = union.window(hr.tumble("ts", "10 minutes"), emit="close").group_by("window_end").agg(n="count(*)").named("closed")
            sinks.append(out(tmp_path / place, windows, "windows", "append"))
        return hr.job("shop", *sinks)

    add(tmp_path, 0)
    for part in (1, 2):
        (tmp_path / "prices" / f"{part}.json").write_text(json.dumps({"k": 1, "p": 1, "ts": moment(9000 + part)}) + "\n")
        run(job("out", both=False), tmp_path)
    job("out", both=True).deploy(checkpoint=tmp_path / "state")
    run(job("out", both=True), tmp_path)
    rows = [{"k": i % 9, "v": i, "ts": moment(1800 + i * 30)} for i in range(60)]
    (tmp_path / "rows" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    job("out", both=True).run(checkpoint=tmp_path / "state", progress=False)
    job("fresh", both=True).run(checkpoint=tmp_path / "fresh_state", progress=False)
    each = (sorted(map(json.dumps, lines(tmp_path / place / "windows"))) for place in ("out", "fresh"))
    assert next(each) == next(each) != []


@pytest.mark.full
def test_operators_that_forget(tmp_path: Path) -> None:
    """What they have forgotten depends on the cut into epochs: with a new operator behind them, they are made anew as well."""

    def job(place: str, *, deeper: bool) -> hr.Job:
        sums = read(tmp_path, "rows", ROWS).group_by("k", expires="10 minutes").agg(s="sum(v)").named("summed")
        sinks = [out(tmp_path / place, sums, "sums")]
        if deeper:
            sinks.append(out(tmp_path / place, sums.group_by("s").agg(n="count(*)").named("sizes"), "by_size"))
        return hr.job("shop", *sinks)

    add(tmp_path, 0)
    run(job("out", deeper=False), tmp_path)
    add(tmp_path, 3)
    run(job("out", deeper=False), tmp_path)
    assert verdicts(job("out", deeper=True).deploy(checkpoint=tmp_path / "state"))["summed"] == "rebuilt"
    run(job("out", deeper=True), tmp_path)
    run(job("fresh", deeper=True), tmp_path, "fresh_state")
    for name in ("sums", "by_size"):
        assert held(tmp_path / "out" / name) == held(tmp_path / "fresh" / name) != {}


@pytest.mark.full
def test_a_filter_behind_operators_that_forget(tmp_path: Path) -> None:
    """Only the filter of a sink changes. Sums began again that a rebuild would not forget, and their next retractions must match."""

    def job(least: int, place: str) -> hr.Job:
        sums = read(tmp_path, "rows", ROWS).group_by("k", expires="10 minutes").agg(s="sum(v)").named("summed")
        return hr.job("shop", out(tmp_path, sums.filter(f"s > {least}"), place))

    for part in (0, 3):
        add(tmp_path, part)
        run(job(0, "sums"), tmp_path)
    job(20, "sums").deploy(checkpoint=tmp_path / "state")
    run(job(20, "sums"), tmp_path)
    run(job(20, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "sums") == held(tmp_path / "fresh") != {}
    add(tmp_path, 4)
    run(job(20, "sums"), tmp_path)
    run(job(20, "fresh"), tmp_path, "fresh_state")
    assert held(tmp_path / "sums") == held(tmp_path / "fresh")


JOB = """
import headrace as hr

rows = hr.read.files("{folder}/rows", format="json", schema="k int, v int, ts timestamp", name="rows").watermark("ts", "5 minutes")
sums = rows.group_by("k").agg(s="sum(v)").named("summed")
sinks = [sums.write.files("{folder}/sums", format="json", mode="changes", name="sums")]
if {over}:
    large = rows.filter("v > {over}").group_by("k").agg(n="count(*)").named("counted")
    sinks.append(large.write.files("{folder}/large", format="json", mode="changes", name="large"))
job = hr.job("shop", *sinks)
"""


@pytest.mark.full
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollback is to the version as it was written: no column that the optimiser leaves out makes it another one."""
    monkeypatch.chdir(tmp_path)
    versions = {over: tmp_path / f"over{over}.py" for over in (0, 20, 30)}
    for over, file in versions.items():
        file.write_text(JOB.format(over=over, folder=tmp_path))

    def done(*words: object) -> str:
        assert cli.main([str(word) for word in words]) == 0, capsys.readouterr()
        return capsys.readouterr().out

    add(tmp_path, 0)
    done("run", versions[0], "--no-flush", "--partitions", 2)
    done("deploy", versions[20])
    # a repeated deploy has nothing to do, and what waits for a sink may move to other partitions
    assert "can continue with this version as it is" in done("deploy", versions[20])
    assert "corrected sink     large: it did not get its rows of the last deploy so far" in done("rescale", versions[20], "--partitions", 3)
    done("run", versions[20], "--no-flush")
    assert held(tmp_path / "large") != {}
    assert "corrected sink     large" in done("deploy", versions[30])
    back = done("rollback", "shop", "--dry-run")
    assert "kept      operator summed" in back and "rebuilt   operator counted" in back and "nothing was changed" in back
    done("rollback", "shop")
    done("run", versions[20], "--no-flush")
    add(tmp_path, 1)
    done("run", versions[20], "--no-flush")
    rows = [json.loads(line) for part in (0, 1) for line in (tmp_path / "rows" / f"{part}.json").read_text().splitlines()]
    counts = {k: sum(row["v"] > 20 for row in rows if row["k"] == k) for k in {row["k"] for row in rows}}
    assert held(tmp_path / "large") == {json.dumps({"k": k, "n": n}): 1 for k, n in counts.items()}
    # and to the first one, whose sink is still as it was
    names = done("savepoint", "list", "shop")
    assert "before-deploy-" in names
    done("rollback", "shop", "--to", "before-deploy-3")


def copied(folder: Path, *, both: bool) -> hr.Job:
    """Sums, and copies of some rows."""
    rows = read(folder, "rows", ROWS)
    sinks = [out(folder, rows.group_by("k").agg(s="sum(v)").named("summed"), "sums")]
    if both:
        sinks.append(out(folder, rows.filter("v > 20"), "copies", "append"))
    return hr.job("shop", *sinks)


def test_a_version_without_a_sink_that_waits(tmp_path: Path) -> None:
    """Deploying it drops what waits."""
    add(tmp_path, 0)
    run(copied(tmp_path, both=False), tmp_path)
    copied(tmp_path, both=True).deploy(checkpoint=tmp_path / "state")
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED"):
        run(copied(tmp_path, both=False), tmp_path)
    assert not copied(tmp_path, both=False).deploy(checkpoint=tmp_path / "state").unchanged
    add(tmp_path, 1)
    run(copied(tmp_path, both=False), tmp_path)
    copied(tmp_path, both=True).deploy(checkpoint=tmp_path / "state", on_change={"copies": "from now"})
    run(copied(tmp_path, both=True), tmp_path)
    assert lines(tmp_path / "copies") == []


def test_from_now_after_all(tmp_path: Path) -> None:
    """A sink that waits for its rows does not get them if the next deploy says so."""
    add(tmp_path, 0)
    run(copied(tmp_path, both=False), tmp_path)
    copied(tmp_path, both=True).deploy(checkpoint=tmp_path / "state")
    assert not copied(tmp_path, both=True).deploy(checkpoint=tmp_path / "state", on_change={"copies": "from now"}).unchanged
    run(copied(tmp_path, both=True), tmp_path)
    assert lines(tmp_path / "copies") == []
