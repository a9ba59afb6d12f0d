"""Rows that a sink cannot hold, beside the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from headrace.ports import Staged
from headrace.ports.aside import FOLDER, counted, put_aside, put_aside_by_tasks
from tests.unit.errors import check_error


def part(*letters: tuple[str, str]) -> dict[str, str]:
    """What a task says of its rows."""
    return {"task": "7", "aside": json.dumps([{"reason": reason, "raw": raw} for reason, raw in letters])} if letters else {"task": "8"}


def test_an_epoch_that_is_done_again_puts_the_same_rows_aside(tmp_path: Path) -> None:
    context: Any = SimpleNamespace(checkpoint=tmp_path, name="out", on_refused="dead_letter")
    assert counted(tmp_path) == {}
    for parts in ((part(("too large", "b")), part(), part(("too large", "a"))), (part(("too large", "a"), ("too large", "b")),)):
        put_aside_by_tasks(context, 3, Staged(5, parts=parts))
        put_aside_by_tasks(context, 4, Staged(5, parts=(part(),)))
        (file,) = (tmp_path / FOLDER / "out").iterdir()
        assert file.name == "00000000000000000003-00000.json"
        assert [json.loads(line) for line in file.read_text().splitlines()] == [
            {"node": "out", "reason": "too large", "file": None, "position": None, "raw": raw} for raw in "ab"
        ]
        assert counted(tmp_path) == {str(tmp_path / FOLDER / "out"): 2}


def test_what_is_no_longer_refused_is_no_letter(tmp_path: Path) -> None:
    context: Any = SimpleNamespace(checkpoint=tmp_path, name="out", on_refused="dead_letter")
    put_aside(context, 3, [("too large", "a")], 1)
    put_aside(context, 3, [("too large", "b")])
    put_aside(context, 3, [], 1)
    assert [file.name for file in (tmp_path / FOLDER / "out").iterdir()] == ["00000000000000000003-00000.json"]


def test_a_job_that_is_to_fail_puts_nothing_aside(tmp_path: Path) -> None:
    context: Any = SimpleNamespace(checkpoint=tmp_path, name="out", on_refused="fail")
    put_aside(context, 3, [])
    check_error(
        """
        ROW_REFUSED: out: too large
          hint: correct such rows upstream of the sink, or make them dead letters: on_refused="dead_letter". Nothing of the epoch was written.
          more: headrace error ROW_REFUSED
        """,
        lambda: put_aside(context, 3, [("too large", "a")]),
    )
    assert not (tmp_path / FOLDER).exists()
