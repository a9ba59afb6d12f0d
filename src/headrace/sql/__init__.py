"""Converts queries of Spark SQL and DataFrames over streams to nodes."""
