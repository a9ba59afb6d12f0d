"""The state of a job as tables, decoded by the kernel."""
