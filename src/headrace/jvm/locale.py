"""A UTF-8 locale for the JVM.

Java takes the encoding of file names from the locale of its process. Under LC_ALL=C a path with an umlaut then fails, regardless of
`file.encoding`, so the JVM starts in a UTF-8 locale. Python's own locale does not change.
"""

from __future__ import annotations

import ctypes
import os
import sys

# The value in glibc; musl has no locale but UTF-8, and Java on macOS does not use it.
_LC_CTYPE_MASK = 1
_CANDIDATES = ("C.UTF-8", "C.utf8", "en_US.UTF-8")


def utf8_environment() -> dict[str, str]:
    """Return the variables to add to a JVM's environment; none if its locale is already UTF-8."""
    if not sys.platform.startswith("linux") or (_is_utf8(_current()) and _exists(_current())):
        return {}
    return {"LC_ALL": next((name for name in _CANDIDATES if _exists(name)), "C.UTF-8")}


def _current() -> str:
    return os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"


def _is_utf8(name: str) -> bool:
    return name.lower().replace("-", "").endswith("utf8")


def _exists(name: str) -> bool:
    """Return whether a locale is installed. For one that is not, the C library silently falls back to ASCII."""
    try:
        library = ctypes.CDLL(None)
        library.newlocale.restype = ctypes.c_void_p
        library.newlocale.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        handle = library.newlocale(_LC_CTYPE_MASK, name.encode(), None)
        if handle:
            library.freelocale.argtypes = (ctypes.c_void_p,)
            library.freelocale(handle)
    except (OSError, AttributeError):
        return False
    return bool(handle)
