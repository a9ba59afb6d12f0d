"""Every public name has an entry in the reference, with all its parameters and an example."""

from __future__ import annotations

import re

import pytest
from tools import api_pages

import headrace as hr
from headrace import testing

ENTRIES = {name: list(api_pages.entries(name)) for _, _, names in api_pages.PAGES.values() for name in names.split()}


def test_every_public_name_is_on_one_page() -> None:
    listed = [name for _, _, names in api_pages.PAGES.values() for name in names.split()]
    assert sorted(listed) == sorted({*hr.__all__, *testing.__all__, "write"} - {"__version__"})


def test_the_pages_are_current() -> None:
    stale = [place.name for place, text in api_pages.texts().items() if place.read_text(encoding="utf-8") != text]
    assert stale == [], "write them again: make generated"


@pytest.mark.parametrize("name", ENTRIES)
def test_all_parameters_are_described(name: str) -> None:
    assert {entry.name: entry.undescribed for entry in ENTRIES[name] if entry.undescribed} == {}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_an_example(name: str) -> None:
    """Its own, or the one of its class where that uses it."""
    first, *rest = ENTRIES[name]
    used = set(re.findall(r"\.(\w+)", first.examples))
    without = [entry.name for entry in rest if not entry.examples and entry.name.rpartition(".")[2] not in used]
    assert [first.name] * (not first.examples) + without == []
