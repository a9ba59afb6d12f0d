"""Lines of text files: where they start, and what becomes of each."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT = "org.apache.spark.sql.headrace.LineFormat"


def lines(spark: SparkSession, path: Path, split: int = 128 << 20, **options: str) -> list[tuple[bytes, int]]:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(split))
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    try:
        frame = spark.read.format(FORMAT).options(**options).schema("value binary, _position bigint").load(str(path))
        return sorted(((bytes(row.value), row._position) for row in frame.collect()), key=lambda pair: pair[1])
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")


def expected(content: bytes) -> list[tuple[bytes, int]]:
    at, result = 0, []
    for line in content.splitlines(keepends=True):
        result.append((line.rstrip(b"\r\n"), at))
        at += len(line)
    return result


CONTENT = b"".join(b'{"n": %d, "pad": "%s"}%s' % (n, b"x" * (n * 7 % 90), b"\r\n" if n % 3 else b"\n") for n in range(300)) + b"\n\nlast"


@pytest.mark.parametrize("split", [13, 100, 1000, 1 << 20])
def test_every_line_once_with_its_place_however_the_file_is_cut(spark: SparkSession, tmp_path: Path, split: int) -> None:
    (tmp_path / "a.txt").write_bytes(CONTENT)
    content = CONTENT if split >= 1000 else CONTENT[:2000]
    (tmp_path / "a.txt").write_bytes(content)
    assert lines(spark, tmp_path, split) == expected(content)


def test_compressed_files_are_read_whole(spark: SparkSession, tmp_path: Path) -> None:
    for name, pack in (("a.txt.gz", gzip.compress), ("b.txt.bz2", bz2.compress)):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_bytes(pack(CONTENT))
        assert lines(spark, folder, 100) == expected(CONTENT)


def test_byte_order_mark_belongs_to_no_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\ntwo")
    assert lines(spark, tmp_path) == [(b"one", 0), (b"two", 7)]


def test_own_line_separator(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n1||two||")
    assert lines(spark, tmp_path, lineSep="||") == [(b"one\n1", 0), (b"two", 7)]


def test_every_split_begins_with_the_header(spark: SparkSession, tmp_path: Path) -> None:
    content = b"k,v\n" + b"".join(b"k%d,%d\n" % (n, n) for n in range(100))
    (tmp_path / "a.csv").write_bytes(content)
    pairs = lines(spark, tmp_path, 50, header="true")
    headers = [pair for pair in pairs if pair == (b"k,v", 0)]
    assert len(headers) == -(-len(content) // 50)
    assert sorted({*pairs}, key=lambda pair: pair[1]) == expected(content)


def test_columns_as_asked_and_the_file_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    frame = spark.read.format(FORMAT).schema("value string, _position bigint").load(str(tmp_path))
    assert [row[0] for row in frame.select("value").collect()] == ["one", "two"]
    assert [row[0] for row in frame.select("_position").collect()] == [0, 4]
    assert frame.count() == 2
    rows = frame.select("value", "_metadata.file_path").collect()
    assert [tuple(row) for row in rows] == [(value, f"file:{tmp_path}/a.txt") for value in ("one", "two")]


def test_stream_of_files_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "ck"
    (source / "day=1").mkdir(parents=True)

    def run() -> list[tuple[str, int, str]]:
        seen: list[tuple[str, int, str]] = []
        frame = (
            spark.readStream.format(FORMAT)
            .schema("value binary, _position bigint")
            .option("recursiveFileLookup", "true")
            .load(str(source))
            .selectExpr("string(value)", "_position", "_metadata.file_path AS _file")
        )
        query = (
            frame.writeStream.option("checkpointLocation", str(checkpoint))
            .foreachBatch(lambda batch, _: seen.extend(tuple(row) for row in batch.collect()))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sorted(seen)

    (source / "day=1" / "a.txt").write_text("one\ntwo")
    assert run() == [("one", 0, f"file:{source}/day=1/a.txt"), ("two", 4, f"file:{source}/day=1/a.txt")]
    (source / "b.txt").write_text("three")
    assert run() == [("three", 0, f"file:{source}/b.txt")]


class Parser:
    """A line parser of the kernel; `read` gives a row's values, None for no row, or the reason as a text."""

    def __init__(
        self,
        spark: SparkSession,
        kind: str,
        schema: str,
        *,
        zone: str = "UTC",
        case_sensitive: bool = False,
        options: dict[str, str] | None = None,
        records: bool = False,
    ) -> None:
        jvm: Any = spark._jvm
        scala = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(options or {})
        self.schema = jvm.org.apache.spark.sql.types.StructType.fromDDL(schema)
        self.parser = jvm.headrace.source.LineSpec(kind, self.schema, scala, zone, case_sensitive, records).parser()
        self.text = jvm.org.apache.spark.unsafe.types.UTF8String

    def read(self, line: str | bytes, position: int = 100, file: str = "f") -> Any:
        outcome = self.parser.read(bytearray(line.encode() if isinstance(line, str) else line), self.text.fromString(file), position)
        if outcome in (1, 3):
            return None if outcome == 1 else "header"
        if outcome == 2:
            return self.parser.reason()
        row = self.parser.row()
        values = [None if row.isNullAt(n) else row.get(n, self.schema.apply(n).dataType()) for n in range(self.schema.length())]
        return [value if isinstance(value, (int, float, str, bytes, bool, type(None))) else value.toString() for value in values]

    @property
    def raw(self) -> str:
        return str(self.parser.raw().toString())


