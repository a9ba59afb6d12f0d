"""Masking: no text that leaves the process shows a secret that it has read, nor a password in an address or an assignment.

A secret is recognised however it is spelled: percent-encoded, escaped for JSON, Java, SQL, HTML or Python, or within Base64.
"""

from __future__ import annotations

import base64
import contextlib
import re
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator

MASK = "***"
SHORTEST = 6
"""A secret of fewer characters cannot be told from other text, and is guessed at once: it is not masked."""

_NAMES = r"pas+w(?:or)?d?|passphrase|pwd|secret|token|credentials?|authorization|(?:api|access|account|private)[-_.]?key"
# Behind the user's name, unless it is a port.
_IN_ADDRESS = re.compile(r"(://[^/?#\s:@'\"]*:)(?!\d{1,5}(?:[/?#\s'\"]|$))[^\s'\"]+@")
# A place that is filled in later is none.
_IN_QUERY = re.compile(rf"(?i)([?&;][\w.-]*(?:{_NAMES}|sig)=)[^&;\s'\"{{]+")
_ASSIGNED = re.compile(rf"(?i)((?:{_NAMES})[\"'`]?\s*(?:=>|[:=])\s*([\"']))(?:(?!\2).)+(?=\2)")
_SETTING = re.compile(r"(?i)secret|password|passphrase|token|(?:api|access|account|private)[-_.]?key")

_UNPAIRED = re.compile(r"[\ud800-\udfff]")

_lock = threading.Lock()
_secrets: dict[str, str] = {}
"""Each secret and the pattern of its spellings."""
_any: re.Pattern[str] | None = None
_follower: Callable[[str], object] | None = None


def is_secret(setting: str) -> bool:
    """Whether a setting of this name holds a secret, as Spark and Hadoop name them.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("spark.master")
    (True, False)
    """
    return _SETTING.search(setting) is not None


def hide(secret: str) -> None:
    """Mask this value from now on, here and in the process that follows.

    >>> hide("s3same/now")
    >>> masked("s3same%2Fnow, " + base64.b64encode(b"s3same/now").decode())
    '***, ***'
    """
    global _any
    with _lock:
        new = {value for value in (secret, secret.strip()) if len(value) >= SHORTEST} - _secrets.keys()
        if not new:
            return
        _secrets.update({value: _spellings(value) for value in new})
        _any = re.compile(_pattern(_secrets))
        _tell()


def follow(follower: Callable[[str], object]) -> None:
    """Give another process the pattern of all secrets, a regular expression of Python's and Java's, now and whenever one is added."""
    global _follower
    with _lock:
        _follower = follower
        _tell()


def masked(text: str) -> str:
    """The text without secrets.

    >>> masked('postgresql://app:hunter2@db/shop refuses password="hunter2"')
    'postgresql://app:***@db/shop refuses password="***"'
    """
    known = _any
    if known is not None:
        text = known.sub(MASK, text)
    return _ASSIGNED.sub(rf"\1{MASK}", _IN_QUERY.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1{MASK}@", text)))


def holds_password(address: str) -> bool:
    """Whether an address has a password in it, behind the user's name or among what is asked for."""
    return bool(_IN_ADDRESS.search(address) or _IN_QUERY.search(address))


class Masked(Exception):  # it stands for an exception of another kind
    """An exception whose own text shows a secret, without it."""


def masked_problem(problem: BaseException) -> BaseException:
    """The exception, if neither it nor what led to it shows a secret; else one that says the same without."""
    cause, context = problem.__cause__, problem.__context__
    if cause is not None:
        problem.__cause__ = masked_problem(cause)
    elif context is not None and not problem.__suppress_context__:
        problem.__context__ = masked_problem(context)
    try:
        text = "".join(traceback.format_exception_only(problem)).strip()
    except Exception:  # its text is asked of a JVM that has ended
        return problem
    shown = masked(text)
    return problem if shown == text else Masked(shown).with_traceback(problem.__traceback__)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """No exception that leaves here shows a secret; also a decorator."""
    try:
        yield
    except Exception as problem:
        other = masked_problem(problem)
        if other is problem:
            raise
        raise other from None


def _tell() -> None:
    # bytes of a variable that are no UTF-8 are no text of another process
    known = [value for value in _secrets if not _UNPAIRED.search(value)]
    if _follower is not None and known:
        with contextlib.suppress(Exception):  # a JVM that has ended writes nothing more
            _follower(_pattern(known))


def _pattern(values: Iterable[str]) -> str:
    # the longest first: one secret may be a part of another
    return "|".join(_secrets[value] for value in sorted(values, key=len, reverse=True))


def _spellings(value: str) -> str:
    return "|".join(["".join(map(_character, value)), *_in_base64(value)])


def _character(one: str) -> str:
    """A character and its escapes."""
    octets = one.encode("utf-8", "surrogateescape")
    units = one.encode("utf-16-be", "surrogatepass")
    spelled = [
        *_NAMED.get(one, ()),
        "(?i:" + "".join(f"%{octet:02x}" for octet in octets) + ")",
        "(?i:" + "".join(rf"\\+x{octet:02x}" for octet in octets) + ")",
        "(?i:" + "".join(rf"\\+u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + ")",
        re.escape(one) if one.isalnum() else rf"\\*{re.escape(one)}",
    ]
    return f"(?:{'|'.join(spelled)})"


_NAMED = {
    "\n": (r"\\+n",),
    "\r": (r"\\+r",),
    "\t": (r"\\+t",),
    " ": (r"\+",),
    "'": ("''", "&#39;", "&apos;", "&#x27;"),
    '"': ('""', "&quot;", "&#34;"),
    "&": ("&amp;",),
    "<": ("&lt;",),
    ">": ("&gt;",),
}


def _in_base64(value: str) -> list[str]:
    """A value in Base64, wherever it stands in the text that is encoded: all characters that hold a bit of it."""
    octets = value.encode("utf-8", "surrogateescape")
    found = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + octets).decode().rstrip("=")
        begin, end = -(-before * 8 // 6), (before + len(octets)) * 8 // 6
        inner = "".join({"+": "[+-]", "/": "[/_]"}.get(sign, sign) for sign in whole[begin:end])
        found.append(rf"[\w+/-]?{inner}[\w+/-]?={{0,2}}")
    return found
