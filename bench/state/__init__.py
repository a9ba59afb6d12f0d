"""How fast keyed state is (`make bench-state`)."""