CHARGE = "card string, amount decimal(10,2), ts timestamp, n int"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('{"card": "c", "amount": 1.5, "ts": "2026-01-01 00:00:00", "n": 1}', ["c", "1.50", 1767225600000000, 1]),
        ('  {"n": 1, "more": [1, {"x": 2}]}  ', [None, None, None, 1]),
        ("{}", [None, None, None, None]),
        ("", None),
        ("  \t ", None),
        ('{"amount": "abc"}', "field amount: cannot read 'abc' as DECIMAL(10,2)"),
        (
            '{"card": "c", "amount": 123456789012345678901234567890}',
            "field amount: cannot read '123456789012345678901234567890' as DECIMAL(10,2)",
        ),
        ('{"n": 12345678901}', "field n: cannot read '12345678901' as INT"),
        ('{"n": 1.5}', "field n: cannot read '1.5' as INT"),
        ('{"n": "1"}', "field n: cannot read '1' as INT"),
        ('{"n": {"a": 1}}', "field n: cannot read '{\"a\": 1}' as INT"),
        ('{"ts": "2026-13-01"}', "field ts: cannot read '2026-13-01' as TIMESTAMP"),
        ('{"ts": "", "n": 1}', "field ts: cannot read '' as TIMESTAMP"),
        ('{"card": "c"', "not JSON: Unexpected end-of-input: expected close marker for Object"),
        ('{"card": x}', "not JSON: Unrecognized token 'x'"),
        ('x{"card": 1}', "not JSON: Unrecognized token 'x'"),
        ('{"card": "a"} {"card": "b"}', "not JSON: text after the object"),
        ('{"card": "a"}}', "not JSON: text after the object"),
        ('[{"card": "a"}]', "an array where an object was expected"),
        ("[]", "an array where an object was expected"),
        ("17", "not JSON: an object was expected, not a number"),
        ('"text"', "not JSON: an object was expected, not a text"),
        ("null", "not JSON: an object was expected, not null"),
        (b'{"card": "\xff\xfe"}', "not JSON: Invalid UTF-8 start byte 0xff"),
        (b'{"card": "\xed\xa0\x80"}', "not JSON: the text is not UTF-8"),
        (b'{"card": "\xc0\x80"}', "not JSON: the text is not UTF-8"),
        (b'{"other": "\xed\xa0\x80"}', "not JSON: the text is not UTF-8"),
        ('{"card": "a\\ud83d"}', "not JSON: \\ud83d is half of a surrogate pair"),
        ('{"card": "\\uDE00\\uD83D"}', "not JSON: \\uDE00 is half of a surrogate pair"),
        ('{"card": "\\ud83d\\u0041"}', "not JSON: \\ud83d is half of a surrogate pair"),
        ('{"card": "\\ud83d\\ude00 \\\\ud83d \\ud7ff\\ue000"}', ["\U0001f600 \\ud83d \ud7ff\ue000", None, None, None]),
        ('{"n": 1, "n": 2}', [None, None, None, 2]),
        ("[" * 2000, "an array where an object was expected"),
        ('{"card": ' + "[" * 2000, "not JSON: Document nesting depth (1001) exceeds the maximum allowed (1000)"),
    ],
)
def test_json(spark: SparkSession, line: str | bytes, wanted: Any) -> None:
    parser = Parser(spark, "json", CHARGE)
    assert parser.read(line) == wanted
    # The parser is none the worse for it.
    assert parser.read('{"n": 7}') == [None, None, None, 7]


