"""Portable savepoints: state as Parquet files, which do not depend on partitions, stores, or the version of Spark."""
