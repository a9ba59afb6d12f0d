"""What a condition says of the time between two columns, in many spellings; among them what Spark prints."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headrace.jvm.texts import Difference, reading

SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000


def ts(least: int | None, most: int | None) -> Difference:
    return Difference("ts", "opened", least, most)


DIFFERENCES: dict[str, list[Difference]] = {
    "ts >= opened": [ts(0, None)],
    "ts > opened": [ts(1, None)],
    "ts < opened": [ts(None, -1)],
    "ts = opened + INTERVAL 1 HOUR": [ts(HOUR, HOUR)],
    "NOT ts < opened": [ts(0, None)],
    "NOT (opened >= ts)": [Difference("opened", "ts", None, -1)],
    "opened + INTERVAL '01' HOUR >= ts": [Difference("opened", "ts", -HOUR, None)],
    "ts BETWEEN opened AND opened + INTERVAL 1 HOUR": [ts(0, None), ts(None, HOUR)],
    "ts BETWEEN opened - INTERVAL '90' MINUTE AND closed": [ts(-HOUR * 3 // 2, None), Difference("ts", "closed", None, 0)],
    "ts + -(INTERVAL '01' HOUR) <= opened": [ts(None, HOUR)],
    "ts <= opened + -INTERVAL '1' HOUR": [ts(None, -HOUR)],
    "ts <= opened + INTERVAL '-5' MINUTES": [ts(None, -300 * SECOND)],
    "ts <= opened + INTERVAL 1 HOUR 5 MINUTES": [ts(None, HOUR + 300 * SECOND)],
    "ts <= opened + INTERVAL 1 HOUR - INTERVAL 5 MINUTES": [ts(None, HOUR - 300 * SECOND)],
    "ts <= opened + INTERVAL '1 hour 5 minutes 3 seconds'": [ts(None, HOUR + 303 * SECOND)],
    "ts <= opened + INTERVAL '01:05:03' HOUR TO SECOND": [ts(None, HOUR + 303 * SECOND)],
    "ts <= opened + INTERVAL '-01:30' HOUR TO MINUTE": [ts(None, -HOUR * 3 // 2)],
    "ts <= opened + INTERVAL '0.5' SECOND": [ts(None, SECOND // 2)],
    "ts <= opened + INTERVAL 100 MILLISECONDS": [ts(None, SECOND // 10)],
    "ts <= timestampadd(HOUR, 1, opened)": [ts(None, HOUR)],
    "ts <= timestampadd(MINUTE, -5L, opened)": [ts(None, -300 * SECOND)],
    "ts <= dateadd(SECOND, 4, opened)": [ts(None, 4 * SECOND)],
    "CAST(ts AS TIMESTAMP) <= CAST(opened AS TIMESTAMP_LTZ)": [ts(None, 0)],
    "`t s` < `op``ened`": [Difference("t s", "op`ened", None, -1)],
    "TS <= Opened": [ts(None, 0)],
    "(ts <= opened)": [ts(None, 0)],
    # A day of a time zone is not always 24 hours, and times are taken from each other by the clock of the zone.
    "ts <= opened + INTERVAL 1 DAY": [ts(None, 2 * DAY)],
    "ts <= opened + INTERVAL '24' HOUR": [ts(None, 2 * DAY)],
    "ts >= opened - INTERVAL '1 02:03:04.5' DAY TO SECOND": [ts(-2 * DAY - 2 * HOUR - 184_500_000, None)],
    "ts <= opened + INTERVAL 1 WEEK": [ts(None, 8 * DAY)],
    "ts - opened <= INTERVAL '1' HOUR": [ts(None, HOUR + DAY)],
    "-(INTERVAL '1' HOUR) <= ts - opened": [Difference("opened", "ts", None, HOUR + DAY)],
    "ts - opened BETWEEN CAST(INTERVAL '00' SECOND AS INTERVAL DAY TO SECOND) AND CAST(INTERVAL '01' HOUR AS INTERVAL DAY TO SECOND)": [
        ts(-DAY, None),
        ts(None, HOUR + DAY),
    ],
}
SILENT = (
    "ts <= opened OR ts <= closed",
    "ts <> opened",
    "ts <=> opened",
    "NOT (ts = opened)",
    "ts <= opened + INTERVAL 1 MONTH",
    "ts <= opened + INTERVAL '1' YEAR",
    "ts <= opened + INTERVAL price SECONDS",
    "ts <= opened + make_dt_interval(0, 1)",
    "ts <= opened + price",
    "ts + opened <= closed",
    "ts <= TIMESTAMP '2026-01-01'",
    "ts <= current_timestamp()",
    "ts <= ts + INTERVAL 1 HOUR",
    "ts <= dateadd(opened, 5)",
    "CAST(ts AS DATE) <= opened",
    "date_trunc('HOUR', ts) <= opened",
    "ts <= b.opened",
    "ts <=",
)


@pytest.mark.parametrize("text", DIFFERENCES)
def test_what_is_said(spark: SparkSession, text: str) -> None:
    assert list(reading(text).differences) == DIFFERENCES[text]


@pytest.mark.parametrize("text", SILENT)
def test_what_is_not_said(spark: SparkSession, text: str) -> None:
    assert [difference for difference in reading(text).differences if {difference.column, difference.other} <= {"ts", "opened"}] == []
