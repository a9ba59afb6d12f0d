"""The log of the files that a source has read, below `sources` in a query's checkpoint. The kernel writes it in `FileLog.scala`."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FILE = re.compile(r"(\d+)(?:\.compact|-(\d+)\.gz)?")
_READ = re.compile(r'([^:{]+):\{"logOffset":(\d+)\}')


def logs_read(offsets: Path) -> dict[str, int]:
    """Return the position up to which an epoch reads the file log of each source, from Spark's offset log.

    >>> import tempfile
    >>> offsets = Path(tempfile.mkdtemp()) / "7"
    >>> _ = offsets.write_text('v2\\n{}\\nrates:{"logOffset":3}\\nclock:{"rates":0}\\n')
    >>> logs_read(offsets), logs_read(offsets.with_name("8"))
    ({'rates': 3}, {})
    """
    try:
        lines = offsets.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    matches = (_READ.fullmatch(line) for line in lines)
    return {match[1]: int(match[2]) for match in matches if match}


def log_position(offset: str | None) -> int | None:
    """Return the position of an offset in a file log; None if it is not one.

    >>> log_position('{"logOffset":3}'), log_position('{"t":{"0":7}}')
    (3, None)
    """
    match = _READ.fullmatch(f"source:{offset}")
    return None if match is None else int(match[2])


def last_of(log: Path) -> int:
    """Return the last epoch in a log, -1 for none.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp())
    >>> (log / "0-99.gz").touch(), (log / "100").touch(), last_of(log), last_of(log / "none")
    (None, None, 100, -1)
    """
    matches = (_FILE.fullmatch(file.name) for file in log.glob("*"))
    return max((int(match[2] or match[1]) for match in matches if match), default=-1)


def paths_read(log: Path) -> Iterator[str]:
    """Return the paths of all files in a log, as the kernel spells them.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp())
    >>> _ = (log / "0-99.gz").write_bytes(gzip.compress(b'v2\\n{"path":"file:///in/a.json","batchId":0}\\n'))
    >>> _ = (log / "100").write_text('v2\\n{"path":"file:///in/b.json","batchId":100}\\n')
    >>> sorted(paths_read(log))
    ['file:///in/a.json', 'file:///in/b.json']
    """
    return (entry["path"] for entry in _entries(log))


def lengths_read(log: Path, end: int | None = None) -> dict[str, int | None]:
    """Return the number of bytes read of each file in a log, by path; None if it is unknown, or if the log records a change of the file.

    `end`: the last epoch of the log that counts; None for all.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp())
    >>> _ = (log / "0").write_text('v2\\n{"path":"file:///in/a.json","batchId":0}\\n')
    >>> _ = (log / "1").write_text('v3\\n{"path":"file:///in/b.json","batchId":1,"length":9}\\n{"path":"file:///in/c.json","batchId":1,"length":7}\\n')
    >>> _ = (log / "2").write_text('v3\\n{"path":"file:///in/b.json","batchId":2,"length":20,"was":9}\\n')
    >>> lengths_read(log)
    {'file:///in/a.json': None, 'file:///in/b.json': None, 'file:///in/c.json': 7}
    """
    lengths: dict[str, int | None] = {}
    changed = []
    for entry in _entries(log):
        if end is not None and entry["batchId"] > end:
            continue
        lengths[entry["path"]] = entry.get("length")
        if "was" in entry:
            changed.append(entry["path"])
    return {**dict(sorted(lengths.items())), **dict.fromkeys(changed)}


def read_by_last_epoch(query: Path, source: str) -> dict[str, int | None]:
    """Return the files that the last epoch of a query reads from a source, with their lengths as in `lengths_read`. Leaves out files that
    the epoch only reports as changed.

    >>> import tempfile
    >>> query = Path(tempfile.mkdtemp())
    >>> (query / "offsets").mkdir(), (query / "sources" / "rates").mkdir(parents=True)
    (None, None)
    >>> for epoch in (0, 1):
    ...     _ = (query / "offsets" / f"{epoch}").write_text(f'v2\\n{{}}\\nrates:{{"logOffset":{epoch}}}\\n')
    ...     entry = f'{{"path":"file:///in/{epoch}.json","batchId":{epoch},"length":9}}'
    ...     _ = (query / "sources" / "rates" / f"{epoch}").write_text(f"v3\\n{entry}\\n")
    >>> read_by_last_epoch(query, "rates")
    {'file:///in/1.json': 9}
    """
    epoch = max((int(file.name) for file in (query / "offsets").glob("*") if file.name.isdigit()), default=-1)
    before, to = (logs_read(query / "offsets" / str(one)).get(source, -1) for one in (epoch - 1, epoch))
    entries = (entry for entry in _entries(query / "sources" / source) if before < entry["batchId"] <= to and "was" not in entry)
    return {entry["path"]: entry.get("length") for entry in entries}


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    for file in log.glob("*"):
        if _FILE.fullmatch(file.name):
            content = file.read_bytes()
            text = gzip.decompress(content) if file.suffix == ".gz" else content
            for line in text.decode().split("\n")[1:]:
                if line:
                    yield json.loads(line)
