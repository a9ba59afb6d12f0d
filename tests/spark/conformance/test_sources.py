"""Our sources pass the suite, and one that has a fault is found out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import ports
from headrace.connectors.files.folders import for_spark
from headrace.jvm.session import session
from headrace.schema import Struct
from headrace.testing.conformance import NotConforming, check_source
from tests.spark.conformance.lines import installed


class Folder:
    """Files that come into a folder, as Spark writes them."""

    def __init__(self, place: ports.Elsewhere, schema: Struct, format: str) -> None:
        self.folder = place.folder
        self.schema = schema
        self.format = format
        self.files = 0
        self.folder.mkdir()

    def source(self) -> ports.Source:
        return self.source_of("files")

    def source_of(self, connector: str) -> ports.Source:
        options = {"path": str(self.folder), "format": self.format, "files_per_epoch": 1}
        return ports.source_class(connector).from_options(options, self.schema)

    def add(self, rows: Sequence[Any]) -> None:
        output = self.folder.parent / f"{self.folder.name}-{self.files}"
        frame = session().createDataFrame(list(rows), self.schema.ddl).coalesce(1)
        # Spark's default has milliseconds
        whole = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
        frame.write.format(for_spark(self.format)).options(header="true", **whole).save(str(output))
        for file in output.glob(f"part-*.{self.format}"):
            file.rename(self.folder / f"{self.files:05}.{self.format}")
        self.files += 1

    def spoil(self) -> None:
        (self.folder / f"{self.files:05}.{self.format}").write_text(
            "id,name,amount\nno number,a,1\n" if self.format == "csv" else "{no json\n"
        )
        self.files += 1


class Untouched(Folder):
    """Parquet has no lines to spoil."""

    spoil = None  # type: ignore[assignment]


@pytest.mark.full
@pytest.mark.parametrize("format", ["json", "csv", "parquet", "orc", "avro"])
def test_files(spark: SparkSession, format: str) -> None:
    kind = Folder if format in ("json", "csv") else Untouched
    try:
        report = check_source(lambda place, schema: kind(place, schema, format))
    except NotConforming as problem:
        report = problem.report
    # ORC itself cannot hold times within the last second before 1970; CSV, as Spark writes it for this feed, has one empty text, no bytes
    # and nothing nested.
    lost = {"orc": ["times", "times of a job in another time zone"], "csv": ["texts", "bytes", "arrays", "structs", "maps"]}
    assert report.failed == lost.get(format, []), report
    assert report.outcome("killed before offsets are logged") == "passed"
    if kind is Untouched:
        left = {line.check: line.outcome for line in report.lines if line.outcome not in ("passed", "FAILED")}
        assert left == {"a malformed row": "left out"}, report


class Forgetful(Folder):
    """A source that does not see the last file that came."""

    def source(self) -> ports.Source:
        for file in sorted(self.folder.glob("0*"))[2:]:
            file.rename(file.with_name(f".{file.name}"))
        return super().source()


def test_a_source_that_loses_rows(spark: SparkSession) -> None:
    later = "later rows, by a new process"
    with pytest.raises(NotConforming) as caught:
        check_source(lambda place, schema: Forgetful(place, schema, "json"), only=[later])
    assert caught.value.report.failed == [later]
    assert "5 rows lost" in str(caught.value)


class Seen(Folder):
    def __init__(self, place: ports.Elsewhere, schema: Struct) -> None:
        super().__init__(place, schema, "json")

    def source(self) -> ports.Source:
        return self.source_of("seen")


@pytest.mark.full
def test_a_fault_that_only_a_kill_shows(spark: SparkSession, tmp_path: Path) -> None:
    # in the first of three epochs, and behind it
    points = ("before offsets are logged", "after the commit log")
    with installed("seen", "tests.spark.conformance.seen", tmp_path), pytest.raises(NotConforming) as caught:
        check_source(Seen, points=points, only=["killed"])
    failures = [(line.check, line.why) for line in caught.value.report.lines if line.outcome == "FAILED"]
    assert failures == [("killed before offsets are logged", "30 rows lost"), ("killed after the commit log", "10 rows lost")]
