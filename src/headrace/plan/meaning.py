"""Settings of Spark that change what a text means. A plan stores those that the user changed, and they win over the session's."""

from __future__ import annotations

from collections.abc import Mapping

MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
}
"""What they are where a plan does not say."""
