"""Tables as text, as JSON and in notebooks."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

from headrace.engine import Table
from headrace.schema import parse_schema

AT = dt.datetime(2026, 1, 1, 10, tzinfo=dt.UTC)
SCHEMA = parse_schema(
    "key struct<card: string, at: timestamp>, xs array<decimal(4,2)>, names array<string>, m map<int, struct<b: binary>>, f double, day date, ok boolean"
)
ROWS = [
    (("a", AT), [Decimal("1.50"), None], ["x", "y"], {1: (b"\x00\xff",)}, float("nan"), dt.date(2026, 1, 2), True),
    (None, None, [], {}, 0.5, None, None),
]


def test_structs_and_times_inside_are_printed_for_people() -> None:
    assert Table(ROWS, SCHEMA).shown().splitlines()[2:] == [
        "{a, 2026-01-01 10:00:00+00:00}  [1.50, NULL]  ['x', 'y']  {1: {b'\\x00\\xff'}}  nan  2026-01-02  True",
        "NULL                            NULL          []          {}                  0.5  NULL        NULL",
        "(2 rows)",
    ]


def test_json() -> None:
    document = json.loads(json.dumps(Table(ROWS, SCHEMA).to_json(), allow_nan=False))
    assert document == [
        {
            "key": {"card": "a", "at": "2026-01-01T10:00:00+00:00"},
            "xs": ["1.50", None],
            "names": ["x", "y"],
            "m": {"1": {"b": "AP8="}},
            "f": "NaN",
            "day": "2026-01-02",
            "ok": True,
        },
        {"key": None, "xs": None, "names": [], "m": {}, "f": 0.5, "day": None, "ok": None},
    ]


def test_rows_that_are_left_out_are_counted() -> None:
    schema = parse_schema("n int")
    rows = [(n,) for n in range(25)]
    assert Table(rows, schema).shown().splitlines()[-1] == "... 5 more"
    assert Table(rows[:20], schema).shown().splitlines()[-1] == "(20 rows)"
    assert Table(rows[:20], schema, more=True).shown().splitlines()[-1] == "... more"
    assert Table(rows[:20], schema)._repr_html_().endswith("</table>")
    assert Table(rows[:20], schema, more=True)._repr_html_().endswith("<p>more rows</p>")
    assert Table(rows, schema)._repr_html_().endswith("<p>5 more rows</p>")
