"""A running job: how it starts, commits its epochs, fails, ends and is summed up."""
