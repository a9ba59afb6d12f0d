"""One request and its response: sent again if that can help, else a clear error."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Any

from headrace.errors import RunError
from headrace.masking import masked

AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which the same request may be accepted later."""

OF_ROWS = (400, 409, 413, 422)
"""Statuses about the content of a request, not about its sender or address."""

IN_PROGRESS = 409
"""The status of a key whose first request is still being processed: IETF draft "The Idempotency-Key HTTP Header Field", section 2.6."""

LONGEST_PAUSE = 30.0

_PATIENCE = "retries= and backoff= set how long it retries."
_CERTIFICATES = "set ca= to a file with the certificates to trust."


class Refused(Exception):
    """A request that the server rejects, and would reject again."""

    def __init__(self, message: str, reason: str, of_rows: bool) -> None:
        super().__init__(message)
        self.reason = reason
        self.of_rows = of_rows


class Poster:
    """Posts to one address over connections that are kept open. `trusted` are certificates to trust instead of the machine's. A server that
    is `idempotent` knows the keys of its requests: its status 409 is about the key, not about the rows.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        timeout_ms: int,
        retries: int,
        backoff_ms: int,
        trusted: str | None,
        idempotent: bool,
    ) -> None:
        import urllib3

        self.url = url
        self.retries = retries
        self.backoff = backoff_ms / 1000
        self._headers = dict(headers)
        self._seconds = timeout_ms / 1000
        self._trusted = trusted
        self._again = (*AGAIN, IN_PROGRESS) if idempotent else AGAIN
        timeout = urllib3.Timeout(self._seconds)
        self._pool = urllib3.PoolManager(retries=False, timeout=timeout, cert_reqs="CERT_REQUIRED", ca_cert_data=trusted)

    def close(self) -> None:
        self._pool.clear()

    def reach(self) -> None:
        """Connect, with as many tries as for a batch, and send nothing."""
        from urllib3.exceptions import HTTPError, SSLError

        tries = 0
        while True:
            tries += 1
            try:
                self._connect()
                return
            except SSLError as problem:
                raise self._no_connection(tries, f"its certificate is not trusted: {problem}", _CERTIFICATES) from None
            except (HTTPError, OSError) as problem:
                if tries > self.retries:
                    raise self._no_connection(tries, str(problem), _PATIENCE) from None
            time.sleep(min(self.backoff * 2 ** (tries - 1), LONGEST_PAUSE))

    def _connect(self) -> None:
        from urllib3.connection import HTTPConnection, HTTPSConnection
        from urllib3.util import parse_url

        parts = parse_url(self.url)
        host = str(parts.host)
        connection: HTTPConnection
        if parts.scheme == "https":
            connection = HTTPSConnection(
                host, parts.port or 443, timeout=self._seconds, cert_reqs="CERT_REQUIRED", ca_cert_data=self._trusted
            )
        else:
            connection = HTTPConnection(host, parts.port or 80, timeout=self._seconds)
        try:
            connection.connect()
        finally:
            connection.close()

    def _no_connection(self, tries: int, reason: str, cure: str) -> RunError:
        times = "once" if tries == 1 else f"{tries} times"
        return RunError(
            "HTTP_FAILED", f"{self._place} cannot be reached, tried {times}: {reason}", hint=f"{cure} Nothing was removed or sent."
        )

    def post(self, body: bytes, key: str, what: str) -> None:
        """Send a body until the server has accepted it; `what` names it in errors."""
        from urllib3.exceptions import HTTPError, SSLError

        tries = 0
        while True:
            tries += 1
            pause = min(self.backoff * 2 ** (tries - 1), LONGEST_PAUSE)
            try:
                answer: Any = self._pool.request(
                    "POST", self.url, body=body, headers={**self._headers, "Idempotency-Key": key}, redirect=False
                )
            except SSLError as problem:
                raise self._unreachable(what, tries, f"its certificate is not trusted: {problem}", again=False) from None
            except (HTTPError, OSError) as problem:
                reason = str(problem)
            else:
                if 200 <= answer.status < 300:
                    return
                reason = self._status(answer)
                if answer.status not in self._again:
                    raise Refused(f"{self._place} rejected {what}: {reason}", reason, answer.status in OF_ROWS)
                pause = min(_retry_after(answer.headers.get("Retry-After"), pause), LONGEST_PAUSE)
            if tries > self.retries:
                raise self._unreachable(what, tries, reason)
            time.sleep(pause)

    @property
    def _place(self) -> str:
        return self.url.partition("?")[0]

    def _status(self, answer: Any) -> str:
        # masked before it is truncated: part of a truncated secret would be shown
        text = masked(" ".join(answer.data[:100_000].decode("utf-8", "replace").split()))
        short = text if len(text) <= 200 else text[:197] + "..."
        return f"HTTP {answer.status}" + (f": {short}" if short else "")

    def _unreachable(self, what: str, tries: int, reason: str, again: bool = True) -> RunError:
        times = "once" if tries == 1 else f"{tries} times"
        cure = _PATIENCE if again else _CERTIFICATES
        return RunError(
            "HTTP_FAILED",
            f"{self._place} did not accept {what}, sent {times}: {reason}",
            hint=f"{cure} The next start sends it again, with the same key.",
        )


def _retry_after(after: str | None, otherwise: float) -> float:
    """The seconds in `Retry-After`: a number, or a date."""
    if after is None:
        return otherwise
    if after.strip().isdigit():
        return float(after)
    try:
        return max(email.utils.parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    except ValueError:
        return otherwise
