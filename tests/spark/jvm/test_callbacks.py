"""What a query leaves in this process when it has ended."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import pytest
from py4j import clientserver
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from headrace.testing import Harness


def run() -> None:
    with Harness() as h:
        rows = h.source("rows", "k string")
        out = h.collect(rows)
        h.commit({"rows": [("+", ("a",))]})
        h.restart()
        h.commit({"rows": [("+", ("b",))]})
        assert out.rows() == [("a",), ("b",)]


def test_no_thread_is_left_of_a_query_that_has_ended(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's finalizer keeps one connection, by which it tells what the JVM has no use for any more. It calls first when Java collects.

    (`runFinalization` would finalize in a second thread, with a connection of its own.) A test before this one may have left another,
    where a port that a program had opened to all was closed.
    """
    finalizer: set[threading.Thread] = set()
    collect = clientserver._garbage_collect_proxy

    def recorded(*args: Any) -> Any:
        finalizer.add(threading.current_thread())
        return collect(*args)

    monkeypatch.setattr(clientserver, "_garbage_collect_proxy", recorded)
    run()  # from the first one on this process listens
    before = set(threading.enumerate())
    run()
    java: Any = spark._jvm
    java.java.lang.System.gc()
    run()
    served = set(threading.enumerate()) - before - finalizer
    for thread in served:
        thread.join(30)
    assert [thread.name for thread in served - finalizer if thread.is_alive()] == []
    assert len([thread for thread in finalizer - before if thread.is_alive()]) <= 1


def test_whoever_has_no_token_is_refused_and_the_job_goes_on(spark: SparkSession) -> None:
    with Harness() as h:
        rows = h.source("rows", "k string")
        out = h.collect(rows)
        h.commit({"rows": [("+", ("a",))]})
        gateway: Any = spark.sparkContext._gateway
        kept = list(gateway.gateway_property.pool.dict)  # the objects of this process that the JVM may call
        assert kept
        # a call, an authentication that is wrong, one in several parts, and nothing at all
        calls = [f"c\n{name}\n{method}\ne\n" for name in kept for method in ("__delattr__\nsrecord", "__repr__", "commit")]
        for command in (*calls, f"A\n{'0' * 64}\ne\n{calls[0]}", "A\n", ""):
            answer = b""
            with socket.create_connection(("127.0.0.1", gateway._callback_server.port)) as caller:
                # whoever is refused is cut off, at any of these steps
                with contextlib.suppress(OSError):
                    caller.sendall(command.encode())
                    caller.shutdown(socket.SHUT_WR)
                    answer = caller.makefile("rb").read()
            assert not answer.startswith(b"!y"), (command, answer)
        h.restart()
        h.commit({"rows": [("+", ("b",))]})
        assert out.rows() == [("a",), ("b",)]


def test_a_port_that_a_program_had_opened_to_all_is_closed(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    former = gateway._callback_server
    former.is_shutdown = True
    former.server_socket.close()
    gateway._callback_server, gateway.callback_server_parameters.auth_token = None, None
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # as `foreachBatch` of PySpark does
    run()
    assert len(gateway.callback_server_parameters.auth_token) == 64
    run()
