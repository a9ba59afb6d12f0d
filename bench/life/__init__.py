"""The cost of job life: savepoints, deploys and restarts of large state (`make bench-life`)."""
