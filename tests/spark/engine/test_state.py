"""Looking into state: every table says what a plain computation says, for any epoch that is kept, and nothing is touched."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace import cli
from headrace.errors import HeadraceError
from headrace.testing.collected import in_order
from tests.spark.engine import everything
from tests.spark.engine.everything import ALL, EVENTS, RULES, START, TABLES, Event, Every, Rule
from tests.spark.engine.jobs import Count, charges, minute, put
from tests.spark.engine.test_changed import Sums, SumsLater, SumsWithMore, files, job, rows
from tests.unit.errors import check_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

DELAY = dt.timedelta(minutes=1)
SPAN = 60 * 60


def case(seed: int) -> tuple[list[Event], list[Rule]]:
    """Rows of an hour, each at a second of its own."""
    rng = random.Random(seed)
    times = rng.sample(range(SPAN), 120)
    cards = ["a", "b", "cc", "d", "eee"]
    amounts = [0, 1, 2, 3, 4, 4, 5, 5, 6, 7, ALL]
    events = [Event(START + dt.timedelta(seconds=t), rng.choice(cards), rng.choice(amounts), rng.choice("pqr")) for t in times[:100]]
    rules = [Rule(START + dt.timedelta(seconds=t), rng.choice("pqr"), rng.choice([None, 1, 2, 3])) for t in times[100:]]
    return events, rules


def every(folder: Path) -> hr.Job:
    read = hr.read.files(folder / "events", format="json", schema=EVENTS, name="events").watermark("ts", DELAY)
    rules = hr.read.files(folder / "rules", format="json", schema=RULES, name="rules").watermark("ts", DELAY)
    size = hr.expr("bigint(length(card))").alias("size")
    kept = read.key_by("card", size).process(Every, limits_in=hr.broadcast(rules)).named("every")
    return hr.job("every", kept.write.memory(name="out"))


def write(folder: Path, number: int, rows: list[Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({**row._asdict(), "ts": f"{row.ts:%Y-%m-%d %H:%M:%S}"}) for row in rows]
    (folder / f"{number}.json").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(("seed", "partitions"), [pytest.param(1, 1, marks=pytest.mark.full), (2, 3)])
def test_every_table_of_every_epoch_that_is_kept(tmp_path: Path, spark: SparkSession, seed: int, partitions: int) -> None:
    events, rules = case(seed)
    state = tmp_path / "state"
    wanted: dict[int, Any] = {}
    limits = [START + dt.timedelta(seconds=SPAN * part // 4) for part in range(5)]
    for number, (begin, end) in enumerate(itertools.pairwise(limits), 1):
        random.Random(seed).shuffle(events)
        write(tmp_path / "events", number, [e for e in events if begin <= e.ts < end])
        write(tmp_path / "rules", number, [r for r in rules if begin <= r.ts < end])
        # each run is a restart of the one before
        every(tmp_path).run(checkpoint=state, flush=False, progress=False, partitions=partitions)
        past_events, past_rules = [e for e in events if e.ts < end], [r for r in rules if r.ts < end]
        watermark = min(max(e.ts for e in past_events), max(r.ts for r in past_rules)) - DELAY
        wanted[hr.state(state).epoch] = everything.kept(past_events, past_rules, watermark)
    before, views = files(state), spark.sql("SHOW VIEWS").collect()
    assert len(wanted) == 4 and all(wanted[max(wanted)].values()), "every table has rows in the end"
    for epoch, tables in wanted.items():
        snapshot = hr.state(state, epoch=epoch)
        assert snapshot.tables == TABLES
        for name, expected in tables.items():
            assert snapshot.table(name).rows() == in_order(expected), f"{name} of epoch {epoch}"
    assert {name: snapshot.count(name) for name in TABLES} == {name: len(expected) for name, expected in tables.items()}
    assert (files(state), spark.sql("SHOW VIEWS").collect()) == (before, views)


def test_a_list_of_many_pages_is_read_whole_and_in_its_order(tmp_path: Path) -> None:
    class Long(hr.Program):
        xs = hr.List("int")
        m = hr.Map("int", "string")

        def on_event(self, e: Any) -> None:
            with hr.each(self.xs) as it:
                with hr.when(e.n == 7 * it.index + 3):
                    it.remove()
            self.xs.append(e.n)
            self.m.set(-e.n, hr.f.repeat(hr.lit("x"), 20))
            hr.emit(n=e.n)

    numbers = list(range(3000))
    read = hr.read.memory([(n,) for n in numbers], "n int", name="numbers")
    hr.job("long", read.process(Long).named("long").write.memory()).run(checkpoint=tmp_path / "s", progress=False)
    expected: list[int] = []
    for n in numbers:
        if n % 7 == 3 and n // 7 < len(expected):
            del expected[n // 7]
        expected.append(n)
    snapshot = hr.state(tmp_path / "s")
    # without keys and values there is no row to show
    assert snapshot.tables == {"long_xs": "index bigint, value int", "long_m": "entry int, value string"}
    assert snapshot.table("long_xs").rows() == list(enumerate(expected))
    assert snapshot.table("long_m").rows() == [(-n, "x" * 20) for n in reversed(numbers)]
    head = snapshot.table("long_m", limit=3)
    assert (head.rows(), head.more) == ([(-2999, "x" * 20), (-2998, "x" * 20), (-2997, "x" * 20)], True)


def test_state_of_older_versions_is_read_as_the_last_one(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", [("a", "1.00", minute(0)), ("b", "1.00", minute(1))])
    job(tmp_path, Sums, more=("beside",)).run(checkpoint=state, flush=False)
    first = hr.state(state).epoch
    assert hr.state(state).tables == {"sums": "key struct<card: string>, n int, spare string", "beside": "key struct<card: string>"}
    # of the next versions, only `a` gets rows: `b` lies in the first layout still
    put(tmp_path / "in", "2.json", rows("2.00"))
    job(tmp_path, SumsLater).run(checkpoint=state, flush=False)
    snapshot = hr.state(state)
    assert snapshot.tables == {"sums": "key struct<card: string>, total decimal(20,2), count bigint"}
    assert [tuple(map(str, row)) for row in snapshot.table("sums").rows()] == [("('a',)", "2.00", "2"), ("('b',)", "None", "1")]
    assert [row[2] for row in hr.state(state, epoch=first).table("sums").rows()] == [1, 1]


class SumsComputed(Sums):
    """A version later: how far `n` is from ten."""

    n = hr.Value("int")
    left = hr.Value("int", was=10 - hr.col("n"))

    def on_event(self, e: Any) -> None:
        super().on_event(e)
        self.left.set(10 - self.n.get())


def test_a_computed_cell_is_computed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", [("a", "1.00", minute(0)), ("b", "1.00", minute(1))])
    job(tmp_path, Sums).run(checkpoint=state, flush=False)
    put(tmp_path / "in", "2.json", rows("2.00"))
    job(tmp_path, SumsComputed).run(checkpoint=state, flush=False)
    assert hr.state(state).query("SELECT key.card, n, left FROM sums ORDER BY 1").rows() == [("a", 2, 8), ("b", 1, 9)]


def test_cells_that_were_removed_are_not_shown(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", rows("1.00"))
    first = job(tmp_path, Sums).run(checkpoint=state, flush=False)
    assert first.rows == 1
    put(tmp_path / "in", "2.json", rows("2.00"))
    job(tmp_path, SumsWithMore).run(checkpoint=state, flush=False)
    more = hr.state(state)
    assert list(more.tables) == ["sums", "sums_amounts", "sums_by_amount", "sums_later"]
    assert [len(more.table(name)) for name in more.tables] == [1, 1, 1, 1]
    # at its first epoch the job had none of these cells
    old = hr.state(state, epoch=more.epochs[0])
    assert [len(old.table(name)) for name in old.tables] == [1, 0, 0, 0]
    put(tmp_path / "in", "3.json", [("z", "3.00", minute(1))])
    job(tmp_path, Sums).run(checkpoint=state, flush=False)
    # the pages of `a` are there still, as no row of `a` came
    last = hr.state(state)
    assert last.tables == {"sums": "key struct<card: string>, n int, spare string"}
    assert last.table("sums").rows() == [(("a",), 2, "x"), (("z",), 1, "x")]


def test_beside_a_job_that_runs(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "0.json", [("a", "1.00", minute(0))])
    counted = charges(tmp_path / "in", follow=True).key_by("card").process(Count, order="arrival").named("counts")
    run = hr.job("count", counted.write.memory(name="out")).start(checkpoint=state, progress=False)
    stop = threading.Event()

    def feed() -> None:
        number = 1
        while not stop.wait(0.2):
            put(tmp_path / "in", f"{number}.json", [("a", "1.00", minute(0, number % 60)), ("b", "1.00", minute(1))])
            number += 1

    feeder = threading.Thread(target=feed)
    feeder.start()
    seen: list[tuple[int, int]] = []
    try:
        until = time.monotonic() + 300
        while len({n for _, n in seen}) < 4 and time.monotonic() < until:
            try:
                snapshot = hr.state(state)
            except hr.CheckpointError as problem:
                if problem.code not in ("NOT_A_CHECKPOINT", "NO_STATE"):
                    raise
                time.sleep(0.1)
                continue
            by_card = dict(snapshot.query("SELECT key.card, n FROM counts").rows())
            # a file is read in one epoch, so the two cards are never further apart than the first file
            assert by_card["a"] == by_card.get("b", 0) + 1
            seen.append((snapshot.epoch, by_card["a"]))
    finally:
        stop.set()
        feeder.join()
        summary = run.stop()
    assert len({n for _, n in seen}) >= 4 and seen == sorted(seen)
    assert summary is not None and summary.stopped
    # what was read once can be read again as long as it is kept
    assert [dict(hr.state(state, epoch=epoch).query("SELECT key.card, n FROM counts").rows())["a"] for epoch, _ in seen[:2]] == [
        n for _, n in seen[:2]
    ]


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A checkpoint of a job with two queries; one of them counts by the wall clock. Tests do not change it."""
    folder = tmp_path_factory.mktemp("counts")

    class Quiet(hr.Program):
        n = hr.Value("bigint", default=0)
        quiet = hr.Timer(clock="processing")

        def on_event(self, e: Any) -> None:
            self.n.set(self.n.get() + 1)
            self.quiet.set(hr.now() + hr.days(1))
            hr.emit(card=self.key.card)

        def on_quiet(self, at: Any) -> None:
            self.n.clear()

    put(folder / "in", "1.json", [("a", "1.00", minute(0)), ("b", "2.00", minute(1)), ("a", "3.00", minute(2))])
    counted = charges(folder / "in").key_by("card").process(Count, order="arrival")
    quiet = hr.read.memory([("a", 1)], "card string, amount int", name="others").key_by("card").process(Quiet).named("charges_Count_n")
    sinks = (counted.write.memory(name="out"), quiet.write.memory(name="quiet"))
    hr.job("count", *sinks).run(checkpoint=folder / "state", flush=False, progress=False)
    return folder / "state"


