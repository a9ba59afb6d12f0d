"""Settings of Spark that change what a text means. A plan stores those that the user changed, and they win over the session's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from headrace.errors import HeadraceError, here
from headrace.jvm.session import session

MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
}
"""What they are where a plan does not say."""


def meaning() -> dict[str, str]:
    """Those of the session, which a plan keeps. Starts the session."""
    spark = session()
    return {key: spark.conf.get(key, default) or default for key, default in MEANING.items()}


@contextlib.contextmanager
def under(key: str, value: str) -> Iterator[None]:
    """While this lasts the session has this value of one of these settings, so that plans made meanwhile keep it."""
    conf = session().conf
    before = conf.get(key, None)
    try:
        conf.set(key, value)
    except Exception as problem:
        why = re.sub(r"^\[\S+\] ", "", str(problem).partition("\n")[0].partition(" SQLSTATE")[0])
        hint = "docs/settings.md says which settings a plan keeps"
        raise HeadraceError("BAD_SETTING", f"Spark refuses {key} = {value}: {why}", hint=hint, site=here()) from None
    try:
        yield
    finally:
        if before is None:
            conf.unset(key)
        else:
            conf.set(key, before)
