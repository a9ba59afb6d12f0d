"""Folders: any name, one owner, read back as they were written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import headrace as hr
from headrace.connectors.files import Sink, Source
from headrace.connectors.files.folders import READS_SUBFOLDERS
from headrace.ports import paths
from tests.models.fraud import SCHEMA, SmallThenLarge
from tests.spark.engine import jobs
from tests.spark.engine.jobs import FIRST, SECOND, charges, fraud, put
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

AWKWARD = "ein ü (1) +[x] {y,z} 100% #?*"
ROWS = "card string, amount int, day date"


def table(name: str = "rows") -> hr.Stream:
    """Rows with a day, in memory."""
    rows = [("a", 1, "2026-01-01"), ("b", 2, "2026-01-01"), ("c", 3, "2026-01-02")]
    return hr.read.memory(rows, ROWS, name=name)


def check_read(folder: Path, cases: dict[str, list[Any]], format: str, column: str, schema: str | None = None) -> None:
    """Read several paths with one job, and compare the values of a column; a start after that reads nothing again."""

    def job() -> tuple[hr.Job, dict[str, Any]]:
        outs = {
            path: hr.read.files(path, format=format, schema=schema, name=f"read_{n}").select(column).write.memory(name=f"out_{n}")
            for n, path in enumerate(cases)
        }
        return hr.job("named", *outs.values()), outs

    reads, outs = job()
    reads.run(checkpoint=folder / "ck")
    for path, expected in cases.items():
        assert sorted(row[0] for row in outs[path].rows()) == sorted(expected), path
    again, _ = job()
    assert "nothing new" in str(again.run(checkpoint=folder / "ck"))


def cards(folder: Path) -> list[str]:
    return sorted(row["card"] for row in jobs.lines(folder))


@pytest.mark.parametrize("relative", [False, True])
def test_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: bool) -> None:
    real = tmp_path / AWKWARD
    real.mkdir()
    monkeypatch.chdir(real if relative else tmp_path)
    folder = Path() if relative else real
    kept: list[tuple[int, str]] = []

    def job() -> hr.Job:
        read = charges(folder / "in")
        alerts = read.key_by("card").process(SmallThenLarge).named("alerts")

        def keep(frame: Any, epoch: int) -> None:
            kept.extend((epoch, row.card) for row in frame.collect())

        sinks = [alerts.write.foreach_batch(keep, name=name) for name in ("a b", "a_b")]
        return hr.job("any", alerts.write.files(folder / "out", format="json", partition_by="card", name="out"), *sinks)

    put(real / "in", "1 ä+[1].json", [*FIRST, "no json"])
    job().run(checkpoint=folder / "state", flush=False)
    assert kept == []
    put(real / "in", "2%20.json", [*SECOND, "no json either"])
    summary = job().run(checkpoint=folder / "state")
    assert (summary.rows, summary.sealed) == (4, True)
    assert sorted(path.parent.name for path in hr.committed_files(real / "out")) == ["card=a", "card=b"]
    assert sorted(card for _, card in kept) == ["a", "a", "b", "b"]
    letters = [letter["raw"] for letters in summary.dead_letters for letter in jobs.lines(Path(letters))]
    assert sorted(letters) == ["no json", "no json either"]
    assert "nothing new" in str(job().run(checkpoint=folder / "state"))


NAMES = (
    *(
        "2026-01-01T10:00:00",
        ":",
        "a:b:c",
        "10:00/11:00/x",
        "s3a:b",
        "100%",
        "50%20off",
        "%3A",
        "#1",
        "why?",
        "a;b",
        "a&b=c",
        "day=2026:01",
    ),
    *(
        " blanks ",
        "two\nlines",
        "a\ttab",
        "ü",
        "u\u0308",
        "日本 🎈",
        "back\\slash",
        "[1]",
        "{a,b}",
        "*a",
        "(x)",
        "$HOME",
        "a_b.c",
        "x" * 200,
    ),
    *("'q\"", "~", "-", "+"),
)
WRITERS = {"parquet": pq.write_table, "orc": orc.write_table}
HIDDEN = ["_x", ".x", "_x/y", ".x/y", ".x:y"]


def named(folder: Path, format: str, name: str, n: int) -> Path:
    """A file of one row."""
    file = folder / f"{name}.{format}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if format in WRITERS:
        WRITERS[format](pa.table({"n": [n]}), file)
    else:
        file.write_text(f'{{"n": {n}}}\nno json\n' if format == "json" else f"n\n{n}\n")
    return file


@pytest.mark.parametrize("format", ["json", *(pytest.param(name, marks=pytest.mark.full) for name in ("csv", "parquet", "orc"))])
@pytest.mark.parametrize("schema", ["n bigint", None])
def test_files_of_any_name(tmp_path: Path, format: str, schema: str | None) -> None:
    """By their folder, by a pattern, and each by itself; a start after that reads none again."""
    for n, name in enumerate(NAMES):
        named(tmp_path / "in", format, name, n)
    for name in HIDDEN:
        (tmp_path / "in" / f"{name}.{format}").parent.mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.{format}").write_text("hidden")
    (tmp_path / "in" / f"x.{format}._COPYING_").write_text("hidden")
    depths = [f"*.{format}", f"10:*/*/*.{format}"]
    # files below a folder are read where a pattern says so
    every, flat = range(len(NAMES)), [n for n, name in enumerate(NAMES) if "/" not in name]
    alone = [n for n, name in enumerate(NAMES) if name in ("2026-01-01T10:00:00", "10:00/11:00/x", "s3a:b", "two\nlines", "*a")]
    cases = [("in", flat), ("in/10:00/11:00", [3]), (f"in/{depths[0]}", flat), (f"in/{{{','.join(depths)}}}", list(every))]
    if schema:
        cases += [(f"in/{NAMES[n]}.{format}", [n]) for n in alone]
    check_read(tmp_path, {f"{tmp_path}/{path}": expected for path, expected in cases}, format, "n", schema)


def test_a_broken_file_with_a_colon_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "10:00.json.gz").write_bytes(gzip.compress(b'{"n": 1}\n' * 9999)[:-20])
    read = hr.read.files(tmp_path / "in", format="json", schema="n bigint", name="read")
    with pytest.raises(hr.HeadraceError) as raised:
        hr.job("broken", read.write.memory(name="out")).run(checkpoint=tmp_path / "ck")
    assert (raised.value.code, raised.value.message) == (
        "FILE_BROKEN",
        f"the file {tmp_path}/in/10:00.json.gz is broken: it ends too early",
    )


def test_a_pattern_below_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / AWKWARD / "in", "1.json", FIRST)
    put(tmp_path / AWKWARD / "in", "2.json", SECOND)
    put(tmp_path / AWKWARD / "in", "_3.json", SECOND)
    monkeypatch.chdir(tmp_path / AWKWARD)
    patterns = ("in/[12].json", "i{n,m}/*.json", f"{tmp_path}/*/in/{{1,2,3}}.json")
    for path in patterns:
        assert sorted(hr.read.files(path, format="json", name="charges").columns) == ["amount", "card", "ts"]
    cards = [card for card, *_ in (*FIRST, *SECOND)]
    check_read(tmp_path, dict.fromkeys(patterns, cards), "json", "card")


def test_a_path_with_dots_is_the_same_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for beginning in ("fraud: 4 rows", "fraud: nothing new"):
        assert str(fraud(Path("..")).run(checkpoint="state")).startswith(beginning)


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_partitioned_output_is_read_back(tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    written = table().write.files(out, format=format, partition_by="day", name="written")
    hr.job("write", written).run(checkpoint=tmp_path / "state")
    if format != "parquet":
        schema: Any = "card string, amount int"
        back = hr.collect(hr.read.files(out, format=format, schema=schema, name="back"))
        assert sorted(back.rows()) == [("a", 1), ("b", 2), ("c", 3)]
        with pytest.raises(hr.ConnectorError, match="PARTITION_FOLDERS"):
            hr.collect(hr.read.files(out, format=format, name="back"))
        return
    for schema in (ROWS, None):
        back = hr.collect(hr.read.files(out, format=format, schema=schema, name="back"))
        assert sorted((row[0], row[1], str(row[2])) for row in back.rows()) == [
            ("a", 1, "2026-01-01"),
            ("b", 2, "2026-01-01"),
            ("c", 3, "2026-01-02"),
        ]


def test_lines_know_nothing_of_the_names_of_their_folders(tmp_path: Path) -> None:
    put(tmp_path / "in" / "value=1", "1.json", FIRST)
    put(tmp_path / "in" / "value=2", "2.json", SECOND)
    read = hr.read.files(tmp_path / "in", format="json", schema=SCHEMA, name="charges")
    assert len(hr.collect(read)) == len(FIRST) + len(SECOND)


LAYOUTS: dict[str, tuple[str, ...]] = {
    "deep": ("1", "archive/2", "archive/old/3", "_hidden/4", ".dot/5"),
    "parts": ("1", "day=1/2", "day=1/within/3"),
    "below": ("archive/day=1/1", "archive/day=1/2"),
    "columns": ("day=1/1", "day=2/2"),
}


def test_what_is_listed_is_what_is_read(tmp_path: Path) -> None:
    """Of a folder, of a pattern, and with options of Spark's reader."""
    for layout, names in LAYOUTS.items():
        for name in names:
            (tmp_path / layout / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / layout / f"{name}.json").write_text(json.dumps({"n": int(name[-1])}))
    deep = {"recursiveFileLookup": "true"}
    cases: list[tuple[str, dict[str, str], set[int]]] = [
        ("deep", {}, {1}),
        ("deep", deep, {1, 2, 3}),
        ("deep", {"recursivefilelookup": "TRUE", "pathGlobFilter": "[13].*"}, {1, 3}),
        ("deep", {"pathGlobFilter": "{1,2}.json"}, {1}),
        ("deep/archive", {}, {2}),
        ("deep/*", {}, {1, 2, 4, 5}),
        ("deep/*", deep, {1, 2, 3, 4, 5}),
        ("deep/*/*.json", {}, {2, 4, 5}),
        ("deep/{*.json,archive/*/*.json}", {}, {1, 3}),
        ("parts", {}, {1, 2, 3}),
        ("parts/*", {}, {1, 2}),
        ("below", {}, {1, 2}),
        ("columns", {}, {1, 2}),
        ("columns", deep, {1, 2}),
        ("columns/*", {}, {1, 2}),
    ]
    sinks, listed = [], []
    for i, (path, options, _) in enumerate(cases):
        read = hr.read.files(tmp_path / path, format="json", schema="n int", options=options, name=f"of_{i}")
        listed.append(sorted(int(file.stem) for file in paths.listed(str(tmp_path / path), options) or []))
        sinks.append(read.write.files(tmp_path / "out" / str(i), format="json", name=f"to_{i}"))
    hr.job("listed", *sinks).run(checkpoint=tmp_path / "state", progress=False)
    numbers = [sorted(row["n"] for row in jobs.lines(tmp_path / "out" / str(i))) for i in range(len(cases))]
    assert listed == numbers == [sorted(expected) for *_, expected in cases]


