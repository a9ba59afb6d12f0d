"""Whatever a verb is given, it says what is wrong with it: an error with a code, at the user's line, and no exception of Python's own."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.unit.errors import check_error

Call = Callable[[Any], object]

ROWS = "id int, shop string, amount int, ts timestamp, goods array<string>"
sales = hr.read.memory([], ROWS, name="sales").watermark("ts", "5 minutes")
others = hr.read.memory([], ROWS, name="others").watermark("ts", "5 minutes")
prices = hr.read.memory([], "id int, price int, at timestamp", name="prices").watermark("at", "5 minutes")
cities = hr.lookup.memory([("a", 1)], "shop string, people int", name="cities")
hour = hr.tumble("ts", "1 hour")

ODD: tuple[Any, ...] = (
    *(None, 3, -1, 1.5, float("nan"), True, b"x", object(), dt.timedelta(seconds=1), sales, hr.Stream, lambda row: row),
    *([], {}, {"id"}, {"id": "x"}, [3], [None], [["id"]], ("id", "shop"), ["*"]),
    *("", "zz", "a b", "*", "`id`", "ID", "id +", "id AS id", "id; id", "id -- x", "'", "count(*)", "SELECT 1"),
    *(hr.col("id"), hr.lit(1)),
)


def asof(**options: Any) -> hr.Stream:
    return sales.join_asof(prices, **{"on": "id", "time": ("ts", "at"), **options})


CALLS: Mapping[str, Call] = {
    "filter": sales.filter,
    "expect": sales.expect,
    "expect on_violation": lambda x: sales.expect("id > 1", on_violation=x),
    "expect name": lambda x: sales.expect("id > 1", name=x),
    "select": sales.select,
    "select name": lambda x: sales.select(a=x),
    "with_columns": sales.with_columns,
    "drop": sales.drop,
    "rename": sales.rename,
    "rename to": lambda x: sales.rename({"id": x}),
    "explode": sales.explode,
    "explode as_": lambda x: sales.explode("goods", as_=x),
    "explode outer": lambda x: sales.explode("goods", outer=x),
    "union": sales.union,
    "join": lambda x: sales.join(x, on="id"),
    "join on": lambda x: sales.join(others, on=x),
    "join how": lambda x: sales.join(others, on="id", how=x),
    "join expires": lambda x: sales.join(others, on="id", expires=x),
    "join emit": lambda x: sales.join(others, on="id", emit=x),
    "join_asof": lambda x: sales.join_asof(x, on="id", time=("ts", "at")),
    **{f"join_asof {name}": lambda x, name=name: asof(**{name: x}) for name in ("on", "time", "how", "direction", "within", "emit")},
    "join_asof time of versions": lambda x: asof(time=("ts", x)),
    "lookup": lambda x: sales.lookup(x, on="shop"),
    "lookup on": lambda x: sales.lookup(cities, on=x),
    **{
        f"lookup {name}": lambda x, name=name: sales.lookup(cities, on="shop", **{name: x})
        for name in ("how", "cache", "cache_keys", "batch", "in_flight", "retry")
    },
    "group_by": lambda x: sales.group_by(x).agg(n="count(*)"),
    "group_by expires": lambda x: sales.group_by("id", expires=x),
    "agg": lambda x: sales.group_by("id").agg(x),
    "distinct": lambda x: sales.distinct(expires=x),
    "top": lambda x: sales.top(x, by="id"),
    **{f"top {name}": lambda x, name=name: sales.top(1, **{"by": "id", name: x}) for name in ("by", "per", "ties", "expires")},
    "dedupe": lambda x: sales.dedupe(on=x),
    **{f"dedupe {name}": lambda x, name=name: sales.dedupe(on="id", **{name: x}) for name in ("keep", "by", "within", "expires")},
    "dedupe within": lambda x: sales.dedupe(on=x, within="1 hour"),
    "window": sales.window,
    "window emit": lambda x: sales.window(hour, emit=x),
    "window early": lambda x: sales.window(hour, emit="close", early=x),
    "window lateness": lambda x: sales.window(hour, lateness=x),
    "tumble": lambda x: sales.window(hr.tumble(x, "1 hour")),
    "tumble size": lambda x: sales.window(hr.tumble("ts", x)),
    "hop step": lambda x: sales.window(hr.hop("ts", "1 hour", x)),
    "sessions": lambda x: sales.window(hr.sessions(x, "1 hour", per="id")),
    "sessions gap": lambda x: sales.window(hr.sessions("ts", x, per="id")),
    "sessions per": lambda x: sales.window(hr.sessions("ts", "1 hour", per=x)),
    "intersect": sales.intersect,
    "intersect all": lambda x: sales.intersect(others, all=x),
    "subtract": sales.subtract,
    "subtract all": lambda x: sales.subtract(others, all=x),
    "upserts": sales.upserts,
    "watermark": lambda x: hr.read.memory([], ROWS, name="s").watermark(x, "1 minute"),
    "watermark delay": lambda x: hr.read.memory([], ROWS, name="s").watermark("ts", x),
    "watermark idle": lambda x: hr.read.memory([], ROWS, name="s").watermark("ts", "1 minute", idle=x),
    "named": sales.named,
    "alias": sales.alias,
    "output": sales.output,
    "key_by": sales.key_by,
    "process": sales.key_by("id").process,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_odd_argument_is_an_error_of_ours(call: Call) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for argument in ODD:
            try:
                call(argument)
            except HeadraceError as error:
                if error.site is None:
                    pytest.fail(f"{argument!r} has no place: {error}")
            except Exception as error:
                pytest.fail(f"{argument!r}: {error!r}")


def test_columns_that_are_none() -> None:
    check_error(
        """
        BAD_COLUMN: by expects a column or a list of columns, got 3
          at test_odd_arguments.py:*: lambda: sales.top(1, by=3),  # type: ignore[arg-type]
          hint: write "shop", or ["shop", "day"]
          more: headrace error BAD_COLUMN
        """,
        lambda: sales.top(1, by=3),  # type: ignore[arg-type]
    )


def test_all_columns_where_one_is_asked_for() -> None:
    check_error(
        """
        BAD_COLUMN: `*` is all columns, but one is expected
          at test_odd_arguments.py:*: lambda: sales.top(1, by="* desc"),
          hint: name the column
          more: headrace error BAD_COLUMN
        """,
        lambda: sales.top(1, by="* desc"),
    )


def test_a_flag_that_is_none() -> None:
    check_error(
        """
        BAD_OPTION: explode: outer cannot be 1
          at test_odd_arguments.py:*: lambda: sales.explode("goods", outer=1),  # type: ignore[arg-type]
          hint: it is True or False
          more: headrace error BAD_OPTION
        """,
        lambda: sales.explode("goods", outer=1),  # type: ignore[arg-type]
    )
