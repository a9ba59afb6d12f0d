"""Jobs on Spark: compiled, checkpointed, run, migrated and inspected, lowest first."""
