"""Each row with the rows of its key in an outside table, as they are when the row arrives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

import headrace.ports as ports
from headrace.errors import PlanError, here
from headrace.expr import refuse_pyspark
from headrace.ops.asking import UNSAID, Asking, asking, checked
from headrace.ops.columns import column_name, duplicate, label, verb_arguments
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.keys import Keys
from headrace.ops.facts.kind import kind_of
from headrace.ops.facts.outputs import DEAD_LETTER
from headrace.ops.facts.provenance import Itself, Provenance
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.handle import Handle, verb
from headrace.ops.inlet import Checked, Inlet, Json, numbered
from headrace.ops.operator import Connected, Consumer, RowWise, operator
from headrace.ops.parts import LookupRequest
from headrace.ops.relational import stateful_of
from headrace.ops.tables import Table, table_of
from headrace.ops.tree import Tree, reads
from headrace.plan import Fact, Node, Role, node
from headrace.ports.options import restored
from headrace.schema import parse_schema, shown
from headrace.spelling import suggestion
from headrace.syntax import plain_name, quote

HOWS = ("left", "inner")
MISSED = "missed"

_DEFAULT = Asking(cache_ms=0, cache_keys=100_000, batch=200, in_flight=4, retry_ms=60_000)


@node("lookup")
class Lookup(RowWise, Consumer, Connected):
    """Each row with the rows of its key in an external table.

    Law: a row gets the table's answer once, in the epoch in which it arrives; later changes of the table do not reach it. `keys` are a text
    over the row and a column of the table; a null in it matches nothing. `how`: a row without a match gets nulls (left) or is dropped
    (inner); the output `missed` has it as it came. `given` are the columns that the rows get, by their new names.

    An answer is kept for `cache_ms`, for at most `cache_keys` keys; the others are asked for in requests of at most `batch` keys,
    `in_flight` of them at once on each executor. A request that fails is repeated for `retry_ms`. `constant`: the user declares that the
    table never changes.

    >>> import headrace as hr
    >>> orders = hr.read.memory([("a", 7), ("x", 1)], "customer string, amount int", name="orders")
    >>> customers = hr.lookup.files("customers.csv", format="csv", schema="customer string, country string")
    >>> orders.lookup(customers, on="customer")                # (a, 7) (x, 1)   ->   (a, 7, SE) (x, 1, NULL)
    <Stream orders.lookup_customers: customer, amount, country>
    """

    role = Role.LOOKUP
    holds_columns = True

    connector: str
    options: Mapping[str, Any]
    schema: str
    table: str
    how: str = field(metadata={"of": HOWS})
    keys: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    cache_ms: int = field(default=0, metadata={"least": 0})
    cache_keys: int = field(default=100_000, metadata={"least": 1})
    batch: int = field(default=200, metadata={"least": 1})
    in_flight: int = field(default=4, metadata={"least": 1})
    retry_ms: int = field(default=60_000, metadata={"least": 0})
    constant: bool = False
    live: ports.Lookup | None = field(default=None, metadata={"stored": False})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.given))

    @property
    def fits(self) -> bool:
        return {theirs for _, theirs in (*self.keys, *self.given)} <= set(parse_schema(self.schema).names)

    @property
    def verb(self) -> str:
        return f"lookup_{self.table}"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MISSED, DEAD_LETTER)

    @property
    def repeatable(self) -> bool:
        """Whether a key has the same rows whenever it is looked up."""
        return self.constant or self.connect().traits.repeatable

    @property
    def unrepeatable(self) -> str | None:
        return None if self.repeatable else self.connect().traits.why

    def table_fact(self) -> Fact | None:
        connected, traits = self.connect(), self.connect().traits
        whole = traits.whole
        value = {"repeatable": self.repeatable, "whole": whole, "cache_ms": self.cache_ms, "in_flight": self.in_flight}
        return Fact(value, f"{self._whole(connected) if whole else self._requests}; {self._when(traits.why)}")

    @staticmethod
    def _whole(connected: ports.Lookup) -> str:
        again = "when the job starts" if connected.refresh_ms is None else f"again when it is older than {shown(connected.refresh_ms)}"
        return f"the whole table is kept in the memory of each executor, loaded {again}"

    @property
    def _requests(self) -> str:
        keys = "one key" if self.batch == 1 else f"at most {self.batch} keys"
        kept = f"answers are cached for {shown(self.cache_ms)}, of {self.cache_keys:,} keys" if self.cache_ms else "no answer is cached"
        return f"{keys} a request, at most {self.in_flight} requests at once on each executor; {kept}"

    def _when(self, why: str) -> str:
        if self.constant:
            return "a row gets the same values whenever it arrives: the table is declared constant"
        if self.repeatable:
            return f"a row gets the same values whenever it arrives: {why}"
        return f"a row gets the values at its arrival, so a second run may give other results: {why}"

    def connect(self) -> ports.Lookup:
        verb = f"lookup.{self.connector}"
        return self.live or restored(ports.lookup_class(self.connector), verb, self.options, parse_schema(self.schema))

    def describe(self) -> str:
        met = " AND ".join(f"{mine} = {quote(theirs)}" for mine, theirs in self.keys)
        kept = f", answers cached for {shown(self.cache_ms)}" if self.cache_ms else ""
        return f"{self.how} lookup in {self.connect().describe()} on {met}{kept}"

    def rows_of(self, output: str) -> Node | None:
        return self.input if output == MISSED else None

    def output_kind(self, output: str, kinds: Mapping[Node, str]) -> str:
        return kinds[self]

    def output_time_after(self, output: str, times: Mapping[Node, str | None]) -> str | None:
        return times[self.input] if output == MISSED else None

    def output_closing_after(self, output: str, columns: Mapping[Node, Columns]) -> Columns:
        return columns[self.input] if output == MISSED else {}

    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        return ()

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, (text for text, _ in self.keys)))}

    def check_request(self) -> Json | None:
        return LookupRequest(
            id=str(self.name),
            site=self.line,
            relation=self.op,
            inputs=(operator(self.input).checked_as,),
            keys=tuple((mine, quote(theirs)) for mine, theirs in self.keys),
            table=self.schema,
            given=self.given,
        ).to_json()

    @property
    def provenance(self) -> Provenance:
        return Itself(outside=f"what {self.connect().describe()} answered")

    def inlets(self, at: Checked, steady: bool = True) -> tuple[Inlet, ...]:
        # A downstream operator can know where a row was read only from the row itself.
        orders = (one.order for node in stateful_of(at.plan.nodes.values()) for one in node.inlets(at, steady))
        order = "position" if "position" in orders else None
        keys = tuple(numbered([text for text, _ in self.keys]))
        return (Inlet(self.input, "input", 0, at.schema(self.input).ddl, "looked_up", keys, at.key_schema(self), order=order),)


def lookups_of(nodes: Iterable[Node]) -> tuple[Lookup, ...]:
    """Return the lookups among some nodes."""
    return tuple(node for node in nodes if isinstance(node, Lookup))


def lookup(input: Node, table: Any, on: Any, how: Any, settings: tuple[Any, ...], kind: str, alias: str | None) -> Lookup:
    """Return the lookup that a user asks for; `settings` are the arguments of `asking`, `kind` is that of the stream."""
    chosen = table_of(table)
    if how not in HOWS:
        raise PlanError("BAD_LOOKUP", f"lookup: `how` cannot be {how!r}", hint=f"it is one of: {', '.join(HOWS)}", site=here())
    keys, shared = _keys(input, chosen, on, alias)
    _columns_once(input, chosen, shared)
    more = tuple((name, name) for name in chosen.columns if name not in shared)
    return of_table(input, chosen, how, keys, more, asking(*settings), kind)


def of_table(
    input: Node,
    table: Table,
    how: str,
    keys: tuple[tuple[str, str], ...],
    added: tuple[tuple[str, str], ...],
    settings: Asking,
    kind: str,
) -> Lookup:
    """Return the lookup of a stream of this kind in a table."""
    _check_key_columns(table, [theirs for _, theirs in keys])
    node = Lookup(
        input,
        table.connected.connector,
        table.connected.options(),
        table.connected.schema.ddl,
        table.name,
        how,
        keys,
        added,
        constant=table.constant,
        live=table.connected,
        site=here(),
        **_request_settings(table, settings),
    )
    if kind != "append" and not node.repeatable:
        raise over_changes(node)
    return node


def _request_settings(table: Table, settings: Asking) -> dict[str, Any]:
    """Return the fields of a lookup for how its table is asked."""
    whole = checked(table.name, table.connected, settings.over(table.asking)).over(_DEFAULT)
    most = table.connected.keys_at_once
    return asdict(whole) if most is None else {**asdict(whole), "batch": min(most, whole.batch or most)}


def over_changes(lookup: Lookup) -> PlanError:
    """Return the error for a row that could be retracted with another value than it was inserted with."""
    return PlanError(
        "LOOKUP_CHANGES",
        f"{label(lookup.input)} has retractions, and {lookup.table} may have changed between a row and its retraction",
        hint="move the lookup upstream, where the stream is insert-only; or join a stream of the table's changes; "
        f"if the table never changes, declare it: hr.lookup.{lookup.connector}(..., constant=True)",
        site=lookup.site,
    )


def _keys(input: Node, table: Table, on: Any, alias: str | None) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the keys of `on`, and the columns of the table that the stream has under the same name."""
    refuse_pyspark(on)
    listed = [on] if isinstance(on, str) else list(on) if isinstance(on, Iterable) else []
    are_texts = all(isinstance(name, str) for name in (on.values() if isinstance(on, Mapping) else listed))
    if not listed or not are_texts:
        hint = 'write on="customer" if both have it, on={"customer": "id"} if the table calls it id'
        raise PlanError("BAD_LOOKUP", f"lookup: `on` cannot be {on!r}", hint=hint, site=here())
    names = on if isinstance(on, Mapping) else {name: name for name in listed}
    pairs = [(mine, _of_table(table, theirs)) for mine, theirs in names.items()]
    if not isinstance(on, Mapping):
        plain = [(column_name(input, mine), theirs) for mine, theirs in pairs]
        return tuple((quote(mine), theirs) for mine, theirs in plain), tuple(theirs for _, theirs in plain)
    texts = verb_arguments(input, [mine for mine, _ in pairs], {}, alias, aliases=False)
    return tuple((text.text, theirs) for text, (_, theirs) in zip(texts, pairs, strict=True)), ()


