"""The prompt: what Tab offers, and where history lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory

from headrace.client.prompt import NameCompleter, history
from headrace.sql.catalogue import Catalogue
from headrace.syntax.script import statements


@pytest.fixture
def names() -> NameCompleter:
    catalogue = Catalogue()
    script = """
        CREATE SOURCE charges (card STRING, amount INT) WITH (connector = 'files', path = 'in', format = 'json');
        CREATE SINK outcome WITH (connector = 'memory');
        """
    for statement in statements(script):
        catalogue.add(statement)
    return NameCompleter(catalogue)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("SELECT * FROM cha", ["charges"]),
        ("SELECT CAR", ["card"]),
        ("sele", ["select"]),
        ("SELE", ["SELECT"]),
        ("INSERT INTO outc", ["outcome"]),
        ("SET checkp", ["checkpoint"]),
        ("WITH (connector = 'mem", ["memory"]),
        ("SELECT ", []),
    ],
)
def test_completion(names: NameCompleter, text: str, offered: list[str]) -> None:
    assert [completion.text for completion in names.get_completions(Document(text), CompleteEvent())] == offered


def test_history_lies_in_the_folder_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept = history()
    assert isinstance(kept, FileHistory)
    kept.append_string("SELECT\n1;")
    again = history()
    assert list(again.load_history_strings()) == ["SELECT\n1;"]
    assert (tmp_path / "headrace" / "history").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "headrace" / "history"))
    assert isinstance(history(), InMemoryHistory)
