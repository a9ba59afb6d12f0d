"""The verbs of a stream, a file each: its answers against Spark batch, its spelling in YAML and SQL, its errors."""
