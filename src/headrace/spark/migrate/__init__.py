"""What is done to a checkpoint while nothing runs: its rewrite for a changed job, and its sinks brought back to it."""
