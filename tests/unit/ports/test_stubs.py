"""The stubs of hr.read, hr.lookup and .write say what the connectors take."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import headrace as hr

TOOL = Path(__file__).resolve().parents[3] / "tools" / "stubs.py"


@pytest.mark.parametrize("name", ["read.pyi", "tables.pyi", "write.pyi"])
def test_stubs_are_current(name: str) -> None:
    spec = importlib.util.spec_from_file_location("stubs", TOOL)
    assert spec is not None and spec.loader is not None
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    written = (stubs.FOLDER / name).read_text(encoding="utf-8")
    assert written == stubs.formatted(stubs.STUBS[name]()), "write them again: make generated"


def test_dir_lists_connectors() -> None:
    stream = hr.read.memory([], "a int", name="s")
    assert {"files", "memory", "rate", "values"} <= set(dir(hr.read))
    assert {"console", "files", "foreach_batch", "memory"} <= set(dir(stream.write))
    assert dir(hr.read) == sorted(dir(hr.read)) and "console" not in dir(hr.read)
    assert {"files", "memory"} <= set(dir(hr.lookup)) and "console" not in dir(hr.lookup)
    assert "last rows" in str(stream.write.console.__doc__)
