"""Jobs on Spark in layers, lowest first: compiled, checkpointed, run, migrated and inspected."""
