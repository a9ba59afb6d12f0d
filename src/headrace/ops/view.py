"""Streams as DataFrames, so that a query can be built with PySpark's own calls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

from headrace.jvm.lift import view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.ops.stream import Stream

_numbers = count(1)
# A DataFrame knows its views by name alone, and may outlive what made it.
_streams: dict[str, Stream] = {}


def view_of(stream: Stream) -> DataFrame:
    """Return a DataFrame with the columns of a stream, for `hr.from_dataframe`; any action on it is refused."""
    name = f"stream {next(_numbers)}"
    _streams[name] = stream
    return view(name, stream.schema.ddl)


def streams() -> Mapping[str, Stream]:
    """Return the streams of all views, by the views' names."""
    return _streams
