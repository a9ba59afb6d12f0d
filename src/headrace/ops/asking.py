"""How an external table is asked: options of the table, or of one lookup in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta

from headrace.errors import PlanError, here
from headrace.ports import Lookup
from headrace.schema import milliseconds


@dataclass(frozen=True)
class Asking:
    """How long an answer is kept, of how many keys, the keys of a request, the concurrent requests, and how long one is repeated. None:
    not set here.
    """

    cache_ms: int | None = None
    cache_keys: int | None = None
    batch: int | None = None
    in_flight: int | None = None
    retry_ms: int | None = None

    def over(self, other: Asking) -> Asking:
        """The options set here, and those of the other where nothing is.

        >>> Asking(batch=5).over(Asking(batch=7, cache_ms=1000))
        Asking(cache_ms=1000, cache_keys=None, batch=5, in_flight=None, retry_ms=None)
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Asking(**{name: getattr(other, name) if value is None else value for name, value in values.items()})


UNSAID = Asking()
"""No option is set."""


def asking(
    cache: str | timedelta | None = None,
    cache_keys: int | None = None,
    batch: int | None = None,
    in_flight: int | None = None,
    retry: str | timedelta | None = None,
) -> Asking:
    """The options of a user."""
    for option, value in (("cache_keys", cache_keys), ("batch", batch), ("in_flight", in_flight)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise PlanError("BAD_LOOKUP", f"lookup: `{option}` cannot be {value!r}", hint="use a whole number of at least 1", site=here())
    return Asking(
        None if cache is None else milliseconds(cache, "lookup: `cache`"),
        cache_keys,
        batch,
        in_flight,
        None if retry is None else milliseconds(retry, "lookup: `retry`"),
    )


def checked(name: str, table: Lookup, wanted: Asking) -> Asking:
    """The options, if the table supports them."""
    if wanted.cache_ms is not None and table.traits.whole:
        reloads = f'set how often it is reloaded: hr.lookup.{table.connector}(..., refresh="5 minutes")'
        hint = reloads if table.reloads else "leave out cache"
        raise PlanError("BAD_LOOKUP", f"`cache` does not apply to {name}, which is loaded as a whole", hint=hint, site=here())
    most = table.keys_at_once
    if most is not None and wanted.batch is not None and wanted.batch > most:
        keys = "one key" if most == 1 else f"{most} keys"
        hint = "leave out batch=; in_flight= sets the number of concurrent requests"
        raise PlanError("BAD_LOOKUP", f"{name} takes at most {keys} in a request, got {wanted.batch}", hint=hint, site=here())
    return wanted
