"""Redis: rows under keys."""

from headrace.connectors.redis.sink import PACKAGES, Sink

__all__ = ["PACKAGES", "Sink"]
