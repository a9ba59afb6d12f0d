"""The rows of a stream while it runs: where they stand, and what the last epoch changed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, cast

import pytest

import headrace as hr
from headrace.client.output import Output
from headrace.client.screen import drawn
from headrace.engine import live
from headrace.engine.live import Board, Line
from headrace.ports import SinkContext, Staged
from headrace.schema import parse_schema

SCHEMA = parse_schema("card string, spent bigint")


def board(key: tuple[int, ...] | None, mode: str = "changes") -> Board:
    live_board = Board(key)
    live_board.open(SinkContext("live", "live", SCHEMA, cast(Any, None), Path(), "id", mode=mode))
    return live_board


def epoch(to: Board, number: int, *rows: tuple[Any, ...]) -> list[Line]:
    to.commit(number, Staged(len(rows), rows=lambda: list(rows)))
    return to.lines()


def test_a_row_takes_the_place_of_the_one_with_its_key() -> None:
    live_board = board((0,))
    assert epoch(live_board, 0, ("a", 7, 1), ("b", 5, 1)) == [Line(("a", 7), 1, 0, "+"), Line(("b", 5), 1, 0, "+")]
    assert epoch(live_board, 1, ("a", 9, 1), ("a", 7, -1), ("c", 1, 1)) == [
        Line(("a", 9), 1, 1, "~"),
        Line(("b", 5), 1, 0, "+"),
        Line(("c", 1), 1, 1, "+"),
    ]
    assert epoch(live_board, 2, ("b", 5, -1)) == [Line(("a", 9), 1, 1, "~"), Line(("c", 1), 1, 1, "+")]
    assert (live_board.rows, live_board.epoch) == (2, 2)
    # what comes again is new
    assert epoch(live_board, 3, ("b", 5, 1))[-1] == Line(("b", 5), 1, 3, "+")


def test_without_a_key_equal_rows_are_counted() -> None:
    live_board = board(None)
    assert epoch(live_board, 0, ("a", 7, 2), ("b", 5, 1)) == [Line(("a", 7), 2, 0, "+"), Line(("b", 5), 1, 0, "+")]
    assert epoch(live_board, 1, ("a", 7, -1), ("b", 6, 1), ("b", 5, -1)) == [Line(("a", 7), 1, 1, "~"), Line(("b", 6), 1, 1, "+")]
    assert live_board.rows == 2


def test_an_epoch_without_rows_changes_nothing_but_its_number() -> None:
    live_board = board((0,))
    epoch(live_board, 0, ("a", 7, 1))
    assert epoch(live_board, 1) == [Line(("a", 7), 1, 0, "+")]
    assert live_board.epoch == 1


def test_of_added_rows_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEPT", 2)
    live_board = board(None, "append")
    assert [line.row for line in epoch(live_board, 0, ("a", 1), ("b", 2), ("c", 3))] == [("b", 2), ("c", 3)]
    assert live_board.rows == 3


def test_the_table_in_a_terminal() -> None:
    from rich.console import Console

    live_board = board((0,))
    epoch(live_board, 0, ("a", 7, 1), ("b", None, 1), ("c", 1, 1))
    epoch(live_board, 4, ("c", 1, -1), ("c", 2, 1))
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(drawn(live_board, SCHEMA, 2, "running"))
    lines = console.export_text().splitlines()
    assert [line.replace("│", " ").split() for line in lines[3:5]] == [["b", "NULL"], ["~", "c", "2"]]
    assert lines[-1] == "3 rows, 1 above · epoch 4 · running · Ctrl-C or q to end"


def test_what_has_an_end() -> None:
    bounded = hr.read.memory([], "card string", name="charges")
    assert not live.endless(bounded)
    assert live.endless(hr.read.rate(1).select("value").union(bounded.select(value="card")))
    assert live.shows_changes(bounded.group_by("card").agg(n="count(*)"))


def test_what_is_printed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    table = hr.Table([("a, b", 1), (None, 2)], SCHEMA)
    Output("csv").lines(table, head=True)
    Output("csv").lines(table, head=False)
    assert capsys.readouterr().out == 'card,spent\n"a, b",1\n,2\n"a, b",1\n,2\n'
    Output("json").lines(table, head=True)
    assert capsys.readouterr().out == '{"card": "a, b", "spent": 1}\n{"card": null, "spent": 2}\n'
