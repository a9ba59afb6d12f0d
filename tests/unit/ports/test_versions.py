"""Which version of the traits a connector was made for."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from headrace.errors import ConnectorError
from headrace.ports import registry


def test_ours_say_what_they_were_made_for() -> None:
    ours = {name: entry.load() for name, entry in registry.connectors().items() if entry.value.startswith("headrace.")}
    assert len(ours) > 10
    assert {name: getattr(module, "PORTS", None) for name, module in ours.items()} == dict.fromkeys(ours, registry.VERSION)


def test_one_that_does_not_say_was_made_for_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "old_lakes", ModuleType("old_lakes"))
    monkeypatch.setattr(registry, "connectors", lambda: {"mere": EntryPoint("mere", "old_lakes", registry.GROUP)})
    monkeypatch.setattr(registry, "VERSION", 0)
    with pytest.raises(ConnectorError, match=r"`mere` of old_lakes requires version 1 of headrace.ports, but this headrace has version 0"):
        registry.source_class("mere")
