"""Display names: what people read in place of the names under which a job is stored.

A stored name that is made by rule may carry a hash, and a checkpoint knows the node by it. For people such a node is named after what it
does: a join of `orders` and `items` is `join(orders, items)`, a sink is named after the place it writes to. Stored names never change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from headrace.errors import HeadraceError
from headrace.plan.naming import by_rule
from headrace.plan.node import Node, Role
from headrace.plan.plan import Plan
from headrace.plan.walk import order

_LONGEST = 48
_FORMS = ("changes", "consolidate", "upserts")


class DisplayNames:
    """The display names of a plan, unique within it; `stored` finds a node by either name.

    >>> import headrace as hr
    >>> orders = hr.read.memory([], "id int, item int", name="orders")
    >>> sink = orders.filter("id > 0").write.files("out/best", format="json")
    >>> shown = DisplayNames.of(Plan.of("job", [sink._use()]))
    >>> list(shown.names.values())[-1]
    'best'
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        self._stored = {shown: name for name, shown in self.names.items()}
        other = sorted((name for name, shown in self.names.items() if name != shown), key=len, reverse=True)
        # not within a path or a longer name; of calls in a line of Python, only before `.output(`
        self._pattern = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, other))})(?![\w(-]|\.(?!output\()\w)") if other else None

    @classmethod
    def of(cls, plan: Plan) -> DisplayNames:
        """Return the display names of a plan."""
        return cls(_names(plan.nodes.values()))

    def __call__(self, name: str | None) -> str:
        """Return the display name of the node with this stored name."""
        return self.names.get(str(name), str(name))

    def stored(self, name: str) -> str:
        """Return the stored name of a node, given either name."""
        return name if name in self.names else self._stored.get(name, name)

    def text(self, text: str) -> str:
        """Return a text with display names in place of stored ones."""
        return text if self._pattern is None else self._pattern.sub(lambda match: self(match[0]), text)

    def error(self, error: HeadraceError) -> HeadraceError:
        """Put display names into an error's texts and return it."""
        error.message = self.text(error.message)
        error.hint = error.hint and self.text(error.hint)
        error.args = (error.code, error.message)
        for other in error.also:
            self.error(other)
        return error


@contextmanager
def displayed(plan: Plan) -> Iterator[None]:
    """Put display names into any error raised inside."""
    try:
        yield
    except HeadraceError as error:
        DisplayNames.of(plan).error(error)
        raise


def _names(listed: Iterable[Node]) -> dict[str, str]:
    nodes = list(listed)
    ruled = {node for node in nodes if by_rule(node, nodes)}
    display = {str(node.name): str(node.name) for node in nodes if node not in ruled}
    taken = {name.lower(): name for name in (*display.values(), *(str(node.name) for node in nodes))}
    for node in order(nodes):
        if node in ruled:
            name = str(node.name)
            display[name] = _free(list(_wanted(node, display, ruled)), name, taken)
            taken[display[name].lower()] = name
    return {str(node.name): display[str(node.name)] for node in nodes}


def _wanted(node: Node, display: Mapping[str, str], ruled: Collection[Node]) -> Iterable[str]:
    """Yield the possible names of a node, the best first."""
    if 0 < len(node.called) <= _LONGEST:
        yield node.called
    if not node.inputs:
        yield node.verb
        return
    if node.role is Role.SINK:
        # Nodes that a sink puts in front of itself are left out of its name as well.
        yield f"{display[str(_sent(node.inputs[0], ruled).name)]}.{node.verb}"
    if not node.by_content:
        before = node.inputs[0] if node.passing else _place(node.inputs[0], ruled)
        yield f"{display[str(before.name)]}.{node.verb}"
        return
    reads = list(dict.fromkeys(display[str(_place(before, ruled).name)] for before in node.called_after))
    for names in (reads, _sources(node)):
        if len(", ".join(names)) <= _LONGEST:
            yield f"{node.verb}({', '.join(names)})"
            return
    yield f"{node.verb}({_sources(node)[0]}, …)"


def _place(node: Node, ruled: Collection[Node]) -> Node:
    """Return the nearest node from this one upstream that names others: stateless nodes named by rule are skipped."""
    while node.passing and node in ruled:
        node = node.inputs[0]
    return node


def _sent(node: Node, ruled: Collection[Node]) -> Node:
    """Return the nearest node upstream of a sink that does more than bring its rows into shape."""
    while node in ruled and (node.passing or node.verb in _FORMS):
        node = node.inputs[0]
    return node


def _sources(node: Node) -> list[str]:
    return [str(before.name) for before in order([node]) if before.role is Role.SOURCE]


def _free(wanted: list[str], name: str, taken: Mapping[str, str]) -> str:
    """Return the first name that no other node has as its stored or display name; else the last one with a number."""
    for one in wanted:
        if taken.get(one.lower(), name) == name:
            return one
    number = 2
    while f"{wanted[-1]}#{number}".lower() in taken:
        number += 1
    return f"{wanted[-1]}#{number}"
