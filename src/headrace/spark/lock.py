"""One process at a time works on a checkpoint."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError


class Lock:
    """A lock on a file that the operating system drops with the process; the file says who holds it.

    The system's lock is the truth on one machine. Between machines it may not be (network file systems), so a file that another
    host wrote and did not clear is believed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            holder = self._holder()
            if holder is not None and holder.get("host") != socket.gethostname():
                raise self._refuse(holder, f"if that process is gone, remove {path} and start again.")
            self._write(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}))
        except BlockingIOError:
            error = self._refuse(self._holder() or {}, "stop that run first, or give this one another checkpoint.")
            os.close(self._file)
            raise error from None
        except BaseException:
            os.close(self._file)
            raise

    def _holder(self) -> dict[str, Any] | None:
        """Who wrote the file; None where nobody did or a crash of this machine cut the text."""
        try:
            holder = json.loads(os.pread(self._file, 4096, 0) or b"null")
        except ValueError:
            return None
        return holder if isinstance(holder, dict) else None

    def _refuse(self, holder: dict[str, Any], cure: str) -> HeadraceError:
        who = f"process {holder.get('pid', '?')} on {holder.get('host', 'this machine')}"
        return HeadraceError("CHECKPOINT_IN_USE", f"the checkpoint {self.path.parent} is in use by {who}", hint=cure)

    def _write(self, text: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text.encode(), 0)
        os.fsync(self._file)

    def release(self) -> None:
        """Give the checkpoint back; the file stays, empty: removing it could let two processes lock two files of one name."""
        if self._file >= 0:
            self._write("")
            os.close(self._file)
            self._file = -1
