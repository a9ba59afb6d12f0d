"""The history of a files sink that a checkpoint has read: a producer that starts over reuses file names for other rows."""

from __future__ import annotations

from headrace import ports
from headrace.connectors.files.remote import RemoteManifest
from headrace.durable import sums
from headrace.durable.atomic import replace
from headrace.durable.filelog import last_of
from headrace.durable.manifest import Manifest
from headrace.errors import ConnectorError


def same(context: ports.SourceContext, manifest: Manifest | RemoteManifest) -> None:
    """Raise if a folder that was read no longer holds the newest epoch seen at the last start. Record its newest epoch now."""
    note = context.checkpoint / "histories" / f"{context.name}.json"
    known = sums.read(note)
    if known is not None and last_of(context.checkpoint / "sources" / context.name) >= 0:
        mark = ports.Mark(known["epoch"], known["identity"])
        if not manifest.keeps(mark):
            raise ConnectorError(
                "TABLE_REPLACED",
                f"{context.name}: {manifest.folder} was rewritten since it was read: it no longer has epoch {mark.epoch}",
                hint="start over with fresh=True, which reads what is there now",
            )
    now = manifest.mark()
    if now.epoch >= 0:
        note.parent.mkdir(parents=True, exist_ok=True)
        replace(note, sums.text_of({"epoch": now.epoch, "identity": now.identity}))
