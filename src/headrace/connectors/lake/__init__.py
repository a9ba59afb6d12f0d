"""What tables of Parquet files have in common, whoever keeps their log."""

from headrace.connectors.lake import codes as codes
