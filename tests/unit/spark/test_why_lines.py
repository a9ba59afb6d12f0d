"""The number of the line at a byte of a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import headrace as hr
from headrace.ops import Source
from headrace.spark.why.lines import line_of

LINES = b"card,amount\na,3\n\nb,5\n"


def source(format: str, folder: Path) -> Source:
    stream = hr.read.files(str(folder), format=format, schema="card string, amount int", name="charges")
    node = stream._node
    assert isinstance(node, Source)
    return node


@pytest.mark.parametrize(("position", "line"), [(0, 1), (12, 2), (17, 4)])
def test_lines(tmp_path: Path, position: int, line: int) -> None:
    file = tmp_path / "a day.csv"
    file.write_bytes(LINES)
    csv = source("csv", tmp_path)
    assert line_of(csv, str(file), position) == line
    assert line_of(csv, file.as_uri(), position) == line


def test_a_long_file(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_bytes(b"a,3\n" * 1_000_000)
    assert line_of(source("csv", tmp_path), str(file), 4 * 999_999) == 1_000_000


def test_files_without_lines(tmp_path: Path) -> None:
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(LINES))
    csv = source("csv", tmp_path)
    assert line_of(csv, str(packed), 12) is None
    assert line_of(csv, str(tmp_path / "gone.csv"), 12) is None
    assert line_of(csv, "s3a://bucket/a.csv", 12) is None
    assert line_of(csv, None, None) is None
    assert line_of(source("parquet", tmp_path), str(packed), 12) is None
