"""What a write that was cut off has left behind in Spark's logs."""

from __future__ import annotations

from pathlib import Path


def clear(query: Path) -> None:
    """Remove what was to become an entry of a query's logs, and has not.

    Spark takes such a file for an entry where it expects an empty log: in front of the first epoch.

    >>> import tempfile
    >>> query = Path(tempfile.mkdtemp())
    >>> (query / "offsets").mkdir()
    >>> for name in (".0.e20d31a9.tmp", "0"):
    ...     (query / "offsets" / name).touch()
    >>> clear(query)
    >>> [file.name for file in (query / "offsets").iterdir()]
    ['0']
    """
    for log in ("offsets", "commits"):
        for file in (query / log).glob(".*.tmp"):
            file.unlink(missing_ok=True)
