"""Lookups in queries, scripts and YAML."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from tests.unit.errors import check_error

ORDERS = [(1, "a", 7), (2, "b", 2), (3, "x", 1), (4, None, 5)]
CUSTOMERS = [("a", 1, "SE"), ("a", 2, "DK"), ("b", 1, "NO")]


def answer(query: str) -> list[Any]:
    orders = hr.read.memory(ORDERS, "id bigint, customer string, amount int", name="orders")
    customers = hr.lookup.memory(CUSTOMERS, "customer string, id int, country string", name="customers")
    return hr.collect(hr.sql(query, orders=orders, customers=customers)).rows()


@pytest.mark.parametrize("now", ["current_timestamp()", "PROCTIME()", "now()", "CURRENT_TIMESTAMP"])
def test_the_time_is_now(spark: SparkSession, now: str) -> None:
    query = f"SELECT o.id, c.country FROM orders o JOIN customers FOR SYSTEM_TIME AS OF {now} AS c ON o.customer = c.customer"
    assert Counter(answer(query)) == Counter([(1, "SE"), (1, "DK"), (2, "NO")])


def test_all_of_both_sides(spark: SparkSession) -> None:
    """Columns of both that have one name, keys of several columns, as expressions and in other types, a filter behind it, an aggregate."""
    left = (
        "SELECT o.*, c.* FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.customer AND o.id = c.id"
    )
    with pytest.warns(UserWarning, match="several columns are named"):
        rows = answer(left)
    assert Counter(rows) == Counter([(*ORDERS[0], "a", 1, "SE"), *((*order, None, None, None) for order in ORDERS[1:])])
    places = """
        SELECT country, sum(amount) AS amount FROM (SELECT *, lower(upper(customer)) AS k FROM orders WHERE amount > 1) o
        JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON concat(o.k, '') = c.customer AND c.id = o.id - o.id + 1
        WHERE c.country <> 'NO' GROUP BY country"""
    assert answer(places) == [("SE", 7)]


@pytest.mark.parametrize(
    ("join", "problem"),
    [
        ("JOIN customers c ON o.customer = c.customer", "the lookup table customers without FOR SYSTEM_TIME AS OF"),
        ("JOIN customers FOR SYSTEM_TIME AS OF o.amount AS c ON o.customer = c.customer", "the lookup table customers as of o.amount"),
        ("FULL JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.customer", "a FULL OUTER join FOR SYSTEM_TIME AS OF"),
        ("JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.customer AND o.amount > c.id", "a condition other than equality of the lookup table's columns"),
        ("JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = upper(c.customer)", "a condition other than equality of the lookup table's columns"),
        ("JOIN orders FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.customer", "the stream orders FOR SYSTEM_TIME AS OF now"),
    ],
)  # fmt: skip
def test_what_cannot_be_said(spark: SparkSession, join: str, problem: str) -> None:
    with pytest.raises(HeadraceError, match="cannot be kept up to date") as caught:
        answer(f"SELECT o.id, c.country FROM orders o {join}" if "orders FOR" not in join else f"SELECT o.id FROM orders o {join}")
    assert problem in caught.value.message


def test_rows_that_are_taken_away(spark: SparkSession, tmp_path: Path) -> None:
    orders = hr.read.memory(ORDERS, "id bigint, customer string, amount int", name="orders")
    table = hr.lookup.files(tmp_path, format="json", schema="customer string, country string", name="customers")
    query = """
        SELECT s.customer, country FROM (SELECT customer, sum(amount) AS amount FROM orders GROUP BY customer) s
        JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON s.customer = c.customer"""
    with pytest.raises(HeadraceError, match="has retractions, and customers may have changed between"):
        hr.sql(query, orders=orders, customers=table)


def test_a_script(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("orders.json").write_text('{"id": 1, "customer": "a"}\n{"id": 2, "customer": "x"}\n')
    Path("customers.csv").write_text("id,country\na,SE\n")
    Path("job.sql").write_text("""
        CREATE SOURCE orders (id INT, customer STRING) WITH (connector = 'files', path = 'orders.json', format = 'json');
        CREATE LOOKUP customers (id STRING, country STRING)
            WITH (connector = 'files', path = 'customers.csv', format = 'csv', refresh = '1 hour', retry = '0 seconds', constant = TRUE);
        CREATE SINK out WITH (connector = 'files', path = 'out', format = 'json');
        INSERT INTO out SELECT o.id, c.country FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON o.customer = c.id;
    """)
    job = hr.load("job.sql")
    node = next(node for node in job.plan.nodes.values() if node.op == "lookup")
    assert (node.retry_ms, node.table, node.constant, node.options["refresh_ms"]) == (0, "customers", True, 3_600_000)  # type: ignore[attr-defined]
    job.run(progress=False)
    lines = [line for file in sorted(Path("out").glob("*.json")) for line in file.read_text().splitlines()]
    assert sorted(lines) == ['{"id":1,"country":"SE"}', '{"id":2}']


def test_a_script_that_takes_a_table_for_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text(
        "CREATE LOOKUP t (id STRING) WITH (connector = 'files', path = 'x', format = 'csv');\n"
        "CREATE SINK out WITH (connector = 'memory');\nINSERT INTO out SELECT * FROM t;\n"
    )
    check_error(
        """
        BAD_QUERY: the lookup table t without FOR SYSTEM_TIME AS OF cannot be kept up to date
          at <folder>/job.sql:3:31: INSERT INTO out SELECT * FROM t;
          hint: orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF current_timestamp() AS c ON o.customer = c.id
          more: headrace error BAD_QUERY
        """,
        lambda: hr.load(script),
        hide={str(tmp_path): "<folder>"},
    )


def test_a_job_in_yaml(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("""
job: places
sources:
  orders: {connector: memory, rows: [[1, a], [2, x]], schema: "id int, customer string"}
lookups:
  customers: {connector: memory, rows: [[a, SE]], schema: "customer string, country string"}
views:
  verbs: {from: orders, steps: [{lookup: {table: customers, on: customer, how: inner}}]}
  query: SELECT o.id, c.country FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON o.customer = c.customer
sinks:
  first: {from: verbs, connector: files, path: first, format: json}
  second: {from: query, connector: files, path: second, format: json}
""")
    hr.load("job.yaml").run(progress=False)
    lines = {
        name: sorted(line for file in Path(name).glob("*.json") for line in file.read_text().splitlines()) for name in ("first", "second")
    }
    assert lines == {"first": ['{"id":1,"customer":"a","country":"SE"}'], "second": ['{"id":1,"country":"SE"}', '{"id":2}']}
