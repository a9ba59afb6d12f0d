"""Folders of JSON, CSV, Parquet, ORC or Avro files, read and written."""

from headrace.connectors.files import codes as codes
from headrace.connectors.files.lookup import Lookup
from headrace.connectors.files.sink import Sink
from headrace.connectors.files.source import Source
from headrace.connectors.reach import S3

PORTS = 1
PACKAGES = (S3,)

__all__ = ["PACKAGES", "PORTS", "Lookup", "Sink", "Source"]
