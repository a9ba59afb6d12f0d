"""Query documents written by hand, and the Python side of a query that runs one: what the levels are tested with."""

from __future__ import annotations

import datetime
import itertools
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.kernel import whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEAD = "node string, reason string, file string, position bigint, raw string"
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
}
END = 3093527980800000 * 1000
"""The time of the end, in micros."""

_boards = itertools.count()


def micros(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()) * 1_000_000


def second(n: int) -> int:
    return micros("2026-01-01 00:00:00") + n * 1_000_000


def route(
    to: int, schema: str, *steps: dict[str, Any], key: str | None = None, key_schema: str = "", side: int = 0, **more: Any
) -> dict[str, Any]:
    """A route to a sink, or by `key` to an operator; an empty key is that of an operator without keys."""
    return {
        "to": to,
        "side": side,
        "steps": [{"node": "x", "site": "job.py:1", **step} for step in steps],
        "key": [[k, k] for k in (key or "").split()],
        "key_schema": key_schema,
        "time": more.get("time"),
        "order": more.get("order"),
        "schema": schema,
        "delivery": "none" if key is None else "key",
    }


def source(
    name: str, schema: str, *routes: dict[str, Any], delay_ms: int | None = 0, dead: int | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "schema": schema,
        "reader": {"kind": more.get("reader", "columns"), "options": more.get("options", {})},
        "malformed": more.get("malformed", "dead_letter"),
        "watermark": None if delay_ms is None else {"column": "ts", "delay_ms": delay_ms},
        "routes": list(routes),
        "dead": [] if dead is None else [route(dead, DEAD)],
    }


def program(
    op: int, level: int, key: str, inputs: dict[str, str], handlers: dict[str, list[dict[str, Any]]], **more: Any
) -> dict[str, Any]:
    """`outputs` maps names to (schema, time, routes); timers are handlers whose name is a timer cell."""
    cells = [
        {"id": i + 1, "name": n, "kind": "timer" if t == "timer" else "value", "type": "timestamp" if t == "timer" else t}
        for i, (n, t) in enumerate(more.get("cells", {}).items())
    ]
    timers = {cell["name"] for cell in cells if cell["kind"] == "timer"}
    return {
        "op": op,
        "name": f"p{op}",
        "site": "job.py:1",
        "kind": "program",
        "level": level,
        "key": key,
        "order": more.get("order", "time"),
        "clock": more.get("clock", "event"),
        "inputs": [{"name": n, "side": i, "schema": s, "judged": more.get("judged", True)} for i, (n, s) in enumerate(inputs.items())],
        "cells": cells,
        "layout": {"number": 1, "old": []},
        "handlers": [
            {
                "on": on,
                "kind": "timer" if on in timers else "late" if on == "late" else "input",
                "body": [{"site": "job.py:2", **s} for s in body],
            }
            for on, body in handlers.items()
        ],
        "outputs": [{"name": n, "schema": schema, "time": time, "routes": routes} for n, (schema, time, routes) in more["outputs"].items()],
    }


def count_rows(cell: str = "n") -> list[dict[str, Any]]:
    """Counts into a cell, leaving the new count in the local `n1`."""
    return [
        {"do": "read", "local": "n0", "cell": cell},
        {"do": "set", "cell": cell, "value": "coalesce(n0, 0L) + 1L"},
        {"do": "read", "local": "n1", "cell": cell},
    ]


def emit(output: str = "main", **columns: str) -> dict[str, Any]:
    return {"do": "emit", "output": output, "row": [[name, text] for name, text in columns.items()]}


