"""The monitor of a run: its metrics for Prometheus and a status page, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.monitor.monitor import RunMonitor
    from headrace.settings import Settings


def monitor_of(settings: Settings) -> RunMonitor | None:
    """Return the monitor of a run, if its settings have a port for one."""
    if settings.metrics_port is None:
        return None
    from headrace.monitor.monitor import RunMonitor

    return RunMonitor(settings)