def test_json_names_the_place_inside_a_field(spark: SparkSession) -> None:
    parser = Parser(spark, "json", "a struct<x: int, y: array<int>>, b map<string,date>")
    assert parser.read('{"a": {"x": "no"}}') == 'field a: cannot read \'{"x": "no"}\' as STRUCT<x: INT, y: ARRAY<INT>>'
    assert (
        parser.read('{"a": {"x": 1, "y": [1, "b"]}}') == 'field a: cannot read \'{"x": 1, "y": [1, "b"]}\' as STRUCT<x: INT, y: ARRAY<INT>>'
    )
    assert parser.read('{"b": {"k": "never"}}') == 'field b: cannot read \'{"k": "never"}\' as MAP<STRING, DATE>'


def test_raw_text_shows_what_is_not_utf8(spark: SparkSession) -> None:
    parser = Parser(spark, "json", "a string")
    parser.read(b'{"a": "\xff"}')
    assert parser.raw == '{"a": "\ufffd"}'


def test_time_zone_and_options_are_the_plans(spark: SparkSession) -> None:
    assert Parser(spark, "json", "ts timestamp", zone="Europe/Berlin").read('{"ts": "2026-01-01T00:00:00"}') == [1767222000000000]
    assert Parser(spark, "csv", "ts timestamp", zone="Europe/Berlin").read("2026-01-01 00:00:00") == [1767222000000000]
    assert Parser(spark, "json", "d date", options={"dateFormat": "dd.MM.yyyy"}).read('{"d": "02.01.1970"}') == [1]
    assert Parser(spark, "json", "a string", options={"encoding": "ISO-8859-1"}).read('{"a": "ä"}'.encode("latin-1")) == ["ä"]


def test_columns_that_must_have_a_value(spark: SparkSession) -> None:
    assert Parser(spark, "json", "a int NOT NULL").read("{}") == "field a: no value, but the column is NOT NULL"
    assert Parser(spark, "csv", "a int NOT NULL, b int").read(",1") == "field a: no value, but the column is NOT NULL"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("c,1.5,2026-01-01 00:00:00,1", ["c", "1.50", 1767225600000000, 1]),
        ('"c,d",,,', ["c,d", None, None, None]),
        ("", None),
        ("   ", None),
        ("c,abc,,1", "field amount: cannot read 'abc' as DECIMAL(10,2)"),
        ("c,1.5,yesterday,1", "field ts: cannot read 'yesterday' as TIMESTAMP"),
        ("c,1.5,,99999999999", "field n: cannot read '99999999999' as INT"),
        ("c,123456789012.5,,1", "field amount: cannot read '123456789012.5' as DECIMAL(10,2)"),
        ("c,1.5,,1\nd,1.5,,2", "not CSV: text after the record"),
        ("c,1.5,,1\n\n", ["c", "1.50", None, 1]),
        ('"c\nd",1.5,,1', ["c\nd", "1.50", None, 1]),
        ("c,1.5", "2 columns instead of 4"),
        ("c,1.5,,1,more", "5 columns instead of 4"),
        (b"c\xff,1.5,,1", "not CSV: the line is not UTF-8"),
        ("\ufffd,1.5,,1", ["\ufffd", "1.50", None, 1]),
    ],
)
def test_csv(spark: SparkSession, line: str | bytes, wanted: Any) -> None:
    parser = Parser(spark, "csv", CHARGE)
    assert parser.read(line, 0) == wanted
    assert parser.read("c,,,7") == ["c", None, None, 7]


@pytest.mark.parametrize("text", ["5\n28,x\n\n", "58\r\n,x\nz", "1,a\n2,b", '1,"a\nb', '1,"a\nb"\n\n', '1,"a', "\n1,a", "x,a\n"])
def test_csv_of_several_lines_leaves_nothing_for_the_next_record(spark: SparkSession, text: str) -> None:
    parser = Parser(spark, "csv", "n int, s string", records=True)
    parser.read(text)
    assert [parser.read(f"{n},next") for n in range(3)] == [[n, "next"] for n in range(3)]


