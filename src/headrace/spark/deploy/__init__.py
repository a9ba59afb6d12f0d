"""Changes to a checkpoint while nothing runs: its rewrite for a changed job, and bringing its sinks back to it."""
