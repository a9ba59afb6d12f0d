"""How a folder of files comes back to an earlier epoch: later files are moved aside."""

from __future__ import annotations

from headrace import ports
from headrace.connectors.files.remote import RemoteManifest
from headrace.durable.manifest import Manifest
from headrace.durable.marks import named


def rewound(manifest: Manifest | RemoteManifest, sink: str, mark: ports.Mark) -> ports.Rewind:
    """The step that brings the folder back to an epoch. Raises CANNOT_REWIND."""
    if isinstance(manifest, RemoteManifest):
        raise ports.cannot_rewind(sink, "its folder is in an object store, where files cannot be moved in one step")
    entries = manifest.later(mark.epoch - 1)
    rewritten = next((one["epoch"] for one in entries if one.get("whole") and one["epoch"] > mark.epoch >= 0), None)
    if rewritten is not None:
        raise ports.cannot_rewind(sink, f"{named(rewritten)} replaced all rows that {manifest.folder} had")
    if mark.epoch >= 0 and not any(one["epoch"] == mark.epoch and mark.agrees(one.get("identity", "")) for one in entries):
        raise ports.cannot_rewind(sink, f"{manifest.folder} does not have {named(mark.epoch)} of this checkpoint")
    later = [one for one in entries if one["epoch"] > mark.epoch]
    tag = later[-1].get("identity", "")[:8] or "before"
    files = sum(len(one["files"]) for one in later)
    what = f"{files} file{'' if files == 1 else 's'} and {'its' if files == 1 else 'their'} manifest{'' if len(later) == 1 else 's'}"
    return ports.Rewind(
        f"{what} are moved to {manifest.aside(mark.epoch, tag)}",
        later[0]["epoch"],
        lambda: manifest.withdraw(mark.epoch, tag),
    )
