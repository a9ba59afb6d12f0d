"""Masking: no text that leaves the process shows a secret that the process has read, or a password in an address or an assignment.

A secret is recognized in all its spellings: percent-encoded, escaped for JSON, Java, SQL, HTML or Python, or within Base64.
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
"""The length from which secrets are masked. A shorter one cannot be distinguished from other text, and is easily guessed."""

_NAMES = r"pas+w(?:or)?d?|passphrase|pwd|secret|token|credentials?|authorization|(?:api|access|account|private)[-_.]?key"
# The password after the user's name; a port is no password.
_IN_ADDRESS = re.compile(r"(://[^/?#\s:@'\"]*:)(?!\d{1,5}(?:[/?#\s'\"]|$))[^\s'\"]+@")
# The value of a parameter; a placeholder in braces is no secret.
_IN_QUERY = re.compile(rf"(?i)([?&;][\w.-]*(?:{_NAMES}|sig)=)[^&;\s'\"{{]+")
_ASSIGNED = re.compile(rf"(?i)((?:{_NAMES})[\"'`]?\s*(?:=>|[:=])\s*([\"']))(?:(?!\2).)+(?=\2)")
_SETTING = re.compile(r"(?i)secret|password|passphrase|token|(?:api|access|account|private)[-_.]?key")

_UNPAIRED = re.compile(r"[\ud800-\udfff]")

_lock = threading.Lock()
_secrets: dict[str, str] = {}
"""The pattern of each secret's spellings."""
_any: re.Pattern[str] | None = None
_follower: Callable[[str], object] | None = None


def is_secret(setting: str) -> bool:
    """Return whether a setting of this name holds a secret, by the naming of Spark and Hadoop.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("spark.master")
    (True, False)
    """
    return _SETTING.search(setting) is not None


def hide(secret: str) -> None:
    """Mask this value from now on, in this process and in the one of `follow`.

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
    """Send another process the pattern of all secrets, now and whenever one is added: a regular expression for Python and Java."""
    global _follower
    with _lock:
        _follower = follower
        _tell()


def masked(text: str) -> str:
    """Return the text without secrets.

    >>> masked('postgresql://app:hunter2@db/shop refuses password="hunter2"')
    'postgresql://app:***@db/shop refuses password="***"'
    """
    known = _any
    if known is not None:
        text = known.sub(MASK, text)
    return _ASSIGNED.sub(rf"\1{MASK}", _IN_QUERY.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1{MASK}@", text)))


def holds_password(address: str) -> bool:
    """Return whether an address has a password, after the user's name or in its query."""
    return bool(_IN_ADDRESS.search(address) or _IN_QUERY.search(address))


class Masked(Exception):  # it replaces an exception of another kind
    """The replacement of an exception whose text shows a secret, with the secret masked."""


def masked_problem(problem: BaseException) -> BaseException:
    """Return the exception, or one with a masked text if it shows a secret. Its causes are masked as well."""
    cause, context = problem.__cause__, problem.__context__
    if cause is not None:
        problem.__cause__ = masked_problem(cause)
    elif context is not None and not problem.__suppress_context__:
        problem.__context__ = masked_problem(context)
    try:
        text = "".join(traceback.format_exception_only(problem)).strip()
    except Exception:  # the text comes from a JVM that has ended
        return problem
    shown = masked(text)
    return problem if shown == text else Masked(shown).with_traceback(problem.__traceback__)


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Mask secrets in any exception that leaves the block; also a decorator."""
    try:
        yield
    except Exception as problem:
        other = masked_problem(problem)
        if other is problem:
            raise
        raise other from None


def _tell() -> None:
    # bytes of a variable that are not UTF-8 cannot be text of another process
    known = [value for value in _secrets if not _UNPAIRED.search(value)]
    if _follower is not None and known:
        with contextlib.suppress(Exception):  # a JVM that has ended writes no more texts
            _follower(_pattern(known))


def _pattern(values: Iterable[str]) -> str:
    # longest first, because one secret may be a part of another
    return "|".join(_secrets[value] for value in sorted(values, key=len, reverse=True))


def _spellings(value: str) -> str:
    return "|".join(["".join(map(_character, value)), *_in_base64(value)])


def _character(one: str) -> str:
    """Return the pattern of a character and its escapes."""
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
    """Return patterns of a value in Base64 at any offset in the encoded text, with all characters that hold a bit of it."""
    octets = value.encode("utf-8", "surrogateescape")
    patterns = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + octets).decode().rstrip("=")
        begin, end = -(-before * 8 // 6), (before + len(octets)) * 8 // 6
        inner = "".join({"+": "[+-]", "/": "[/_]"}.get(sign, sign) for sign in whole[begin:end])
        patterns.append(rf"[\w+/-]?{inner}[\w+/-]?={{0,2}}")
    return patterns
