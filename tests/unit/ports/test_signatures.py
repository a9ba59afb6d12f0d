"""What `help` and notebooks show of `hr.read.*`, `hr.lookup.*` and `.write.*`, also of connectors of other packages."""

from __future__ import annotations

import inspect
import pydoc
import typing
from pathlib import Path

import headrace as hr
from headrace.ops.stream import Stream
from headrace.ops.write import Sink
from headrace.ports.registry import names_with
from tests.spark.conformance.lines import installed


def test_a_source() -> None:
    assert str(inspect.signature(hr.read.files)) == (
        "(path: str | os.PathLike[str], *, format: str, schema: Any = None, follow: bool = False, by: str = 'name',"
        " files_per_epoch: int | None = None, malformed: str = 'dead_letter', broken_files: str = 'fail',"
        " options: collections.abc.Mapping[str, typing.Any] | None = None,"
        " change_column: str | None = None, change_format: str | None = None, key: str | collections.abc.Sequence[str] | None = None,"
        " trusted: bool | None = None, name: str | None = None) -> headrace.ops.stream.Stream"
    )
    shown = pydoc.render_doc(hr.read.files, renderer=pydoc.plaintext)
    assert "function files in module headrace.connectors.files" in shown
    assert "files(path: str | os.PathLike[str], *, format: str, " in shown
    assert "Reads the rows of JSON, CSV, Parquet, ORC or Avro files." in shown
    assert typing.get_type_hints(hr.read.files)["return"] is Stream


def test_a_sink() -> None:
    stream = hr.read.memory([], "a int", name="s")
    assert str(inspect.signature(stream.write.memory)) == (
        "(*, key: str | collections.abc.Sequence[str] | None = None, name: str | None = None, mode: str | None = None)"
        " -> headrace.ops.write.Sink"
    )
    assert inspect.signature(stream.write.jdbc).return_annotation is Sink


def test_a_lookup() -> None:
    parameters = inspect.signature(hr.lookup.files).parameters
    assert list(parameters)[:2] == ["path", "format"] and list(parameters)[-5:] == ["cache", "cache_keys", "batch", "in_flight", "retry"]
    assert str(parameters["constant"]) == "constant: bool = False"


def test_no_type_is_left_as_a_text() -> None:
    stream = hr.read.memory([], "a int", name="s")
    verbs = [
        getattr(where, name)
        for where, kind in ((hr.read, "Source"), (stream.write, "Sink"), (hr.lookup, "Lookup"))
        for name in names_with(kind)
    ]
    texts = {
        f"{verb.__name__}.{one.name}": one.annotation
        for verb in verbs
        for one in inspect.signature(verb).parameters.values()
        if isinstance(one.annotation, str)
    }
    assert texts == {}


def test_a_connector_of_another_package(tmp_path: Path) -> None:
    with installed("tray", "tests.spark.tray", tmp_path):
        assert str(inspect.signature(hr.read.tray)) == (
            "(folder: str, schema: str | headrace.schema.types.Struct, *, name: str | None = None) -> headrace.ops.stream.Stream"
        )
        stream = hr.read.memory([], "a int", name="s")
        assert list(inspect.signature(stream.write.tray).parameters) == ["folder", "name", "mode", "on_refused"]
