"""Plans: nodes, their names, JSON and fingerprint, and explain. This package knows no concrete operator."""

from headrace.plan.display import DisplayNames, displayed
from headrace.plan.explain import Explanation, explain
from headrace.plan.facts import Fact, fact, facts
from headrace.plan.node import Node, Role, node
from headrace.plan.plan import Plan
from headrace.plan.step import Generate, Locate, Place, Project, Step, Unweigh, Weigh, Where
from headrace.plan.walk import nearest, order

__all__ = [
    "DisplayNames",
    "Explanation",
    "Fact",
    "Generate",
    "Locate",
    "Node",
    "Place",
    "Plan",
    "Project",
    "Role",
    "Step",
    "Unweigh",
    "Weigh",
    "Where",
    "displayed",
    "explain",
    "fact",
    "facts",
    "nearest",
    "node",
    "order",
]
