"""Rows of two streams that match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from headrace.errors import PlanError, here
from headrace.expr import of_text
from headrace.ops.columns import checked, column_name, duplicate, label
from headrace.ops.expires import Duration, expiring, expiry
from headrace.ops.facts.carried import CHANGES, CLOSE, SELF, Closes, Columns, carried
from headrace.ops.facts.clock import Clock, clock_of_groups
from headrace.ops.facts.closing import Group, delays, group_by_keys, intervals, result
from headrace.ops.facts.forgetting import judged_by_ends
from headrace.ops.facts.interval import Bounds, Interval, Pair, bounds, interval
from headrace.ops.facts.keys import Keys, lower
from headrace.ops.facts.kind import APPEND, only_added
from headrace.ops.facts.provenance import OfPair, Provenance
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.facts.state import GROWS, RELEASED, Basis
from headrace.ops.filter import Filter
from headrace.ops.generate import Generated
from headrace.ops.inlet import Checked, Inlet, inlet
from headrace.ops.on import Aliases, apart, free, names_of, over_both, set_apart, shared
from headrace.ops.parts import RelationText
from headrace.ops.project import Project
from headrace.ops.relational import LEFT, RIGHT, TwoSided
from headrace.ops.tree import Tree, reads
from headrace.ops.window import shown_micros
from headrace.plan import Fact, Node, node
from headrace.spelling import suggestion
from headrace.syntax import plain_name, quote

HOWS = ("inner", "left", "right", "full", "semi", "anti")
EMITS = (CHANGES, CLOSE)
_ELSEWHERE = {"outer": "full", "fullouter": "full", "leftouter": "left", "rightouter": "right", "leftsemi": "semi", "leftanti": "anti"}
"""Other libraries' names of joins, without `_`."""

WAITING: Mapping[str, tuple[int, ...]] = {"left": (0,), "anti": (0,), "existence": (0,), "full": (0, 1)}
"""The sides, left 0 and right 1, of whose rows a kind of join says that they meet none."""


@dataclass(frozen=True, kw_only=True)
class JoinText(RelationText):
    """Both texts of each key, the additional condition, and the column that shows whether a row has a match (`existence`)."""

    how: str
    keys: tuple[tuple[str, str], ...]
    condition: str | None
    mark: str | None


