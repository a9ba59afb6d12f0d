"""The cache of what headrace builds once: the kernel's jar, the Java shim; also the JVM's logs."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from headrace.durable import named, private


def home() -> Path | None:
    """Return the user's own folder, if it exists and is writable.

    `HOME` may be unset and the user id may have no passwd entry, as in many containers: then there is none.
    """
    named = os.environ.get("HOME") or _passwd_home()
    return Path(named) if named and os.path.isabs(named) and os.path.isdir(named) and os.access(named, os.W_OK) else None


def jvm_home() -> Path | None:
    """Return the value that `user.home` needs, or None if Java finds a good one itself.

    Java reads the passwd file only. Without an entry it takes "?", and Spark's start fails on that path.
    """
    home_folder = _passwd_home()
    if home_folder and os.path.isdir(home_folder) and os.access(home_folder, os.W_OK):
        return None
    return home() or folder("home")


def folder(*parts: str) -> Path:
    """Return a folder in the cache, made if necessary: HEADRACE_CACHE, else XDG_CACHE_HOME/headrace, else ~/.cache/headrace, else
    temporary.

    Raises FOLDER_NOT_WRITABLE.
    """
    top = root()
    if top == _in_temporary():
        top = _owned(top)
    with suppress(OSError):
        top.mkdir(parents=True, exist_ok=True, mode=0o700)
    return named.folder(top.joinpath(*parts))


def temporary() -> Path:
    """Return a private folder in the temporary directory, made if necessary: for files that a process leaves behind only by accident."""
    path = _owned(_in_temporary()) / "local"
    path.mkdir(exist_ok=True)
    return path


def root() -> Path:
    """Return the top of the cache; it may not exist yet."""
    if named := os.environ.get("HEADRACE_CACHE"):
        return Path(named).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg and os.path.isabs(xdg):
        return Path(xdg) / "headrace"
    home_folder = home()
    return home_folder / ".cache" / "headrace" if home_folder else _in_temporary()


def _in_temporary() -> Path:
    # The user id keeps two users of one machine apart.
    return Path(tempfile.gettempdir()) / f"headrace-{os.getuid()}"


def _owned(path: Path) -> Path:
    """Return the folder if this user owns it, else a new one: anybody can make a folder of this name there, and its content is run."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    there = path.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="headrace-"))
    return private.folder(path)


def has_user_name() -> bool:
    """Return whether the passwd file has this user id."""
    return _passwd_home() is not None


def _passwd_home() -> str | None:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
