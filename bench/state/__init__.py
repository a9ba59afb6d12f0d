"""The speed of keyed state (`make bench-state`)."""
