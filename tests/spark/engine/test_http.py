"""A job that posts its rows: a server that keeps keys has each row once, whatever happens on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.connectors.http import Sink
from headrace.ports import rows_in
from headrace.schema import parse_schema
from tests.unit.connectors.receiver import Answer, Receiver, Request
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")
pytest.importorskip("urllib3")


def job(folder: Path, url: str, **options: Any) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, v int", name="rows", files_per_epoch=2)
    sent = rows.filter("v > 0").write.http(url, name="sent", batch=3, backoff="1 ms", **options)
    return hr.job("send", sent, rows.write.files(folder / "out", format="json", name="out"))


def put(folder: Path, number: int, values: range) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text("".join(json.dumps({"k": "a", "v": v}) + "\n" for v in values), encoding="utf-8")


def test_an_epoch_that_failed_in_its_middle_is_finished_by_the_next_start(tmp_path: Path) -> None:
    for number in range(4):
        put(tmp_path, number, range(10 * number, 10 * number + 10))
    down = False

    def answer(request: Request, number: int) -> Answer:
        nonlocal down
        down = down or number == 12
        return Answer(503) if down else Answer(cut=number % 4 == 0)

    with Receiver(answer) as server:
        error = check_error(
            """
            HTTP_FAILED: <url> did not accept batch 2 of epoch 1 of sent, sent 2 times: HTTP 503
              hint: retries= and backoff= set how long it retries. The next start sends it again, with the same key.
              more: headrace error HTTP_FAILED
            """,
            lambda: job(tmp_path, server.url, retries=1).run(checkpoint=tmp_path / "checkpoint", progress=False),
            hide={server.url: "<url>"},
        )
        assert error is not None and error.exit_code == 4
        down, server.answer = False, lambda request, number: Answer()
        job(tmp_path, server.url, retries=1).run(checkpoint=tmp_path / "checkpoint", progress=False)
        assert sorted(json.loads(line)["v"] for line in server.rows()) == list(range(1, 40))


def test_what_explain_says(tmp_path: Path) -> None:
    put(tmp_path, 1, range(3))
    url = "http://127.0.0.1:9/"
    plain, promised = (str(job(tmp_path, url, idempotent=one).explain(verbose=True)) for one in (False, True))
    assert "at least once: a batch whose response was lost is sent again; idempotent=True declares that" in plain
    assert "exactly once: each batch has its own key, and idempotent=True declares that the server accepts a key once" in promised


@pytest.mark.full
def test_refused_rows_are_among_the_letters(tmp_path: Path) -> None:
    put(tmp_path, 1, range(1, 7))
    with Receiver(lambda request, number: Answer(422, "no sevens") if '"v":4' in request.body else Answer()) as server:
        job(tmp_path, server.url).run(checkpoint=tmp_path / "checkpoint", progress=False)
        assert len(server.rows()) == 5
    letters = [(row[3], row[4], row[7]) for row in hr.letters(tmp_path / "checkpoint").table().rows()]
    assert letters == [("sent", "HTTP 422: no sevens", '{"k":"a","v":4}')]


def test_what_a_server_holds(spark: SparkSession) -> None:
    schema = parse_schema("k string, at timestamp, `it's` map<string, bigint>")
    with Receiver() as server:
        sink = Sink(server.url)
        assert rows_in(sink, spark, schema, "append") == []
        server.kept["a"] = '{"k":"a\u2028","at":"2026-01-02T03:04:05Z","it\'s":{"b":1}}\n{"k":null,"at":null,"it\'s":null}\n'
        held = [(row.k, row.at is None, row["it's"]) for row in rows_in(sink, spark, schema, "append")]
    assert held == [("a\u2028", False, {"b": 1}), (None, True, None)]


def test_what_a_server_of_changes_holds(spark: SparkSession, tmp_path: Path) -> None:
    with Receiver() as server:
        sink = Sink(server.root).elsewhere(hr.ports.Elsewhere("t1", tmp_path, server.root, "changes"))
        assert sink is not None
        server.kept["a"] = "".join(
            f'{{"k":"{k}","_change":"{change}"}}\n' for k, change in (("a", "insert"), ("b", "insert"), ("b", "insert"), ("a", "delete"))
        )
        assert [row.k for row in rows_in(sink, spark, parse_schema("k string"), "append")] == ["b", "b"]
