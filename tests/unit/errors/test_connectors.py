"""Errors of connectors: options, paths, rows and functions."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors import files, foreach_batch, memory
from headrace.ports import registry
from headrace.schema import parse_schema
from tests.installed import READABLE, WRITABLE
from tests.unit.errors import check_error

SCHEMA = "card string, amount int"
charges = hr.read.memory([], SCHEMA, name="charges")


def context(folder: Path) -> ports.SinkContext:
    return ports.SinkContext("job", "sink", parse_schema(SCHEMA), cast(Any, None), folder / "checkpoint", "c1")


def test_unknown_connector() -> None:
    check_error(
        f"""
        UNKNOWN_CONNECTOR: there is no connector `file`
          at test_connectors.py:*: lambda: hr.read.file("charges/"),
          hint: did you mean `files`? hr.read has: {READABLE}
          more: headrace error UNKNOWN_CONNECTOR
        """,
        lambda: hr.read.file("charges/"),
    )


def test_connector_that_only_writes() -> None:
    check_error(
        f"""
        UNKNOWN_CONNECTOR: the connector `console` has no source, so it cannot be read
          at test_connectors.py:*: lambda: hr.read.console(),
          hint: hr.read has: {READABLE}
          more: headrace error UNKNOWN_CONNECTOR
        """,
        lambda: hr.read.console(),
    )


def test_connector_that_only_reads() -> None:
    check_error(
        f"""
        UNKNOWN_CONNECTOR: the connector `rate` has no sink, so it cannot be written
          at test_connectors.py:*: lambda: charges.write.rate(),
          hint: stream.write has: {WRITABLE}
          more: headrace error UNKNOWN_CONNECTOR
        """,
        lambda: charges.write.rate(),
    )


def test_a_broken_connector_does_not_hide_what_is_wrong_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"lake": EntryPoint("lake", "no_such_package_of_lakes", registry.GROUP), **registry.connectors()}
    monkeypatch.setattr(registry, "connectors", lambda: installed)
    test_connector_that_only_writes()
    test_connector_that_only_reads()


def test_broken_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"lake": EntryPoint("lake", "no_such_package_of_lakes", registry.GROUP)}
    monkeypatch.setattr(registry, "connectors", lambda: broken)
    check_error(
        """
        CONNECTOR_BROKEN: the connector `lake` cannot be loaded from no_such_package_of_lakes: No module named 'no_such_package_of_lakes'
          at test_connectors.py:*: lambda: hr.read.lake("charges/"),
          hint: install what it needs; see the documentation of its package
          more: headrace error CONNECTOR_BROKEN
        """,
        lambda: hr.read.lake("charges/"),
    )


def test_a_connector_for_a_newer_headrace(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = ModuleType("newer_lakes")
    newer.PORTS = 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "newer_lakes", newer)
    monkeypatch.setattr(registry, "connectors", lambda: {"tarn": EntryPoint("tarn", "newer_lakes", registry.GROUP)})
    check_error(
        """
        CONNECTOR_BROKEN: the connector `tarn` of newer_lakes requires version 2 of headrace.ports, but this headrace has version 1
          at test_connectors.py:*: lambda: hr.read.tarn("charges/"),
          hint: install a newer headrace, or an older version of the connector
          more: headrace error CONNECTOR_BROKEN
        """,
        lambda: hr.read.tarn("charges/"),
    )


def test_unknown_option() -> None:
    check_error(
        """
        BAD_OPTION: read.files has no option `fmt`
          at test_connectors.py:*: lambda: hr.read.files("charges/", fmt="json"),  # type: ignore[call-arg]
          hint: did you mean `format`? It takes: path, format, schema, follow, by, files_per_epoch, malformed, broken_files, options, change_column, change_format, key, trusted, name
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.files("charges/", fmt="json"),  # type: ignore[call-arg]
    )


