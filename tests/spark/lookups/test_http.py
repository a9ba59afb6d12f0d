"""Lookups in a service that is asked over HTTP."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.ops.tables import Table
from headrace.testing import Harness
from tests.spark.lookups.service import Reply, Request, Service
from tests.unit.connectors.served import self_signed
from tests.unit.errors import check_error

ODD = "ä/?&=%+ \"\\'{}𝄞"
SCHEMA = "id string, name string"


@pytest.fixture
def service(spark: SparkSession) -> Iterator[Service]:
    with Service() as service:
        yield service


def one_by_one(service: Service, schema: str = SCHEMA, **options: Any) -> Table:
    return hr.lookup.http(f"{service.root}/customers/{{id}}", schema, **{"name": "customers", **options})


def together(service: Service, schema: str = SCHEMA, **options: Any) -> Table:
    return hr.lookup.http(f"{service.root}/customers", schema, method="POST", key="id", **options)


def names(*keys: Any) -> hr.Stream:
    return hr.read.memory([(key,) for key in keys], "k string", name="told")


def looked_up(table: Table, *keys: Any, **options: Any) -> list[Any]:
    joined = names(*keys).lookup(table, on={"k": "id"}, **options).select("k", "name")
    return sorted(hr.collect(joined).rows(), key=str)


@pytest.mark.parametrize("make_table", [one_by_one, together])
def test_rows_meet_what_is_there(service: Service, make_table: Any) -> None:
    """Nothing, a null in the place of an answer, an object, a list of them, a column that is missing, a key of any letters."""
    service.rows = {"a": {"id": "a", "name": ODD}, "b": {"id": "b"}, ODD: {"id": ODD, "name": "odd", "more": [1, {"x": 2}]}}
    with Harness() as h:
        events = h.source("events", "k string, n int")
        joined = events.lookup(make_table(service), on={"k": "id"}, how="inner")
        out, missed = h.collect(joined.select("k", "n", "name")), h.collect(joined.output("missed"))
        h.commit({"events": [("+", row) for row in [("a", 1), ("a", 2), ("b", 3), ("x", 4), (ODD, 5), (None, 6)]]})
        h.restart()
        h.commit({"events": [("+", ("b", 7))]})
        assert sorted(out.rows(), key=str) == sorted(
            [("a", 1, ODD), ("a", 2, ODD), ("b", 3, None), (ODD, 5, "odd"), ("b", 7, None)], key=str
        )
        assert sorted(missed.rows(), key=str) == [("x", 4), (None, 6)]


def test_values_are_those_of_the_answer(service: Service) -> None:
    """Each number with all its digits, times in the zone of the job, what is nested; keys of several types."""
    full = '{"amount": 12345678901234567890.120, "day": "1969-12-31", "at": "2026-01-01T12:00:00.000001", "deep": {"xs": [1, null], "d": 1.50}}'
    service.rows = {"7": full}
    schema = "id int, amount decimal(38,3), day date, at timestamp, deep struct<xs: array<int>, d: decimal(9,2)>"
    events = hr.read.memory([(7,), (8,)], "id bigint", name="events")
    rows = hr.collect(events.lookup(one_by_one(service, schema), on="id")).rows()
    at = dt.datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    value = (decimal.Decimal("12345678901234567890.120"), dt.date(1969, 12, 31), at, ([1, None], decimal.Decimal("1.50")))
    assert sorted(rows, key=str) == [(7, *value), (8, None, None, None, None)]


def test_keys_of_several_columns_in_path_and_query(service: Service) -> None:
    url = f"{service.root}/shops/{{shop}}/items?day={{day}}&size=1"
    table = hr.lookup.http(url, "day date, shop string, price int")
    service.reply = lambda request: Reply(text='[{"price": 1}, {"price": 2, "shop": "other"}, {"price": 3, "shop": "a b"}]')
    events = hr.read.memory([("a b", dt.date(2026, 1, 1))], "s string, d date", name="events")
    joined = hr.collect(events.lookup(table, on={"s": "shop", "d": "day"}).select("s", "price"))
    assert sorted(joined.rows()) == [("a b", 1), ("a b", 3)], "what is of another key is left out"
    assert [request.path for request in service.requests] == ["/shops/a%20b/items?day=2026-01-01&size=1"]


def test_where_in_the_answer_the_rows_lie(service: Service) -> None:
    answers = {
        "a": '{"n": 1, "result": {"rows": [{"name": "A"}], "x": []}}',
        "b": '{"result": {"rows": null}}',
        "c": '{"result": {"rows": []}}',
    }
    service.rows = answers
    table = one_by_one(service, at="result.rows")
    assert looked_up(table, "a", "b", "c") == [("a", "A"), ("b", None), ("c", None)]
    service.rows = {"a": '{"result": {"error": "no"}}'}
    with pytest.raises(HeadraceError, match=r"GET http://127.0.0.1:\d+/customers/\{id\}: the response has no `rows`"):
        looked_up(table, "a", retry="0 seconds")


def test_many_keys_in_one_request(service: Service) -> None:
    """So many as `batch` says, each once, and rows of others are left out; a number is a number in what is sent."""
    service.rows = {str(n): {"id": n, "name": f"n{n}"} for n in range(10)}
    service.reply = lambda request: Reply(text=json.dumps([*service.rows.values()]))
    events = hr.read.memory([(n % 7,) for n in range(20)], "id bigint", name="events")
    joined = hr.collect(events.lookup(together(service, "id bigint, name string", batch=3), on="id"))
    assert sorted(set(joined.rows())) == [(n, f"n{n}") for n in range(7)] and len(joined.rows()) == 20
    assert sorted(one["id"] for request in service.requests for one in request.keys) == [*range(7)]
    assert max(len(request.keys) for request in service.requests) == 3


def test_no_more_requests_are_under_way_than_said(service: Service) -> None:
    """Each waits for two others, so they would not end one after the other."""
    service.meet(3)
    with Harness(partitions=1) as h:
        events = h.source("events", "k string")
        out = h.collect(events.lookup(one_by_one(service, in_flight=3), on={"k": "id"}))
        h.commit({"events": [("+", (f"k{n}",)) for n in range(9)]})
        assert len(out.rows()) == 9 and service.most_at_once == 3


def test_an_answer_is_kept(service: Service) -> None:
    service.rows = {"a": {"name": "A"}}
    with Harness(partitions=1) as h:
        events = h.source("told", "k string")
        out = h.collect(events.lookup(one_by_one(service, cache="1 hour"), on={"k": "id"}).select("k", "name"))
        for _ in range(2):
            h.commit({"told": [("+", ("a",)), ("+", ("x",))]})
        assert out.rows() == [("a", "A"), ("a", "A"), ("x", None), ("x", None)] and len(service.requests) == 2
        assert h.metrics()["lookups"]["told.lookup_customers"]["hits"] == 2


@pytest.mark.parametrize("reply", [Reply(503), Reply(429, headers=(("Retry-After", "0"),)), Reply(500, "<html>"), Reply(cut=True)])
def test_what_passes_is_asked_again(service: Service, reply: Reply) -> None:
    service.rows = {"a": {"name": "A"}}
    service.reply = lambda request: reply if len(service.requests) <= 2 else None
    assert looked_up(one_by_one(service), "a") == [("a", "A")]
    assert len(service.requests) == 3


@pytest.mark.parametrize("begun", [False, True])
def test_an_answer_that_does_not_come(service: Service, begun: bool) -> None:
    """Or that ends in its middle."""
    held = threading.Event()
    service.rows = {"a": {"name": "A"}}
    service.reply = lambda request: Reply(text="{}", held=held, begun=begun) if len(service.requests) == 1 else None
    assert looked_up(one_by_one(service, timeout="100 ms"), "a") == [("a", "A")]
    held.set()
    assert len(service.requests) >= 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(401, "who are you, sesame?"), "HTTP 401: who are you, ***?"),
        (Reply(301, headers=(("Location", "/elsewhere"),)), "HTTP 301"),
        (Reply(503, "over\nloaded"), "HTTP 503: over loaded"),
        (Reply(200, "<html>"), "the response is not JSON: Unexpected character ('<' (code 60))"),
        (Reply(200, '{"name": "A"'), "the response is not JSON: Unexpected end-of-input"),
        (Reply(200, '["A"]'), "the response has a value that is not an object"),
    ],
)
def test_what_does_not_pass_ends_the_epoch(service: Service, reply: Reply, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_TOKEN", "sesame")
    service.reply = lambda request: reply
    with pytest.raises(HeadraceError) as caught:
        looked_up(one_by_one(service, token=hr.secret("CRM_TOKEN")), "a", retry="0 seconds")
    place = f"GET {service.root}/customers/{{id}}"
    assert caught.value.code == "LOOKUP_FAILED"
    assert caught.value.message.startswith(f"told.lookup_customers: the lookup failed: {place}: {reason}"), caught.value.message
    assert "sesame" not in str(caught.value)
    assert service.requests[0].headers["Authorization"] == "Bearer sesame"


def test_the_whole_message(service: Service) -> None:
    service.reply = lambda request: Reply(403, "no")
    check_error(
        """
        LOOKUP_FAILED: told.lookup_customers: the lookup failed: GET <root>/customers/{id}: HTTP 403: no
          at test_http.py:*: joined = names(*keys).lookup(table, on={"k": "id"}, **options).select("k", "name")
          hint: check token= or headers= of the lookup. No row is lost: the next start repeats the epoch.
          more: headrace error LOOKUP_FAILED
        """,
        lambda: looked_up(one_by_one(service), "a"),
        hide={service.root: "<root>"},
    )


@pytest.mark.parametrize("make_table", [one_by_one, together])
def test_a_key_that_the_service_does_not_take_is_a_dead_letter_of_its_own(service: Service, make_table: Any) -> None:
    service.rows = {"a": {"id": "a", "name": "A"}, "n": {"id": "n", "name": {"no": "text"}}}

    def picky(request: Request) -> Reply | None:
        keys = [one["id"] if isinstance(one, dict) else one for one in request.keys]
        return Reply(400, "`bad` is no id") if "bad" in keys else None

    service.reply = picky
    with Harness() as h:
        events = h.source("events", "k string")
        joined = events.lookup(
            make_table(service, "id string, name int" if make_table is one_by_one else SCHEMA), on={"k": "id"}, how="inner"
        )
        out, dead = h.collect(joined.select("k")), h.collect(joined.output("dead_letter").select("reason", "raw"))
        missed = h.collect(joined.output("missed"))
        h.commit({"events": [("+", (k,)) for k in ("bad", "x")]})
        [(reason, raw)] = dead.rows()
        assert json.loads(raw) == {"k": "bad"} and reason.endswith("HTTP 400: `bad` is no id")
        assert missed.rows() == [("x",)] and out.rows() == []


@pytest.mark.parametrize("make_table", [one_by_one, together])
def test_a_value_of_another_type_is_a_dead_letter_of_its_own(service: Service, make_table: Any) -> None:
    service.rows = {"a": {"id": "a", "n": 1}, "b": {"id": "b", "n": "one"}}
    with Harness() as h:
        events = h.source("events", "k string")
        joined = events.lookup(make_table(service, "id string, n int"), on={"k": "id"})
        out, dead = h.collect(joined.select("k", "n")), h.collect(joined.output("dead_letter").select("reason", "raw"))
        h.commit({"events": [("+", ("a",)), ("+", ("b",))]})
        assert out.rows() == [("a", 1)]
        [(reason, raw)] = dead.rows()
        assert json.loads(raw) == {"k": "b"} and reason.startswith("[MALFORMED_RECORD_IN_PARSING")


@pytest.mark.parametrize("key", ["", ".", ".."])
def test_a_key_that_would_be_the_address_of_something_else(service: Service, key: str) -> None:
    """Of all customers, say, or of what lies above them."""
    with Harness() as h:
        events = h.source("events", "k string")
        joined = events.lookup(one_by_one(service), on={"k": "id"})
        h.collect(joined)
        dead = h.collect(joined.output("dead_letter").select("reason"))
        h.commit({"events": [("+", (key,))]})
        assert dead.rows() == [(f"the key `id` is '{key}', which would address something else",)] and service.requests == []


def test_headers_and_secrets(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_KEY", "sesame")
    service.rows = {"a": {"name": "A"}}
    table = one_by_one(service, headers={"X-Job": "fraud", "X-Api-Key": hr.secret("CRM_KEY"), "Accept": "application/vnd.crm+json"})
    job = hr.job("j", names("a").lookup(table, on={"k": "id"}).write.memory(name="out"))
    shown = json.dumps(job.plan.to_json()) + str(job.explain(verbose=True))
    assert "sesame" not in shown and "CRM_KEY" in shown
    job.run(checkpoint=tmp_path, progress=False)
    headers = {name.lower(): value for name, value in service.requests[0].headers.items()}
    assert (headers["x-job"], headers["x-api-key"], headers["accept"]) == ("fraud", "sesame", "application/vnd.crm+json")


def test_a_certificate_that_is_trusted_only_by_its_file(spark: SparkSession, tmp_path: Path) -> None:
    pem = self_signed(tmp_path)
    with Service(pem) as service:
        service.rows = {"a": {"name": "A"}}
        url = f"{service.root.replace('127.0.0.1', 'localhost')}/customers/{{id}}"
        assert looked_up(hr.lookup.http(url, SCHEMA, ca=str(pem.with_name("certificate"))), "a") == [("a", "A")]
        with pytest.raises(HeadraceError, match="its certificate is not trusted"):
            looked_up(hr.lookup.http(url, SCHEMA), "a")
        (tmp_path / "torn").write_text("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
        with pytest.raises(HeadraceError, match="the lookup failed: the certificates of `ca` cannot be read"):
            looked_up(hr.lookup.http(url, SCHEMA, ca=str(tmp_path / "torn")), "a")
    assert len(service.requests) == 1


def test_a_script_and_yaml(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRM_KEY", "sesame")
    service.rows = {"1": {"id": 1, "country": "SE"}}
    Path("orders.json").write_text('{"id": 1}\n{"id": 2}\n')
    Path("job.sql").write_text(f"""
        CREATE SOURCE orders (id INT) WITH (connector = 'files', path = 'orders.json', format = 'json');
        CREATE LOOKUP customers (id INT, country STRING) WITH (
            connector = 'http', url = '{service.root}/customers/{{id}}', 'headers.X-Api-Key.env' = 'CRM_KEY', token.env = 'CRM_KEY',
            timeout = '5 seconds', cache = '10 minutes', in_flight = 2, retry = '2 seconds');
        CREATE LOOKUP many (id INT, country STRING) WITH (
            connector = 'http', url = '{service.root}/customers', method = 'POST', key = 'id', batch = 50);
        CREATE SINK out WITH (connector = 'files', path = 'out', format = 'json');
        INSERT INTO out SELECT o.id, c.country, m.country AS again FROM orders o
            LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON o.id = c.id
            LEFT JOIN many FOR SYSTEM_TIME AS OF PROCTIME() m ON o.id = m.id;
    """)
    Path("job.yaml").write_text(f"""
