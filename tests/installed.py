"""The connectors of this tree, whatever was installed when the environment was made, and the lists of them that errors show."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from headrace.ports import registry

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def of_this_tree() -> None:
    """Let headrace find the connectors that pyproject.toml names beside those that are installed."""
    named = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"][registry.GROUP]
    ours = {name: EntryPoint(name, value, registry.GROUP) for name, value in named.items()}

    def with_ours(*, group: str) -> Any:
        installed = {entry.name: entry for entry in entry_points(group=group)}
        return tuple({**installed, **ours}.values()) if group == registry.GROUP else entry_points(group=group)

    registry.entry_points = with_ours  # type: ignore[assignment]  # its one use is that of `connectors`
    registry.connectors.cache_clear()


of_this_tree()

READABLE = ", ".join(registry.names_with("Source"))
WRITABLE = ", ".join(registry.names_with("Sink"))
