"""Parts of documents that tests write by hand, with the fields that they leave out: the kernel reads none that lacks one."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_CELL = ("id", "name", "kind", "type", "key", "sql", "expires_ms", "computed")


def program(told: Json) -> Json:
    """A program of a query document."""
    layout = told["layout"]
    old = [{"number": one["number"], "cells": [_cell(cell) for cell in one["cells"]]} for one in layout["old"]]
    return told | {
        "cells": [{"id": number, **_cell(cell), "site": cell.get("site")} for number, cell in enumerate(told["cells"], 1)],
        "handlers": [handler(one) for one in told["handlers"]],
        "layout": {"number": layout["number"], "old": old},
    }


def _cell(told: Json) -> Json:
    return {"name": ""} | {name: told[name] for name in _CELL if name in told}


def handler(told: Json) -> Json:
    return told | {"body": [_statement(one) for one in told["body"]]}


def _statement(told: Json) -> Json:
    more: Json = {"site": None}
    match told["do"]:
        case "read":
            more["what"] = "value"
        case "emit":
            more["output"] = "main"
        case "each":
            more |= {"reverse": False, "body": [_statement(one) for one in told["body"]]}
            told = {name: value for name, value in told.items() if name != "body"}
        case "when":
            more["branches"] = [[condition, [_statement(one) for one in body]] for condition, body in told["branches"]]
            told = {name: value for name, value in told.items() if name != "branches"}
    return more | told


def step(told: Json, node: str) -> Json:
    """A step at a node."""
    more = {"names": [], "outer": False} if "generate" in told else {"change": False} if "unweigh" in told else {}
    return {**more, "node": node, **told}
