"""The ids under which Kafka sinks write: no two sinks of a checkpoint have the same, and a sink keeps the one with which it began."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from headrace.connectors.kafka.noted import id_of

NAMES = ("out", "out-1", "out-1-1", "out-start", "out.", "out-1.", "out-1..", "out-start.")


def context(folder: Path, name: str) -> Any:
    return SimpleNamespace(checkpoint=folder, name=name)


def test_all_differ(tmp_path: Path) -> None:
    ids = {name: id_of(context(tmp_path, name), "p-") for name in NAMES}
    used = [*ids.values(), *(f"{id}-{part}" for id, part in product(ids.values(), ("0", "1", "start")))]
    assert len(used) == len(set(used))
    assert (ids["out"], ids["out-1"]) == ("p-out", "p-out-1.")


def test_a_sink_keeps_its_id(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    for name, note, id in (
        ("a-1", {"topic": "t"}, "p-a-1"),
        ("b-1", {"topic": "t", "id": "p-b-1"}, "p-b-1"),
        ("c-1", {"topic": "t", "id": "p-c-1."}, "p-c-1."),
        ("d-1", {"topic": "t", "id": "of-parent-d-1"}, "p-d-1."),
    ):
        (tmp_path / "kafka" / f"{name}.json").write_text(json.dumps(note))
        assert id_of(context(tmp_path, name), "p-") == id
