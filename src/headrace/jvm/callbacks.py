"""Calls from the JVM to this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.jvm.session import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def listen(spark: SparkSession) -> None:
    """Let the JVM call this process. A query gives back at its end what py4j keeps for the calls of its thread."""
    from pyspark.java_gateway import ensure_callback_server_started

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    jvm(spark).headrace.source.Caller.through(gateway.java_gateway_server.getCallbackClient())  # type: ignore[union-attr]
