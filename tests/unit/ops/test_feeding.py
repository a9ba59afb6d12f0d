"""Who judges what a source takes away: a ledger, unless the source is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

import headrace.ports as ports
from headrace.ops import Ledger
from headrace.ops.feeding import taken
from headrace.ops.source import source
from headrace.schema import Struct, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Changes(ports.Source):
    """A connector whose rows come with weights of their own."""

    connector = "changes"
    schema: Struct = schema_of("k string")

    def __init__(self, checked: bool) -> None:
        self.checked = checked

    @property
    def traits(self) -> ports.SourceTraits:
        return ports.SourceTraits(bounded=True, replayable=True, why="it is a log", changes="changes", checked=self.checked)

    def options(self) -> dict[str, Any]:
        return {"checked": self.checked}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], schema: Struct) -> Changes:
        return cls(options["checked"])

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        raise AssertionError("nobody reads it here")


@pytest.mark.parametrize(
    ("checked", "options", "judged"),
    [
        (True, {}, True),
        (True, {"trusted": True}, False),
        (True, {"trusted": False}, True),
        (False, {}, False),
        (False, {"trusted": False}, False),
    ],
)
def test_a_connector_of_changes_is_judged_unless_it_is_trusted(checked: bool, options: dict[str, Any], judged: bool) -> None:
    stream = source(Changes(checked), "k string", "changes")
    assert isinstance(taken("changes", True, dict(options)).stream(stream), Ledger) == judged