class Committer:
    """What the JVM calls for each epoch. Keeps all rows and counts; `answers` to whether it may still work there are given in turn."""

    def __init__(self, ops: list[int]) -> None:
        self.ops = ops
        self.rows: dict[int, list[tuple[Any, ...]]] = {op: [] for op in ops}
        self.counts: Counter[tuple[str, int, int, str]] = Counter()
        self.epochs: list[int] = []
        self.watermarks: list[int] = []
        self.answers: list[str | None] = []

    def commit(self, epoch: int, staged: Any) -> str | None:
        report = json.loads(staged.json())
        for name, op, side, metric, n in report["counts"]:
            place = (name, op, side, metric)
            self.counts[place] = max(self.counts[place], n) if metric == "max_time" else self.counts[place] + n
        for op in self.ops:
            self.rows[op] += pickle.loads(bytes(staged.rows(op)))
        self.epochs.append(epoch)
        self.watermarks.append(report["watermark_ms"])
        return None

    def still(self) -> str | None:
        return self.answers.pop(0) if self.answers else None

    def begin(self, epoch: int) -> str:
        return self.still() or "="

    class Java:
        implements = ("headrace.sink.Committer",)


class Query:
    """A query over boards, started and restarted on one checkpoint."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        sources: list[dict[str, Any]],
        levels: list[list[dict[str, Any]]],
        sinks: dict[int, str],
        **more: Any,
    ) -> None:
        from pyspark.java_gateway import ensure_callback_server_started

        self.spark, self.checkpoint, self.sources = spark, str(folder / "checkpoint"), sources
        self.jvm: Any = spark._jvm
        ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
        self.manual = more.pop("manual", False)
        self.scans: dict[str, Any] = more.pop("scans", {})
        self.document = {
            "format": 1, "job": "j", "query": "main", "fingerprint": f"f{next(_boards)}", "partitions": 2, "clock": "event", "settings": SETTINGS,
            "sources": sources, "levels": levels,
            "sinks": [{"op": op, "name": f"s{op}", "schema": schema, "stage": {"kind": "rows"}} for op, schema in sinks.items()],
            **more,
        }  # fmt: skip
        self.board = f"queries-{next(_boards)}"
        self.jvm.headrace.source.Board.create(self.board)
        self.out = Committer(list(sinks))
        self.run: Any = None
        self.start()

    def start(self) -> None:
        scans = self.jvm.java.util.HashMap()
        for s in self.sources:
            scan = self.scans.get(s["name"])
            frame = scan() if scan else self.jvm.headrace.source.Memory.frame(self.spark._jsparkSession, self.board, s["name"], s["schema"])
            scans.put(s["name"], frame)
        levels = [[whole.program(one) for one in level] for level in self.document["levels"]]
        document = {"retired": [[] for _ in levels], **self.document, "levels": levels}
        self.run = self.jvm.headrace.run.Kernel.start(
            self.spark._jsparkSession, json.dumps(document), scans, self.out, self.checkpoint, "0", self.manual, None, False
        )

    def commit(self, **rows: list[tuple[Any, ...]]) -> None:
        """One epoch of rows, and all that it makes due."""
        for name, some in rows.items():
            schema = next(s["schema"] for s in self.sources if s["name"] == name)
            self.jvm.headrace.source.Board.append(self.board, name, bytearray(pickle.dumps(some)), schema)
        self.jvm.headrace.source.Board.publish(self.board)
        self.settle()

    def settle(self) -> None:
        self.run.processAllAvailable()
        assert self.run.exception() is None, self.run.exception()

    def restart(self) -> None:
        self.run.stop()
        self.start()

    def finish(self) -> None:
        """The end of the input: everything held comes out."""
        last = max(n for (_, _, _, metric), n in self.out.counts.items() if metric == "max_time")
        self.run.publish(json.dumps({s["name"]: END + last + s["watermark"]["delay_ms"] * 1000 for s in self.sources if s["watermark"]}))
        self.settle()

    def stop(self) -> None:
        self.run.stop()

    def balanced(self, op: int, side: int = 0) -> int:
        """Rows in, after seeing that each was handled, late, dead or is held."""
        of = {metric: self.out.counts["", op, side, metric] for metric in ("in", "handled", "late", "dead", "held")}
        assert of["in"] == of["handled"] + of["late"] + of["dead"] + of["held"], of
        return of["in"]
