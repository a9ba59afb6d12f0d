"""Calls of `headrace.lift.Lift`, and trees written short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm
from tests.spark.lift.rebuilt import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC", "spark.sql.caseSensitive": "false"}


def lift(spark: SparkSession, query: str, tables: Mapping[str, str], **settings: str) -> dict[str, Any]:
    request = json.dumps({"settings": SETTINGS | settings, "query": query, "tables": tables})
    answer: dict[str, Any] = json.loads(jvm(spark).headrace.lift.Lift.sql(spark._jsparkSession, request))
    return answer


def view(spark: SparkSession, name: str, ddl: str) -> DataFrame:
    from pyspark.sql import DataFrame

    return DataFrame(jvm(spark).headrace.lift.Lift.view(spark._jsparkSession, name, ddl), spark)


def lift_frame(spark: SparkSession, frame: DataFrame) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(jvm(spark).headrace.lift.Lift.frame(frame._jdf, json.dumps(SETTINGS)))
    return answer


def printed(spark: SparkSession, ddl: str, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(jvm(spark).headrace.lift.Lift.printed(spark._jsparkSession, ddl, text))
    return answer


def short(node: Node, depth: int = 0) -> str:
    """A tree as indented lines, for tests to compare.

    >>> print(short({"node": "filter", "condition": "a > 1", "input": {"node": "table", "name": "t"}}))
    filter a > 1
      table t
    """
    inputs = [node[side] for side in ("input", "left", "right") if side in node] + node.get("inputs", [])
    return "\n".join(["  " * depth + _line(node), *(short(n, depth + 1) for n in inputs)])


def _line(node: Node) -> str:
    kind = node["node"]
    if kind == "join":
        keys = [f"{a} {'<=>' if safe else '='} {b}" for (a, b), safe in zip(node["keys"], node["null_safe"], strict=True)]
        parts = [kind, node["how"], " AND ".join(keys), f"if {node['condition']}" if node["condition"] else "", node["mark"] or ""]
        return " ".join(p for p in parts if p)
    if kind == "aggregate":
        return f"aggregate by {_columns(node['keys'])}: {_columns(node['aggregates'])}"
    if kind == "limit":
        order = ", ".join(" ".join(o) for o in node["order"])
        return f"limit {node['count']} offset {node['offset']} by {order}"
    if kind == "generate":
        return f"generate {'outer ' if node['outer'] else ''}{node['text']} as {', '.join(node['names'])}"
    if kind == "values":
        return f"values {_columns(node['columns'])}: " + "; ".join(", ".join(row) for row in node["rows"])
    if kind == "window":
        return "window " + ", ".join(f"{name}: {text}" for name, text in node["functions"])
    if kind == "project":
        return f"project {_columns(node['columns'])}"
    return f"{kind} {node.get('condition') or node.get('name') or ''}".rstrip()


def _columns(pairs: list[list[str]]) -> str:
    return ", ".join(name if name == text else f"{text} as {name}" for name, text in pairs)
