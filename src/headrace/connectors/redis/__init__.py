"""Redis: rows under keys."""

from headrace.connectors import servers as servers
from headrace.connectors.redis.lookup import Lookup
from headrace.connectors.redis.needs import JVM
from headrace.connectors.redis.sink import PACKAGES as FOR_SINK
from headrace.connectors.redis.sink import Sink

PORTS = 1
PACKAGES = (*FOR_SINK, JVM)

__all__ = ["PACKAGES", "PORTS", "Lookup", "Sink"]
