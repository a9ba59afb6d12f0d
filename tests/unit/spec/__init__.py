"""Jobs in YAML, as far as they need no Spark."""
