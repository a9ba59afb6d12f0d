"""Tables of databases: PostgreSQL, MariaDB, SQLite."""

from headrace.connectors.jdbc.sink import Sink

__all__ = ["Sink"]
