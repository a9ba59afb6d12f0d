"""From the plain tree of a query to nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from headrace.errors import Site
from headrace.ops import (
    Aggregate,
    AsOf,
    Filter,
    Generated,
    Join,
    Partition,
    Project,
    Sessions,
    Temporal,
    Top,
    Union,
    Windows,
    event_time,
    groups,
    intervals,
    lookup,
)
from headrace.ops.asking import UNSAID
from headrace.ops.asof import versions
from headrace.ops.expires import expiry
from headrace.ops.facts.carried import CHANGES
from headrace.ops.facts.kind import kind_of
from headrace.ops.sessions import not_early
from headrace.ops.tables import Table
from headrace.ops.values import one_row, values
from headrace.plan import Node
from headrace.syntax import plain_name, quote

Json = Mapping[str, Any]

Forgetting = TypeVar("Forgetting", Aggregate, Join)
"""What may forget groups to which no row has come for long."""

_MANY_ROWS = "raise_error('SCALAR_SUBQUERY_TOO_MANY_ROWS: a subquery used as a value finds more than one row')"


class Reader:
    """Reads trees over these streams; all nodes are of the query at `site`, its windows sent as `emit` and `early_ms` say, as are its
    joins within a span of time.

    `expires_ms`: after how long without rows joins and aggregates forget a group, where the query does not say it and the group or
    its rows do not end by themselves.
    """

    def __init__(
        self,
        tables: Mapping[str, Node],
        site: Site | None,
        emit: str = CHANGES,
        early_ms: int = 0,
        expires_ms: int | None = None,
        outside: Mapping[str, Table] | None = None,
    ) -> None:
        self._tables = {name.lower(): node for name, node in tables.items()}
        self._site = site
        self._emit = emit
        self._early_ms = early_ms
        self._expires_ms = expires_ms
        self._outside = {name.lower(): table for name, table in (outside or {}).items()}

    def node(self, tree: Json) -> Node:
        """The node of a tree."""
        made: Node = getattr(self, f"_{tree['node']}")(tree)
        return made

    def _table(self, tree: Json) -> Node:
        return self._tables[tree["name"].lower()]

    def _values(self, tree: Json) -> Node:
        columns = [(name, kind) for name, kind in tree["columns"]]
        if not columns:
            return one_row()
        return replace(values(columns, tree["rows"]), site=self._site)

    def _project(self, tree: Json) -> Node:
        return self._selected(self.node(tree["input"]), tree["columns"])

    def _selected(self, input: Node, columns: Any) -> Node:
        items = tuple((name, text) for name, text in columns)
        same = tuple((name, quote(name)) for name in input.columns)
        return input if items == same else Project(input, "select", items, site=self._site)

    def _filter(self, tree: Json) -> Node:
        return Filter(self.node(tree["input"]), (tree["condition"],), site=self._site)

    def _temporal(self, tree: Json) -> Node:
        return Temporal(self.node(tree["input"]), tuple(tree["since"]), tuple(tree["until"]), site=self._site)

    def _join(self, tree: Json) -> Node:
        left, right = self.node(tree["left"]), self.node(tree["right"])
        keys = tuple((mine, theirs) for mine, theirs in tree["keys"])
        safe = tuple(i for i, each in enumerate(tree["null_safe"]) if each)
        how = tree["how"]
        if how == "single":
            return self._single(left, right, keys, safe)
        made = self._expiring(Join(left, right, how, keys, safe, tree["condition"], tree["mark"], site=self._site), tree["expires"])
        if not self._early_ms and made in intervals([made]):
            made = replace(made, emit=self._emit)
        return made

    def _join_asof(self, tree: Json) -> Node:
        left = self.node(tree["left"])
        right = Reader({name: versions(node) for name, node in self._tables.items()}, self._site).node(tree["right"])
        keys = tuple((mine, theirs) for mine, theirs in tree["keys"])
        mine, theirs = tree["time"]
        timed = all(time is not None and plain_name(text) == time for text, time in ((mine, event_time(left)), (theirs, event_time(right))))
        return AsOf(left, right, tree["how"], keys, (mine, theirs), clock="event" if timed else "none", site=self._site)

    def _lookup(self, tree: Json) -> Node:
        left, right = self.node(tree["left"]), tree["right"]
        names: dict[str, str] = {}
        while right["node"] == "project":
            here = {name: plain_name(text) or "" for name, text in right["columns"]}
            names, right = {name: here[old] for name, old in names.items()} or here, right["input"]
        table = self._outside[right["name"].lower()]
        keys = tuple((mine, names.get(theirs, theirs)) for mine, theirs in tree["keys"])
        given = tuple((name, names.get(theirs, theirs)) for name, theirs in tree["given"])
        return lookup.of_table(left, table, tree["how"], keys, given, UNSAID, kind_of(left))

    def _single(self, left: Node, right: Node, keys: tuple[tuple[str, str], ...], safe: tuple[int, ...]) -> Node:
        """Each left row with the one right row that it meets, or nulls; a left row that meets several fails."""
        row, several, *named = _free(["_row", "_several", *(f"_key_{i}" for i in range(1, len(keys) + 1))], left)
        fields = ", ".join(f"'{i}', {quote(name)}" for i, name in enumerate(right.columns))
        one = f"CASE WHEN count(*) = 1 THEN first(named_struct({fields})) END"
        groups = tuple(zip(named, (text for _, text in keys), strict=True))
        functions = ((row, one), (several, "count(*) > 1"))
        found = Aggregate(right, groups, functions, None if keys else one_row(), site=self._site)
        met = tuple((mine, quote(name)) for (mine, _), name in zip(keys, named, strict=True))
        # Without keys there is one group, with or without rows.
        joined = Join(left, found, "left" if keys else "inner", met, safe, site=self._site)
        single = Filter(joined, (f"CASE WHEN {quote(several)} THEN {_MANY_ROWS} ELSE true END",), site=self._site)
        items = [*((name, quote(name)) for name in left.columns), *((name, f"{quote(row)}.`{i}`") for i, name in enumerate(right.columns))]
        return Project(single, "select", tuple(items), site=self._site)

    def _aggregate(self, tree: Json) -> Node:
        keys = tuple((name, text) for name, text in tree["keys"])
        aggregates = tuple((name, text) for name, text in tree["aggregates"])
        made = Aggregate(self.node(tree["input"]), keys, aggregates, None if keys else one_row(), site=self._site)
        return self._expiring(made, tree["expires"])

    def _expiring(self, node: Forgetting, asked: str | None) -> Forgetting:
        if asked is not None:
            return replace(node, expires_ms=expiry(asked, "the hint EXPIRES"))
        keeps = self._expires_ms is None or not node.keys or node in {*groups([node]), *intervals([node])}
        return node if keeps else replace(node, expires_ms=self._expires_ms)

    def _window(self, tree: Json) -> Node:
        order = tuple((text, direction, nulls) for text, direction, nulls in tree["order"])
        functions = tuple((name, text) for name, text in tree["functions"])
        return Partition(self.node(tree["input"]), tuple(tree["keys"]), order, functions, site=self._site)

    def _limit(self, tree: Json) -> Node:
        order = tuple((text, direction, nulls) for text, direction, nulls in tree["order"])
        return Top(self.node(tree["input"]), (), order, tree["count"], tree["offset"], site=self._site)

    def _generate(self, tree: Json) -> Node:
        return Generated(self.node(tree["input"]), tree["text"], tuple(tree["names"]), tree["outer"], site=self._site)

    def _windows(self, tree: Json) -> Node:
        return Windows(
            self.node(tree["input"]),
            tree["kind"],
            tree["time"],
            tree["size"],
            tree["step"],
            tree["offset"],
            tuple(tree["names"]),
            self._emit,
            early_ms=self._early_ms,
            site=self._site,
        )

    def _sessions(self, tree: Json) -> Node:
        if self._early_ms:
            raise not_early()
        per, names = tuple(tree["per"]), tuple(tree["names"])
        return Sessions(self.node(tree["input"]), per, tree["time"], tree["gap"], tree["until"], names, self._emit, site=self._site)

    def _union(self, tree: Json) -> Node:
        first, *others = [self.node(one) for one in tree["inputs"]]
        # By position, so that all have the names of the first, by which a union matches columns.
        moved = [
            self._selected(other, [(name, quote(theirs)) for name, theirs in zip(first.columns, other.columns, strict=True)])
            for other in others
        ]
        return Union((first, *moved), site=self._site)


def _free(names: list[str], beside: Node) -> list[str]:
    """Names that no column of a node has."""
    taken = {name.lower() for name in beside.columns}
    return [name if name.lower() not in taken else _free([name + "_"], beside)[0] for name in names]
