"""A TPC-H database that changes: loaded in slices, with refreshes between.

A refresh is what the specification's two refresh functions do: new orders come and old ones go, with their lines. It also updates some
rows of the other tables. Deleted orders return later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.tpch.tables import KEYS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

UPDATED = {"customer": "c_acctbal", "supplier": "s_acctbal", "part": "p_size", "partsupp": "ps_availqty", "lineitem": "l_quantity"}
"""The columns that a refresh updates: balances, sizes, stocks and quantities, each with the value of another row."""

RESERVE = 0.1
"""The share of the orders that a load leaves out, as new orders for later."""


@dataclass(frozen=True)
class Change:
    """The rows of one table that one epoch deletes and adds."""

    taken: pa.Table
    added: pa.Table

    @property
    def rows(self) -> int:
        return int(self.taken.num_rows + self.added.num_rows)


Epoch = Mapping[str, Change]


class Database:
    """The current rows, the rows still to come, and the changes between them."""

    def __init__(self, tables: Mapping[str, pa.Table], *, slices: int = 10, seed: int = 1) -> None:
        import numpy

        self._chance = numpy.random.default_rng(seed)
        self._slices = slices
        self.live = {name: table.slice(0, 0) for name, table in tables.items()}
        self._to_load = dict(tables)
        orders = tables["orders"]
        kept = self._chance.random(orders.num_rows) < RESERVE
        self._reserve: list[int] = orders.filter(_mask(kept))["o_orderkey"].to_pylist()
        self._orders, self._lines = orders, tables["lineitem"]
        self._to_load["orders"] = orders.filter(_mask(~kept))
        self._to_load["lineitem"] = _of(self._lines, "l_orderkey", self._reserve, there=False)

    @property
    def rows(self) -> int:
        return sum(int(table.num_rows) for table in self.live.values())

    def load(self, number: int) -> Epoch:
        """Return one slice of every table. Slices go by the first key, so lines may come before their parts."""
        changes = {}
        for name, table in self._to_load.items():
            keys = table[KEYS[name][0]].to_numpy()
            changes[name] = Change(table.slice(0, 0), table.filter(_mask(keys % self._slices == number)))
        return self._applied(changes)

    def refresh(self, share: float) -> Epoch:
        """Return changes of about this share of all rows."""
        orders = max(1, int(self.live["orders"].num_rows * share / 3))
        come, self._reserve = self._reserve[:orders], self._reserve[orders:]
        gone = self._pick("orders", orders)["o_orderkey"].to_pylist()
        self._reserve += gone
        changes = {
            "orders": Change(_of(self.live["orders"], "o_orderkey", gone), _of(self._orders, "o_orderkey", come)),
            "lineitem": Change(_of(self.live["lineitem"], "l_orderkey", gone), _of(self._lines, "l_orderkey", come)),
        }
        for name, column in UPDATED.items():
            there = _of(self.live[name], "l_orderkey", gone, there=False) if name == "lineitem" else self.live[name]
            # an update is two changes
            updated = self._updated(there, column, int(there.num_rows * share / (6 if name == "lineitem" else 2)))
            before = changes.get(name)
            changes[name] = updated if before is None else Change(_both(before.taken, updated.taken), _both(before.added, updated.added))
        return self._applied(changes)

    def one_row(self) -> Epoch:
        """Change the quantity of one line: one epoch deletes the line, the next one adds it again, so each epoch is one change."""
        if self._away is None:
            self._away = self._pick("lineitem", 1)
            change = Change(self._away, self._away.slice(0, 0))
        else:
            change, self._away = Change(self._away.slice(0, 0), self._away), None
        return self._applied({"lineitem": change})

    _away: pa.Table | None = None

    def _pick(self, name: str, count: int) -> pa.Table:
        table = self.live[name]
        return table.take(self._chance.choice(table.num_rows, min(count, table.num_rows), replace=False))

    def _updated(self, table: pa.Table, column: str, count: int) -> Change:
        count = min(table.num_rows, max(1, count))
        taken = table.take(self._chance.choice(table.num_rows, count, replace=False))
        others = table[column].take(self._chance.choice(table.num_rows, count))
        return Change(taken, taken.set_column(taken.schema.get_field_index(column), taken.schema.field(column), others))

    def _applied(self, changes: Mapping[str, Change]) -> Epoch:
        for name, change in changes.items():
            self.live[name] = _both(_without(self.live[name], change.taken, KEYS[name]), change.added)
        return {name: change for name, change in changes.items() if change.rows}


def _mask(values: np.ndarray[Any, Any]) -> Any:
    import pyarrow as pa

    return pa.array(values)


def _both(one: pa.Table, other: pa.Table) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([one, other]).combine_chunks()


def _of(table: pa.Table, column: str, values: list[int], *, there: bool = True) -> pa.Table:
    """Return the rows whose column is among the values, or those whose column is not."""
    import pyarrow as pa
    from pyarrow import compute

    mask = compute.is_in(table[column], pa.array(values, table.schema.field(column).type))
    return table.filter(mask if there else compute.invert(mask))


def _without(table: pa.Table, gone: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    if not gone.num_rows:
        return table
    # A join would not keep the order of the rows, on which random choices depend; so two keys become one number.
    from pyarrow import compute

    def number(one: pa.Table) -> pa.ChunkedArray:
        first = one[keys[0]]
        return first if len(keys) == 1 else compute.add(compute.multiply(first, 1_000_000_007), one[keys[1]].cast(first.type))

    return table.filter(compute.invert(compute.is_in(number(table), number(gone).combine_chunks())))
