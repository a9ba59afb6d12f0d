"""Every operator says each fact of itself: one that leaves a fact out cannot be declared, and there is no silent default."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import pytest
from tools import counts

from headrace.ops import Program, Union
from headrace.ops.operator import Consumer, Memoryless, Operator, Stepwise
from headrace.ops.relational import Relational, Stateful
from headrace.plan.node import REGISTRY, Node, Role, node

OF_ALL = {
    "kind_after",
    "keys_after",
    "time_after",
    "closing_after",
    "group",
    "interval",
    "forgets_after",
    "grouped_by",
    "judged",
    "columns_read",
    "check_request",
    "keeps",
    "compares_rows",
    "wait",
    "row_fact",
    "order_fact",
    "letter_fact",
    "table_fact",
}
OF_BASES: dict[type[Operator], set[str]] = {
    Stepwise: {"steps"},
    Consumer: {"inlets"},
    Stateful: {"kept", "goes_by", "cells", "key_names", "outlives_edits", "order_kept", "clock_kept", "late_inputs", "text"},
    Relational: {"relation"},
}


def unsaid(cls: type[Node], fact: str) -> bool:
    return bool(getattr(getattr(cls, fact), "__isabstractmethod__", False))


def facts_of(cls: type[Node]) -> set[str]:
    """What a class has to say: all that one of its bases leaves open."""
    return {name for base in cls.__mro__ for name in vars(base) if unsaid(base, name)}


@pytest.mark.parametrize("op", REGISTRY)
def test_every_operator_says_each_fact(op: str) -> None:
    cls = REGISTRY[op]
    assert issubclass(cls, Operator)
    expected = OF_ALL.union(*(facts for base, facts in OF_BASES.items() if issubclass(cls, base)))
    assert expected <= facts_of(cls)
    assert [fact for fact in facts_of(cls) if unsaid(cls, fact)] == []


@pytest.mark.parametrize("op", REGISTRY)
def test_its_role_decides_what_an_operator_has_to_say(op: str) -> None:
    cls = REGISTRY[op]
    assert issubclass(cls, Stateful) == (cls.role is Role.STATEFUL) == (not issubclass(cls, Memoryless))
    assert issubclass(cls, Consumer) == (cls.role in (Role.STATEFUL, Role.LOOKUP))
    # A program is checked as one, and a union, or a hybrid, is a change of schema alone.
    assert issubclass(cls, Relational) == (cls.role is Role.STATEFUL and cls is not Program)
    assert issubclass(cls, Stepwise) == (cls.role is Role.STATELESS and not issubclass(cls, Union))


@pytest.mark.parametrize(("op", "fact"), [(op, fact) for op, cls in REGISTRY.items() for fact in sorted(facts_of(cls))])
def test_an_operator_that_leaves_one_out_cannot_be_declared(op: str, fact: str) -> None:
    def left_out(self: Any) -> None: ...

    silent = ABCMeta("Silent", (REGISTRY[op],), {fact: abstractmethod(left_out)})
    with pytest.raises(TypeError, match=rf"Silent does not define: {fact}$"):
        node("silent")(silent)
    assert "silent" not in REGISTRY


def test_no_fact_of_all_has_a_default() -> None:
    assert {name for base in Operator.__mro__ for name in vars(base) if unsaid(base, name)} == OF_ALL


def test_nothing_outside_tests_the_class_of_an_operator() -> None:
    assert counts.tests_of_operators() == []
