"""Lookups that do not say what is looked up, told at the user's line."""

from __future__ import annotations

from typing import Any

import headrace as hr
from tests.unit.errors import check_error

orders = hr.read.memory([("a", 7)], "customer string, amount int", name="orders")
customers = hr.lookup.memory([("a", "SE")], "customer string, country string", name="customers")


def test_how() -> None:
    check_error(
        """
        BAD_LOOKUP: lookup: `how` cannot be 'right'
          at test_lookup.py:*: lambda: orders.lookup(customers, on="customer", how="right"),
          hint: it is one of: left, inner
          more: headrace error BAD_LOOKUP
        """,
        lambda: orders.lookup(customers, on="customer", how="right"),
    )


def test_on() -> None:
    nothing: Any = []
    check_error(
        """
        BAD_LOOKUP: lookup: `on` cannot be []
          at test_lookup.py:*: lambda: orders.lookup(customers, on=nothing),
          hint: write on="customer" if both have it, on={"customer": "id"} if the table calls it id
          more: headrace error BAD_LOOKUP
        """,
        lambda: orders.lookup(customers, on=nothing),
    )


def test_a_column_that_the_table_has_not() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `costumer` in customers
          at test_lookup.py:*: lambda: orders.lookup(customers, on={"customer": "costumer"}),
          hint: did you mean `customer`? It has: customer, country
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: orders.lookup(customers, on={"customer": "costumer"}),
    )


def test_a_column_of_both() -> None:
    check_error(
        """
        DUPLICATE_COLUMN: the result of lookup would have two columns `customer`
          at test_lookup.py:*: lambda: orders.lookup(customers, on={"customer": "customer"}),
          hint: rename the stream column: orders.rename({"customer": "..."}); if it is the key, write on="customer"
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: orders.lookup(customers, on={"customer": "customer"}),
    )


def test_numbers() -> None:
    check_error(
        """
        BAD_LOOKUP: lookup: `batch` cannot be 0
          at test_lookup.py:*: lambda: orders.lookup(customers, on="customer", batch=0),
          hint: use a whole number of at least 1
          more: headrace error BAD_LOOKUP
        """,
        lambda: orders.lookup(customers, on="customer", batch=0),
    )


def test_a_cache_of_a_table_that_is_in_memory() -> None:
    check_error(
        """
        BAD_LOOKUP: `cache` does not apply to customers, which is loaded as a whole
          at test_lookup.py:*: lambda: orders.lookup(customers, on="customer", cache="1 minute"),
          hint: leave out cache
          more: headrace error BAD_LOOKUP
        """,
        lambda: orders.lookup(customers, on="customer", cache="1 minute"),
    )


def test_a_cache_of_a_table_that_is_read_again() -> None:
    table = hr.lookup.files("customers.csv", format="csv", schema="customer string, country string")
    check_error(
        """
        BAD_LOOKUP: `cache` does not apply to customers, which is loaded as a whole
          at test_lookup.py:*: lambda: orders.lookup(table, on="customer", cache="1 minute"),
          hint: set how often it is reloaded: hr.lookup.files(..., refresh="5 minutes")
          more: headrace error BAD_LOOKUP
        """,
        lambda: orders.lookup(table, on="customer", cache="1 minute"),
    )


def test_something_that_is_no_table() -> None:
    stream: Any = orders
    check_error(
        """
        BAD_INPUT: lookup expects a table of hr.lookup, got <Stream orders: customer, amount>
          at test_lookup.py:*: lambda: orders.lookup(stream, on="customer"),
          hint: orders.lookup(hr.lookup.redis("redis://localhost", ...), on="customer"); to combine two streams use join or join_asof
          more: headrace error BAD_INPUT
        """,
        lambda: orders.lookup(stream, on="customer"),
    )


def test_rows_that_are_taken_away() -> None:
    table = hr.lookup.files("customers.csv", format="csv", schema="customer string, country string")
    spent = orders.group_by("customer").agg(spent="sum(amount)").named("spent")
    check_error(
        """
        LOOKUP_CHANGES: spent has retractions, and customers may have changed between a row and its retraction
          at test_lookup.py:*: lambda: spent.lookup(table, on="customer"),
          hint: move the lookup upstream, where the stream is insert-only; or join a stream of the table's changes; if the table never changes, declare it: hr.lookup.files(..., constant=True)
          more: headrace error LOOKUP_CHANGES
        """,
        lambda: spent.lookup(table, on="customer"),
    )
    assert spent.lookup(customers, on="customer").columns == ("customer", "spent", "country")


def test_a_connector_without_a_lookup() -> None:
    check_error(
        """
        UNKNOWN_CONNECTOR: the connector `console` has no lookup table
          at test_lookup.py:*: lambda: hr.lookup.console(),
          hint: hr.lookup has: <names>
          more: headrace error UNKNOWN_CONNECTOR
        """,
        lambda: hr.lookup.console(),
        hide={", ".join(dir(hr.lookup)): "<names>"},
    )
