"""Calls from the JVM to this process."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def listen(spark: SparkSession) -> None:
    """Let the JVM call this process, and no one else: a caller presents a token that the two share.

    At its end a query releases what py4j keeps for the calls of its thread.
    """
    from pyspark.java_gateway import ensure_callback_server_started

    gateway: Any = spark.sparkContext._gateway
    parameters = gateway.callback_server_parameters
    if parameters.auth_token is None:
        # A program with its own `foreachBatch` has already opened the port to everyone.
        _refuse_others(gateway._callback_server)
        gateway._callback_server = None
        parameters.auth_token = secrets.token_hex(32)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # PySpark gives it no types
    jvm(spark).headrace.source.Caller.through(gateway.java_gateway_server, parameters.auth_token)


def _refuse_others(server: Any) -> None:
    """Stop listening. Open connections stay: running queries use them, and closing one waits until nothing reads it."""
    if server is not None:
        with server.lock:
            server.is_shutdown = True
            server.server_socket.close()
