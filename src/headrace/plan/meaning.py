"""Settings of Spark that change what a text means. A plan stores those that the user changed, and they win over the session's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from headrace.jvm.session import session

MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
}
"""What they are where a plan does not say."""


_asked: ContextVar[Mapping[str, str]] = ContextVar("headrace_meaning", default={})  # noqa: B039  # nobody changes it


@contextmanager
def meant(settings: Mapping[str, str]) -> Iterator[None]:
    """While this lasts, these win over the session's: a script says its own."""
    token = _asked.set(settings)
    try:
        yield
    finally:
        _asked.reset(token)


def asked() -> dict[str, str]:
    """Those that a script says."""
    return dict(_asked.get())


def meaning() -> dict[str, str]:
    """Those that a plan keeps: a script's own, else the session's. Starts the session."""
    spark = session()
    return {key: spark.conf.get(key, default) or default for key, default in MEANING.items()} | asked()
