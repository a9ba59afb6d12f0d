"""What certifies runs in the session that all Spark tests share; what is killed are processes of their own."""

from tests.spark.conftest import spark

__all__ = ["spark"]
