"""The names of query operators, under which a checkpoint knows their state: those of the corpus's queries and of some verbs, one query a line.

`python -m tests.spark.sql.operator_names` writes the golden file anew. A name that changes is state that the next version of a job does not find: a
change of the file needs a migration, or a reason why nobody has such state.
"""

from __future__ import annotations

from pathlib import Path

import headrace as hr
from headrace.plan import Plan
from tests.golden import GOLDEN
from tests.spark.sql.corpus import corpus
from tests.spark.sql.tables import SCHEMAS

FILE: Path = GOLDEN / "operator_names.txt"


def names() -> dict[str, list[str]]:
    """The operators of each query of the corpus, and of what it does not have."""
    tables = {name: hr.read.memory([], f"{ddl}, op string", name=name, change_column="op") for name, ddl in SCHEMAS.items()}
    streams = {
        query.name: hr.sql(query.text, **{name: tables[name] for name in query.tables(list(tables))})
        for query in corpus()
        if query.refused is None
    }
    return {name: _operators(stream) for name, stream in {**streams, **_verbs()}.items()}


def _verbs() -> dict[str, hr.Stream]:
    bids = hr.read.memory([], "pair string, price double, ts timestamp", name="bids").watermark("ts", "5 minutes")
    rates = hr.read.memory([], "pair string, rate double, at timestamp", name="rates").watermark("at", "5 minutes")
    hours = bids.window(hr.tumble("ts", "1 hour")).group_by("pair", "window_end")
    return {
        "verb_as_of": bids.join_asof(rates, on="pair", time=("ts", "at")),
        "verb_as_of_nearest": bids.join_asof(rates, on="pair", time=("ts", "at"), direction="nearest", within="1 minute"),
        "verb_sessions": bids.window(hr.sessions("ts", "10 minutes", per="pair")).group_by("pair", "window_end").agg(n="count(*)"),
        "verb_windows_that_close": hours.agg(most="max(price)"),
        "verb_interval_join": bids.join(rates.rename({"pair": "of"}), on="pair = of AND ts BETWEEN at AND at + INTERVAL 1 HOUR"),
        "sql_temporal": hr.sql("SELECT * FROM bids WHERE ts > current_timestamp() - INTERVAL 1 HOUR", bids=bids),
        "verb_top": bids.top(3, by="price desc", per="pair"),
        "verb_upserts": bids.select("pair", "price").upserts("pair"),
        "verb_changes": hours.agg(n="count(*)").changes(),
    }


def _operators(stream: hr.Stream) -> list[str]:
    plan = Plan.of("names", [stream.write.memory(name="out", mode="changes")._use()])
    return [name for name, node in plan.nodes.items() if node.by_content]


def text(by_query: dict[str, list[str]]) -> str:
    return "".join(f"{query}: {' '.join(operators)}\n" for query, operators in by_query.items())


if __name__ == "__main__":
    FILE.write_text(text(names()), encoding="utf-8")
