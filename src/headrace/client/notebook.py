"""Notebooks: SQL cells, results as tables, and streams whose rows are kept current below their cell."""

from __future__ import annotations

import argparse
import shlex
from html import escape
from typing import Any

from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.display import HTML, display

from headrace.client.client import Client
from headrace.client.output import Output
from headrace.engine.live import Board, follow
from headrace.engine.table import Table
from headrace.errors import HeadraceError
from headrace.ops.stream import Stream
from headrace.schema import Struct
from headrace.spark.run.run import Run
from headrace.spark.run.signals import Signals
from headrace.spark.run.summary import Summary
from headrace.syntax.script import statements

_COLOURS = {"+": "#e8f5e9", "~": "#fff8e1"}


def running() -> bool:
    """Return whether this process runs in a notebook, which can show HTML."""
    shell = get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def load(shell: Any) -> None:
    """Load the extension: cells that begin with `%%headrace` are SQL over the objects of earlier cells and over streams of Python."""
    client = Client(Shown(), talks=True)

    def headrace(line: str, cell: str) -> None:
        _cell(shell, client, line, cell)

    shell.register_magic_function(headrace, "cell")


class Shown(Output):
    """The output of a notebook."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: int | None = None

    @property
    def drawn(self) -> bool:
        return True

    def table(self, table: Table) -> None:
        display(table)

    def live(self, stream: Stream) -> Summary:
        return watch(stream, epochs=self.epochs)


def watch(stream: Stream, n: int = 20, epochs: int | None = None) -> Summary:
    """Show the newest rows of a stream until the kernel is interrupted, the input ends, or `epochs` epochs have run."""
    schema = stream.schema
    handle = display(HTML(""), display_id=True)

    def look(board: Board, run: Run, signals: Signals) -> None:
        if epochs is not None and board.epoch + 1 >= epochs and not signals.stop_requests:
            signals.stop_requests = 1
        handle.update(HTML(drawn(board, schema, n, run.status)))

    return follow(stream, look)


def drawn(board: Board, schema: Struct, n: int, status: str) -> str:
    """Return the board as HTML, with the changes of the last epoch in another colour."""
    head = "".join(f"<th>{escape(name)}</th>" for name in schema.names)
    body = ""
    lines = board.lines()
    for line in lines[-n:]:
        colour = f' style="background:{_COLOURS[line.mark]}"' if line.epoch == board.epoch else ""
        cells = "".join(f"<td>{'' if value is None else escape(str(value))}</td>" for value in line.row)
        body += f"<tr{colour}>{cells}</tr>" * min(line.times, n)
    caption = f"{board.rows:,} row{'' if board.rows == 1 else 's'}, " + ("no epoch yet" if board.epoch < 0 else f"epoch {board.epoch}")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{caption}, {escape(status)}</p>"


def _cell(shell: Any, client: Client, line: str, cell: str) -> None:
    """Run a cell. Streams in variables are tables in it. Its own tables become variables, unless that replaces one that is no stream."""
    assert isinstance(client.output, Shown)
    client.output.epochs = _options(line)
    known = client.catalogue.streams
    for name, value in shell.user_ns.items():
        if isinstance(value, Stream) and not name.startswith("_") and name not in client.catalogue.created:
            known[name] = value
    try:
        client.run(statements(cell, "cell"))
    except HeadraceError as error:
        # Show only the error's text, because the stack trace has only lines of this package.
        lines = str(error).splitlines()
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]  # IPython calls it
        raise
    finally:
        fresh = {name: known[name] for name in client.catalogue.created if name in known and name.isidentifier()}
        shell.push({name: stream for name, stream in fresh.items() if isinstance(shell.user_ns.get(name, stream), Stream)})


def _options(line: str) -> int | None:
    """Parse the options after `%%headrace`: `--epochs N`."""
    parser = argparse.ArgumentParser(prog="%%headrace", exit_on_error=False, add_help=False)
    parser.add_argument("--epochs", type=int)
    try:
        parsed, more = parser.parse_known_args(shlex.split(line))
    except argparse.ArgumentError as problem:
        raise UsageError(f"%%headrace: {problem}") from None
    if more:
        raise UsageError(f"%%headrace takes --epochs N, not {more[0]}")
    epochs: int | None = parsed.epochs
    return epochs
