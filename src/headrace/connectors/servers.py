"""The error codes of servers that hold tables or keys, and an option of their sinks."""

from headrace.codes import Code, register

register(
    {
        "DATABASE_REFUSED": Code("ConnectorError", "environment", "a database that refuses the login or a statement"),
        "DATABASE_UNREACHABLE": Code("ConnectorError", "environment", "a database that does not answer"),
    }
)

RETRY = "how long to wait for a server that is unavailable; then the run ends ([DATABASE_UNREACHABLE](../errors/DATABASE_UNREACHABLE.md))"