@node("join")
class Join(TwoSided):
    """Rows of two inputs whose keys are equal and for which the condition is true.

    `how`: inner; left and full also give unmatched rows, with nulls; semi and anti give the left rows with or without a match; existence
    gives each left row and, in the column `mark`, whether it has one. A key is a text over the left columns and one over the right; nulls
    match in the keys `null_safe` (by number). The inputs have no column name in common. `expires_ms`: after how long without rows of either
    side a key is forgotten. `emit`: an unmatched row is sent at once and retracted ("changes"), or sent once, when none can match
    ("close").

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
    >>> cards = hr.read.memory([("a", "SE")], "card string, country string", name="cards")
    >>> charges.join(cards, on="card")                         # epoch 1: charges +(a, 7), cards +(a, SE)   ->   +(a, 7, SE)
    <Stream join(charges, cards): card, amount, country>
    """

    how: str = field(metadata={"of": ("inner", "left", "full", "semi", "anti", "existence")})
    null_safe: tuple[int, ...] = ()
    condition: str | None = None
    mark: str | None = None
    expires_ms: int | None = field(default=None, metadata={"later": True, "least": 1})
    emit: str = field(default=CHANGES, metadata={"later": True, "of": EMITS})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        if self.how in ("semi", "anti"):
            return self.left.columns
        return (*self.left.columns, *((str(self.mark),) if self.how == "existence" else self.right.columns))

    @property
    def fits(self) -> bool:
        return all(0 <= key < len(self.keys) for key in self.null_safe) and (self.mark is not None) == (self.how == "existence")

    def describe(self) -> str:
        met = [f"{left} {'<=>' if i in self.null_safe else '='} {right}" for i, (left, right) in enumerate(self.keys)]
        met += [self.condition] if self.condition is not None else []
        once = "" if self.emit == CHANGES else ", unmatched rows once"
        return f"{self.how} join" + (f" on {' AND '.join(met)}" if met else "") + expiring(self.expires_ms) + once

    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        # A row without a match changes with its first match, unless it is sent only when none can come.
        alone = self.how in ("inner", "semi") or self.emit == CLOSE
        return APPEND if kinds[self.left] == kinds[self.right] == APPEND and alone else CHANGES

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        if self.how in ("semi", "anti", "existence"):
            return keys[self.left]
        if self.how == "full":
            return ()
        met = [lower(plain_name(pair[side]) or "" for pair in self.keys) for side in (0, 1)]
        left = keys[self.left] if any(key <= met[1] for key in keys[self.right]) else ()
        right = keys[self.right] if self.how == "inner" and any(key <= met[0] for key in keys[self.left]) else ()
        pairs = tuple(mine | theirs for mine in keys[self.left] for theirs in keys[self.right])
        return (*left, *right, *pairs)

    def _meeting(self, columns: Mapping[Node, Columns]) -> Iterable[tuple[int, Closes]]:
        """Yield the keys that close alike on both sides; they wait for the later of the two."""
        for number, (left, right) in enumerate(self.keys):
            one, other = carried(left, columns[self.left]), carried(right, columns[self.right])
            if one is not None and other is not None and (one.at, one.start, one.clock) == (other.at, other.start, other.clock):
                emit = CLOSE if self.emit == CLOSE or one.emit == other.emit == CLOSE else CHANGES
                late, early = max(one.lateness_ms, other.lateness_ms), max(one.early_ms, other.early_ms)
                yield number, replace(one, lateness_ms=late, emit=emit, early_ms=early)

    def group(self, columns: Mapping[Node, Columns]) -> Group | None:
        judged = tuple(any(closes.straight for closes in columns[side].values()) for side in (self.left, self.right))
        return group_by_keys(tuple(self._meeting(columns)), judged)

    def interval(self, columns: Mapping[Node, Columns]) -> Interval | None:
        # If its groups end as a whole, rows do not end one by one.
        if self.expires_ms is not None or any(self._meeting(columns)):
            return None
        left, right = delays(columns[self.left]), delays(columns[self.right])
        return interval(self.bounds(left, right), left, right, self.emit) if left and right else None

    def bounds(self, left: Collection[str], right: Collection[str]) -> Mapping[Pair, Bounds]:
        """Return the least and the most that these columns of the left side are later than those of the right, by its condition."""
        keys = [pair for i, pair in enumerate(self.keys) if i not in self.null_safe]
        return bounds(keys, self.condition, left, right)

    @property
    def _all_bounds(self) -> Mapping[Pair, Bounds]:
        return self.bounds(lower(self.left.columns), lower(self.right.columns))

    def with_table(self, array: Callable[[Node], str | None]) -> Node | None:
        left, right = (array(self.left), array(self.right)) if self.how == "inner" else (None, None)
        if (left is None) == (right is None):
            return None
        stream, table = (self.left, self.right) if right is not None else (self.right, self.left)
        met = [f"({mine}) {'<=>' if i in self.null_safe else '='} ({theirs})" for i, (mine, theirs) in enumerate(self.keys)]
        met += [self.condition] if self.condition is not None else []
        joined: Node = Generated(stream, f"inline({right or left})", table.columns, False, site=self.site)
        joined = Filter(joined, tuple(met), site=self.site) if met else joined
        return (
            joined if table is self.right else Project(joined, "select", tuple((one, quote(one)) for one in self.columns), site=self.site)
        )

    @property
    def forgets_after(self) -> int | None:
        return self.expires_ms

    @property
    def judged(self) -> tuple[bool, ...]:
        return judged_by_ends(self)

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        sides = (0,) if self.how in ("semi", "anti", "existence") else (0, 1)
        closing = {plain_name(self.keys[number][side]): closes for number, closes in self._meeting(columns) for side in sides}
        if (near := self.interval(columns)) is not None:
            # A row is sent at the latest when it is forgotten.
            kept = {near.times[side]: near.kept_us[side] for side in sides}
            closing = {name: Closes(SELF, -(-micros // 1000)) for name, micros in kept.items() if micros is not None}
        return result({name.lower(): closes for name, closes in closing.items() if name is not None})

    @property
    def sent_at_close(self) -> bool:
        return self.emit == CLOSE

    def unclosed(self, columns: Mapping[Node, Columns]) -> PlanError | None:
        if self.emit != CLOSE or self.group(columns) is not None:
            return None
        near = self.interval(columns)
        kept = (None, None) if near is None else near.kept_us
        endless = next((side for side in WAITING.get(self.how, ()) if kept[side] is None), None)
        return None if endless is None else self._endless(endless, (columns[self.left], columns[self.right]))

    def _endless(self, side: int, columns: tuple[Columns, Columns]) -> PlanError:
        """Return the error for a side (left 0, right 1) whose rows without a match would never be sent."""
        name = ("left", "right")[side]
        waits = f"{label(self)} sends an unmatched {name} row when no match can come any more"
        keys = [tuple((plain_name(text) or "").lower() for text in pair) for pair in self.keys]
        known = {
            pair: [name in closing for name, closing in zip(pair, columns, strict=True)]
            for pair, ends in self._all_bounds.items()
            if ends[side] is not None and pair not in keys
        }
        # If one of the two is event time, the other one lacks a watermark; if neither is, they may be no times at all.
        bounding = [pair for pair, timed in known.items() if any(timed) or not all(columns)]
        if not bounding:
            return PlanError(
                "NEVER_CLOSES",
                f"{waits}, but its condition does not limit when one can",
                hint='bound the times of both sides, `ts BETWEEN opened AND opened + INTERVAL 1 HOUR`, or emit each change: emit="changes"',
                site=self.site,
            )
        pair = max(bounding, key=lambda pair: any(known[pair]))
        time, of = (pair[1], self.right) if known[pair][0] else (pair[0], self.left)
        return PlanError(
            "NO_WATERMARK",
            f"{waits}, but `{time}` of {label(of)} is not event time, so one always can",
            hint=f'give the source a watermark, .watermark("{time}", "5 minutes"), or emit each change: emit="changes"',
            site=self.site,
        )

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        sides = enumerate((("left", self.left), ("right", self.right)))
        return {name: both(wanted, read(stream, [*(pair[i] for pair in self.keys), self.condition])) for i, (name, stream) in sides}

    def place_of_filter(self, named: frozenset[str]) -> str | None:
        # In a join that forgets keys, each row keeps those of its key, also a row that the filter would drop.
        if self.expires_ms is not None:
            return None
        if named <= lower(self.left.columns):
            return None if self.how == "full" else "left"
        return "right" if self.how == "inner" and named <= lower(self.right.columns) else None

    def goes_by(self, group: Group | None) -> Clock:
        return clock_of_groups(self, group)

    def kept(self, basis: Basis) -> Fact:
        near = self.interval(basis.columns)
        if near is not None:
            return _one_by_one(near)
        ends = self.expires_ms is not None or self.group(basis.columns) is not None
        cure = "" if ends else self._cure(basis.columns)
        if self.how in ("semi", "anti", "existence") and self.condition is None:
            counts = "of the right rows it keeps a count for each key"
            return Fact(GROWS, f"grows with the left rows; a right row may match any of them; {counts}{cure}")
        partners = "" if self.how == "inner" or self.condition is None else ", and the number of matches of each"
        spread = "" if self.keys or self.how == "full" else "; without keys each right row is kept in every partition"
        return Fact(GROWS, f"grows with the rows of both sides; a later row may match any of them{partners}{spread}{cure}")

    def _cure(self, columns: Mapping[Node, Columns]) -> str:
        """Return what would bound the state of a join, if little is missing."""
        left, right = columns[self.left], columns[self.right]
        for mine, other in self._all_bounds:
            if (mine in left) != (other in right):
                return f"; a watermark on {other if mine in left else mine} would bound it"
        if not left or not right:
            return ""
        mine, other = next(iter(left)), next(iter(right))
        return f"; a condition such as `{mine} BETWEEN {other} AND {other} + INTERVAL 1 HOUR` would bound it"

    @property
    def provenance(self) -> Provenance:
        right = self.right.columns if self.how in ("inner", "left", "full") else None
        kept = WAITING.get(self.how, ())
        return OfPair(self.keys, self.null_safe, self.condition, right, self.how == "semi", self.mark, kept)

    def relation(self) -> JoinText:
        return JoinText(how=self.how, keys=self.keys, condition=self.condition, mark=self.mark)

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        # Rows of two insert-only streams match in any order.
        order = None if self.how == "inner" and only_added(self) else "rows"
        if not self.keys:
            return self._sharded(at, order)
        return tuple(
            inlet(stream, at, delivery="null_key", key=key, key_schema=schema, name=name, side=side, order=order, steps=steps)
            for name, side, stream in self.sides
            for key, schema, steps in [self.met(side, stream, at, self.null_safe)]
        )

    def _sharded(self, at: Checked, order: str | None) -> tuple[Inlet, ...]:
        """Without keys, send each left row to one shard and each right row to all; a full join, which keeps right rows, has one shard."""
        shards = 1 if self.how == "full" else None
        schema = at.key_schema(self)
        return (
            inlet(self.right, at, delivery="shards", key_schema=schema, name="right", side=RIGHT, order=order, shards=shards),
            inlet(self.left, at, delivery="shard", key_schema=schema, name="left", side=LEFT, order=order, shards=shards),
        )


def _one_by_one(near: Interval) -> Fact:
    """Return what a join keeps whose rows are close in time."""
    sides = ("left", "right")
    ends = [f"{name} + {shown_micros(us)}" if us else name for name, us in zip(near.times, near.kept_us, strict=True)]
    late = "; rows that arrive after it has passed them are late" if any(near.judged) else ""
    endless = next((side for side, us in zip((0, 1), near.kept_us, strict=True) if us is None), None)
    if endless is None:
        return Fact(RELEASED, f"released: left rows when the watermark passes {ends[0]}, right rows when it passes {ends[1]}{late}")
    mine, other = near.times[endless], near.times[1 - endless]
    bound = f"{other} <= {mine} + INTERVAL 1 HOUR"
    kept = f"grows with the {sides[endless]} rows, as the condition does not limit when they can match: `{bound}` would"
    return Fact(GROWS, f"{kept}; released: {sides[1 - endless]} rows when the watermark passes {ends[1 - endless]}{late}")


def join(left: Node, right: Node, on: Any, how: str, expires: Duration, emit: str, aliases: Aliases) -> Node:
    """Return the join that a user asks for, with the columns of both sides; a key given by name appears once."""
    for option, value, known in (("how", how, HOWS), ("emit", emit, EMITS)):
        if value not in known:
            meant = _ELSEWHERE.get(str(value).lower().replace("_", ""), str(value))
            hint = suggestion(meant, known, f"it is one of: {', '.join(known)}", shown="'{}'")
            raise PlanError("BAD_JOIN", f"join: `{option}` cannot be {value!r}", hint=hint, site=here())
    names = names_of(left, right, on, "join")
    after = expiry(expires, "join: `expires`")
    if names is None:
        return _on_condition(left, right, str(of_text(checked(on))._expression.text), how, after, emit, aliases)
    return _on_names(left, right, names, how, after, emit)


def _on_names(left: Node, right: Node, names: tuple[str, ...], how: str, after: int | None, emit: str) -> Node:
    if how == "right":
        return _on_names_right(left, right, names, after, emit)
    keys = {name.lower() for name in names}
    others = [name for name in shared(left, right) if name.lower() not in keys]
    if others and how not in ("semi", "anti"):
        raise _clash(left, right, others[0])
    renamed = {name: free(f"{name}_right", (*left.columns, *right.columns)) for name in names}
    theirs = {name: column_name(right, name) for name in names}
    items = tuple((next((renamed[one] for one in names if theirs[one] == name), name), quote(name)) for name in right.columns)
    if how in ("semi", "anti"):
        items = tuple((renamed[name], quote(theirs[name])) for name in names)
    moved = Project(right, "join", items, site=here())
    keys_of = tuple((quote(name), quote(renamed[name])) for name in names)
    joined = Join(left, moved, how, keys_of, expires_ms=after, emit=emit, site=here())
    if how in ("semi", "anti"):
        return joined
    kept = [
        (name, f"coalesce({quote(name)}, {quote(renamed[name])})" if how == "full" and name in names else quote(name))
        for name in left.columns
    ]
    kept += [(name, quote(name)) for name in right.columns if name.lower() not in keys]
    return Project(joined, "join", tuple(kept), site=here())


def _on_names_right(left: Node, right: Node, names: tuple[str, ...], after: int | None, emit: str) -> Node:
    """Return a right join: a left one with its sides swapped, and the columns in the order that was asked for."""
    swapped = _on_names(right, left, tuple(column_name(right, name) for name in names), "left", after, emit)
    keys = {name.lower() for name in names}
    order = [*left.columns, *(name for name in right.columns if name.lower() not in keys)]
    has = {name.lower(): name for name in swapped.columns}
    return Project(swapped, "join", tuple((name, quote(has[name.lower()])) for name in order), site=here())


def _on_condition(left: Node, right: Node, text: str, how: str, after: int | None, emit: str, aliases: Aliases) -> Node:
    if how in ("semi", "anti"):
        right, text = set_apart(left, right, text, aliases, "join")
        return joined(left, right, how, text, after, emit)
    if both := shared(left, right):
        raise _clash(left, right, both[0])
    text = over_both(left, right, text, aliases)
    if how == "right":
        swapped = joined(right, left, "left", text, after, emit)
        return Project(swapped, "join", tuple((name, quote(name)) for name in (*left.columns, *right.columns)), site=here())
    return joined(left, right, how, text, after, emit)


def joined(left: Node, right: Node, how: str, condition: str | None, expires_ms: int | None = None, emit: str = CHANGES) -> Join:
    """Return a join on a condition; the equalities between the sides become its keys."""
    keys, safe, rest = apart(left, right, condition)
    condition = " AND ".join(f"({part})" for part in rest) or None
    return Join(left, right, how, tuple(keys), tuple(safe), condition, expires_ms=expires_ms, emit=emit, site=here())


def _clash(left: Node, right: Node, name: str) -> PlanError:
    mine = next(one for one in left.columns if one.lower() == name.lower())
    problem = duplicate(name, mine, "join")
    hint = f'rename it on one side: {label(right)}.rename({{"{name}": "..."}})'
    return PlanError("DUPLICATE_COLUMN", problem.message, hint=hint, site=here())


@reads("join")
def _join(tree: Tree) -> Node:
    left, right, keys = tree.node("left"), tree.node("right"), tree.tuples("keys")
    joined = Join(left, right, tree["how"], keys, nulls_meet(tree), tree["condition"], tree["mark"], site=tree.site)
    joined = replace(joined, expires_ms=tree.expiry(joined, bool(keys)))
    return replace(joined, emit=tree.emit) if not tree.early_ms and joined in intervals([joined]) else joined


def nulls_meet(tree: Tree) -> tuple[int, ...]:
    """Return the numbers of the keys of a tree in which nulls match."""
    return tuple(i for i, each in enumerate(tree["null_safe"]) if each)
