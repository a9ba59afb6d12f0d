"""Files that are cut off or damaged: the run ends and says which, or each is one dead letter and the others go on."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import lines
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ROWS = 2000
SCHEMA = "n bigint, text string"


def table(first: int) -> list[dict[str, object]]:
    return [{"n": n, "text": f"text {n * 7919 % 10007}"} for n in range(first, first + ROWS)]


def zipped(first: int) -> bytes:
    return gzip.compress("".join(json.dumps(row) + "\n" for row in table(first)).encode())


def parquet(first: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(table(first)), out, row_group_size=500, write_page_checksum=True)
    return out.getvalue()


def orced(first: int) -> bytes:
    out = pa.BufferOutputStream()
    orc.write_table(pa.Table.from_pylist(table(first)), out, compression="zlib")
    return bytes(out.getvalue())


def avro(first: int) -> bytes:
    fields = [{"name": "n", "type": "long"}, {"name": "text", "type": "string"}]
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "row", "fields": fields}, table(first), codec="deflate", sync_interval=4000)
    return out.getvalue()


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def changed(content: bytes) -> bytes:
    """Some bytes in the middle are others; of a single one ORC knows nothing, as it has no checksums."""
    at = len(content) // 2
    return content[:at] + bytes(byte ^ 0xFF for byte in content[at : at + 64]) + content[at + 64 :]


MAKERS = {"json": (".json.gz", zipped), "parquet": (".parquet", parquet), "orc": (".orc", orced), "avro": (".avro", avro)}
DAMAGE: dict[str, Callable[[bytes], bytes]] = {"cut": cut, "changed": changed, "empty": lambda _: b""}


def job(folder: Path, formats: list[str], broken_files: str) -> hr.Job:
    """A source of each format, read as one goes on with files that come."""
    sinks = []
    for format in formats:
        options = {} if broken_files == "fail" else {"broken_files": broken_files}
        read = hr.read.files(folder / format, format=format, schema=SCHEMA, name=f"of_{format}", **options)
        sinks.append(read.write.files(folder / f"out_{format}", format="json", name=f"out_{format}"))
    return hr.job("broken", *sinks)


def test_with_skip_each_is_one_dead_letter_and_gives_no_row(tmp_path: Path) -> None:
    """Files of all formats, in three ways damaged, between whole ones; then whole copies of them, of which every row comes once."""
    for format, (ending, make) in MAKERS.items():
        (tmp_path / format).mkdir()
        for place, damage in enumerate([None, *DAMAGE.values(), None]):
            content = make(place * ROWS)
            (tmp_path / format / f"{place}{ending}").write_bytes(content if damage is None else damage(content))

    def run() -> hr.Summary:
        return job(tmp_path, list(MAKERS), "skip").run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    summary = run()
    damaged = {1, 2, 3}
    for source in summary.sources:
        assert (source.read, source.malformed, source.skipped, source.broken) == (2 * ROWS, 0, 0, 3), source
    letters = [letter for folder in summary.dead_letters for letter in lines(Path(folder))]
    named = Counter((letter["node"], Path(letter["file"]).name.partition(".")[0]) for letter in letters)
    assert named == Counter((f"of_{format}", str(place)) for format in MAKERS for place in damaged)
    assert all(letter["reason"].startswith("FILE_BROKEN: ") and "position" not in letter for letter in letters)
    assert {letter["reason"] for letter in letters if Path(letter["file"]).name == "3.orc"} == {"FILE_BROKEN: it has no bytes"}
    for format in MAKERS:
        assert sorted(row["n"] for row in lines(tmp_path / f"out_{format}")) == [*range(ROWS), *range(4 * ROWS, 5 * ROWS)]
    assert " read  malformed  broken\n" in str(summary)

    for format, (ending, make) in MAKERS.items():
        for place in damaged:
            (tmp_path / format / f"again-{place}{ending}").write_bytes(make(place * ROWS))
    again = run()
    assert [source.broken for source in again.sources] == [3] * len(MAKERS)
    for format in MAKERS:
        assert sorted(row["n"] for row in lines(tmp_path / f"out_{format}")) == list(range(5 * ROWS))


def test_it_fails_and_says_which(tmp_path: Path) -> None:
    """The message, and that nothing of the epoch counts; a whole copy in its place, or another policy, lets the job go on."""
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "1.json.gz").write_bytes(zipped(0))
    (tmp_path / "json" / "2.json.gz").write_bytes(cut(zipped(ROWS)))

    def run(broken_files: str = "fail") -> hr.Summary:
        return job(tmp_path, ["json"], broken_files).run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    for _ in range(2):
        check_error(
            """
            FILE_BROKEN: the file <folder>/json/2.json.gz is broken: it ends too early
              hint: replace it with a complete copy; with broken_files="skip", read.files continues without it, with a dead letter
              more: headrace error FILE_BROKEN
            """,
            run,
            hide={str(tmp_path): "<folder>"},
        )
    assert lines(tmp_path / "out_json") == []
    assert run("skip").sources[0].broken == 1
    assert sorted(row["n"] for row in lines(tmp_path / "out_json")) == list(range(ROWS))
    (tmp_path / "json" / "3.json.gz").write_bytes(cut(zipped(ROWS)))
    with pytest.raises(hr.HeadraceError, match="FILE_BROKEN"):
        run()
    # it has another length than when it was found, and that is no change after it was read
    (tmp_path / "json" / "3.json.gz").write_bytes(zipped(ROWS))
    for _ in range(2):
        assert run().sources[0].broken == 1
    assert sorted(row["n"] for row in lines(tmp_path / "out_json")) == list(range(2 * ROWS))


@pytest.mark.parametrize(
    ("format", "damage"),
    [
        pytest.param("parquet", "cut"),
        pytest.param("parquet", "changed", marks=pytest.mark.full),
        pytest.param("parquet", "empty", marks=pytest.mark.full),
        pytest.param("orc", "cut", marks=pytest.mark.full),
        pytest.param("avro", "cut", marks=pytest.mark.full),
        pytest.param("json", "empty", marks=pytest.mark.full),
    ],
)
def test_every_format_fails_with_the_files_name(tmp_path: Path, format: str, damage: str) -> None:
    ending, make = MAKERS[format]
    (tmp_path / format).mkdir()
    (tmp_path / format / f"a b{ending}").write_bytes(DAMAGE[damage](make(0)))
    with pytest.raises(hr.HeadraceError) as raised:
        job(tmp_path, [format], "fail").run(checkpoint=tmp_path / "ck", progress=False)
    assert raised.value.code == "FILE_BROKEN"
    assert raised.value.message.startswith(f"the file {tmp_path}/{format}/a b{ending} is broken: ")


CSV = b"n,text\n1,one\n"
JSON = b'{"n": 1, "text": "one"}\n'


@pytest.mark.parametrize(
    ("format", "make", "there", "right"),
    [
        ("parquet", lambda: JSON, "JSON", "json"),
        pytest.param("parquet", lambda: CSV, "text, such as CSV", "csv", marks=pytest.mark.full),
        pytest.param("parquet", lambda: orced(0), "ORC", "orc", marks=pytest.mark.full),
        ("orc", lambda: parquet(0), "Parquet", "parquet"),
        pytest.param("orc", lambda: JSON, "JSON", "json", marks=pytest.mark.full),
        ("avro", lambda: b"\xef\xbb\xbf [" + JSON + b"]", "JSON", "json"),
    ],
)
def test_a_file_of_another_format(tmp_path: Path, format: str, make: Callable[[], bytes], there: str, right: str) -> None:
    """Where the first bytes say so, in a run, where columns are looked for, and in a dead letter."""
    (tmp_path / format).mkdir()
    (tmp_path / format / "1.data").write_bytes(make())
    hint = (
        f'if its source reads {there} files, set format="{right}"; otherwise replace the file with a complete copy, '
        'or skip it: broken_files="skip"'
    )
    for fails in (
        lambda: job(tmp_path, [format], "fail").run(checkpoint=tmp_path / "ck", progress=False),
        lambda: hr.read.files(tmp_path / format, format=format),
    ):
        with pytest.raises(hr.HeadraceError) as raised:
            fails()
        assert (raised.value.code, raised.value.hint) == ("FILE_BROKEN", hint)
        assert raised.value.message.startswith(f"the file {tmp_path}/{format}/1.data is broken: ")
        assert raised.value.message.endswith(f"; its first bytes are those of {there}")
    summary = job(tmp_path, [format], "skip").run(checkpoint=tmp_path / "ck", progress=False)
    [letter] = [letter for folder in summary.dead_letters for letter in lines(Path(folder))]
    assert letter["reason"].endswith(f"; its first bytes are those of {there}")


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_columns_cannot_be_found_in_it(tmp_path: Path, format: str) -> None:
    ending, make = MAKERS[format]
    (tmp_path / f"a{ending}").write_bytes(cut(make(0)))
    with pytest.raises(hr.HeadraceError) as raised:
        hr.read.files(tmp_path / f"a{ending}", format=format)
    assert (raised.value.code, raised.value.message.partition(" is broken: ")[0]) == ("FILE_BROKEN", f"the file {tmp_path}/a{ending}")
    assert raised.value.hint == 'replace it with a complete copy, or give the schema: schema="card string, amount double"'


def test_a_folder_that_is_followed_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    read = hr.read.files(folder, format="parquet", schema=SCHEMA, follow=True, broken_files="skip", name="rows")
    run = hr.job("follows", read.write.files(tmp_path / "out", format="json", name="out")).start(checkpoint=tmp_path / "ck", progress=False)
    try:
        for place, damage in enumerate([cut, None]):
            content = parquet(place * ROWS)
            (tmp_path / "unfinished").write_bytes(damage(content) if damage else content)
            (tmp_path / "unfinished").rename(folder / f"{place}.parquet")
        while len(lines(tmp_path / "out")) < ROWS and run.error is None:
            run.wait(0.2)
    finally:
        run.stop()
    summary = run.wait()
    assert summary is not None
    assert [(one.read, one.broken) for one in summary.sources] == [(ROWS, 1)]


def test_columns_of_other_types_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(0))
    read = hr.read.files(tmp_path / "a.parquet", format="parquet", schema="n timestamp", broken_files="skip", name="rows")
    with pytest.raises(hr.HeadraceError) as raised:
        hr.job("types", read.write.files(tmp_path / "out", format="json", name="out")).run(checkpoint=tmp_path / "ck", progress=False)
    assert raised.value.code != "FILE_BROKEN"


@pytest.mark.parametrize("format", [*MAKERS])
def test_one_that_is_gone_before_it_is_read(tmp_path: Path, format: str) -> None:
    """An epoch that comes again lacks a file: that is said, and a file that was read may go."""
    ending, make = MAKERS[format]
    (tmp_path / format).mkdir()
    first, second = (tmp_path / format / f"{place}{ending}" for place in range(2))
    first.write_bytes(make(0))
    second.write_bytes(cut(make(ROWS)))

    def run(broken_files: str = "fail") -> hr.Summary:
        return job(tmp_path, [format], broken_files).run(checkpoint=tmp_path / "ck", progress=False, flush=False)

    with pytest.raises(hr.HeadraceError, match="FILE_BROKEN"):
        run()
    first.unlink()
    second.write_bytes(make(ROWS))
    for _ in range(2):
        check_error(
            f"""
            FILE_BROKEN: the file <folder>/{format}/0{ending} is broken: it was deleted after this epoch listed it
              hint: replace it with a complete copy; with broken_files="skip", read.files continues without it, with a dead letter
              more: headrace error FILE_BROKEN
            """,
            run,
            hide={str(tmp_path): "<folder>"},
        )
    assert run("skip").sources[0].broken == 1
    second.unlink()
    (tmp_path / format / f"2{ending}").write_bytes(make(2 * ROWS))
    assert run().sources[0].broken == 1
    assert sorted(row["n"] for row in lines(tmp_path / f"out_{format}")) == list(range(ROWS, 3 * ROWS))


def test_a_file_of_a_manifest_that_is_gone_before_it_was_read(tmp_path: Path) -> None:
    rows = hr.read.memory([("a", 1)], "card string, n int", name="rows")
    hr.job("written", rows.write.files(tmp_path / "out", format="json")).run(checkpoint=tmp_path / "written", progress=False)
    (tmp_path / "out" / "stray.json").write_text("")

    def read() -> hr.Job:
        rows = hr.read.files(tmp_path / "out", format="json", schema="card string, n int", name="rows")
        return hr.job("read", rows.write.files(tmp_path / "again", format="json"))

    (gone,) = hr.committed_files(tmp_path / "out")
    whole = gone.read_bytes()
    for damage in (gone.unlink, lambda: gone.write_bytes(b"")):
        damage()
        with pytest.raises(HeadraceError, match="OUTPUT_MISSING"):
            read().run(checkpoint=tmp_path / "read", progress=False)
        gone.write_bytes(whole)
    assert read().run(checkpoint=tmp_path / "read", progress=False).rows == 1
    # one that was read may go
    gone.unlink()
    read().run(checkpoint=tmp_path / "read", progress=False)
