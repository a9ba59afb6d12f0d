"""Queries of Spark SQL and DataFrames over streams, turned into nodes."""
