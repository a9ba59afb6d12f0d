"""Rewrites of a plan that change its cost and none of its results.

No rule evaluates an expression on rows that the user's plan would have filtered first, unless it has a value on every row.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.optimize.filters import filters_before_state
from headrace.optimize.first import first_rows
from headrace.optimize.literals import literal_tables
from headrace.optimize.narrow import narrow_inputs
from headrace.optimize.net import net_once
from headrace.plan import Plan

Rule = Callable[[Plan], Plan]

# The order matters: narrowing comes after the rules that leave less state to narrow.
RULES: tuple[Rule, ...] = (literal_tables, filters_before_state, first_rows, narrow_inputs, net_once)


def optimize(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan after all rules, and the names of those that changed it. Starts the session."""
    used: list[str] = []
    for rule in RULES:
        better = rule(plan)
        if better is not plan:
            used.append(rule.__name__.replace("_", " "))
            plan = better
    return plan, tuple(used)
