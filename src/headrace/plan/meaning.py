"""Settings of Spark that change what a text means. A plan stores those that the user changed, and they win over the session's."""

from __future__ import annotations

from collections.abc import Mapping

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