def _check_key_columns(table: Table, names: list[str]) -> None:
    """Raise for columns by which the table cannot be asked."""
    if len(set(names)) < len(names):
        raise PlanError("BAD_LOOKUP", "two keys are looked up in one column", hint="name each column once", site=here())
    key = table.connected.key
    if key and {name.lower() for name in names} != {name.lower() for name in key}:
        message = f"{table.name} is looked up by {', '.join(key)}, not by {', '.join(names)}"
        hint = f"look up by {'it' if len(key) == 1 else 'all of them'} and nothing else"
        raise PlanError("BAD_LOOKUP", message, hint=hint, site=here())


def _of_table(table: Table, name: str) -> str:
    """Return a column of the table as the table spells it."""
    names = table.connected.schema.names
    column = next((one for one in names if one.lower() == name.lower()), None)
    if column is None:
        hint = suggestion(name, names, f"it has: {', '.join(names)}")
        raise PlanError("UNKNOWN_COLUMN", f"no column `{name}` in {table.name}", hint=hint, site=here())
    return column


def _columns_once(input: Node, table: Table, shared: tuple[str, ...]) -> None:
    taken = {name.lower(): name for name in input.columns}
    for name in table.connected.schema.names:
        if name not in shared and name.lower() in taken:
            problem = duplicate(name, taken[name.lower()], "lookup")
            mine = taken[name.lower()]
            hint = f'rename the stream column: {label(input)}.rename({{"{mine}": "..."}}); if it is the key, write on="{mine}"'
            raise PlanError("DUPLICATE_COLUMN", problem.message, hint=hint, site=here())


