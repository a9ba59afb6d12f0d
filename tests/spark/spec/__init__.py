"""Jobs in YAML, run by Spark."""
