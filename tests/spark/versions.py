"""The version of Spark that the tests run on, and a mark for tests of what the older one does not have."""

from __future__ import annotations

import pytest

from headrace.jvm.compile import minor, spark_version

IS_OLDER = minor(spark_version()) == "4.2"


def not_on_older(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(IS_OLDER, reason=f"Spark 4.2 {reason}")