def test_files_in_subfolders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A start says that they are not read; they are no new input of a sealed job; with the cure that it names the job reads them, too."""
    put(tmp_path / "in", "1.json", FIRST)
    put(tmp_path / "in" / "archive", "0.json", SECOND)

    def run(job: str, **options: Any) -> tuple[hr.Summary, str]:
        read = charges(tmp_path / "in", **options).write.files(tmp_path / job, format="json", name="out")
        summary = hr.job(job, read).run(checkpoint=tmp_path / f"{job} state", progress=False, flush=False)
        return summary, capsys.readouterr().err

    message = f"does not read the subfolders of {tmp_path}/in (1 file in {tmp_path}/in/archive); {READS_SUBFOLDERS}"
    summary, notice = run("a")
    assert (summary.rows, notice) == (len(FIRST), f"a: charges {message}\n")
    summary, notice = run("a", options={"recursiveFileLookup": "true"})
    assert (summary.rows, notice) == (len(SECOND), "")
    assert fraud(tmp_path).run(checkpoint=tmp_path / "sealed").sealed
    put(tmp_path / "in" / "archive", "2.json", SECOND)
    assert "nothing new" in str(fraud(tmp_path).run(checkpoint=tmp_path / "sealed"))
    with pytest.raises(hr.CheckpointError, match="CHECKPOINT_SEALED"):
        fraud(tmp_path, options={"recursiveFileLookup": "true"}).run(checkpoint=tmp_path / "sealed")


def test_files_whose_names_look_like_patterns(tmp_path: Path) -> None:
    put(tmp_path / "in", "1 [a].json", FIRST)
    put(tmp_path / "in", "2 {b,c}.json", SECOND)
    put(tmp_path / "in", "3.json", SECOND)
    for path in ("in", "in/*.json"):
        read = hr.read.files(tmp_path / path, format="json", schema=SCHEMA, name="charges")
        assert len(hr.collect(read)) == len(FIRST) + 2 * len(SECOND)
    assert len(hr.collect(hr.read.files(tmp_path / "in" / "1 [a].json", format="json", name="charges"))) == len(FIRST)


def test_two_sinks_of_a_job_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    rows = table()
    first = rows.write.files(tmp_path / "out", format="json", name="first")
    second = rows.filter("amount > 1").write.files(tmp_path / "link", format="json", name="second")
    check_error(
        """
        FOLDER_OWNED: the sinks first and second both write to <folder>/out
          at test_folders.py:*: second = rows.filter("amount > 1").write.files(tmp_path / "link", format="json", name="second")
          hint: give each sink a folder of its own, or combine streams of the same columns with union
          more: headrace error FOLDER_OWNED
        """,
        lambda: hr.job("twice", first, second),
        hide={str(tmp_path): "<folder>"},
    )


def test_a_sink_where_a_source_of_the_job_reads(tmp_path: Path) -> None:
    put(tmp_path / "in", "1.json", FIRST)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    within = charges(tmp_path / "in").write.files(tmp_path / "link", format="json", name="out")
    check_error(
        """
        FOLDER_OWNED: the sink out writes to <folder>/in, where the source charges of the same job reads
          at test_folders.py:*: within = charges(tmp_path / "in").write.files(tmp_path / "link", format="json", name="out")
          hint: give the sink a folder that no source of the job reads
          more: headrace error FOLDER_OWNED
        """,
        lambda: hr.job("circle", within),
        hide={str(tmp_path): "<folder>"},
    )


@pytest.mark.parametrize(
    ("reads", "writes", "partition_by", "refused"),
    [
        ("in/*", "in/sub", (), True),
        ("*", "in/sub", (), False),
        ("in/*.json", "in", (), True),
        ("in/{a,sub}/*.json", "in/sub", (), True),
        ("in", "in/sub", ("card",), True),
        ("in", "in/sub", (), False),
        ("in", "in/_sub", ("card",), False),
        ("in/*.csv", "in", (), False),
        ("in/1.json", "in", (), False),
        ("in", "in2", (), False),
        ("s3a://bucket/in/*", "s3a://bucket/in/sub/", (), True),
        ("s3a://bucket/in", "s3a://bucket/in2", (), False),
    ],
)
def test_what_a_source_reads_of_a_sink(tmp_path: Path, reads: str, writes: str, partition_by: tuple[str, ...], refused: bool) -> None:
    place = "" if reads.startswith("s3a") else f"{tmp_path}/"
    source = Source(place + reads, format="json")
    assert source.reads(Sink(place + writes, format="json", partition_by=partition_by)) is refused


def test_a_source_that_reads_subfolders_reads_a_sink_in_one(tmp_path: Path) -> None:
    source = Source(str(tmp_path), format="json", options={"recursiveFileLookup": "true"})
    assert source.reads(Sink(str(tmp_path / "in/sub"), format="json"))
    assert not source.reads(Sink(str(tmp_path / ".in/sub"), format="json"))


@pytest.mark.parametrize("again", ["fresh", "goes on"])
def test_a_job_that_reads_a_folder_that_was_written_anew(tmp_path: Path, again: str) -> None:
    def write(factor: int, *, fresh: bool = False) -> None:
        rows = charges(tmp_path / "in").select("card", amount=f"amount * {factor}")
        hr.job("writes", rows.write.files(tmp_path / "out", format="json")).run(checkpoint=tmp_path / "c1", flush=False, fresh=fresh)

    def read(*, fresh: bool = False) -> None:
        rows = hr.read.files(tmp_path / "out", format="json", schema="card string, amount double", name="written")
        hr.job("reads", rows.write.files(tmp_path / "copy", format="json")).run(checkpoint=tmp_path / "c2", flush=False, fresh=fresh)

    put(tmp_path / "in", "1.json", FIRST)
    write(1)
    read()
    read()
    put(tmp_path / "in", "2.json", SECOND)
    write(2, fresh=again == "fresh")
    if again == "fresh":
        check_error(
            """
            TABLE_REPLACED: written: <folder>/out was rewritten since it was read: it no longer has epoch 0
              at test_folders.py:*: rows = hr.read.files(tmp_path / "out", format="json", schema="card string, amount double", name="written")
              hint: start over with fresh=True, which reads what is there now
              more: headrace error TABLE_REPLACED
            """,
            read,
            hide={str(tmp_path): "<folder>"},
        )
    read(fresh=again == "fresh")
    assert sorted(map(str, jobs.lines(tmp_path / "copy"))) == sorted(map(str, jobs.lines(tmp_path / "out")))


def test_a_sink_gets_another_name(tmp_path: Path) -> None:
    def job(name: str) -> hr.Job:
        read = charges(tmp_path / "in")
        return hr.job("renamed", read.write.files(tmp_path / "out", format="json", name=name))

    put(tmp_path / "in", "1.json", FIRST)
    job("old").run(checkpoint=tmp_path / "state", flush=False)
    put(tmp_path / "in", "2.json", SECOND)
    job("new").run(checkpoint=tmp_path / "state", flush=False)
    assert cards(tmp_path / "out") == ["a", "a", "b", "b", "b", "b", "c"]
    with pytest.raises(
        hr.CheckpointError, match=r"FOLDER_OWNED: .* holds the output of sink new of job renamed, written from another checkpoint"
    ):
        job("new").run(checkpoint=tmp_path / "other", flush=False)


def test_a_folder_that_another_query_would_write(tmp_path: Path) -> None:
    def job(query: str, name: str) -> hr.Job:
        streams = {"one": table("one"), "two": table("two")}
        kept = [stream.write.memory(name=f"kept {of}") for of, stream in streams.items()]
        return hr.job("moving", *kept, streams[query].write.files(tmp_path / "out", format="json", name=name))

    job("one", "out").run(checkpoint=tmp_path / "state", flush=False)
    message = r"STATE_CHANGED: moved would write rows of two to .*out, which has rows of one"
    with pytest.raises(hr.CheckpointError, match=message):
        job("two", "moved").run(checkpoint=tmp_path / "state", flush=False)