def test_queries_and_names(counts: Path, spark: SparkSession) -> None:
    spark.sql("SELECT 1 AS mine").createOrReplaceTempView("charges_Count")
    snapshot = hr.state(counts)
    assert set(snapshot.queries) == {"main", "quiet"}
    # names are plain ones: the program is called charges.Count
    assert list(snapshot.tables) == ["charges_Count", "charges_Count_n"]
    assert snapshot.query("SELECT key.card AS card, n FROM charges_Count ORDER BY card").rows() == [("a", 2), ("b", 1)]
    together = snapshot.query(
        "WITH twice AS (SELECT a.key, a.n + b.n AS n FROM charges_Count a JOIN charges_count b USING (key)) "
        "SELECT t.key.card, t.n, o.n AS quiet, o.quiet > now() AS waits FROM twice t LEFT JOIN charges_Count_n o ON o.key.card = t.key.card "
        "UNION ALL SELECT 'none', 0, 0, NULL WHERE NOT EXISTS (SELECT * FROM charges_Count WHERE n > 2) ORDER BY 1"
    )
    assert together.rows() == [("a", 4, 1, True), ("b", 2, None, None), ("none", 0, 0, None)]
    assert spark.table("charges_Count").columns == ["mine"], "the user's own view is as it was"
    spark.catalog.dropTempView("charges_Count")
    assert snapshot.query("SELECT * FROM charges_Count", limit=1).more is True


