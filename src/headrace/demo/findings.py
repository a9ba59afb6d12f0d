"""The findings: Spark SQL over the Parquet folders that the job wrote, as any reader of them could run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = ("flights", "turns", "chains", "vanished")
NEW_YORK = "America/New_York"
REGULAR = 100  # an aircraft with this many flights is a regular, whose absence is worth reporting

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Findings:
    """The results of the queries: a single row by column name, or a list of rows in the order of the query's columns."""

    year: dict[str, Any]
    handed: dict[str, Any]
    away: dict[str, Any]
    by_gap: Rows
    by_hour: Rows
    by_day: Rows
    by_length: Rows
    largest: Rows
    by_carrier: Rows
    by_visibility: Rows
    regulars: Rows


ONE_ROW = {
    "year": """
        SELECT count(*) AS flights, count(DISTINCT tailnum) AS aircraft, count_if(dep_delay IS NULL) AS cancelled,
               count_if(tailnum IS NULL) AS without_tail, count(visib) AS with_weather, count_if(dep_delay >= 15) AS late,
               sum(dep_delay) FILTER (WHERE dep_delay >= 15) AS late_minutes
        FROM {flights}""",
    "handed": """
        SELECT count(*) AS turns, count_if(arrived_late >= 15) AS after_late, sum(inherited + recovered) AS minutes,
               sum(inherited) AS inherited, sum(recovered) AS recovered,
               avg(int(dep_delay >= 15)) FILTER (WHERE arrived_late >= 15) AS late_after_late,
               avg(int(dep_delay >= 15)) FILTER (WHERE arrived_late < 15) AS late_after_punctual,
               (SELECT count(*) FROM {chains}) AS chains, (SELECT max(flights) FROM {chains}) AS longest
        FROM {turns}""",
    "away": """
        WITH seen AS (SELECT tailnum, max(at) AS last FROM {flights} WHERE dep_delay IS NOT NULL GROUP BY tailnum)
        SELECT count(*) AS alarms, count(DISTINCT v.tailnum) AS aircraft, count_if(s.last = v.last_seen) AS gone
        FROM {vanished} v JOIN seen s USING (tailnum)""",
}

MANY_ROWS = {
    # the effect of a late arrival on the next departure, by the hours between the two departures
    "by_gap": """
        SELECT floor(timestampdiff(MINUTE, previous, at) / 60) AS hours, count(*) AS turns,
               avg(int(dep_delay >= 15)) FILTER (WHERE arrived_late >= 15) AS after_late,
               avg(int(dep_delay >= 15)) FILTER (WHERE arrived_late < 15) AS after_punctual
        FROM {turns} WHERE timestampdiff(MINUTE, previous, at) BETWEEN 180 AND 599 GROUP BY hours ORDER BY hours""",
    "by_hour": """
        SELECT hour(from_utc_timestamp(at, {zone})) AS hour, sum(inherited) AS inherited, sum(recovered) AS recovered
        FROM {turns} GROUP BY hour ORDER BY hour""",
    "by_day": """
        SELECT to_date(from_utc_timestamp(f.at, {zone})) AS day, coalesce(sum(t.inherited), 0) AS inherited,
               count_if(f.dep_delay IS NULL) AS cancelled, count(*) AS flights
        FROM {flights} f LEFT JOIN {turns} t ON t.tailnum = f.tailnum AND t.at = f.at AND f.dep_delay IS NOT NULL
        GROUP BY day ORDER BY day""",
    "by_length": "SELECT flights, count(*) AS chains, sum(inherited) AS minutes FROM {chains} GROUP BY flights ORDER BY flights",
    "largest": """
        SELECT tailnum, from_utc_timestamp(began, {zone}) AS began, from_utc_timestamp(ended, {zone}) AS ended,
               flights, inherited, recovered
        FROM {chains} ORDER BY inherited DESC, tailnum LIMIT 10""",
    "by_carrier": """
        SELECT carrier, count(*) AS after_late, sum(inherited) / sum(inherited + recovered) AS share, sum(inherited) AS minutes
        FROM {turns} WHERE arrived_late >= 15 GROUP BY carrier HAVING count(*) >= 400 ORDER BY share DESC""",
    "by_visibility": """
        SELECT CASE WHEN visib < 0.5 THEN 'under ½' WHEN visib < 1 THEN '½ to 1' WHEN visib < 3 THEN '1 to 3' WHEN visib < 6 THEN '3 to 6'
                    WHEN visib < 10 THEN '6 to 10' ELSE '10 or more' END AS miles, count(*) AS flights,
               avg(int(dep_delay >= 15)) AS late, avg(int(dep_delay IS NULL)) AS cancelled
        FROM {flights} WHERE visib IS NOT NULL GROUP BY miles ORDER BY min(visib)""",
    "regulars": """
        WITH flown AS (SELECT tailnum, max(at) AS last, max_by(carrier, at) AS carrier, count(*) AS flights
                       FROM {flights} WHERE dep_delay IS NOT NULL GROUP BY tailnum)
        SELECT v.tailnum, carrier, from_utc_timestamp(v.last_seen, {zone}) AS last_seen, v.dest, flights
        FROM {vanished} v JOIN flown ON flown.tailnum = v.tailnum AND flown.last = v.last_seen
        WHERE flights >= {regular} ORDER BY flights DESC, v.tailnum""",
}


def find(spark: SparkSession, results: Path) -> Findings:
    """Run all queries on the folders below `results`."""
    tables: dict[str, Any] = {name: spark.read.parquet(str(results / name)).cache() for name in RESULTS}
    constants = {"zone": NEW_YORK, "regular": REGULAR}

    def ask(query: str) -> list[Any]:
        return spark.sql(query, None, **tables, **constants).collect()

    single = {name: ask(query)[0].asDict() for name, query in ONE_ROW.items()}
    lists = {name: [tuple(row) for row in ask(query)] for name, query in MANY_ROWS.items()}
    for table in tables.values():
        table.unpersist()
    return Findings(**single, **lists)  # type: ignore[arg-type]  # the fields have the names of the queries
