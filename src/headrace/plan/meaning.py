"""Settings of Spark that change what an expression means. A plan stores them, and they win over the session's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from headrace.errors import HeadraceError, here
from headrace.jvm.session import session
from headrace.schema.values import zone

MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
}
"""Their values where a plan has none."""


_KEPT = f"a plan has settings that change what texts mean: {', '.join(MEANING)}"
_settings: ContextVar[Mapping[str, str]] = ContextVar("headrace_meaning", default={})  # noqa: B039  # it is never changed


@contextmanager
def meant(settings: Mapping[str, str]) -> Iterator[None]:
    """Let the settings of a script win over the session's inside."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def script_settings() -> dict[str, str]:
    """Return the settings of the script."""
    return dict(_settings.get())


def meaning() -> dict[str, str]:
    """Return the settings that a plan stores: those of the script, else the session's. Starts the session."""
    spark = session()
    return {key: spark.conf.get(key, default) or default for key, default in MEANING.items()} | script_settings()


def settings_of(values: Any) -> dict[str, str]:
    """Return the settings of a stored plan. No other setting of Spark is accepted: some load any class."""
    if not isinstance(values, Mapping):
        raise HeadraceError("BAD_SETTING", "the settings of a plan are not an object", hint=_KEPT)
    unknown = next((key for key in values if key not in MEANING), None)
    if unknown is not None:
        raise HeadraceError("BAD_SETTING", f"a plan cannot have the setting {str(unknown)[:60]!r}", hint=_KEPT)
    return {key: judged(key, value) for key, value in values.items()}


def judged(key: str, value: str) -> str:
    """Return a value of one of these settings as Spark spells it; raises if the setting cannot have it."""
    if not isinstance(value, str):
        raise HeadraceError("BAD_SETTING", f"{key} cannot be {str(value)[:60]!r}", hint="use a string", site=here())
    if key.endswith("timeZone"):
        zone(value)
        return value
    can = ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ") if key.endswith("timestampType") else ("true", "false")
    spelling = next((one for one in can if one.lower() == value.lower()), None)
    if spelling is None:
        raise HeadraceError("BAD_SETTING", f"{key} cannot be {value!r}", hint=f"it is {' or '.join(can)}", site=here())
    return spelling
