"""Delta tables, without a JVM: tasks are played by pyarrow."""
