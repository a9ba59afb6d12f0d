"""Tables of databases: PostgreSQL, MariaDB, SQLite."""

from headrace.connectors import servers as servers
from headrace.connectors.jdbc.kinds import PACKAGES
from headrace.connectors.jdbc.lookup import Lookup
from headrace.connectors.jdbc.sink import Sink
from headrace.connectors.jdbc.source import Source

PORTS = 1

__all__ = ["PACKAGES", "PORTS", "Lookup", "Sink", "Source"]
