"""The demo's job: two sources, two programs, four sinks."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

from headrace.demo import events
from headrace.demo.pipeline import delays

_folder = Path(gettempdir()) / "headrace-certify-demo"
if not (_folder / "laid").exists():
    events.lay_out(_folder / "events", lambda text: None)
    (_folder / "laid").touch()

job = delays(_folder / "events", _folder / "results")
