"""Common parts of the connectors for tables of Parquet files, whatever their log."""

from headrace.connectors.lake import codes as codes
