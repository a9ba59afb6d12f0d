"""Outside: the functions of a plan that are not part of Spark."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.analysis.schemas import check
from headrace.plan import Fact, Plan, fact


@fact("code")
def code(plan: Plan) -> Mapping[str, Fact]:
    """Return for each node that calls such functions their names: the session must have them whenever the job starts."""
    facts = {}
    for name, called in check(plan).outside.items():
        shown = ", ".join(f"{each}()" for each in called)
        facts[name] = Fact(list(called), f"from outside Spark: {shown}, by the name that the session has for it")
    return facts