def test_csv_header_by_name_and_by_file(spark: SparkSession) -> None:
    parser = Parser(spark, "csv", "a int, b string", options={"header": "true", "comment": "#"})
    assert parser.read("B,unknown, a ", 0, "one") == "header"
    assert parser.read("x,?,1", 20, "one") == [1, "x"]
    assert parser.read("# nothing", 30, "one") is None
    assert parser.read("x,1", 40, "one") == "2 columns instead of 3"
    assert parser.read("x,?,y", 50, "one") == "field a: cannot read 'y' as INT"
    assert parser.read("a,b", 0, "two") == "header"
    assert parser.read("2,y", 4, "two") == [2, "y"]
    assert parser.read("a,c", 0, "three") == "header"
    assert parser.read("2,y", 4, "three") == "the file's header has no column b; it has: a, c"
    assert parser.read("a,b,A", 0, "four") == "header"
    assert parser.read("2,y,3", 6, "four") == "the file's header names column a twice"
    assert parser.read("2,y,3", 6, "five") == "the file's header was not read"


def test_csv_header_where_case_matters(spark: SparkSession) -> None:
    parser = Parser(spark, "csv", "a int, A int", case_sensitive=True, options={"header": "true"})
    assert parser.read("A,a", 0) == "header"
    assert parser.read("1,2", 4) == [2, 1]


def test_csv_of_a_file_cut_into_splits(spark: SparkSession, tmp_path: Path) -> None:
    content = "b,a\n" + "".join(f"text {n},{n}\n" for n in range(200))
    (tmp_path / "a.csv").write_text(content)
    parser = Parser(spark, "csv", "a int, b string", options={"header": "true"})
    rows = [parser.read(line, at) for line, at in lines(spark, tmp_path, 300, header="true")]
    assert [row for row in rows if row != "header"] == [[n, f"text {n}"] for n in range(200)]


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize(("value", "reason"), [("", "no row: the value is empty"), (" \t", "no row: the value is blank")])
def test_a_record_of_its_own_cannot_be_blank(spark: SparkSession, kind: str, value: str, reason: str) -> None:
    assert Parser(spark, kind, "a int", records=True).read(value) == reason
    assert Parser(spark, kind, "a int").read(value) is None


def test_text_in_another_encoding_that_is_none(spark: SparkSession) -> None:
    parser = Parser(spark, "json", "a string", options={"encoding": "UTF-16LE"})
    assert parser.read('{"a": "\U0001f600"}'.encode("utf-16-le")) == ["\U0001f600"]
    assert parser.read('{"a": "\ud83d"}'.encode("utf-16-le", "surrogatepass")) == "not text: it is not UTF-16LE"


def test_every_reason_says_something(spark: SparkSession) -> None:
    """Bytes of good lines are changed at random: a row, nothing, or a reason in words."""
    rng = random.Random(7)
    for kind, good in (
        ("json", b'{"card": "caf\xc3\xa9", "amount": 1.5, "n": 7}'),
        ("csv", b'"caf\xc3\xa9 ""x""",1.5,2026-01-01 00:00:00,7'),
    ):
        parser = Parser(spark, kind, CHARGE)
        for _ in range(1500):
            line = bytearray(good)
            for _ in range(rng.choice([1, 1, 2, 8])):
                line[rng.randrange(len(line))] = rng.choice([0, 9, 10, 13, 34, 44, 92, rng.randrange(256)])
            outcome = parser.read(bytes(line))
            assert not isinstance(parser.read(good), str), line  # nothing of a line stays for the next one
            assert not isinstance(outcome, str) or ("null" not in outcome and "Exception" not in outcome and outcome), (line, outcome)


@pytest.mark.parametrize("split", [4, 1 << 20])
def test_a_file_ends_where_it_ended_when_it_was_listed(spark: SparkSession, tmp_path: Path, split: int) -> None:
    """Hadoop's reader takes a line beyond the end of its split, for the next split leaves out its first one; and a line is read to its end."""
    for name, content, more in (("a.txt", "one\n2\n", "3\n4\n"), ("b.txt", "one\ntw", "o\n3\n")):
        (tmp_path / name).write_text(content)
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(split))
        try:
            frame = spark.read.format(FORMAT).schema("value string, _position bigint").load(str(tmp_path / name))
            with (tmp_path / name).open("a") as file:
                file.write(more)
            assert sorted((row._position, row.value) for row in frame.collect()) == [(0, "one"), (4, content.splitlines()[1])]
        finally:
            spark.conf.unset("spark.sql.files.maxPartitionBytes")
