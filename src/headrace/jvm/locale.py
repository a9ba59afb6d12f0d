"""A UTF-8 locale for the JVM.

Java takes the encoding of file names from the locale of its process. Under LC_ALL=C a path with an umlaut then fails, whatever
`file.encoding` says, so the JVM is started in a UTF-8 locale; Python's own locale stays as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys

# glibc's mask of all categories that exist there; musl knows no locale but UTF-8, and macOS' Java never asks it.
_LC_CTYPE_MASK = 1
_CANDIDATES = ("C.UTF-8", "C.utf8", "en_US.UTF-8")


def utf8_environment() -> dict[str, str]:
    """What to add to a JVM's environment; nothing if its locale is a UTF-8 one already."""
    if not sys.platform.startswith("linux") or (_is_utf8(_current()) and _exists(_current())):
        return {}
    return {"LC_ALL": next((name for name in _CANDIDATES if _exists(name)), "C.UTF-8")}


def _current() -> str:
    return os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"


def _is_utf8(name: str) -> bool:
    return name.lower().replace("-", "").endswith("utf8")


def _exists(name: str) -> bool:
    """A locale may be asked for and not be installed; the C library then falls back to ASCII without a word."""
    try:
        library = ctypes.CDLL(None)
        library.newlocale.restype = ctypes.c_void_p
        library.newlocale.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        made = library.newlocale(_LC_CTYPE_MASK, name.encode(), None)
        if made:
            library.freelocale.argtypes = (ctypes.c_void_p,)
            library.freelocale(made)
    except (OSError, AttributeError):
        return False
    return bool(made)
