"""The interfaces of a source, a sink and a lookup. Connectors implement them and are registered by entry point."""

from headrace.durable.marks import Mark
from headrace.packages import Jar, Packages
from headrace.ports.elsewhere import Elsewhere
from headrace.ports.lookup import Lookup, LookupContext, LookupTraits
from headrace.ports.option import Options
from headrace.ports.ownership import Held, Holder, Ownership
from headrace.ports.registry import VERSION, connectors, lookup_class, packages, sink_class, source_class
from headrace.ports.secrets import Secret
from headrace.ports.sink import REFUSED, Rewind, Sink, SinkContext, SinkTraits, Staged, cannot_rewind, frame_in, rows_in
from headrace.ports.source import MALFORMED, Lines, Source, SourceContext, SourceTraits

__all__ = [
    "MALFORMED",
    "REFUSED",
    "VERSION",
    "Elsewhere",
    "Held",
    "Holder",
    "Jar",
    "Lines",
    "Lookup",
    "LookupContext",
    "LookupTraits",
    "Mark",
    "Options",
    "Ownership",
    "Packages",
    "Rewind",
    "Secret",
    "Sink",
    "SinkContext",
    "SinkTraits",
    "Source",
    "SourceContext",
    "SourceTraits",
    "Staged",
    "cannot_rewind",
    "connectors",
    "frame_in",
    "lookup_class",
    "packages",
    "rows_in",
    "sink_class",
    "source_class",
]
