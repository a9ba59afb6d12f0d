"""The inputs of the cases, by the names under which their texts know them."""

from __future__ import annotations

from collections.abc import Mapping

import headrace as hr
from headrace.ops.tables import Table
from headrace.testing import Harness

SCHEMAS: Mapping[str, str] = {
    "sales": "id int, shop string, amount int, note string",
    "shops": "name string, country string, size int",
    "bids": "pair string, price double, ts timestamp",
    "rates": "pair string, rate double, at timestamp",
    "baskets": "id int, goods array<string>",
}
"""What the inputs have for columns. Rows of `sales` and `shops` are also taken away; to the others they are only added."""

_CHANGING = ("sales", "shops")
_TIMES = {"bids": "ts", "rates": "at"}


def inputs(harness: Harness) -> dict[str, hr.Stream | Table]:
    """Streams that nobody has read yet, and a table to look up in."""
    streams: dict[str, hr.Stream | Table] = {
        name: harness.source(
            name,
            schema,
            changes=name in _CHANGING,
            trusted=True,
            watermark=(_TIMES[name], "5 minutes") if name in _TIMES else None,
        )
        for name, schema in SCHEMAS.items()
    }
    cities = hr.lookup.http("http://localhost/cities/{name}", schema="name string, people bigint")
    return {**streams, "cities": cities}
