"""Jobs on Spark in layers, lowest first: compiled, checkpointed, run, deployed and inspected."""
