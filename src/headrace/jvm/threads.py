"""Small jobs of Spark at once: each leaves most cores idle while it is planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_AT_ONCE = 4


def at_once(spark: SparkSession, works: Sequence[Callable[[], T]]) -> list[T]:
    """Do works in a few threads, with the properties that this thread has in a session and in Python. Returns what they return.

    If some fail, all are waited for, and the error of the first is raised.
    """
    from pyspark import inheritable_thread_target

    inheriting = inheritable_thread_target(spark)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # a copy for each: a context can be entered once at a time
        pending = [pool.submit(copy_context().run, inheriting(work)) for work in works]
        return [one.result() for one in pending]
