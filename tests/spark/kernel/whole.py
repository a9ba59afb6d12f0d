"""Parts of documents that tests write by hand, with the fields that they leave out: the kernel reads none that lacks one."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_CELL = ("id", "name", "kind", "type", "key", "sql", "expires_ms", "computed")


def program(fields: Json) -> Json:
    """A program of a query document."""
    layout = fields["layout"]
    old = [{"number": one["number"], "cells": [_cell(cell) for cell in one["cells"]]} for one in layout["old"]]
    return fields | {
        "cells": [{"id": number, **_cell(cell), "site": cell.get("site")} for number, cell in enumerate(fields["cells"], 1)],
        "handlers": [handler(one) for one in fields["handlers"]],
        "layout": {"number": layout["number"], "old": old},
    }


def _cell(fields: Json) -> Json:
    return {"name": ""} | {name: fields[name] for name in _CELL if name in fields}


def handler(fields: Json) -> Json:
    return fields | {"body": [_statement(one) for one in fields["body"]]}


def _statement(fields: Json) -> Json:
    more: Json = {"site": None}
    match fields["do"]:
        case "read":
            more["what"] = "value"
        case "emit":
            more["output"] = "main"
        case "each":
            more |= {"reverse": False, "body": [_statement(one) for one in fields["body"]]}
            fields = {name: value for name, value in fields.items() if name != "body"}
        case "when":
            more["branches"] = [[condition, [_statement(one) for one in body]] for condition, body in fields["branches"]]
            fields = {name: value for name, value in fields.items() if name != "branches"}
    return more | fields


def step(fields: Json, node: str) -> Json:
    """A step at a node."""
    more = {"names": [], "outer": False} if "generate" in fields else {"change": False} if "unweigh" in fields else {}
    return {**more, "node": node, **fields}
