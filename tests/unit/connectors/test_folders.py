"""Options of text formats that keep values whole."""

from __future__ import annotations

import re
from pathlib import Path

import headrace
from headrace.connectors.files.folders import whole_values


def test_times_are_written_as_those_of_dead_letters_are() -> None:
    """The kernel has its own copy, for rows that never come to Python."""
    scala = (Path(headrace.__file__).parent / "kernel" / "letter" / "TimeFormats.scala").read_text(encoding="utf-8")
    assert whole_values("json", {}) == dict(re.findall(r'"(\w+)" -> "([^"]+)"', scala)) != {}


def test_what_the_user_says_wins() -> None:
    options = whole_values("csv", {"timestampformat": "yyyy", "ignoreLeadingWhiteSpace": "true"})
    assert {name: value for name, value in options.items() if name.lower() in ("timestampformat", "ignoreleadingwhitespace")} == {
        "timestampformat": "yyyy",
        "ignoreLeadingWhiteSpace": "true",
    }
    assert options["ignoreTrailingWhiteSpace"] == "false"
