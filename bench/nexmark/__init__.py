"""Nexmark: the bids of an auction house as a stream of events, and 23 queries over it, against Flink SQL (`make bench-nexmark`)."""
