"""What goes wrong, and what the user is told: each case is a test with the real server, and a row of docs/connectors/problems.md."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import headrace as hr


def problem(where: str, what: str, says: str, then: str) -> pytest.MarkDecorator:
    """Marks a test as that of a case. `says` is the whole text of the error, the reason of the dead letter, or nothing, where the job waits
    and goes on; the test gets it as the fixture of that name. `then`: what becomes of the rows, and what to do.

    All four are texts or names of texts: `tools/problems_table.py` reads them without running anything.
    """
    return pytest.mark.problem(where, what, textwrap.dedent(says).strip(), then)


@pytest.fixture
def says(request: pytest.FixtureRequest) -> str:
    """What the user is told, as the case of the test has it."""
    marker = request.node.get_closest_marker("problem")
    assert marker is not None
    return str(marker.args[2])


def letters(checkpoint: Path) -> list[tuple[str, str, str | None, int | None, str]]:
    """The dead letters of a checkpoint: where, why, the file, the position and the text."""
    return sorted((row[3], row[4], row[5], row[6], row[7]) for row in hr.letters(checkpoint).table().rows())


def lines(folder: Path) -> list[dict[str, Any]]:
    """The rows of a files sink, read by nothing of headrace's but the list of files."""
    return [json.loads(line) for file in hr.committed_files(folder) for line in file.read_text(encoding="utf-8").splitlines()]
