"""The error codes of servers that hold tables or keys."""

from headrace.codes import Code, register

register(
    {
        "DATABASE_REFUSED": Code("ConnectorError", "environment", "a database that does not let the user in, or do what is needed"),
        "DATABASE_UNREACHABLE": Code("ConnectorError", "environment", "a database that does not answer"),
    }
)
