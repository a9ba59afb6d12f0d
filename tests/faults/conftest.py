"""What fails inside of the process runs in the session that all Spark tests share."""

from tests.spark.conftest import spark

__all__ = ["spark"]
