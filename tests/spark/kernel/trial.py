"""Programs as the query document tells them, and trials of them without a streaming query."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.program import trace
from headrace.schema import parse_schema
from tests.spark.kernel import whole
from tests.spark.kernel.trials import attached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
DEAD = "node string, reason string, file string, position bigint, raw string"
SECOND = 1_000_000
FLUSH = 3_093_527_980_800_000_000
"""The watermark behind the end of bounded input, in micros, for events around 1970."""

Json = dict[str, Any]


def read(local: str, cell: str) -> Json:
    return {"do": "read", "local": local, "cell": cell, "site": "job.py:1"}


def put(cell: str, value: str, site: str = "job.py:2") -> Json:
    return {"do": "set", "cell": cell, "value": value, "site": site}


def clear(cell: str) -> Json:
    return {"do": "clear", "cell": cell, "site": "job.py:3"}


def when(*branches: tuple[str | None, list[Json]]) -> Json:
    return {"do": "when", "branches": [[c, body] for c, body in branches], "site": "job.py:4"}


def emit(output: str = "main", /, site: str = "job.py:5", **row: str) -> Json:
    return {"do": "emit", "output": output, "row": [[k, v] for k, v in row.items()], "site": site}


def on(handler: str, *body: Json, kind: str = "input") -> Json:
    return {"on": handler, "kind": kind, "body": list(body)}


def timer(name: str, *body: Json) -> Json:
    return on(name, *body, kind="timer")


def program(
    *handlers: Json,
    cells: dict[str, str] | None = None,
    timers: tuple[str, ...] = (),
    inputs: dict[str, str] | None = None,
    outputs: dict[str, str] | None = None,
    key: str = "k string",
    order: str = "time",
    clock: str = "event",
    judged: dict[str, bool] | None = None,
    times: dict[str, str] | None = None,
    layout: Json | None = None,
    ids: dict[str, int] | None = None,
) -> Json:
    """An operator of the query document. Cells come before timers."""
    inputs = inputs or {"event": "v int, ts timestamp"}
    listed = [(n, "value", t) for n, t in (cells or {}).items()] + [(n, "timer", "timestamp") for n in timers]
    schemas = {"main": "v int"} | (outputs or {}) | {"dead_letter": DEAD}
    return {
        "op": 1,
        "name": "p",
        "site": "job.py:20",
        "kind": "program",
        "level": 1,
        "key": key,
        "order": order,
        "clock": clock,
        "inputs": [{"name": n, "side": i, "schema": s, "judged": (judged or {}).get(n, True)} for i, (n, s) in enumerate(inputs.items())],
        "cells": [{"id": (ids or {}).get(n, i + 1), "name": n, "kind": kind, "type": t} for i, (n, kind, t) in enumerate(listed)],
        "layout": layout or {"number": 1, "old": []},
        "handlers": list(handlers),
        "outputs": [{"name": n, "schema": s, "time": (times or {}).get(n), "routes": []} for n, s in schemas.items()],
    }


def traced(
    written: Any,
    *,
    key: str = "k string",
    inputs: dict[str, str] | None = None,
    outputs: dict[str, str],
    order: str = "time",
    broadcast: tuple[str, ...] = (),
    **more: Any,
) -> Json:
    """A program in Python as an operator of the query document."""
    inputs = inputs or {"event": "v int, ts timestamp"}
    names = {name: parse_schema(schema).names for name, schema in inputs.items()}
    trace_result = trace(written, name="p", key=parse_schema(key).names, inputs=names, broadcast=broadcast)
    operator = program(
        inputs=inputs, outputs=outputs, key=key, order=order, **{"clock": "event" if order == "time" else trace_result.clock, **more}
    )
    document = trace_result.to_json()
    for one in operator["inputs"]:
        one["broadcast"] = one["name"] in broadcast
    cells = [{**cell, "id": number} for number, cell in enumerate(document["cells"], 1)]
    return {**operator, "handlers": document["handlers"], "cells": cells}


def row(time: int | None, key: Any = "a", source: str = "event", /, **columns: Any) -> Json:
    """A row whose event time (micros) is also its column ts, unless one is given. The key None: it is for all keys."""
    columns.setdefault("ts", None if time is None else stamp(time))
    return {"input": source, "key": key if isinstance(key, dict | None) else {"k": key}, "time": time, "row": columns}


def stamp(micros: int) -> str:
    seconds, rest = divmod(micros, SECOND)
    days, seconds = divmod(seconds, 86400)
    assert 0 <= days < 28, "tests stay in January 1970"
    return f"1970-01-{days + 1:02d} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:06d}"


def epoch(*rows: Json, watermark: int = 0, flush: int | None = None, now: int = 0) -> Json:
    """`flush`: the last event time, for the epoch that ends bounded input."""
    if flush is None:
        return {"watermark": watermark, "now": now, "rows": list(rows)}
    return {"watermark": FLUSH + flush, "now": now, "flushing": True, "last_event": flush, "rows": list(rows)}


@dataclass
class Tried:
    """What a trial answered."""

    epochs: list[list[Any]]
    counts: list[dict[str, int]]
    state: list[Json] = field(repr=False)

    def values(self, output: str = "main") -> list[list[Any]]:
        """By epoch, the rows of one output as tuples, a single column bare."""
        return [[_bare(r) for name, r, _ in rows if name == output] for rows in self.epochs]

    def all(self, output: str = "main") -> list[Any]:
        """The rows of one output, of all epochs."""
        return [row for epoch in self.values(output) for row in epoch]

    def kept(self) -> list[Json]:
        """The state without its alarms, which may ring too early and so depend on where epochs are cut."""

        def bare(one: Json) -> Json:
            value = one["value"] and base64.b64decode(one["value"])
            return {"key": one["key"], "value": value and value[:8] + value[16:], "pages": one["pages"]}

        return [bare(one) for one in sorted(self.state, key=lambda one: str(one["key"]))]

    def times(self) -> list[list[int | None]]:
        return [[time for _, _, time in rows] for rows in self.epochs]

    def dead(self) -> list[tuple[str, str]]:
        return [(r["reason"], r["raw"]) for rows in self.epochs for name, r, _ in rows if name == "dead_letter"]


def _bare(columns: Json) -> Any:
    values = tuple(columns.values())
    return values[0] if len(values) == 1 else values


def trial(
    spark: SparkSession, operator: Json, *epochs: Json, state: list[Json] | None = None, settings: dict[str, str] | None = None
) -> Tried:
    request = {"settings": SETTINGS | (settings or {}), "operator": whole.program(operator), "state": state or [], "epochs": list(epochs)}
    answer = json.loads(attached(spark).headrace.operator.Trial.run(spark._jsparkSession, json.dumps(request)))
    return Tried(
        [e["rows"] for e in answer["epochs"]],
        [{f"{i}.{metric}": n for i, metric, n in e["counts"]} for e in answer["epochs"]],
        answer["state"],
    )