def test_missing_option() -> None:
    check_error(
        """
        BAD_OPTION: read.files: missing a required argument: 'format'
          at test_connectors.py:*: lambda: hr.read.files("charges/"),  # type: ignore[call-arg]
          hint: it needs: path, format
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.files("charges/"),  # type: ignore[call-arg]
    )


def test_option_of_another_value() -> None:
    check_error(
        """
        BAD_OPTION: read.files: format cannot be 'jsonl'
          at test_connectors.py:*: lambda: hr.read.files("charges/", format="jsonl", schema=SCHEMA),
          hint: did you mean 'json'? It is one of: json, csv, parquet, orc, avro
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.files("charges/", format="jsonl", schema=SCHEMA),
    )


def test_option_that_is_ours() -> None:
    check_error(
        """
        BAD_OPTION: read.files: Spark's option `mode` cannot be set
          at test_connectors.py:*: lambda: hr.read.files("charges/", format="json", schema=SCHEMA, options={"mode": "PERMISSIVE"}),
          hint: set malformed="dead_letter", "fail" or "skip" for rows that cannot be read
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.files("charges/", format="json", schema=SCHEMA, options={"mode": "PERMISSIVE"}),
    )


def test_number() -> None:
    check_error(
        """
        BAD_OPTION: read.rate: rows_per_second cannot be 0
          at test_connectors.py:*: lambda: hr.read.rate(0),
          hint: use a whole number of at least 1
          more: headrace error BAD_OPTION
        """,
        lambda: hr.read.rate(0),
    )


def test_partition_by() -> None:
    check_error(
        """
        BAD_OPTION: write.files: partition_by names `day`, which is not a column
          at test_connectors.py:*: lambda: charges.write.files("out", format="json", partition_by="day"),
          hint: the stream has: card, amount
          more: headrace error BAD_OPTION
        """,
        lambda: charges.write.files("out", format="json", partition_by="day"),
    )


@pytest.mark.parametrize(("kind", "text"), [("binary", "base64(k)"), ("array<int>", "to_json(k)")])
def test_partition_by_what_names_no_folder(kind: str, text: str) -> None:
    check_error(
        f"""
        WRONG_TYPE: out: column k of type {kind} cannot be in partition_by: folder names are strings
          hint: choose other columns, or convert it to a string: with_columns(k_text="{text}")
          more: headrace error WRONG_TYPE
        """,
        lambda: files.Sink("out", format="json", partition_by=["k"]).suits("out", parse_schema(f"k {kind}, n int")),
    )


def test_sink_in_a_store_with_a_pattern() -> None:
    check_error(
        """
        BAD_OPTION: write.files: the path s3a://bucket/*/out is a pattern
          at test_connectors.py:*: lambda: charges.write.files("s3a://bucket/*/out", format="json"),
          hint: name one folder
          more: headrace error BAD_OPTION
        """,
        lambda: charges.write.files("s3a://bucket/*/out", format="json"),
    )


def test_mode() -> None:
    check_error(
        """
        BAD_OPTION: write.memory: mode cannot be 'overwrite'
          at test_connectors.py:*: lambda: charges.write.memory(mode="overwrite"),
          hint: it is one of: append, upsert, changes
          more: headrace error BAD_OPTION
        """,
        lambda: charges.write.memory(mode="overwrite"),
    )


def test_sink_to_a_pattern(tmp_path: Path) -> None:
    check_error(
        """
        BAD_OPTION: write.files: the path <folder>/out/* is a pattern
          at test_connectors.py:*: lambda: charges.write.files(tmp_path / "out" / "*", format="json"),
          hint: name one folder
          more: headrace error BAD_OPTION
        """,
        lambda: charges.write.files(tmp_path / "out" / "*", format="json"),
        hide={str(tmp_path): "<folder>"},
    )


def test_path_missing(tmp_path: Path) -> None:
    (tmp_path / "charges").mkdir()
    source = files.Source(tmp_path / "chrages", format="json", schema=SCHEMA)
    check_error(
        """
        PATH_MISSING: there is no file or folder <folder>/chrages
          at test_connectors.py:*: lambda: source.check(),
          hint: did you mean `charges`? The full path is <folder>/chrages; the parent folder has: charges
          more: headrace error PATH_MISSING
        """,
        lambda: source.check(),
        hide={str(tmp_path): "<folder>"},
    )


def test_path_empty(tmp_path: Path) -> None:
    (tmp_path / "_hidden.json").write_text("{}")
    source = files.Source(tmp_path, format="json", schema=SCHEMA)
    check_error(
        """
        PATH_EMPTY: there is nothing to read in <folder>: Spark ignores its files, whose names begin with `_` or `.`: _hidden.json
          at test_connectors.py:*: lambda: source.check_first(),
          hint: rename them, put files there first, or wait for them with follow=True
          more: headrace error PATH_EMPTY
        """,
        lambda: source.check_first(),
        hide={str(tmp_path): "<folder>"},
    )


def test_path_with_marks_of_hadoop_alone(tmp_path: Path) -> None:
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-0.json.crc"):
        (tmp_path / name).write_text("")
    source = files.Source(tmp_path, format="json", schema=SCHEMA)
    check_error(
        """
        PATH_EMPTY: there is nothing to read in <folder>: the folder has no files
          at test_connectors.py:*: lambda: source.check_first(),
          hint: put files there first, or wait for them with follow=True
          more: headrace error PATH_EMPTY
        """,
        lambda: source.check_first(),
        hide={str(tmp_path): "<folder>"},
    )


def test_path_with_files_in_subfolders_alone(tmp_path: Path) -> None:
    for name in ("2026/11/a.json", "2026/11/b.json", "2026/12/c.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    source = files.Source(tmp_path, format="json", schema=SCHEMA)
    lookup = files.Lookup(tmp_path, format="json", schema=SCHEMA)
    message = """
        PATH_EMPTY: there is nothing to read in <folder>: its files are in subfolders (2 files in <folder>/2026/11 and 1 in others)
          at test_connectors.py:*: {call},
          hint: to read subfolders too, set options={{"recursiveFileLookup": "true"}}
          more: headrace error PATH_EMPTY
        """
    check_error(
        message.format(call="lambda: source.check_first()"),
        lambda: source.check_first(),
        hide={str(tmp_path): "<folder>"},
    )
    check_error(
        message.format(call="lambda: lookup.check()"),
        lambda: lookup.check(),
        hide={str(tmp_path): "<folder>"},
    )


def test_pattern_without_files(tmp_path: Path) -> None:
    source = files.Source(tmp_path / "*.json", format="json", schema=SCHEMA)
    check_error(
        """
        PATH_EMPTY: there is nothing to read in <folder>/*.json: no file matches the pattern
          at test_connectors.py:*: lambda: source.check_first(),
          hint: put files there first, or wait for them with follow=True
          more: headrace error PATH_EMPTY
        """,
        lambda: source.check_first(),
        hide={str(tmp_path): "<folder>"},
    )


def test_partition_folders(tmp_path: Path) -> None:
    (tmp_path / "card=a").mkdir()
    (tmp_path / "card=a" / "part.json").write_text('{"amount": 1}')
    source = files.Source(tmp_path, format="json", schema=SCHEMA)
    check_error(
        """
        PARTITION_FOLDERS: <folder> has folders card=..., but for JSON and CSV files columns are not read from folder names
          at test_connectors.py:*: lambda: source.check(),
          hint: use Parquet, ORC or Avro, or remove `card` from the schema
          more: headrace error PARTITION_FOLDERS
        """,
        lambda: source.check(),
        hide={str(tmp_path): "<folder>"},
    )


def test_columns_with_names_of_scans(tmp_path: Path) -> None:
    files.Source(tmp_path, format="json", schema="_file string, n int")
    check_error(
        """
        BAD_OPTION: read.files: columns of parquet files cannot be named _file or _Weight: these names are reserved
          at test_connectors.py:*: lambda: files.Source(tmp_path, format="parquet", schema="_file string, n int, _Weight int"),
          hint: remove them from the schema, or write the files with other column names
          more: headrace error BAD_OPTION
        """,
        lambda: files.Source(tmp_path, format="parquet", schema="_file string, n int, _Weight int"),
    )


def test_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("{}")
    check_error(
        """
        NOT_A_FOLDER: <folder>/out.json is a file, and a files sink writes into a folder
          at test_connectors.py:*: lambda: charges.write.files(tmp_path / "out.json", format="json"),
          hint: name a folder
          more: headrace error NOT_A_FOLDER
        """,
        lambda: charges.write.files(tmp_path / "out.json", format="json"),
        hide={str(tmp_path): "<folder>"},
    )


def test_folder_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    sink = files.Sink(tmp_path / "out", format="json")
    if os.geteuid() == 0:  # for root no folder is closed
        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        tmp_path.chmod(0o500)
    check_error(
        """
        FOLDER_NOT_WRITABLE: <folder>/out cannot be written: Permission denied
          hint: give this user write permission on it, or choose another folder
          more: headrace error FOLDER_NOT_WRITABLE
        """,
        lambda: sink.open(context(tmp_path)),
        hide={str(tmp_path): "<folder>"},
    )


def test_folder_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    sink = files.Sink(tmp_path / "out", format="json")
    monkeypatch.setattr(Path, "mkdir", refuse)
    check_error(
        """
        FOLDER_NOT_WRITABLE: <folder>/out cannot be written: No space left on device
          hint: free space on its disk
          more: headrace error FOLDER_NOT_WRITABLE
        """,
        lambda: sink.open(context(tmp_path)),
        hide={str(tmp_path): "<folder>"},
    )


def test_rows_gone() -> None:
    source = memory.Source.from_options({"rows": 3, "digest": "d"}, parse_schema(SCHEMA))
    check_error(
        """
        ROWS_GONE: the rows of a memory source exist only in the process that built the job; a stored plan has only their number
          hint: run the Python file that builds the job, or put the rows into files
          more: headrace error ROWS_GONE
        """,
        lambda: source.check(),
    )


def test_schema_needed() -> None:
    class Wire(memory.Source):
        connector = "wire"

        def infer(self, session: Any) -> Any:
            return ports.Source.infer(self, session)

    check_error(
        """
        SCHEMA_NEEDED: wire cannot infer its columns
          at test_connectors.py:*: return ports.Source.infer(self, session)
          hint: give them, for example schema="card string, amount double"
          more: headrace error SCHEMA_NEEDED
        """,
        lambda: Wire([], SCHEMA).infer(None),
    )


def test_function_gone(tmp_path: Path) -> None:
    sink = foreach_batch.Sink.from_options({"function": "tests.unit.errors:send_all"})
    check_error(
        """
        FUNCTION_GONE: the foreach_batch function send_all cannot be imported from tests.unit.errors
          hint: run the Python file that defines it, or move it to a module that can be imported
          more: headrace error FUNCTION_GONE
        """,
        lambda: sink.open(context(tmp_path)),
    )


def test_function_failed(tmp_path: Path) -> None:
    class Reader:
        def schema(self, ddl: str) -> Reader:
            return self

        def parquet(self, *paths: str) -> list[str]:
            return list(paths)

    class Session:
        read = Reader()

    def send(frame: object, epoch: int) -> None:
        raise ValueError("no route to host")

    sink = foreach_batch.Sink(send)
    sink.open(ports.SinkContext("job", "sink", parse_schema(SCHEMA), cast(Any, Session()), tmp_path, "c1"))
    staged = ports.Staged(1, ({"path": "part-0.parquet", "rows": 1, "bytes": 2},))
    check_error(
        """
        FUNCTION_FAILED: test_function_failed.<locals>.send failed in epoch 3 of the sink `sink`: ValueError: no route to host
          hint: correct the function and start again: the epoch is not committed, and the function is called again with the same rows
          more: headrace error FUNCTION_FAILED
        """,
        lambda: sink.commit(3, staged),
    )


def test_no_files_to_find_columns_in(tmp_path: Path) -> None:
    source = files.Source(tmp_path, format="json")
    check_error(
        """
        PATH_EMPTY: there is nothing to read in <folder>: the folder has no files
          at test_connectors.py:*: lambda: source.infer(cast(Any, None)),
          hint: put files there first, or give the columns: schema="card string, amount double"
          more: headrace error PATH_EMPTY
        """,
        lambda: source.infer(cast(Any, None)),
        hide={str(tmp_path): "<folder>"},
    )
