"""Iceberg tables in a SQL catalog on SQLite, without a JVM: tasks are played by pyarrow."""
