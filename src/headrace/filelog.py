"""The log of the files that a source has read, below `sources` in the checkpoint of its query. The kernel writes it (`FileLog.scala`)."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path


def paths_read(log: Path) -> Iterator[str]:
    """The paths of all files in a log, as the kernel spells them.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp())
    >>> _ = (log / "0-99.gz").write_bytes(gzip.compress(b'v2\\n{"path":"file:///in/a.json","batchId":0}\\n'))
    >>> _ = (log / "100").write_text('v2\\n{"path":"file:///in/b.json","batchId":100}\\n')
    >>> sorted(paths_read(log))
    ['file:///in/a.json', 'file:///in/b.json']
    """
    for file in log.glob("*"):
        if re.fullmatch(r"\d+(\.compact|-\d+\.gz)?", file.name):
            content = file.read_bytes()
            text = gzip.decompress(content) if file.suffix == ".gz" else content
            for line in text.decode().split("\n")[1:]:
                if line:
                    yield json.loads(line)["path"]