job: places
sources:
  orders: {{connector: files, path: orders.json, format: json, schema: id int}}
lookups:
  customers:
    connector: http
    url: {service.root}/customers/{{id}}
    schema: id int, country string
    headers: {{X-Api-Key: {{env: CRM_KEY}}}}
    token: {{env: CRM_KEY}}
    timeout: 5 seconds
    cache: 10 minutes
    in_flight: 2
    retry: 2 seconds
  many: {{connector: http, url: {service.root}/customers, schema: "id int, country string", method: POST, key: id, batch: 50}}
views:
  found: >
    SELECT o.id, c.country, m.country AS again FROM orders o
    LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON o.id = c.id
    LEFT JOIN many FOR SYSTEM_TIME AS OF PROCTIME() m ON o.id = m.id
sinks:
  again: {{from: found, connector: files, path: again, format: json}}
""")
    for file, folder in (("job.sql", "out"), ("job.yaml", "again")):
        job = hr.load(file)
        nodes: dict[str, Any] = {node.table: node for node in job.plan.nodes.values() if node.op == "lookup"}  # type: ignore[attr-defined]
        settings = {name: (node.cache_ms, node.batch, node.in_flight, node.retry_ms) for name, node in nodes.items()}
        assert settings == {"customers": (600_000, 1, 2, 2000), "many": (0, 50, 4, 60_000)}
        service.requests.clear()
        job.run(progress=False)
        lines = [line for one in Path(folder).glob("*.json") for line in one.read_text().splitlines()]
        assert sorted(lines) == ['{"id":1,"country":"SE","again":"SE"}', '{"id":2}']
        assert {
            request.headers.get("X-Api-Key") or request.headers.get("X-api-key")
            for request in service.requests
            if request.path != "/customers"
        } == {"sesame"}
