"""What it takes to add a verb or an operator: the files that name two of them. docs/contribute/adding.md ("An operator") says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.parts import NOTE

SOURCE = Path(__file__).resolve().parents[2] / "src" / "headrace"


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (r"[\"']sample[\"']|\bdef sample\b|SampleVerb|ops\.sample\b", {"ops/sample.py", "ops/stream.py"}),
        (r"HeavyHitters|heavy_hitters", {"ops/heavy_hitters.py", "ops/stream.py", "kernel/operator/HeavyHitters.scala"}),
    ],
    ids=["a verb that is composed of others", "an operator with state"],
)
def test_no_other_file_names_it(names: str, files: set[str]) -> None:
    texts = {
        file.relative_to(SOURCE).as_posix(): file.read_text(encoding="utf-8")
        for kind in ("py", "scala")
        for file in SOURCE.rglob(f"*.{kind}")
    }
    written_by_hand = {file: text for file, text in texts.items() if not text.startswith(NOTE)}
    assert {file for file, text in written_by_hand.items() if re.search(names, text)} == files
