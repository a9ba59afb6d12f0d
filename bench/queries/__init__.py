"""The cost of keeping queries up to date (`make bench-queries`)."""
