"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import headrace.jvm.session
from tests.scale import FULL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "a setting of Spark that nobody is to see"
"""What the session has that is secret: no text and no list of processes shows it."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores with the kernel's jar, small enough for a machine that runs other things too.

    At full scale the oracle has larger tables in memory, each as the harness and as batch reads it.
    """
    conf = {"spark.driver.memory": "6g" if FULL else "2g", "spark.hadoop.test.secret": SETTING}
    session = headrace.jvm.session.session(master="local[2]", conf=conf)
    yield session
    session.stop()