@reads("lookup")
def _lookup(tree: Tree) -> Node:
    left, right = tree.node("left"), tree["right"]
    names: dict[str, str] = {}
    while right["node"] == "project":
        here = {name: plain_name(text) or "" for name, text in right["columns"]}
        names, right = {name: here[old] for name, old in names.items()} or here, right["input"]
    table = tree.outside[right["name"].lower()]
    keys = tuple((mine, names.get(theirs, theirs)) for mine, theirs in tree["keys"])
    added = tuple((name, names.get(theirs, theirs)) for name, theirs in tree["given"])
    return of_table(left, table, tree["how"], keys, added, UNSAID, kind_of(left))


class LookupVerb(Handle):
    __slots__ = ()

    @verb("lookup")
    def lookup(
        self,
        table: Table,
        *,
        on: str | Iterable[str] | Mapping[str, str],
        how: str = "left",
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Self:
        """Adds to each row the columns of an external table, with the values at the time the row is processed.

        Later changes of the table do not change the result. A key with several rows in the table gives one output row for each; a null in
        the key matches nothing. The output `missed` has the rows without a match. The parameters from `cache` to `retry` are for tables
        that are read by key, such as those of JDBC, Redis and HTTP. For a table that is loaded as a whole, `cache` raises `BAD_LOOKUP`,
        `retry` applies to loading it, and the others have no effect.

        Args:
            table: An external table, made by [`hr.lookup`](lookups.md#lookup).
            on: Columns that both have, such as `"customer"`, or a mapping from expressions over the row to columns of the table:
                `{"upper(customer)": "id"}`.
            how: `"left"` gives nulls to a row without a match; `"inner"` drops it.
            cache: How long a response stays in an executor's cache, a duration. Default: the table's setting, else no cache.
            cache_keys: The maximum number of keys in the cache. Default: the table's setting, else 100,000.
            batch: The maximum number of keys in a request. Default: the table's setting, else 200.
            in_flight: The maximum number of concurrent requests on an executor. Default: the table's setting, else 4.
            retry: How long a failing request is repeated before the epoch fails, a duration. Default: the table's setting, else 1 minute.

        Raises:
            PlanError: `BAD_INPUT` if `table` is no table of `hr.lookup`; `BAD_LOOKUP` if `how`, `on` or an option does not fit the table;
                `UNKNOWN_COLUMN` if a column does not exist; `DUPLICATE_COLUMN` if a column of the table outside `on` has the name of a
                column of the stream; `LOOKUP_CHANGES` if rows of the stream are retracted and the table may change.
            SchemaError: `BAD_DURATION` if `cache` or `retry` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> orders = hr.read.memory([("a", 7), ("x", 1)], "customer string, amount int", name="orders")
            >>> customers = hr.lookup.memory([("a", "SE")], "customer string, country string", name="customers")
            >>> orders.lookup(customers, on="customer")        # ('a', 7), ('x', 1)  ->  ('a', 7, 'SE'), ('x', 1, None)
            <Stream orders.lookup_customers: customer, amount, country>
        """
        settings = (cache, cache_keys, batch, in_flight, retry)
        return self._then(lookup(self._node, table, on, how, settings, kind_of(self._node), self._alias), self._alias)
