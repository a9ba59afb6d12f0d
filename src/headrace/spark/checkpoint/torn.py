"""Interrupted writes to Spark's checkpoint of a query."""

from __future__ import annotations

from pathlib import Path


def clear(query: Path) -> None:
    """Remove temporary files of logs and of state that were never renamed, and checksums whose file is gone.

    Each kill leaves some, and nothing else removes them. Before the first epoch Spark takes such a file for an entry of its logs, which it
    expects to be empty.

    >>> import tempfile
    >>> query = Path(tempfile.mkdtemp())
    >>> for name in ("offsets/.0.e20d31a9.tmp", "offsets/0", "state/0/1/.5_3f2a.changelog.9b1c.tmp", "state/0/1/SSTs/.04-77ab.sst.crc"):
    ...     (query / name).parent.mkdir(parents=True, exist_ok=True)
    ...     (query / name).touch()
    >>> clear(query)
    >>> [file.name for file in query.rglob("*") if file.is_file()]
    ['0']
    """
    for file in query.rglob(".*.tmp"):
        file.unlink(missing_ok=True)
    for checksum in query.glob("state/*/*/*/.*.crc"):
        if not checksum.with_name(checksum.name[1:-4]).exists():
            checksum.unlink(missing_ok=True)
