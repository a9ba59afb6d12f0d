"""Shows a stream in a terminal: its current rows, with the changes of the last epoch marked."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headrace.client.drawing import cells, empty
from headrace.engine.live import Board, follow
from headrace.ops.stream import Stream
from headrace.schema import Struct
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.summary import Summary

if TYPE_CHECKING:
    from rich.console import Group

_STYLES = {"+": "green", "~": "yellow"}


def watch(stream: Stream, epochs: int | None = None) -> Summary:
    """Show a stream until Ctrl-C or q, the end of its input, or `epochs` epochs have run."""
    from rich.console import Console
    from rich.live import Live

    schema = stream.schema
    console = Console(highlight=False)
    with _keys() as pressed, Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def look(board: Board, run: Run, signals: Signals) -> None:
            enough = epochs is not None and board.epoch + 1 >= epochs
            if "q" in pressed() or (enough and not signals.stop_requests):
                signals.stop_requests += 1
            live.update(drawn(board, schema, max(console.height - 6, 1), run.status), refresh=True)

        return follow(stream, look)


def drawn(board: Board, schema: Struct, height: int, status: str) -> Group:
    """Return the newest rows that fit, and below them the state of the run."""
    from rich.console import Group
    from rich.text import Text

    lines = [line for line in board.lines() for _ in range(line.times)]
    table = empty(schema, "", wraps=False)
    for line in lines[-height:]:
        now = line.epoch == board.epoch
        table.add_row(line.mark if now else " ", *cells(line.row), style=_STYLES[line.mark] if now else None)
    hidden = max(len(lines) - height, 0)
    more = f", {hidden:,} above" if hidden else ""
    epoch = "no epoch yet" if board.epoch < 0 else f"epoch {board.epoch}"
    caption = f"{board.rows:,} row{'' if board.rows == 1 else 's'}{more} · {epoch} · {status}"
    ends = " · Ctrl-C or q to end" if status == "running" else ""
    return Group(table, Text(caption + ends, style="dim"))


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Yield a function that returns the keys typed since its last call; none if standard input is no terminal."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    import termios
    import tty

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)

    def pressed() -> str:
        return os.read(number, 100).decode(errors="replace") if select.select([number], [], [], 0)[0] else ""

    try:
        tty.setcbreak(number)
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
