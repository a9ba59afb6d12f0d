"""A lease: one process at a time works on a checkpoint, and a process that was replaced finds out.

lock.3     the third start of the checkpoint: its holder and for how long that may be silent, as JSON; empty after release

The file with the highest number, the term, is the lease. To take it, a process makes the next file, and only one process can. On one
machine a lock of the operating system on the file shows whether its holder lives. For other machines, and for a holder that hangs, the
file's time shows it: the holder updates it every few seconds. (M. Kleppmann, How to do distributed locking: the term is the fencing token.)
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError

SILENCE = 20.0
"""The seconds without a sign of life after which a waiting process gives up a holder, unless the holder has set its own."""

_LOOK = 0.2


@dataclass(frozen=True)
class Holder:
    """The process that a lock file names."""

    host: str
    pid: int
    silence: float = SILENCE
    answers: bool = True
    """Whether it runs the job, and carries out commands."""

    @classmethod
    def of(cls, file: Path) -> Holder | None:
        """Read a lock file; None if the lease was released, or if a crash of the machine cut the text."""
        try:
            stored = json.loads(file.read_bytes() or b"null")
            if stored is None:
                return None
            return cls(str(stored["host"]), int(stored["pid"]), float(stored.get("silence", SILENCE)), bool(stored.get("answers", True)))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def is_lock(name: str) -> bool:
    """Return whether a file of a checkpoint belongs to its lease; `lock` without a number is from versions before terms."""
    return re.fullmatch(r"lock(\.\d+)?", name) is not None


class Lease:
    """The right to work on the checkpoint in a folder, from construction to `release`.

    `waits` is called repeatedly with the reason to wait, and ends the wait by raising. Without it a checkpoint in use is refused
    (CHECKPOINT_IN_USE). `silence`: the seconds without a sign of life after which another process may take over. Terms continue after
    `after`, that of the checkpoint from which this one was made. `answers`: the holder runs the job, and carries out commands.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> first = Lease(folder); first.release()
    >>> second = Lease(folder); second.release()
    >>> first.term, second.term, [path.name for path in folder.iterdir()]
    (1, 2, ['lock.2'])
    """

    def __init__(
        self, folder: Path, waits: Callable[[str], None] | None = None, silence: float = SILENCE, after: int = 0, *, answers: bool = False
    ) -> None:
        self.folder = folder
        self._silence = silence
        self._answers = answers
        self.term = self._take(waits, after)
        self._before = self.term - 1
        self._path = _file(folder, self.term)
        self._released = threading.Event()
        self._beating = threading.Thread(target=self._beat, args=(silence / 8,), name="headrace lease", daemon=True)
        self._beating.start()

    def check(self) -> None:
        """Raise LEASE_LOST if another process has taken over."""
        newest, file = _newest(self.folder)
        if newest > self.term and file is not None:
            raise self._lost(Holder.of(file))

    def skip(self, terms: int) -> None:
        """Continue with a later term. A checkpoint restored from a backup repeats terms, and sinks know those of the copy that went on."""
        self._move(self.term + terms)

    def renew(self) -> None:
        """Continue with the next term: another version of the job starts in this process."""
        self._before = self.term
        self._move(self.term + 1)

    def _move(self, term: int) -> None:
        later = _file(self.folder, term)
        try:
            os.link(self._path, later)
        except FileExistsError:
            raise self._lost(Holder.of(later)) from None
        self._path.unlink()
        self.term, self._path = term, later

    def decline(self) -> None:
        """Give the term back if a start was refused before it wrote anything: the next start takes the same one."""
        if not self._released.is_set() and self._path.exists():
            # still locked until `release`: other processes see a living holder
            self._path = self._path.rename(_file(self.folder, self._before))

    def release(self) -> None:
        """Release the checkpoint. The file stays, empty, so that terms rise."""
        if self._released.is_set():
            return
        self._released.set()
        self._beating.join()
        os.ftruncate(self._file, 0)
        os.close(self._file)

    def _take(self, waits: Callable[[str], None] | None, after: int) -> int:
        watch = _Watch()
        while True:
            term, newest = _newest(self.folder)
            holder = None if newest is None else _living(newest)
            if newest is not None and holder is not None and not watch.silent(newest, holder.silence):
                if waits is None:
                    raise _in_use(self.folder, newest, holder)
                waits(f"the checkpoint {self.folder} is in use by {holder}; waiting to take over")
                time.sleep(_LOOK)
            elif self._claim(max(term, after) + 1):
                return max(term, after) + 1

    def _claim(self, term: int) -> bool:
        """Make the file of a term, with its holder and its lock. Only one process can; the others see this file or a later one."""
        fresh = self.folder / f".lock.{os.getpid()}.{threading.get_ident()}"
        self._file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            about = {"host": socket.gethostname(), "pid": os.getpid(), "silence": self._silence, "answers": self._answers}
            os.write(self._file, json.dumps(about).encode())
            os.fsync(self._file)
            os.link(fresh, _file(self.folder, term))
            if _newest(self.folder)[0] > term:
                raise FileExistsError
        except FileExistsError:
            os.close(self._file)
            return False
        except BaseException:
            os.close(self._file)
            raise
        finally:
            fresh.unlink()
        for name in os.listdir(self.folder):
            if is_lock(name) and _term(name) < term:
                (self.folder / name).unlink(missing_ok=True)
        return True

    def _beat(self, pause: float) -> None:
        while not self._released.wait(pause):
            with suppress(OSError):  # the file system may be away for a moment; a waiting process has its own patience
                os.utime(self._file)

    def _lost(self, to: Holder | None) -> HeadraceError:
        return HeadraceError(
            "LEASE_LOST",
            f"{to or 'another process'} has taken over the checkpoint {self.folder}: this one gave no sign of life for too long",
            hint="nothing is lost or duplicated, and the other process continues; "
            "to let this one take over later, start it again as a standby.",
        )


class _Watch:
    """Whether a file's time stays the same, by the watcher's clock: the clocks of two machines may differ."""

    def __init__(self) -> None:
        self._seen: tuple[Path, int] | None = None
        self._since = 0.0

    def silent(self, file: Path, seconds: float) -> bool:
        try:
            seen = (file, file.stat().st_mtime_ns)
        except FileNotFoundError:
            return False
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since > seconds


def _newest(folder: Path) -> tuple[int, Path | None]:
    terms = [_term(name) for name in os.listdir(folder) if is_lock(name)]
    return (max(terms), _file(folder, max(terms))) if terms else (0, None)


def _term(name: str) -> int:
    return int(name.partition(".")[2] or 0)


def _file(folder: Path, term: int) -> Path:
    return folder / (f"lock.{term}" if term else "lock")


def _living(file: Path) -> Holder | None:
    """Return the holder, unless it has released the checkpoint or is known to be dead."""
    holder = Holder.of(file)
    if holder is None or holder.host != socket.gethostname():
        return holder
    try:
        opened = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return holder
    finally:
        os.close(opened)


def newest_term(folder: Path) -> int:
    """Return the number of the last start on a checkpoint."""
    return _newest(folder)[0]


def heartbeat(folder: Path) -> Callable[[], Holder | None]:
    """Return a function that gives the process that works on a checkpoint: None if it is gone, or gives no sign of life any more."""
    watch = _Watch()

    def look() -> Holder | None:
        holder, file = _now(folder)
        return None if holder is None or file is None or watch.silent(file, holder.silence) else holder

    return look


def held_by(folder: Path) -> Holder | None:
    """Return the process that works on a checkpoint now, as far as this machine can see."""
    return _now(folder)[0]


def _now(folder: Path) -> tuple[Holder | None, Path | None]:
    """Return the process that works on a checkpoint, and its lock file, which may get another term while one looks."""
    while True:
        _, file = _newest(folder)
        holder = None if file is None else _living(file)
        if holder is not None or _newest(folder)[1] == file:
            return holder, file


def _in_use(folder: Path, file: Path, holder: Holder) -> HeadraceError:
    hint = "stop that run, use another checkpoint, or wait for it with standby=True."
    if holder.host != socket.gethostname():
        hint += f"\nif that process is gone, only standby=True takes over, after {holder.silence:g} s without a sign of life."
    return HeadraceError("CHECKPOINT_IN_USE", f"the checkpoint {folder} is in use by {holder}", hint=hint)
