"""The prompt: lines typed by a person, with history, completion and colours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from headrace.client.client import Client
from headrace.client.output import Output
from headrace.errors import HeadraceError
from headrace.interrupts import terminated
from headrace.plan.meaning import MEANING
from headrace.ports.registry import connectors
from headrace.sql.catalogue import SETTINGS, Catalogue
from headrace.syntax.script import FORMS, SHOWN, finished, statements

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer

_WELCOME = "headrace: statements end with a semicolon; HELP lists them, QUIT or Ctrl-D leaves."
_HELP = ("HELP", "QUIT", "EXIT")

# The words of queries that completion offers.
_WORDS = """all and anti array as asc between by case cast connector count cross cube desc distinct else end except exists explode false
filter first following from full group having if in inner intersect interval into is join last lateral left like limit map max min not
null on or order outer over partition path preceding qualify range replace return returns right rollup row rows schema select semi set
sink source struct sum then true unbounded union using values view watermark when where window with"""


def prompt(output: Output) -> int:
    """Read statements and run them until QUIT, EXIT or Ctrl-D; return the exit code."""
    client = Client(output, talks=True)
    session: PromptSession[str] = PromptSession(
        history=history(),
        lexer=PygmentsLexer(SqlLexer),
        completer=NameCompleter(client.catalogue),
        complete_while_typing=False,
        multiline=True,
        key_bindings=_bindings(),
        prompt_continuation=lambda width, number, wrapped: "...".rjust(width - 1) + " ",
    )
    output.note(_WELCOME)
    while True:
        try:
            text = session.prompt("sql> ")
        except KeyboardInterrupt as stop:
            if terminated(stop):
                raise
            continue  # discards the line, as in a shell
        except EOFError:
            return 0
        word = text.strip().rstrip(";").strip().upper()
        if word in ("QUIT", "EXIT"):
            return 0
        if word == "HELP":
            output.text("\n".join(FORMS.values()))
        else:
            answer(client, text)


def answer(client: Client, text: str) -> None:
    """Run the typed text. An error or Ctrl-C ends it but not the prompt."""
    try:
        entered = statements(text)
        if entered:
            _awake()
            client.run(entered)
    except HeadraceError as error:
        client.output.error(error)
    except KeyboardInterrupt as stop:
        if terminated(stop):
            raise
        client.output.note("stopped")


def history() -> History:
    """Return the history in the user's state folder, or one in memory if that folder cannot be written."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(base) / "headrace"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "history").touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / "history"))


class NameCompleter(Completer):
    """Completes words of SQL, and names of tables, columns, functions, sinks, settings and connectors."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        begun = document.get_word_before_cursor(WORD=False)
        for name, what in self._known():
            if begun and name.lower().startswith(begun.lower()):
                # A word of SQL is completed in the case in which it was begun.
                shown = name.lower() if what == "" and begun.islower() else name
                yield Completion(shown, start_position=-len(begun), display_meta=what)

    def _known(self) -> Iterable[tuple[str, str]]:
        names: dict[str, str] = {}
        for stream_name, stream in self._catalogue.streams.items():
            names |= dict.fromkeys(stream.columns, "column")
            names[stream_name] = "table"
        for name in self._catalogue.created:
            names.setdefault(name, "function or sink")
        names |= dict.fromkeys((*SETTINGS, *MEANING), "setting")
        names |= dict.fromkeys(connectors(), "connector")
        words = {word for form in FORMS for word in form.split()} | {*SHOWN, *_HELP, *_WORDS.upper().split()}
        return [*sorted(names.items()), *((word, "") for word in sorted(words))]


def _bindings() -> KeyBindings:
    """Return the bindings: Enter accepts a text that ends with a semicolon or is a command of the prompt, else it begins a new line."""
    bindings = KeyBindings()

    @Condition
    def at_the_end() -> bool:
        from prompt_toolkit.application import get_app

        return _whole(get_app().current_buffer)

    @bindings.add("enter", filter=at_the_end)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


def _whole(buffer: Buffer) -> bool:
    return buffer.text.strip().upper() in _HELP or finished(buffer.text)


def _awake() -> None:
    """Start Spark if it does not run, and show that, since it takes some seconds."""
    from rich.console import Console

    from headrace.jvm.session import session

    with Console(stderr=True).status("starting Spark"):
        session()