def test_what_is_wrong_with_a_question(counts: Path) -> None:
    snapshot = hr.state(counts)
    check_error(
        """
        UNKNOWN_TABLE: the state has no table count
          hint: it has: charges_Count, charges_Count_n
          more: headrace error UNKNOWN_TABLE
        """,
        lambda: snapshot.query("SELECT * FROM count"),
    )
    check_error(
        """
        UNKNOWN_TABLE: the state has no table count
          hint: it has: charges_Count, charges_Count_n
          more: headrace error UNKNOWN_TABLE
        """,
        lambda: snapshot.table("count"),
    )
    check_error(
        """
        UNKNOWN_COLUMN: query: no column `m`, in `SELECT m FROM charges_Count`
          hint: there are: key, n
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: snapshot.query("SELECT m FROM charges_Count"),
    )
    check_error(
        """
        DUPLICATE_COLUMN: query: two columns are named n, in `SELECT n, n + 1 AS N FROM charges_Count`
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: snapshot.query("SELECT n, n + 1 AS N FROM charges_Count"),
    )
    for text, near in (("SELEC n FROM charges_Count", "SELEC"), ("DROP VIEW charges_Count", "DROP"), ("SET a = 1", "SET")):
        check_error(
            f"""
        BAD_SYNTAX: query: Spark cannot read `{text}` at '{near}'
          hint: write one SELECT of Spark SQL over the tables of the state
          more: headrace error BAD_SYNTAX
        """,
            lambda text=text: snapshot.query(text),
        )
    check_error(
        """
        BAD_EXPRESSION: query: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error
          hint: use try_divide, try_cast and similar functions, which give null instead of an error
          more: headrace error BAD_EXPRESSION
        """,
        lambda: snapshot.query("SELECT 1 / (n - 1) FROM charges_Count"),
    )
    # none of it has changed anything
    assert snapshot.count("charges_Count") == 2


