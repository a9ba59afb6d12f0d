"""The monitor of a run: opened before the run starts, closed when it ends."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable
from contextlib import suppress

from headrace.errors import HeadraceError
from headrace.masking import masked
from headrace.monitor.page import page
from headrace.monitor.server import Server
from headrace.plan import Explanation
from headrace.settings import Settings
from headrace.spark.run.snapshot import Snapshot

_NO_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class RunMonitor:
    """Serves `/metrics`, `/status.json` and the page `/` of a run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server: Server | None = None
        self.url: str | None = None
        """The address, once it is open."""

    def open(self) -> None:
        """Listen on the port of the settings; raises PACKAGE_MISSING and BAD_SETTING."""
        try:
            import headrace.monitor.exposition  # noqa: F401  # what is missing is missed now, not at the first scrape
        except ImportError as problem:
            hint = "install it: pip install 'headrace[metrics]'; or start the job without the setting metrics_port"
            message = f"the metrics of a run need the package {problem.name}, which is not installed"
            raise HeadraceError("PACKAGE_MISSING", message, hint=hint) from None
        host, port = self._settings.metrics_host, self._settings.metrics_port
        assert port is not None  # otherwise there is no monitor
        try:
            self._server = Server(host, port)
        except OSError as problem:
            raise self._refusal(problem) from None
        self.url = self._server.url

    def _refusal(self, problem: OSError) -> HeadraceError:
        """Return the error for an address that the system does not give."""
        settings = self._settings
        if isinstance(problem, socket.gaierror) or problem.errno in _NO_ADDRESS:
            return settings.unusable("metrics_host", "this machine has no such address")
        if problem.errno == errno.EADDRINUSE:
            return settings.unusable("metrics_port", f"the port is in use on {settings.metrics_host}")
        if problem.errno in (errno.EACCES, errno.EPERM):
            return settings.unusable("metrics_port", f"this user may not listen on the port on {settings.metrics_host}")
        return settings.unusable("metrics_port", f"{settings.metrics_host} does not give the port ({problem.strerror})")

    def serve(self, look: Callable[[], Snapshot], explained: Callable[[], Explanation]) -> None:
        """Show a run from now on."""
        from headrace.monitor.exposition import Exposition

        assert self._server is not None  # open
        self._server.serve(
            {
                "/": lambda accept: (page(look(), explained()).encode(), "text/html; charset=utf-8"),
                "/metrics": Exposition(look).text,
                "/status.json": lambda accept: (_status(look()), "application/json"),
            }
        )

    def close(self) -> None:
        """End, and release the port. Raises nothing: the run is what matters."""
        if self._server is not None:
            with suppress(Exception):
                self._server.close()


def _status(now: Snapshot) -> bytes:
    return (masked(json.dumps(now.to_json(), indent=2)) + "\n").encode()
