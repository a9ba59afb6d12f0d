"""The tables of options in the documentation are those that the connectors declare."""

from __future__ import annotations

from tools import option_tables


def test_the_tables_are_current() -> None:
    pages = list(option_tables.pages())
    assert pages
    for page in pages:
        assert page.read_text(encoding="utf-8") == option_tables.written(page), "write them again: make generated"