def test_files_that_are_gone(counts: Path) -> None:
    snapshot = hr.state(counts)
    assert snapshot.tables
    gone = {file: file.read_bytes() for file in counts.glob("queries/main/state/0/*/*.changelog")}
    for file in gone:
        file.unlink()
    with pytest.raises(hr.CheckpointError, match=r"^STATE_UNREADABLE: the state in .*/state cannot be read: ") as raised:
        snapshot.table("charges_Count")
    assert raised.value.fault == "environment"
    for file, content in gone.items():
        file.write_bytes(content)


def test_a_copy_in_another_place(counts: Path) -> None:
    # Spark keeps the absolute paths of the schemas of state
    copied = shutil.move(counts, counts.parent / "moved")
    snapshot = hr.state(copied)
    assert snapshot.epochs
    with pytest.raises(hr.CheckpointError, match=r"^STATE_UNREADABLE: the state in .*/moved cannot be read: "):
        snapshot.tables  # noqa: B018  # asking is enough
    shutil.move(copied, counts)
    assert hr.state(counts).count("charges_Count") == 2


def test_on_the_command_line(counts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["state", "show", str(counts)]) == 0
    epochs = hr.state(counts)
    assert (
        capsys.readouterr().out
        == f"""\
count, epoch {epochs.epoch} (of 0 to {epochs.epochs[-1]})
  query main: epoch {epochs.queries["main"]}
  query quiet: epoch {epochs.queries["quiet"]}

charges_Count: 2 rows
  key struct<card: string>, n bigint

charges_Count_n: 1 row
  key struct<card: string>, n bigint, quiet timestamp
"""
    )
    assert cli.main(["state", "show", str(counts), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tables"][0] == {"name": "charges_Count", "columns": "key struct<card: string>, n bigint", "rows": 2}
    assert (document["job"], document["epoch"], document["queries"]) == ("count", epochs.epoch, epochs.queries)
    assert cli.main(["state", "show", str(counts), "--table", "charges_count", "--limit", "1"]) == 0
    assert capsys.readouterr().out == "key  n\n---  -\n{a}  2\n... more\n"
    ask = "SELECT key, n * 2 AS twice FROM charges_Count ORDER BY key"
    assert cli.main(["state", "query", str(counts), ask, "--format", "json", "--epoch", "0"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"key": {"card": "a"}, "twice": 4}, {"key": {"card": "b"}, "twice": 2}]
    assert cli.main(["state", "query", str(counts), "SELECT * FROM nothing"]) == 1
    assert capsys.readouterr().err.startswith("UNKNOWN_TABLE: the state has no table nothing\n")
    assert cli.main(["state", "show", str(counts / "none")]) == 1
    assert capsys.readouterr().err.startswith("NOT_A_CHECKPOINT: ")


def test_tables_of_one_name_are_numbered_and_those_of_operators_come_first(tmp_path: Path) -> None:
    class Keeps(hr.Program):
        xs = hr.List("int")

        def on_event(self, e: Any) -> None:
            self.xs.append(e.v)
            hr.emit(e)

    class Passes(hr.Program):
        def on_event(self, e: Any) -> None:
            hr.emit(e)

    rows = hr.read.memory([("a", 1)], "k string, v int", name="rows").key_by("k")
    ends = [rows.process(Keeps).named("a.b"), rows.process(Passes).named("a_b_xs"), rows.process(Keeps).named("A_b")]
    hr.job("alike", *(end.write.memory(name=f"out {n}") for n, end in enumerate(ends))).run(checkpoint=tmp_path / "s", progress=False)
    snapshot = hr.state(tmp_path / "s")
    assert repr(snapshot) == "<State alike, epoch 0: a_b, a_b_xs, A_b_2>"
    assert {name: snapshot.count(name) for name in snapshot.tables} == {"a_b": 1, "a_b_xs_2": 1, "a_b_xs": 0, "A_b_2": 1, "A_b_2_xs": 1}


def test_a_job_whose_operators_keep_nothing_has_no_state(tmp_path: Path) -> None:
    class Passes(hr.Program):
        def on_event(self, e: Any) -> None:
            hr.emit(e)

    rows = hr.read.memory([("a", 1)], "k string, v int", name="rows")
    hr.job("passes", rows.process(Passes).write.memory()).run(checkpoint=tmp_path / "s", progress=False)
    with pytest.raises(HeadraceError, match="the job passes has no operator that keeps state"):
        hr.state(tmp_path / "s").tables  # noqa: B018  # asking is enough
