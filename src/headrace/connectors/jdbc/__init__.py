"""Tables of databases: PostgreSQL, MariaDB, SQLite."""

from headrace.connectors.jdbc.kinds import PACKAGES
from headrace.connectors.jdbc.sink import Sink
from headrace.connectors.jdbc.source import Source

__all__ = ["PACKAGES", "Sink", "Source"]
