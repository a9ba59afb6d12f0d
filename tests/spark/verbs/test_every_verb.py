"""Each verb has a file of tests that is called after it."""

from __future__ import annotations

from pathlib import Path

from headrace.ops.stream import Grouped, Keyed, Stream


def test_each_verb_has_a_file() -> None:
    public = {name for cls in (Stream, Grouped, Keyed) for name in dir(cls) if not name.startswith("_")}
    there = {file.stem.removeprefix("test_") for file in Path(__file__).parent.glob("test_*.py")}
    assert public - there == set()
