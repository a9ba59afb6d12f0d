"""Every operator says each fact of itself: what nobody says is an error here, and never a silent default."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from headrace.analysis.clocks import clock_of
from headrace.analysis.relation import relation
from headrace.analysis.state import state_of
from headrace.ops import Program
from headrace.ops.facts.closing import columns_after, group_of
from headrace.ops.facts.keys import keys_after
from headrace.ops.facts.kind import kind_after
from headrace.ops.facts.time import time_after
from headrace.optimize.narrow import columns_read
from headrace.plan.node import REGISTRY, Node, Role
from headrace.plan.step import steps
from headrace.spark.compile.lower import inlets, lower, shape
from headrace.spark.inspect.tables import tables

OF_ALL = (kind_after, keys_after, columns_after, group_of, time_after, columns_read)
OF_ROLES: dict[Role, tuple[Callable[..., Any], ...]] = {
    Role.STATEFUL: (state_of, clock_of, relation, inlets, shape, lower, tables),
    Role.STATELESS: (steps,),
    Role.LOOKUP: (relation, inlets),
}


def facts_of(operator: type[Node]) -> tuple[Callable[..., Any], ...]:
    found = (*OF_ALL, *OF_ROLES.get(operator.role, ()))
    # A program is checked as one, and a union is a change of schema alone.
    return tuple(
        fact for fact in found if not (fact is relation and operator is Program) and not (fact is steps and operator.op == "union")
    )


@pytest.mark.parametrize("op", REGISTRY)
def test_every_operator_says_each_fact(op: str) -> None:
    operator = REGISTRY[op]
    unsaid = [fact.__name__ for fact in facts_of(operator) if fact.dispatch(operator) is fact.dispatch(Node)]  # type: ignore[attr-defined]  # they are singledispatch
    assert unsaid == []


@pytest.mark.parametrize(
    "fact", sorted({*OF_ALL, *sum(OF_ROLES.values(), ())}, key=lambda fact: fact.__name__), ids=lambda fact: fact.__name__
)
def test_an_operator_that_says_nothing_is_an_error(fact: Callable[..., Any]) -> None:
    class Unheard(Node):
        pass

    with pytest.raises(TypeError, match=r"unnamed|Unheard"):
        fact(Unheard(), *[None] * (len(signature(fact).parameters) - 1))
