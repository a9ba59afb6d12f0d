"""Redis: a table whose rows lie under keys."""

from headrace.connectors.redis.lookup import Lookup
from headrace.connectors.redis.needs import JVM

PACKAGES = (JVM,)

__all__ = ["PACKAGES", "Lookup"]
