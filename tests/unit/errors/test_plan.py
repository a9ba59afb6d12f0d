"""Errors of plans: names, and texts that are no plan."""

from __future__ import annotations

from typing import Any

import headrace as hr
from tests.unit.errors import check_error


def stream(name: str = "charges") -> hr.Stream:
    return hr.read.memory([("a", 1)], "card string, amount int", name=name)


def plan() -> dict[str, Any]:
    return hr.Plan.of("copy", [stream().filter("amount > 0").write.memory()._use()]).to_json()


def changed(**fields: Any) -> dict[str, Any]:
    """A plan whose filter has other fields."""
    data = plan()
    data["nodes"][1].update(fields)
    return data


def test_name_clash() -> None:
    first = stream()
    check_error(
        """
        NAME_CLASH: two sources of the job would be named `charges`, the first at <first>
          at <first>: return hr.read.memory([("a", 1)], "card string, amount int", name=name)
          hint: give one of them another name: hr.read.<connector>(..., name="...")
          more: headrace error NAME_CLASH
        """,
        lambda: hr.Plan.of("two", [first.union(stream()).write.memory()._use()]),
        hide={str(first._node.site): "<first>"},
    )


def test_two_sinks_of_one_name() -> None:
    charges = hr.read.memory([], "card string", name="charges")
    first = charges.write.files("a", format="json")
    second = charges.write.files("b", format="json")
    check_error(
        """
        NAME_CLASH: two sinks of the job would be named `charges.files`, the first at <first>
          at test_plan.py:*: second = charges.write.files("b", format="json")
          hint: give one of them another name: .write.<connector>(..., name="...")
          more: headrace error NAME_CLASH
        """,
        lambda: hr.Plan.of("two", [first._use(), second._use()]),
        hide={str(first._node.site): "<first>"},
    )


def test_broken() -> None:
    check_error(
        """
        PLAN_BROKEN: the plan is invalid: it lacks the fields `format`, `nodes` and `sinks`
          hint: create the plan again: headrace plan FILE, or Job.plan.to_json()
          more: headrace error PLAN_BROKEN
        """,
        lambda: hr.Plan.from_json({"jobs": []}),
    )


def test_field_of_another_type() -> None:
    check_error(
        """
        PLAN_BROKEN: the plan is invalid: `where` of node `charges.filter` is 'amount > 0', not a list of strings
          hint: create the plan again: headrace plan FILE, or Job.plan.to_json()
          more: headrace error PLAN_BROKEN
        """,
        lambda: hr.Plan.from_json(changed(where="amount > 0")),
    )


def test_missing_input() -> None:
    check_error(
        """
        PLAN_BROKEN: the plan is invalid: `input` of node `charges.filter` is `sales`, but the plan has no earlier node of this name
          hint: create the plan again: headrace plan FILE, or Job.plan.to_json()
          more: headrace error PLAN_BROKEN
        """,
        lambda: hr.Plan.from_json(changed(input="sales")),
    )


def test_unknown_field() -> None:
    check_error(
        """
        PLAN_UNKNOWN_FIELD: this version of headrace does not know the field `limit` of `filter` (node `charges.filter`)
          hint: install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name
          more: headrace error PLAN_UNKNOWN_FIELD
        """,
        lambda: hr.Plan.from_json(changed(limit=3)),
    )


def test_unknown_field_of_the_plan() -> None:
    check_error(
        """
        PLAN_UNKNOWN_FIELD: this version of headrace does not know the field `owner` of a plan
          hint: install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name
          more: headrace error PLAN_UNKNOWN_FIELD
        """,
        lambda: hr.Plan.from_json({**plan(), "owner": "me"}),
    )


def test_unknown_operator() -> None:
    check_error(
        """
        PLAN_UNKNOWN_OPERATOR: this version of headrace does not know the operator `sift` (node `charges.filter`)
          hint: install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name
          more: headrace error PLAN_UNKNOWN_OPERATOR
        """,
        lambda: hr.Plan.from_json(changed(op="sift")),
    )


def test_version() -> None:
    check_error(
        """
        PLAN_VERSION: the plan has format 2, but this version of headrace reads format 1
          hint: install the version that wrote the plan, or create it again: headrace plan FILE
          more: headrace error PLAN_VERSION
        """,
        lambda: hr.Plan.from_json({**plan(), "format": 2}),
    )
