"""Damage in a checkpoint, file by file; needs no JVM.

Spark's logs have Hadoop's checksums beside them (`.7.crc` beside `7`), its state files have their sizes there (`8_UUID.zip.crc`), and
headrace's own files have checksums inside. Files without any, from earlier versions, are only checked by reading them.
"""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace.durable.sums import unreadable
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.history import History

_HEADER = b"crc\0"
_SMALL = 16 << 20
_STATE = "the state of the last epoch"


@dataclass(frozen=True)
class Damage:
    """A file that is not what was written: its kind, and what is wrong with it."""

    file: Path
    kind: str
    problem: str

    def error(self) -> HeadraceError:
        return unreadable(self.file, f"{self.problem} ({self.kind})")


def needed(query: Path) -> Iterator[Damage]:
    """Yield damage to the small files that a start reads first, and missing state. The kernel checks the rest as it reads it."""
    history = History(query, query, "")
    if history.logged("offsets") < 0:
        return
    for log, epochs in (("offsets", (0, 1)), ("commits", (0, 1))):
        last = history.logged(log)
        yield from _each((query / log / str(last - back) for back in epochs if last >= back), _LOGS[log])
    yield from _each([query / "metadata"], _METADATA)
    yield from _operators(query)
    yield from (Damage(place, _STATE, "it is gone") for place, files in state_files(query, history.logged("commits")) if not files)


def whole(query: Path) -> Iterator[Damage]:
    """Yield damage to any file of a query."""
    yield from _each([query / "metadata"], _METADATA)
    for log in ("offsets", "commits"):
        yield from _each(_numbered(query / log), _LOGS[log])
    yield from _each((file for folder in sorted(query.glob("sources/*")) for file in _files(folder)), _SOURCE)
    yield from _operators(query)
    yield from _state(query, History(query, query, "").logged("commits"))


def _operators(query: Path) -> Iterator[Damage]:
    for operator in sorted(query.glob("state/*")):
        yield from _each(_numbered(operator / "_metadata" / "v2"), _OPERATOR)
        yield from _each(_files(operator / "_stateSchema"), _SCHEMA)


def _state(query: Path, epoch: int) -> Iterator[Damage]:
    """Yield damage to the state of the last committed epoch, as far as sizes and archives show it."""
    for place, files in state_files(query, epoch):
        if not files:
            yield Damage(place, _STATE, "it is gone")
        for file in files:
            kind = "a snapshot of state" if file.suffix == ".zip" else "the state changes of the last epoch"
            yield from _each([file], (kind, _sized))
            if file.suffix == ".zip":
                yield from _each([file], (kind, _archive))


def state_files(query: Path, epoch: int) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the files with the state of each partition of a query after a committed epoch, and the path at which they are expected."""
    if epoch < 0:
        return
    try:
        ids = json.loads(_lines(query / "commits" / str(epoch))[1]).get("stateUniqueIds") or {}
    except (OSError, ValueError, IndexError):
        return
    for operator, partitions in ids.items():
        for partition, stores in enumerate(partitions):
            for store in stores:
                place = query / "state" / operator / str(partition) / f"{epoch + 1}_{store}.changelog"
                yield place, [file for file in (place, place.with_suffix(".zip")) if file.exists()]


def _each(files: Iterable[Path], how: tuple[str, Callable[[Path], object]]) -> Iterator[Damage]:
    kind, read = how
    for file in files:
        try:
            _summed(file)
            read(file)
        except FileNotFoundError:
            yield Damage(file, kind, "it is gone")
        except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile, zlib.error) as problem:
            yield Damage(file, kind, str(problem) or type(problem).__name__)


def _summed(file: Path) -> None:
    """Compare a file with the checksums beside it, if there are any."""
    try:
        sums = file.with_name(f".{file.name}.crc").read_bytes()
    except FileNotFoundError:
        return
    if not sums:
        return
    data = file.read_bytes()
    (chunk,) = struct.unpack(">I", sums[4:8]) if sums[:4] == _HEADER and len(sums) >= 8 else (0,)
    expected = b"".join(struct.pack(">I", zlib.crc32(data[at : at + chunk])) for at in range(0, len(data), chunk)) if chunk else None
    if expected != sums[8:]:
        raise ValueError("its checksum is not that of what was written")


def _sized(file: Path) -> None:
    """Compare a file of state with Spark's notes beside it: its size, and its checksum unless that would take minutes."""
    beside = file.with_name(f"{file.name}.crc")
    if not beside.exists():
        return
    sums, size = json.loads(beside.read_text(encoding="utf-8")), file.stat().st_size
    if sums["mainFileSize"] != size:
        raise ValueError(f"it has {size} bytes instead of {sums['mainFileSize']}")
    if sums["algorithm"] == "CRC32C" and size <= _SMALL and _crc32c(file.read_bytes()) != sums["value"] % (1 << 32):
        raise ValueError("its checksum is not that of what was written")


def _crc32c(data: bytes) -> int:
    """CRC-32C (RFC 3720, appendix B.4), which Python lacks."""
    table, crc = _castagnoli(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _castagnoli() -> tuple[int, ...]:
    def entry(value: int) -> int:
        for _ in range(8):
            value = (value >> 1) ^ 0x82F63B78 if value & 1 else value >> 1
        return value

    return tuple(map(entry, range(256)))


def _archive(file: Path) -> None:
    """Check a snapshot, and the files of RocksDB that it names."""
    with zipfile.ZipFile(file) as archive:
        damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"its entry {damaged} is damaged")
        names: dict[str, Any] = json.loads(archive.read("metadata").decode().partition("\n")[2])
    for one in names.get("sstFiles", ()):
        table = file.parent / "SSTs" / one["dfsSstFileName"]
        if not table.exists() or table.stat().st_size != one["sizeBytes"]:
            raise ValueError(f"{table} is {'not what was written' if table.exists() else 'gone'}")


def _lines(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0].startswith("v"):
        raise ValueError("it does not begin with a format version")
    return lines


def _offsets(file: Path) -> None:
    _, metadata, *offsets = _lines(file)
    if "batchTimestampMs" not in json.loads(metadata) or not offsets:
        raise ValueError("it is truncated")
    for line in offsets:
        json.loads(line.partition(":")[2])


def _commit(file: Path) -> None:
    json.loads(_lines(file)[1])


def _entries(file: Path) -> None:
    text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text(encoding="utf-8")
    version, *lines = text.splitlines() or [""]
    if not version.startswith("v"):
        raise ValueError("it does not begin with a format version")
    for line in lines:
        json.loads(line)["path"]


def _json(file: Path) -> None:
    json.loads(file.read_text(encoding="utf-8"))


def _described(file: Path) -> None:
    json.loads("\n".join(_lines(file)[1:]))


def _begun(file: Path) -> None:
    if not file.read_bytes():
        raise ValueError("it is empty")


_LOGS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "offsets": ("the offset log of an epoch", _offsets),
    "commits": ("the commit log of an epoch", _commit),
}
_SOURCE = ("the file log of a source", _entries)
_METADATA = ("the metadata of the query", _json)
_OPERATOR = ("the operator metadata of a level", _described)
_SCHEMA = ("the state schema of a level", _begun)


def _numbered(folder: Path) -> list[Path]:
    """Return the files of a log in order, including compacted ones."""
    return sorted(
        (file for file in _files(folder) if file.name.partition(".")[0].isdigit()), key=lambda file: int(file.name.partition(".")[0])
    )


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
