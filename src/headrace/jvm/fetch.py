"""Jars of a Maven repository, fetched into the cache once, each checked by its SHA-256.

The repository is Maven Central, or that in HEADRACE_MAVEN: `https://user:password@host/maven2`, or a folder with the same layout.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from headrace.errors import HeadraceError
from headrace.jvm.cache import folder, root
from headrace.jvm.compile import alone
from headrace.packages import Jar

CENTRAL = "https://repo1.maven.org/maven2"
POLICIES = ("auto", "never")

_TIMEOUT = 60
_AT_ONCE = 6
_chosen: str | None = None


def choose(policy: str) -> None:
    """Set the policy of `hr.session(packages=...)` for this process."""
    global _chosen
    _chosen = _checked(policy, "hr.session(packages=...)")


def allowed() -> bool:
    """Return whether a starting job may fetch missing jars."""
    return (_chosen or _checked(os.environ.get("HEADRACE_PACKAGES") or "auto", "HEADRACE_PACKAGES")) == "auto"


def _checked(policy: str, place: str) -> str:
    if policy not in POLICIES:
        raise HeadraceError("BAD_SETTING", f"{place} cannot be {policy!r}", hint=f"write one of: {', '.join(POLICIES)}")
    return policy


def place(jar: Jar) -> Path:
    """Return the place of a jar in the cache, also if it is not there."""
    return root() / "jars" / jar.path


def there(jar: Jar) -> bool:
    """Return whether a jar is in the cache and has the right checksum."""
    return place(jar).is_file() and _digest(place(jar)) == jar.sha256


def fetch(jars: Iterable[Jar]) -> list[Path]:
    """Fetch the jars that are not in the cache. Returns the places of all of them."""
    wanted = list(dict.fromkeys(jars))
    missing = [jar for jar in wanted if not there(jar)]
    if missing:
        with alone(folder("jars") / "fetch.lock", "fetches jars"):
            missing = [jar for jar in missing if not there(jar)]  # another process may have fetched them meanwhile
            if missing:
                _all(missing)
    return [place(jar) for jar in wanted]


def _all(jars: list[Jar]) -> None:
    count = f"{len(jars)} jar{'' if len(jars) == 1 else 's'}"
    print(f"headrace: fetching {count} from {_shown(_repository())} (once)", file=sys.stderr, flush=True)
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        done = [threads.submit(_one, jar) for jar in jars]
        size = 0
        for jar, each in zip(jars, done, strict=True):
            try:
                size += each.result()
            except BaseException:
                for other in done:
                    other.cancel()
                raise
            print(f"headrace: {place(jar).name}", file=sys.stderr, flush=True)
    print(f"headrace: fetched {size / 1e6:.1f} MB in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def _one(jar: Jar) -> int:
    """Fetch a jar, and rename it once it is complete and its checksum is right. Returns its size."""
    target = place(jar)
    target.parent.mkdir(parents=True, exist_ok=True)
    address = f"{_repository()}/{jar.path}"
    with tempfile.TemporaryDirectory(dir=folder("jars"), prefix="fetching-") as work:
        fresh = Path(work) / target.name
        try:
            with urllib.request.urlopen(_request(address), timeout=_TIMEOUT) as answer, fresh.open("wb") as file:
                while block := answer.read(1 << 20):
                    file.write(block)
        except (OSError, ValueError) as cause:
            raise _unreachable(jar, address, cause) from None
        digest = _digest(fresh)
        if digest != jar.sha256:
            raise HeadraceError(
                "PACKAGE_DIFFERS",
                f"{_shown(address)} is not the expected jar: its SHA-256 is {digest}, and that of {jar.coordinate} is {jar.sha256}",
                hint="the repository, or a proxy in front of it, serves another file; set HEADRACE_MAVEN to another repository",
            )
        os.replace(fresh, target)
    return target.stat().st_size


def _repository() -> str:
    named = os.environ.get("HEADRACE_MAVEN") or CENTRAL
    return (named if "://" in named else Path(named).absolute().as_uri()).rstrip("/")


def _request(address: str) -> urllib.request.Request:
    parts = urlsplit(address)
    request = urllib.request.Request(_shown(address), headers={"User-Agent": "headrace"})
    if parts.username:
        word = base64.b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
        request.add_header("Authorization", f"Basic {word}")
    return request


def _shown(address: str) -> str:
    """Return an address without its user and password."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _unreachable(jar: Jar, address: str, cause: Exception) -> HeadraceError:
    reason = cause.reason if isinstance(cause, urllib.error.URLError) and not isinstance(cause, urllib.error.HTTPError) else cause
    return HeadraceError(
        "PACKAGE_MISSING",
        f"{jar.coordinate} could not be fetched from {_shown(address)}: {reason}",
        hint="set HEADRACE_MAVEN to another repository, or to a folder with the same layout; on a machine without network, copy\n"
        f"the cache of another machine: {root() / 'jars'}",
    )


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
