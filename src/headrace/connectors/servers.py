"""The error codes of servers that hold tables or keys."""

from headrace.codes import Code, register

register(
    {
        "DATABASE_REFUSED": Code("ConnectorError", "environment", "a database that refuses the login or a statement"),
        "DATABASE_UNREACHABLE": Code("ConnectorError", "environment", "a database that does not answer"),
    }
)
